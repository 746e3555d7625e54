"""Percentiles with intervals that assume no distribution, and none where the samples are too few.

The interval of percentile q from n samples runs between two order statistics: the l-th and u-th smallest with
P(Binomial(n, q) < l) <= (1-level)/2 and P(Binomial(n, q) >= u) <= (1-level)/2.  It exists only from some n on: 6 for
p50, 36 for p90, 368 for p99, 3688 for p99.9 at 95 %.  Below, the answer is "not enough samples" and not a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.estimate import Estimate
from scalecurve.study.latency_record import Histogram, middles

LEVEL = 0.95
USUAL = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)


@dataclass(frozen=True, kw_only=True)
class Percentile:
    """A percentile, or None with the number of samples it would need."""

    share: float
    estimate: Estimate | None
    needed: int

    @property
    def name(self) -> str:
        return percentile_name(self.share)

    def to_dict(self) -> dict[str, Any]:
        return {
            "percentile": self.name,
            "share": self.share,
            "seconds": None if self.estimate is None else self.estimate.to_dict(),
            "samples_needed": self.needed,
        }


def percentile_name(share: float) -> str:
    return f"p{100 * share:.10g}"


def samples_needed(share: float, level: float = LEVEL) -> int:
    """The least n for which a two-sided interval exists: both q^n and (1-q)^n at most (1-level)/2."""
    tail = math.log((1 - level) / 2)
    return max(math.ceil(tail / math.log(share)), math.ceil(tail / math.log1p(-share)))


def percentiles(histogram: Histogram, shares: Sequence[float] = USUAL, level: float = LEVEL) -> tuple[Percentile, ...]:
    """Percentiles of a histogram, each with its order-statistic interval."""
    cumulative = np.cumsum(histogram.counts)
    return tuple(_percentile(histogram, cumulative, share, level) for share in shares)


def _percentile(histogram: Histogram, cumulative: Any, share: float, level: float) -> Percentile:
    from scipy.stats import binom

    n, needed = int(cumulative[-1]), samples_needed(share, level)
    if n < needed:
        return Percentile(share=share, estimate=None, needed=needed)
    tail = (1 - level) / 2
    low = max(1, int(binom.ppf(tail, n, share)))
    high = min(n, int(binom.ppf(1 - tail, n, share)) + 1)
    middle = max(1, math.ceil(share * n - 1e-9))
    value, bottom, top = (_order_statistic(histogram, cumulative, rank) for rank in (middle, low, high))
    estimate = Estimate(value, bottom, top, level, "order statistics, no distribution assumed")
    return Percentile(share=share, estimate=estimate, needed=needed)


def _order_statistic(histogram: Histogram, cumulative: Any, rank: int) -> float:
    """The rank-th smallest latency, within 0.05 %; never outside what was seen."""
    place = int(np.searchsorted(cumulative, rank))
    value = float(middles(np.array([place]))[0])
    return min(max(value, histogram.least), histogram.most)


def share_above(histogram: Histogram, seconds: float) -> float:
    """The share of latencies above a limit."""
    values, counts = histogram.nonzero()
    return float(counts[values > seconds].sum()) / histogram.n
