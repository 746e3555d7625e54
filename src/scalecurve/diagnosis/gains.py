"""Where T(K) shows no loss at all: a cause can cost no more than what is lost.

Shapes of a loss cannot rise above E = 1, and their noise is bounded, so wild or superlinear times would go to whichever
cause is loosest.  The chance that any cause is at work is therefore held to the chance that E < 1, by Welch's t on
log E at each K.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from scalecurve.analysis.comparison import log_ratio
from scalecurve.analysis.summary import summarise
from scalecurve.analysis.table import efficiencies
from scalecurve.diagnosis.causes import CAUSES, NONE
from scalecurve.diagnosis.from_times import ShapeVerdict
from scalecurve.findings import Finding, warning
from scalecurve.study import Study

UNREPEATED_ERROR = 0.02  # of log E, where runs were not repeated
SURELY_GAINED = 0.05


@dataclass(frozen=True)
class Gain:
    """E at one K and the chance that it is in truth below 1."""

    k: int
    efficiency: float
    chance_of_loss: float

    @property
    def sure(self) -> bool:
        return self.efficiency > 1 and self.chance_of_loss < SURELY_GAINED


def gains(study: Study) -> tuple[Gain, ...]:
    """For every K beyond the baseline."""
    from scipy.special import ndtr, stdtr

    summary = summarise(study.samples)
    found = []
    for k, value in zip(summary.k.tolist(), efficiencies(study, summary).tolist(), strict=True):
        if k == study.baseline_k:
            continue
        ratio = log_ratio((summary, k, 1.0), (summary, study.baseline_k, -1.0))
        tested = ratio.degrees >= 1
        error = max(ratio.error, 1e-9) if tested else UNREPEATED_ERROR
        below = -math.log(value) / error
        found.append(Gain(k, value, float(stdtr(ratio.degrees, below) if tested else ndtr(below))))
    return tuple(found)


def held_to_the_loss(verdict: ShapeVerdict, found: tuple[Gain, ...]) -> ShapeVerdict:
    """No share at a K without a loss, and no cause more likely than a loss at the largest K is."""
    without = {gain.k for gain in found if gain.efficiency > 1}
    by_k = {k: _nothing() if k in without else dict(shares) for k, shares in verdict.by_k.items()}
    chances = _capped(verdict.chances, found[-1].chance_of_loss)
    return replace(verdict, chances=chances, by_k=by_k, shares=by_k[found[-1].k])


def _nothing() -> dict[str, float]:
    return {**dict.fromkeys(CAUSES, 0.0), NONE: 1.0}


def _capped(chances: Mapping[str, float], most: float) -> dict[str, float]:
    claimed = 1.0 - chances[NONE]
    factor = min(1.0, most / claimed) if claimed > 0 else 1.0
    scaled = {name: value * factor for name, value in chances.items() if name != NONE}
    return {**scaled, NONE: 1.0 - sum(scaled.values())}


def gain_findings(found: tuple[Gain, ...]) -> Iterable[Finding]:
    above = [gain for gain in found if gain.sure or (gain is found[-1] and gain.efficiency > 1 + UNREPEATED_ERROR)]
    if above:
        best = max(above, key=lambda gain: gain.efficiency)
        yield warning(
            "superlinear",
            f"E is above 1 at K = {', '.join(str(gain.k) for gain in above)} (at most {best.efficiency:.4g}): there is "
            "no loss to explain there",
            remedy="check the baseline, caches and memory: a slow K0 makes every other K look good",
            efficiencies={str(gain.k): gain.efficiency for gain in above},
        )
