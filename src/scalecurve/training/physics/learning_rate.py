"""What must change when the batch grows: the learning rate by a rule, its warm-up, and the optimiser.

SGD: the rate grows with the batch (Goyal et al. 2017).  Adam and its kin: with its square root (You et al. 2019;
Malladi et al. 2022).  Both hold below the critical batch only.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from scalecurve.document import Block, JsonRecord, Paragraph, table
from scalecurve.errors import Fault, InputError
from scalecurve.training.inputs.request import read_batch, read_count
from scalecurve.training.inputs.transformer import training_table
from scalecurve.units import format_count


@cache
def large_batches() -> Mapping[str, dict[str, Any]]:
    """Published runs with large batches, by name."""
    return tomllib.loads(training_table("large_batches.toml"))


@dataclass(frozen=True, kw_only=True)
class LearningRates(JsonRecord):
    """The batches of a plan, in tokens, and the learning rate that was found at one batch, where the user gave it."""

    smallest: float
    largest: float
    rate: float | None = None
    at_batch: float | None = None

    JSON = "rate at_batch_tokens=at_batch smallest_batch_tokens=smallest largest_batch_tokens=largest rules advice"

    def square_root(self, batch_tokens: float) -> float | None:
        """The rate for Adam and its kin at this batch."""
        if self.rate is None or self.at_batch is None:
            return None
        return self.rate * math.sqrt(batch_tokens / self.at_batch)

    def linear(self, batch_tokens: float) -> float | None:
        """The rate for SGD at this batch."""
        if self.rate is None or self.at_batch is None:
            return None
        return self.rate * batch_tokens / self.at_batch

    @property
    def rules(self) -> dict[str, float | None]:
        """The rate at the largest batch by each rule."""
        return {"square_root": self.square_root(self.largest), "linear": self.linear(self.largest)}

    @property
    def advice(self) -> str:
        """What to change between the smallest and the largest batch, or from the batch of the rate given."""
        start = self.smallest if self.at_batch is None else self.at_batch
        growth = self.largest / start
        change = (
            f"From a batch of {format_count(start)} to {format_count(self.largest)} tokens the learning rate of Adam "
            f"changes by x{math.sqrt(growth):.3g} (square root), that of SGD by x{growth:.3g} (linear)"
        )
        if self.rate is not None:
            change += f": {self.square_root(self.largest):.3g} or {self.linear(self.largest):.3g} from {self.rate:.3g}"
        return f"{change}; warm up over as many tokens, not as many steps. {needed_layer_wise(self.largest)}"

    def blocks(self) -> list[Block]:
        lines = []
        for run in large_batches().values():
            size = format_count(run["tokens"]) if "tokens" in run else f"{run['samples']:,} images"
            lines.append((run["job"], run["optimiser"], size, run["rule"], run["warm_up"], run["source"]))
        columns = ["run", "optimiser", "batch", "rate follows the batch", "warm-up", "source"]
        return [Paragraph(self.advice), table(columns, lines, caption="Large batches in published runs (2026-11-18)")]


def needed_layer_wise(batch_tokens: float) -> str:
    """From which batch published runs of language models used LAMB, and up to which Adam was enough."""
    texts = [run for run in large_batches().values() if "tokens" in run]
    layer_wise = min(run["tokens"] for run in texts if run["layer_wise"])
    plain = max((run for run in texts if not run["layer_wise"]), key=lambda run: run["tokens"])
    start = (
        f"LAMB was used from {format_count(layer_wise)} tokens (BERT, 2019); plain Adam has since trained at "
        f"{format_count(plain['tokens'])} ({plain['job']})"
    )
    if batch_tokens > plain["tokens"]:
        return f"{start}: no published run is as large as this batch."
    return f"{start}, so no layer-wise optimiser is needed here."


def read_learning_rate(text: str | None, seq: int, batches: Sequence[float]) -> LearningRates | None:
    """`3e-4@4Mi`: a learning rate and the batch it was found at; None where the batch stays and no rate is given."""
    smallest, largest = min(batches), max(batches)
    if text is None:
        return None if smallest == largest else LearningRates(smallest=smallest, largest=largest)
    rate, at, batch = text.partition("@")
    hint = "write 3e-4@4Mi: the rate, and the batch it was found at"
    if not at:
        raise InputError(Fault("a learning rate needs its batch", "learning-rate", text, hint))
    value = read_count(rate, "learning-rate", above=0.0)
    at_batch = float(read_batch(batch, seq).tokens)
    return LearningRates(smallest=smallest, largest=largest, rate=value, at_batch=at_batch)
