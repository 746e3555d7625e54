"""A whole run: what a larger batch is charged (critical batch), the loss it reaches, and the time lost to failures.

Useful work is counted in the tokens that small batches would need for the same progress.

McCandlish et al. 2018:  steps = S_min (1 + B_c / B),  tokens = E_min (1 + B / B_c),  B_c = E_min / S_min.
Two definitions are in use: `double` is this B_c (twice the least data at B = B_c); `overhead` is the batch with 20 %
more steps than linear scaling, 0.2 B_c on the same hyperbola.

Loss as a function of parameters and tokens: L(N, D) = E + A / N^a + B / D^b, with C = 6 N D FLOP.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from scalecurve.document import JsonRecord, as_typed
from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.estimate import Estimate
from scalecurve.files import read_text
from scalecurve.hardware.accelerators import plain_name, unknown_name
from scalecurve.training.inputs.request import read_count
from scalecurve.training.inputs.transformer import training_table
from scalecurve.units import format_count

OVERHEAD = 0.2
DEFINITIONS = ("double", "overhead")  # a user may give; some laws speak of the batch found `optimal`
DEVICE_HOURS = 50_000.0  # Llama 3 405B: 419 unexpected stops in 54 days of 16,384 GPUs are one per 50,700 GPU-hours
EFFORT_TOKENS = 20.0  # tokens per parameter where no budget of tokens is given (Hoffmann et al. 2022)


@dataclass(frozen=True, kw_only=True)
class CriticalBatch(JsonRecord):
    """B_c in tokens of the `double` definition, as a range, with where it came from and as what it was stated:
    `given_tokens` in the definition `given_as`."""

    tokens: Estimate
    given_as: str
    given_tokens: float
    source: str

    definition = "double"
    JSON = "tokens definition given_as given_tokens source"

    @property
    def equivalent(self) -> str:
        """` (where a run needs twice the data; 8.389M where it needs 20 % more)`; empty where it was stated so."""
        if self.given_as != "overhead":
            return ""
        stated = f"{format_count(self.given_tokens)} where it needs {100 * OVERHEAD:.0f} % more"
        return f" (where a run needs twice the data; {stated})"

    def tokens_factor(self, batch_tokens: float) -> float:
        """Tokens / E_min = 1 + B/B_c: what each useful token costs."""
        return 1.0 + batch_tokens / self.tokens.value


@dataclass(frozen=True, kw_only=True)
class DataParallelCap(JsonRecord):
    """How far replicas alone reach: batch / (sequences of a replica x seq) replicas of so many accelerators.  The
    batch, in tokens with its interval, is the smaller of the critical one and the largest accepted."""

    batch: Estimate
    limited_by: str
    seq: int
    sequences_per_replica: int  # micro-batch x accumulation
    accelerators_per_replica: int

    JSON = """
        batch_tokens*=batch limited_by sequences_per_replica replicas accelerators_per_replica accelerators
        accelerators_low=low accelerators_high=high"""

    @property
    def replicas(self) -> int:
        return self.replicas_of(self.batch.value)

    @property
    def accelerators(self) -> int:
        return self.replicas * self.accelerators_per_replica

    @property
    def low(self) -> int | None:
        return None if self.batch.low is None else self.replicas_of(self.batch.low) * self.accelerators_per_replica

    @property
    def high(self) -> int | None:
        return None if self.batch.high is None else self.replicas_of(self.batch.high) * self.accelerators_per_replica

    def replicas_of(self, batch_tokens: float) -> int:
        return max(int(batch_tokens // (self.seq * self.sequences_per_replica)), 1)

    @property
    def formula(self) -> str:
        """`1.049M tokens / 8,192 = 128 replicas x 16 accelerators = 2,048`."""
        several = "" if self.sequences_per_replica == 1 else f"({self.sequences_per_replica} x {self.seq:,})"
        return (
            f"{format_count(self.batch.value)} tokens / {several or f'{self.seq:,}'} = {self.replicas:,} replicas x "
            f"{self.accelerators_per_replica:,} accelerators = {self.accelerators:,}"
        )

    @property
    def sentence(self) -> str:
        """The cap in words, with its range where the critical batch has one."""
        size = f"{format_count(self.batch.value)} tokens / {self.seq:,}"
        if self.sequences_per_replica > 1:
            size += f" / {self.sequences_per_replica} sequences"
        per, plural = self.accelerators_per_replica, "s" if self.replicas > 1 else ""
        total = f"; with {per:,} accelerators each, at {self.accelerators:,}" if per > 1 else ""
        if self.low is not None and self.high is not None and self.low < self.high:
            total += f" ({self.low:,} to {self.high:,})"
        return f"Data parallelism alone ends at {self.replicas:,} replica{plural} ({self.limited_by}, {size}){total}."


def data_parallel_cap(
    critical: CriticalBatch | None, largest: float | None, *, seq: int, per_replica: int, sequences: int = 1
) -> DataParallelCap | None:
    """The cap by the smaller of the critical batch and the largest accepted, both in tokens; None where neither is."""
    if largest is not None and (critical is None or largest <= critical.tokens.value):
        batch, limited_by = Estimate(largest, method="given"), "the largest batch"
    elif critical is not None:
        batch, limited_by = critical.tokens, "the critical batch"
        if largest is not None and batch.has_interval:
            high = min(batch.high or largest, largest)
            batch = Estimate(batch.value, batch.low, high, batch.level, batch.method)
    else:
        return None
    return DataParallelCap(
        batch=batch, limited_by=limited_by, seq=seq, sequences_per_replica=sequences,
        accelerators_per_replica=per_replica,
    )  # fmt: skip


@cache
def critical_batch_laws() -> Mapping[str, dict[str, Any]]:
    """Published laws of the critical batch by name."""
    return tomllib.loads(training_table("critical_batch.toml"))


def read_critical_batch(
    batch: float | str | None,
    *,
    definition: str = "double",
    tokens: float | None = None,
    loss: float | None = None,
    compute: float | None = None,
    seq: int | None = None,
) -> CriticalBatch | None:
    """Tokens in the named definition, a law's name evaluated at this job's tokens, loss or compute (FLOP), or a file
    with a gradient noise scale, whose samples are sequences of `seq` tokens."""
    if batch is None:
        return None
    if definition not in DEFINITIONS:
        hint = "double or overhead"
        raise InputError(Fault("unknown definition of the critical batch", value=definition, remedy=hint))
    if isinstance(batch, str) and plain_name(batch) in critical_batch_laws():
        variables = {"tokens": tokens, "loss": loss, "compute": compute, "none": 1.0}
        return critical_batch_by_law(plain_name(batch), variables)
    if isinstance(batch, str) and batch.lower().endswith(".json"):
        return critical_batch_of_file(Path(batch), seq)
    if isinstance(batch, str) and not batch[:1].isdecimal():
        raise unknown_name("critical batch", batch, critical_batch_laws())
    count = read_count(batch, "critical-batch")
    if count < 1:
        raise InputError(Fault("the critical batch is at least 1 token", value=str(batch)))
    value = count / (OVERHEAD if definition == "overhead" else 1.0)
    estimate = Estimate(value, method="given")
    return CriticalBatch(tokens=estimate, given_as=definition, given_tokens=count, source="given")


def critical_batch_of_file(path: Path, seq: int | None) -> CriticalBatch:
    """The gradient noise scale B_simple, which predicts the critical batch (McCandlish et al. 2018): of a study that
    `scalecurve measure` wrote, or of an object with `tokens` (or `samples`, `value` in samples), `low` and `high`."""
    hint = 'give a study whose job reported its gradients, or {"tokens": 4e6, "low": 3e6, "high": 5e6}'
    try:
        content = json.loads(read_text(path, hint=hint))
    except (ValueError, RecursionError) as problem:
        raise FormatError(Fault(f"not JSON: {problem}", remedy=hint), subject=str(path)) from None
    found = content if isinstance(content, dict) else {}
    for finding in found.get("findings") or ():
        if isinstance(finding, dict) and finding.get("code") == "gradient-noise-scale":
            found = finding.get("evidence") or {}
    estimate = noise_scale(found, seq or 1)
    if estimate is None:
        raise FormatError(Fault("no gradient noise scale above 0 in it", remedy=hint), subject=str(path))
    source = f"measured, {path.name}"
    return CriticalBatch(tokens=estimate, given_as="double", given_tokens=estimate.value, source=source)


def noise_scale(found: Mapping[str, Any], seq: int) -> Estimate | None:
    """In tokens, with its interval where it has one around it; None without a number above 0."""
    units = {"tokens": 1, "samples": seq, "value": seq}
    key = next((key for key in units if key in found), "tokens")
    numbers = [found.get(key), *(end for name in ("low", "high") if (end := found.get(name)) is not None)]
    if any(type(number) not in (int, float) or not 1 <= number < math.inf for number in numbers):
        return None
    value, *ends = (number * units[key] for number in numbers)
    if len(ends) < 2 or not ends[0] <= value <= ends[1]:
        return Estimate(value, method="gradient noise scale")
    return Estimate(value, ends[0], ends[1], float(found.get("level") or 0.95), "gradient noise scale")


def critical_batch_by_law(name: str, variables: Mapping[str, float | None]) -> CriticalBatch:
    """Scale x variable^power of a named law, with the scatter its authors report."""
    law = critical_batch_laws()[name]
    kind = law["variable"]
    variable = variables[kind]
    if variable is None:
        hint = as_typed(f"give it: `SAME {'--loss 2.0' if kind == 'loss' else '--tokens 1T'}`")
        raise InputError(Fault(f"the {name} law needs the run's {kind}", value=name, remedy=hint))
    if not (math.isfinite(variable) and variable > 0):
        raise InputError(Fault(f"the {name} law needs a {kind} above 0", kind, f"{variable:g}"))
    share = OVERHEAD if law["definition"] == "overhead" else 1.0
    try:
        value = float(law["scale"] * variable ** law["power"]) / share
    except OverflowError:
        value = math.inf
    if not 1 <= value < math.inf:
        raise InputError(
            Fault(
                f"the {name} law gives no batch here", kind, f"{variable:g}", remedy="give the critical batch as tokens"
            )
        )
    estimate = Estimate(value, value / law["spread"], value * law["spread"], 0.9, f"{name} law")
    return CriticalBatch(tokens=estimate, given_as=law["definition"], given_tokens=value * share, source=law["source"])


@dataclass(frozen=True, kw_only=True)
class LossLaw:
    """L(N, D) = floor + parameter_scale / N^parameter_power + token_scale / D^token_power."""

    name: str
    floor: float
    parameter_scale: float
    parameter_power: float
    token_scale: float
    token_power: float
    source: str

    def loss(self, parameters: float, tokens: float) -> float:
        by_size = self.parameter_scale / parameters**self.parameter_power
        result: float = self.floor + by_size + self.token_scale / tokens**self.token_power
        return result

    def optimal(self, flop: float) -> tuple[float, float]:
        """(N, D) of least loss with 6 N D = flop: N = G (C/6)^(b/(a+b)), G = (aA/bB)^(1/(a+b)) (Hoffmann et al. 2022,
        equation 4)."""
        a, b = self.parameter_power, self.token_power
        ratio = (a * self.parameter_scale / (b * self.token_scale)) ** (1.0 / (a + b))
        parameters = ratio * (flop / 6.0) ** (b / (a + b))
        return parameters, flop / (6.0 * parameters)


@cache
def loss_laws() -> Mapping[str, LossLaw]:
    """Published loss laws by name."""
    entries = tomllib.loads(training_table("loss_laws.toml"))
    return {name: LossLaw(name=name, **values) for name, values in entries.items()}


def loss_law(name: str) -> LossLaw:
    if plain_name(name) not in loss_laws():
        raise unknown_name("loss law", name, loss_laws())
    return loss_laws()[plain_name(name)]


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """`device_hours` is the mean time between failures of one accelerator with its share of the node; None of a field
    switches that factor off."""

    device_hours: float | None = DEVICE_HOURS
    checkpoint_seconds: float | None = None  # None: from the size of the model and the storage
    storage_gb_s: float = 1.0  # GB/s a node writes to storage (Llama 3: 2 TB/s for 2,048 nodes)
    copy_gb_s: float = 10.0  # GB/s from an accelerator to its host; 0 writes while training stands still
    restart_seconds: float = 600.0
    step_spread: float | None = 0.005  # standard deviation of one accelerator's step, relative

    def __post_init__(self) -> None:
        sizes = (self.device_hours, self.checkpoint_seconds, self.storage_gb_s, self.copy_gb_s, self.restart_seconds,
                 self.step_spread)  # fmt: skip
        if any(value is not None and value < 0 for value in sizes) or self.device_hours == 0:
            raise InputError(Fault("times between failures, checkpoints and restarts cannot be negative or zero"))


def read_reliability(reliability: str | bool | Mapping[str, Any] | Reliability | None) -> Reliability | None:
    """None: no losses; "default" or True: the published rates; a mapping: by field, `false` switching one off."""
    if reliability is None or reliability is False or isinstance(reliability, Reliability):
        return reliability or None
    if reliability is True or reliability == "default":
        return Reliability()
    names = [entry.name for entry in fields(Reliability)]
    if not isinstance(reliability, Mapping):
        hint = f"give true, or a table of {', '.join(names)}"
        raise InputError(Fault("not a reliability", "reliability", repr(reliability), hint))
    hint = f"known: {', '.join(names)}"
    faults = [Fault("unknown field of reliability", key, remedy=hint) for key in reliability if key not in names]
    if faults:
        raise InputError(faults)
    values: dict[str, Any] = {key: None if value is False else float(value) for key, value in reliability.items()}
    return Reliability(**values)


@dataclass(frozen=True)
class Goodput(JsonRecord):
    """Shares of the time that remain after failures, checkpoints and stragglers: their product is what counts."""

    failures: float = 1.0
    checkpoints: float = 1.0
    stragglers: float = 1.0
    checkpoint_interval: float | None = None

    JSON = "factor failures checkpoints stragglers checkpoint_interval_seconds=checkpoint_interval"

    @property
    def factor(self) -> float:
        return self.failures * self.checkpoints * self.stragglers


def checkpoint_times(gpus: int, reliability: Reliability, states: float, node: int) -> tuple[float, float]:
    """Seconds that training stands still for a checkpoint of `states` bytes, and seconds until it is written.

    An asynchronous checkpoint stands still for the copy to the hosts only; storage takes it from there.
    """
    if reliability.checkpoint_seconds is not None:
        return reliability.checkpoint_seconds, reliability.checkpoint_seconds
    nodes = max(gpus / node, 1.0)
    written = states / (max(reliability.storage_gb_s, 1e-6) * 1e9 * nodes)
    copied = states / (reliability.copy_gb_s * 1e9 * gpus) if reliability.copy_gb_s > 0 else written
    return max(copied, 1.0), max(written, 1.0)


def goodput(gpus: int, reliability: Reliability | None, *, states: float = 0.0, node: int = 8) -> Goodput:
    """With failures every M = MTBF/P seconds, a checkpoint that costs C and is safe after W every t >= W: lost C/(t+C),
    and (t/2 + W + restart)/M.  `states` is the size of a checkpoint in bytes."""
    if reliability is None:
        return Goodput()
    slow = expected_slowest(gpus, reliability.step_spread)
    if reliability.device_hours is None:
        return Goodput(stragglers=1.0 / slow)
    mean = reliability.device_hours * 3600.0 / gpus
    stands, written = checkpoint_times(gpus, reliability, states, node)
    interval = max(young_daly(stands, mean), written)
    writing = stands / (interval + stands)
    behind = written if written > stands else 0.0  # what an asynchronous checkpoint is behind
    lost = min((interval / 2.0 + behind + reliability.restart_seconds) / mean, 1.0)
    return Goodput(max(1.0 - lost, 0.0), 1.0 - writing, 1.0 / slow, interval)


def young_daly(checkpoint_seconds: float, mean_seconds: float) -> float:
    """The interval that loses least: sqrt(2 C M) - C for C < M/2 (Young 1974; Daly 2006), else M."""
    if checkpoint_seconds < mean_seconds / 2.0:
        return math.sqrt(2.0 * checkpoint_seconds * mean_seconds) - checkpoint_seconds
    return mean_seconds


def expected_slowest(gpus: int, spread: float | None) -> float:
    """Mean of the slowest of P normal steps over the mean: 1 + spread * E[max], Blom's approximation of E[max]
    (within 0.7 % for P from 8)."""
    if not spread or gpus < 2:
        return 1.0
    from scipy.special import ndtri

    return 1.0 + spread * float(ndtri((gpus - 0.375) / (gpus + 0.25)))
