"""Where the curve bends, by a named rule, and how sure that is.

There is no single bend: on the same curve the rules below answer from K = 10 to K = 226, so the rule is printed with
the number.  Kneedle is not offered: its answer moves with the measured range.

  efficiency  the first K with E below the threshold
  marginal    the first K whose last step gained less than `threshold` speedup per added worker
  knee        the K with the largest S*E = S^2/K, where d ln S / d ln K passes 1/2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.analysis.curve import LARGEST_LOG, Curve
from scalecurve.errors import Fault, InputError
from scalecurve.study.samples import FloatArray, IntArray

DRAWS = 20_000
NEIGHBOUR_CHANCE = 0.05
NOT_REACHED = -1
RULES = ("efficiency", "marginal", "knee")

IndexArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Bend:
    """The K where a rule says the curve bends.

    `probability` is the share of curves drawn from the measured means and spreads that bend at this K, None where a K
    has a single sample; `neighbours` are the other K with a chance of at least 5 %, and `beyond` is the chance that
    the curve does not bend within the measured range.
    """

    k: int
    rule: str
    threshold: float | None
    probability: float | None
    neighbours: tuple[tuple[int, float], ...] = ()
    beyond: float | None = None

    def to_dict(self) -> dict[str, Any]:
        neighbours = [{"k": k, "probability": chance} for k, chance in self.neighbours]
        return {**vars(self), "neighbours": neighbours}


def _bends(rule: str, k: IntArray, speedups: FloatArray, threshold: float) -> IndexArray:
    """The position of the bend of each row of speedups; -1 where the measured range does not reach it."""
    if rule == "knee":
        best = np.argmax(speedups**2 / k, axis=1)
        return np.where(best == len(k) - 1, NOT_REACHED, best)  # at the last K the curve may still be rising
    if rule == "marginal":
        hits = np.zeros(speedups.shape, dtype=bool)
        hits[:, 1:] = np.diff(speedups, axis=1) / np.diff(k) < threshold
    else:
        hits = speedups / k < threshold
    return np.where(hits.any(axis=1), hits.argmax(axis=1), NOT_REACHED)


def find_bend(curve: Curve, rule: str, threshold: float, rng: np.random.Generator) -> tuple[Bend | None, float | None]:
    """The bend by a rule, None where the measured range does not reach it, and the probability that it does not."""
    if rule not in RULES:
        raise InputError(Fault("unknown rule for the bend", value=rule, remedy=f"use one of {', '.join(RULES)}"))
    speedup = curve.k * curve.efficiency
    place = int(_bends(rule, curve.k, speedup[np.newaxis, :], threshold)[0])
    limit = None if rule == "knee" else threshold
    if np.any(curve.degrees < 1):
        return None if place == NOT_REACHED else Bend(int(curve.k[place]), rule, limit, None), None
    # Curves the data could have come from: Student-t errors of each log mean; all points share the baseline's.
    errors = rng.standard_t(curve.degrees, size=(DRAWS, len(curve.k))) * np.nan_to_num(curve.log_se)
    draws = speedup * np.exp(np.clip(errors - errors[:, [curve.base]], -LARGEST_LOG, LARGEST_LOG))
    bends = _bends(rule, curve.k, draws, threshold)
    beyond, *chances = (np.bincount(bends + 1, minlength=len(curve.k) + 1) / DRAWS).tolist()
    if place == NOT_REACHED:
        return None, beyond
    neighbours = tuple(
        (int(k), chance)
        for i, (k, chance) in enumerate(zip(curve.k, chances, strict=True))
        if i != place and chance >= NEIGHBOUR_CHANCE
    )
    return Bend(int(curve.k[place]), rule, limit, chances[place], neighbours, beyond), beyond
