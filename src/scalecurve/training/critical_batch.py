"""The critical batch: what a larger batch buys, and what is charged beyond it.

McCandlish et al. 2018:  steps = S_min (1 + B_c / B),  tokens = E_min (1 + B / B_c),  B_c = E_min / S_min.
Two definitions are in use: `double` is this B_c (twice the least data at B = B_c); `overhead` is the batch with 20 %
more steps than linear scaling, 0.2 B_c on the same hyperbola.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.training.presets import data_text, plain, unknown
from scalecurve.training.tokens import count
from scalecurve.units import format_count

OVERHEAD = 0.2
DEFINITIONS = ("double", "overhead")  # a user may give; some laws speak of the batch found `optimal`


@dataclass(frozen=True, kw_only=True)
class CriticalBatch:
    """B_c in tokens of the `double` definition, as a range, with where it came from and as what it was stated:
    `given_tokens` in the definition `given_as`."""

    tokens: Estimate
    given_as: str
    given_tokens: float
    source: str

    @property
    def equivalent(self) -> str:
        """` (2x-data equivalent of 8.389M at 20 % overhead)`; empty where it was stated so."""
        if self.given_as != "overhead":
            return ""
        return f" (2x-data equivalent of {format_count(self.given_tokens)} at {100 * OVERHEAD:.0f} % overhead)"

    def steps_factor(self, batch_tokens: float) -> float:
        """Steps / S_min = 1 + B_c/B."""
        return 1.0 + self.tokens.value / batch_tokens

    def tokens_factor(self, batch_tokens: float) -> float:
        """Tokens / E_min = 1 + B/B_c: what each effective token costs."""
        return 1.0 + batch_tokens / self.tokens.value

    def to_dict(self) -> dict[str, Any]:
        return {
            "tokens": self.tokens.to_dict(), "definition": "double", "given_as": self.given_as,
            "given_tokens": self.given_tokens, "source": self.source,
        }  # fmt: skip


@cache
def laws() -> Mapping[str, dict[str, Any]]:
    return tomllib.loads(data_text("critical_batch.toml"))


def read_critical_batch(
    given: float | str | None,
    *,
    definition: str = "double",
    tokens: float | None = None,
    loss: float | None = None,
    compute: float | None = None,
) -> CriticalBatch | None:
    """Tokens in the named definition, or a preset's name evaluated at this job's tokens, loss or compute."""
    if given is None:
        return None
    if definition not in DEFINITIONS:
        raise InputError(
            Fault("unknown definition of the critical batch", seen=definition, remedy="double or overhead")
        )
    if isinstance(given, str) and plain(given) in laws():
        return _from_law(plain(given), {"tokens": tokens, "loss": loss, "compute": compute, "none": 1.0})
    if isinstance(given, str) and not given[:1].isdigit():
        raise unknown("critical batch", given, laws())
    stated = count(given, "critical-batch")
    if stated <= 0:
        raise InputError(Fault("the critical batch is above 0 tokens", seen=str(given)))
    value = stated / (OVERHEAD if definition == "overhead" else 1.0)
    estimate = Estimate(value, method="given")
    return CriticalBatch(tokens=estimate, given_as=definition, given_tokens=stated, source="given")


def _from_law(name: str, known: Mapping[str, float | None]) -> CriticalBatch:
    law = laws()[name]
    variable = known[law["variable"]]
    if variable is None:
        hint = {"tokens": "--tokens", "loss": "--loss", "compute": "--tokens"}[law["variable"]]
        raise InputError(Fault(f"the {name} law needs the run's {law['variable']}", seen=name, remedy=f"give {hint}"))
    if not (math.isfinite(variable) and variable > 0):
        raise InputError(Fault(f"the {name} law needs a {law['variable']} above 0", law["variable"], f"{variable:g}"))
    share = OVERHEAD if law["definition"] == "overhead" else 1.0
    value = _power(law["scale"], variable, law["power"]) / share
    if not (math.isfinite(value) and value > 0):
        raise InputError(Fault(f"the {name} law gives no batch here", law["variable"], f"{variable:g}"))
    spread = law["spread"]
    estimate = Estimate(value, value / spread, value * spread, 0.9, f"{name} law")
    return CriticalBatch(tokens=estimate, given_as=law["definition"], given_tokens=value * share, source=law["source"])


def _power(scale: float, variable: float, power: float) -> float:
    """Scale x variable^power; infinite where that is beyond floating point."""
    try:
        return float(scale * variable**power)
    except OverflowError:
        return math.inf
