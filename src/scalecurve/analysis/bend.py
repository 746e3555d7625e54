"""Where the curve bends, by a named rule, and how sure that is.

There is no single bend: on one and the same curve the rules below answer from K = 10 to K = 226.  So the rule is
printed with the number.  Kneedle is not offered: its answer moves with the range that was measured.

  efficiency  the first K with E below the threshold
  marginal    the first K whose last step gained less than `threshold` speedup per added worker
  knee        the K with the largest S*E = S^2/K, where d ln S / d ln K passes 1/2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError
from scalecurve.study.samples import FloatArray, IntArray

DRAWS = 20_000
NEIGHBOUR_CHANCE = 0.05
NOT_REACHED = -1
LARGEST_LOG = 300.0  # two samples give Cauchy tails; exp must not overflow on them

IndexArray = npt.NDArray[np.int64]
Rule = Callable[[IntArray, FloatArray, float], IndexArray]


@dataclass(frozen=True)
class Bend:
    """The K where a rule says the curve bends.

    `probability` is the share of curves drawn from the measured means and spreads that bend at this very K, None
    where a K has a single sample; `neighbours` are the other K with a chance of at least 5 %, and `beyond` the chance
    that the curve does not bend within the measured range at all.
    """

    k: int
    rule: str
    threshold: float | None
    probability: float | None
    neighbours: tuple[tuple[int, float], ...] = ()
    beyond: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "rule": self.rule,
            "threshold": self.threshold,
            "probability": self.probability,
            "neighbours": [{"k": k, "probability": chance} for k, chance in self.neighbours],
            "beyond": self.beyond,
        }


def _efficiency_rule(k: IntArray, speedups: FloatArray, threshold: float) -> IndexArray:
    return _first(speedups / k < threshold)


def _marginal_rule(k: IntArray, speedups: FloatArray, threshold: float) -> IndexArray:
    gains = np.diff(speedups, axis=1) / np.diff(k)
    missed = np.zeros((len(speedups), 1), dtype=bool)
    return _first(np.hstack([missed, gains < threshold]))


def _knee_rule(k: IntArray, speedups: FloatArray, threshold: float) -> IndexArray:
    """The last K measured may be on the way up still: a maximum there is not a knee that was seen."""
    best = np.argmax(speedups**2 / k, axis=1)
    return np.where(best == len(k) - 1, NOT_REACHED, best)


def _first(hits: npt.NDArray[np.bool_]) -> IndexArray:
    return np.where(hits.any(axis=1), hits.argmax(axis=1), NOT_REACHED)


RULES: dict[str, Rule] = {"efficiency": _efficiency_rule, "marginal": _marginal_rule, "knee": _knee_rule}


@dataclass(frozen=True, eq=False)
class Curve:
    """Speedups with the uncertainty of their logarithms, baseline apart because all points share it."""

    k: IntArray
    speedup: FloatArray
    log_se: FloatArray
    degrees: FloatArray
    baseline: int


def find_bend(curve: Curve, rule: str, threshold: float, rng: np.random.Generator) -> Bend | None:
    """The bend by a rule; None where the measured range does not reach it."""
    if rule not in RULES:
        raise InputError(Fault("unknown rule for the bend", seen=rule, remedy=f"one of {', '.join(RULES)}"))
    place = int(RULES[rule](curve.k, curve.speedup[np.newaxis, :], threshold)[0])
    if place == NOT_REACHED:
        return None
    used = None if rule == "knee" else threshold
    if np.any(curve.degrees < 1):
        return Bend(int(curve.k[place]), rule, used, None)
    drawn = RULES[rule](curve.k, _draw(curve, rng), threshold)
    chances = np.bincount(drawn + 1, minlength=len(curve.k) + 1) / DRAWS
    return _with_chances(curve, place, rule, used, chances)


def _with_chances(curve: Curve, place: int, rule: str, threshold: float | None, chances: FloatArray) -> Bend:
    neighbours = tuple(
        (int(k), float(chance))
        for i, (k, chance) in enumerate(zip(curve.k, chances[1:], strict=True))
        if i != place and chance >= NEIGHBOUR_CHANCE
    )
    return Bend(int(curve.k[place]), rule, threshold, float(chances[place + 1]), neighbours, float(chances[0]))


def _draw(curve: Curve, rng: np.random.Generator) -> FloatArray:
    """Curves the data could have come from: each log mean moved by its own Student-t error, the baseline's shared."""
    errors = rng.standard_t(curve.degrees, size=(DRAWS, len(curve.k))) * curve.log_se
    shared = errors[:, [curve.baseline]]
    moved: FloatArray = curve.speedup * np.exp(np.clip(errors - shared, -LARGEST_LOG, LARGEST_LOG))
    return moved
