"""Which laws the data cannot tell apart, and the K that would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scalecurve.fitting.positive import Array
from scalecurve.fitting.scoring import Solution

CLEAR = 4.0  # a difference of predictive log density below this is small whatever its standard error
PARTING = 2.0  # in standard errors of the difference of two predictions
FARTHEST = 64


def tied_with_best(densities: Mapping[str, Array]) -> tuple[str, ...]:
    """Laws whose predictive density falls short of the best by less than 4, or by less than 2 standard errors.

    Source of the rule: Sivula, Magnusson, Vehtari (2020), uncertainty of leave-one-out comparisons.
    """
    ranked = sorted(densities, key=lambda name: -float(densities[name].sum()))
    best = densities[ranked[0]]
    return tuple(name for name in ranked if _close(best - densities[name]))


def _close(difference: Array) -> bool:
    total = float(difference.sum())
    error = float(np.sqrt(len(difference) * np.var(difference)))
    return total < CLEAR or total < 2 * error


def parting_k(solutions: Sequence[Solution], draws: Sequence[Array], largest: float) -> int | None:
    """The K beyond the data that tells the first law from each other one; None where none within 64 times would.

    The smallest doubling where the predictions differ by 2 standard errors, or else the one where they differ most.
    """
    ahead: Array = np.asarray(largest * 2.0 ** np.arange(1, int(np.log2(FARTHEST)) + 1), dtype=np.float64)
    apart = separation(solutions, draws, ahead)
    if apart.max() >= PARTING:
        return int(ahead[np.argmax(apart >= PARTING)])
    return int(ahead[np.argmax(apart)]) if apart.max() >= 1.0 else None


def separation(solutions: Sequence[Solution], draws: Sequence[Array], at: Array) -> Array:
    """How many standard errors (noise of a run, doubt of both fits) part the first law from its nearest rival."""
    noise = max(solution.scale for solution in solutions)
    doubts = [_doubt(solution, own, at) for solution, own in zip(solutions, draws, strict=True)]
    first = solutions[0].log_time(at)
    gaps = [
        np.abs(first - rival.log_time(at)) / np.sqrt(noise**2 + doubts[0] ** 2 + doubt**2)
        for rival, doubt in zip(solutions[1:], doubts[1:], strict=True)
    ]
    return np.asarray(np.min(gaps, axis=0))


def _doubt(solution: Solution, draws: Array, ahead: Array) -> Array:
    drawn = np.log(draws @ solution.model.design(ahead).T)
    return np.asarray((np.percentile(drawn, 84, axis=0) - np.percentile(drawn, 16, axis=0)) / 2)
