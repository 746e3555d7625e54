"""Slow runs among the repeats of a K: noise that comes and goes, as a transient straggler makes it.

The median of each K is not moved by a run that is slow now and then; the mean and the band are.  So slow runs are
found against the spread of all K together, and the curve is read without them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.diagnosis.posterior import Moments, Observed
from scalecurve.findings import Finding, warning
from scalecurve.study.samples import FloatArray

SLOW_SCORE = 4.0
LEAST_RELATIVE = 0.02
LEAST_REPEATS = 4


@dataclass(frozen=True)
class SlowRuns:
    """Samples far above the rest of their K: where, how many, and how much wider they make the band."""

    k: tuple[int, ...]
    count: int
    of: int
    worst: float
    spread_with: float
    spread_without: float

    @property
    def findings(self) -> tuple[Finding, ...]:
        if not self.count:
            return ()
        return (
            warning(
                "straggler-noise",
                f"{self.count} of {self.of} runs are slow now and then (up to {self.worst:.0%} above the median of "
                f"their K): the spread is {self.spread_with:.1%} with them and {self.spread_without:.1%} without. A "
                "band this wide on a curve whose medians stay smooth is noise of stragglers, not the bend's cause",
                remedy="look for neighbours, throttling or background jobs; more repeats narrow the band, they do not "
                "move the bend",
                k=list(self.k),
                count=self.count,
                worst=self.worst,
                spread_with=self.spread_with,
                spread_without=self.spread_without,
            ),
        )


def observe(times: dict[int, FloatArray]) -> tuple[Observed, SlowRuns]:
    """The samples of each K as the posterior needs them, and the slow runs set apart."""
    logs = {k: np.log(values) for k, values in times.items()}
    limit = _limit(logs)
    kept = {k: _not_slow(values, limit) for k, values in logs.items()}
    slow = {k: values.max() - np.median(values) for k, values in logs.items() if len(kept[k]) < len(values)}
    count = sum(len(logs[k]) - len(kept[k]) for k in logs)
    seen = Observed(np.array(list(logs), dtype=np.float64), _moments(kept), _moments(logs), count)
    worst = float(np.expm1(max(slow.values()))) if slow else 0.0
    total = sum(len(values) for values in logs.values())
    return seen, SlowRuns(tuple(slow), count, total, worst, _pooled(logs), _pooled(kept))


def _limit(logs: dict[int, FloatArray]) -> float:
    """How far above the median a run may lie: some robust standard deviations of all K together.

    The median absolute deviation of n samples from their own median is small for few of them; 1.4826 holds for many,
    so each K's deviations are widened by sqrt(n/(n-1)).
    """
    apart = [
        np.abs(v - np.median(v)) * np.sqrt(len(v) / (len(v) - 1)) for v in logs.values() if len(v) >= LEAST_REPEATS
    ]
    if not apart:
        return float("inf")
    scale = 1.4826 * float(np.median(np.concatenate(apart)))
    return SLOW_SCORE * max(scale, LEAST_RELATIVE / SLOW_SCORE)


def _not_slow(values: FloatArray, limit: float) -> FloatArray:
    kept: FloatArray = values[values <= np.median(values) + limit]
    return kept


def _moments(logs: dict[int, FloatArray]) -> Moments:
    n = np.array([len(values) for values in logs.values()], dtype=np.float64)
    mean = np.array([values.mean() for values in logs.values()])
    squares = np.array([((values - values.mean()) ** 2).sum() for values in logs.values()])
    return Moments(n, mean, squares)


def _pooled(logs: dict[int, FloatArray]) -> float:
    moments = _moments(logs)
    freedom = float(np.sum(moments.n - 1))
    return float(np.sqrt(moments.squares.sum() / freedom)) if freedom > 0 else 0.0
