"""Percentiles with intervals that assume no distribution, none where samples are too few, and omitted requests.

The interval of percentile q from n samples runs between two order statistics: the l-th and u-th smallest with
P(Binomial(n, q) < l) <= (1-level)/2 and P(Binomial(n, q) >= u) <= (1-level)/2.  It exists only from some n on: 6 for
p50, 36 for p90, 368 for p99, 3688 for p99.9 at 95 %.  Below, the answer is "not enough samples" and not a number.

Coordinated omission: a load generator that waits during a stall records one slow request instead of hundreds.  Where
the intended rate is known, a latency above the intended interval I stands for all requests that should have been sent
while it lasted: v, v - I, v - 2I ... (G. Tene's correction, as in HdrHistogram).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, warning
from scalecurve.study.latency_record import LOWEST, Histogram, LatencyRecord, middles
from scalecurve.units import format_seconds

LEVEL = 0.95
USUAL = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)
MAX_ADDED = 200_000_000
MISSING = 0.005  # share of intended requests that may be absent without suspicion


@dataclass(frozen=True, kw_only=True)
class Percentile:
    """A percentile in seconds, or None with the number of samples it would need.

    Also None where it is `below` the step of the clock, in seconds: then no number can be told.
    """

    share: float
    estimate: Estimate | None
    needed: int
    below: float | None = None

    @property
    def name(self) -> str:
        return percentile_name(self.share)

    def to_dict(self) -> dict[str, Any]:
        return {
            "percentile": self.name,
            "share": self.share,
            "seconds": None if self.estimate is None else self.estimate.to_dict(),
            "samples_needed": self.needed,
            "below_resolution": self.below,
        }

    def __str__(self) -> str:
        if self.below is not None:
            return f"below {format_seconds(self.below)}" if self.below > 0 else "below the clock's resolution"
        return "not enough samples" if self.estimate is None else format_seconds(self.estimate.value)


def percentile_name(share: float) -> str:
    """`p99.9` for 0.999."""
    return f"p{100 * share:.10g}"


def samples_needed(share: float, level: float = LEVEL) -> int:
    """The least n for which a two-sided interval exists: both q^n and (1-q)^n at most (1-level)/2."""
    tail = math.log((1 - level) / 2)
    return max(math.ceil(tail / math.log(share)), math.ceil(tail / math.log1p(-share)))


def percentiles(histogram: Histogram, shares: Sequence[float] = USUAL, level: float = LEVEL) -> tuple[Percentile, ...]:
    """Percentiles of a histogram with order-statistic intervals; each value is within 0.05 %."""
    from scipy.stats import binom

    cumulative = np.cumsum(histogram.counts)
    n, tail, results = int(cumulative[-1]), (1 - level) / 2, []
    for share in shares:
        needed, estimate, below = samples_needed(share, level), None, None
        if n >= needed:
            middle = max(1, math.ceil(share * n - 1e-9))
            low = max(1, int(binom.ppf(tail, n, share)))
            high = min(n, int(binom.ppf(1 - tail, n, share)) + 1)
            values = middles(np.searchsorted(cumulative, (middle, low, high)))
            value, bottom, top = np.clip(values, histogram.least, histogram.most).tolist()
            if value < histogram.resolution:
                below = histogram.resolution
            else:
                bottom = 0.0 if bottom < histogram.resolution else bottom
                estimate = Estimate(value, bottom, top, level, "order statistics, no distribution assumed")
        results.append(Percentile(share=share, estimate=estimate, needed=needed, below=below))
    return tuple(results)


def corrected(histogram: Histogram, interval: float) -> Histogram:
    """The histogram as if every intended request had been timed from its intended start."""
    if not interval > 0:
        raise InputError(Fault("the intended interval is a positive time", value=f"{interval:g}"))
    values, counts = histogram.nonzero()
    late = values > interval
    if float((values[late] / interval).sum()) > MAX_ADDED:
        raise InputError(Fault("the interval is too short for these latencies", value=f"{interval:g} s"))
    added_values, added_counts = [np.array([])], [np.array([], np.int64)]
    for value, count in zip(values[late], counts[late], strict=True):
        missed = value - interval * np.arange(1, int(value / interval) + 1)
        missed = missed[missed >= interval]
        added_values.append(missed)
        added_counts.append(np.full(len(missed), count, np.int64))
    return histogram + Histogram.from_counts(np.concatenate(added_values), np.concatenate(added_counts))


def omits(record: LatencyRecord) -> bool:
    """Whether intended requests are missing; True for a closed loop whose duration is unknown."""
    if record.histogram is None or not record.intended_rate or record.open_loop:
        return False
    if not record.seconds:
        return True
    few = record.histogram.n < (1 - MISSING) * record.intended_rate * record.seconds
    return few and record.histogram.most > 3 / record.intended_rate


def omission_findings(record: LatencyRecord) -> tuple[Finding, ...]:
    """The evidence for coordinated omission, in words."""
    if not omits(record) or record.histogram is None or not record.intended_rate or not record.seconds:
        return ()
    intended = record.intended_rate * record.seconds
    missing = 1 - record.histogram.n / intended
    text = (
        f"{missing:.1%} of the {intended:.0f} intended requests are missing and the longest wait is "
        f"{record.histogram.most * record.intended_rate:.0f} intended intervals: the generator waited with the server"
    )
    hint = "read the corrected percentiles, or record from intended start times"
    return (warning("coordinated-omission", text, remedy=hint, missing=missing, intended=intended),)


def clock_findings(record: LatencyRecord) -> tuple[Finding, ...]:
    """How many latencies of 0 there are: they are below the clock's resolution, not fast."""
    histogram = record.histogram
    if histogram is None or not histogram.resolution:
        return ()
    values, counts = histogram.nonzero()
    zeros = int(counts[values < 2 * LOWEST].sum())
    step = format_seconds(histogram.resolution)
    text = f"{zeros:,} of {histogram.n:,} latencies are 0: below the clock's resolution of {step}"
    return (warning("clock-resolution", text, remedy="log finer times; none of these is known better", zeros=zeros),)
