"""What the samples of each K say by themselves: count, mean, spread, and Student's interval of the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalecurve.estimate import Estimate
from scalecurve.study.samples import COUNTABLE_K, FloatArray, IntArray, Samples

STUDENT = "Student's t on the mean"


@dataclass(frozen=True, eq=False)
class Summary:
    """One entry per distinct K, rising; `std` is NaN where n = 1 and becomes None at the edge."""

    k: IntArray
    n: IntArray
    mean: FloatArray
    std: FloatArray

    @property
    def log_se(self) -> FloatArray:
        """Standard error of the logarithm of the mean, by the delta method: std/(mean sqrt(n))."""
        relative: FloatArray = self.std / (self.mean * np.sqrt(self.n))
        return relative

    @property
    def degrees(self) -> FloatArray:
        return (self.n - 1).astype(np.float64)

    def index(self, k: int) -> int:
        return int(np.searchsorted(self.k, k))


def summarise(samples: Samples) -> Summary:
    """Counts, means and standard deviations (n - 1) of each K, in two passes so that small spreads survive."""
    distinct = samples.distinct_k
    place = _place_of(samples.k, distinct)
    n = np.bincount(place)
    # A mean pulled out by the grand mean keeps equal values equal: a sum of n floats divided by n need not be one.
    mean = np.bincount(place, weights=samples.values) / n
    deviation = mean[place]
    np.subtract(samples.values, deviation, out=deviation)  # in place: ten million samples should stay small
    mean = mean + np.bincount(place, weights=deviation) / n
    np.multiply(deviation, deviation, out=deviation)
    squares = np.bincount(place, weights=deviation)
    with np.errstate(divide="ignore", invalid="ignore"):
        std = np.sqrt(np.where(n > 1, squares / (n - 1), np.nan))
    return Summary(distinct, n.astype(np.int64), mean, std)


def _place_of(k: IntArray, distinct: IntArray) -> npt.NDArray[np.intp]:
    """The index of each sample's K among the distinct ones, by a table where K is small enough."""
    if int(distinct[-1]) > COUNTABLE_K:
        return np.searchsorted(distinct, k)
    table = np.zeros(int(distinct[-1]) + 1, dtype=np.intp)
    table[distinct] = np.arange(len(distinct))
    return table[k]


def mean_estimates(summary: Summary, level: float) -> list[Estimate]:
    """Each mean with Student's interval; without an interval where n = 1.

    1.96 std/sqrt(n) would cover about 88 % instead of 95 % at n = 5: the spread itself is estimated.
    """
    from scipy.special import stdtrit

    quantile = stdtrit(np.maximum(summary.degrees, 1.0), 0.5 + level / 2.0)
    half = quantile * summary.std / np.sqrt(summary.n)
    return [
        Estimate(m, m - h, m + h, level, STUDENT) if n > 1 else Estimate(m, method="single sample")
        for m, h, n in zip(summary.mean.tolist(), half.tolist(), summary.n.tolist(), strict=True)
    ]
