"""Coordinated omission: a load generator that waits during a stall records one slow request instead of hundreds.

Where the intended rate is known, each latency above the intended interval I stands for the requests that should have
been sent while it lasted: v, v - I, v - 2I ... (G. Tene's correction, as in HdrHistogram).
"""

from __future__ import annotations

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, warning
from scalecurve.study.latency_record import Histogram, LatencyRecord

MAX_ADDED = 200_000_000
MISSING = 0.005  # share of intended requests that may be absent without suspicion


def corrected(histogram: Histogram, interval: float) -> Histogram:
    """The histogram as if every intended request had been timed from its intended start."""
    if not interval > 0:
        raise InputError(Fault("the intended interval is a positive time", seen=f"{interval:g}"))
    values, counts = histogram.nonzero()
    late = values > interval
    if float((values[late] / interval).sum()) > MAX_ADDED:
        raise InputError(Fault("the interval is too short for these latencies", seen=f"{interval:g} s"))
    added_values, added_counts = [np.array([])], [np.array([], np.int64)]
    for value, count in zip(values[late], counts[late], strict=True):
        missed = value - interval * np.arange(1, int(value / interval) + 1)
        missed = missed[missed >= interval]
        added_values.append(missed)
        added_counts.append(np.full(len(missed), count, np.int64))
    return histogram + Histogram.from_counts(np.concatenate(added_values), np.concatenate(added_counts))


def omits(record: LatencyRecord) -> bool:
    """Whether requests are missing that the intended rate says should be there; believed where it cannot be checked."""
    if record.histogram is None or not record.intended_rate or record.open_loop:
        return False
    if not record.seconds:
        return True
    few = record.histogram.n < (1 - MISSING) * record.intended_rate * record.seconds
    return few and record.histogram.most > 3 / record.intended_rate


def suspected(record: LatencyRecord) -> tuple[Finding, ...]:
    """The evidence for coordinated omission, in words."""
    if not omits(record) or record.histogram is None or not record.intended_rate or not record.seconds:
        return ()
    wanted = record.intended_rate * record.seconds
    missing = 1 - record.histogram.n / wanted
    text = (
        f"{missing:.1%} of the {wanted:.0f} intended requests are missing and the longest wait is "
        f"{record.histogram.most * record.intended_rate:.0f} intended intervals: the generator waited with the server"
    )
    hint = "read the corrected percentiles, or record from intended start times"
    return (warning("coordinated-omission", text, remedy=hint, missing=missing, intended=wanted),)
