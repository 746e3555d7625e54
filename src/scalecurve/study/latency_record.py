"""Latencies as raw data: a fine histogram, or the percentiles that a tool printed.

Buckets are the leading bits of the number itself: exponent and ten bits of mantissa, so a bucket is at most 0.1 %
wide and its middle at most 0.05 % off, from a nanosecond to twelve days, in 60 thousand counters however many samples
there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError, make_inert
from scalecurve.findings import Finding
from scalecurve.study.run import Provenance

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

SHIFT = 42  # 52 bits of mantissa, ten of them kept
CHUNK = 1 << 18  # samples at a time: they stay in the cache


def _key(value: float) -> int:
    return int(np.float64(value).view(np.int64) >> SHIFT)


LOWEST, HIGHEST = 1e-9, 2.0**20
BASE = _key(LOWEST)
BUCKETS = _key(HIGHEST) - BASE + 1


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of latencies in seconds.  Two histograms add up exactly; percentiles cannot be averaged.

    `resolution` is the step of the clock in seconds where latencies of 0 were recorded (no request takes 0 s), else 0.
    """

    counts: Counts
    least: float
    most: float
    total: float
    resolution: float = 0.0

    @classmethod
    def empty(cls) -> Histogram:
        return cls(np.zeros(BUCKETS, np.int64), float("inf"), 0.0, 0.0)

    @classmethod
    def of(cls, samples: Iterable[float] | npt.NDArray[Any], *, resolution: float | None = None) -> Histogram:
        """All samples at once; 100 million take about two seconds.

        `resolution` is the step of their clock in seconds; where zeros show that it is coarse and it is not stated, it
        is taken as the smallest latency above 0.
        """
        array = np.asarray(samples if isinstance(samples, np.ndarray) else list(samples), dtype=np.float64)
        array = np.ascontiguousarray(array.ravel())
        if not len(array):
            raise InputError(Fault("there are no latencies"))
        least, most = float(array.min()), float(array.max())
        if not (least >= 0 and np.isfinite(most)):
            raise InputError(Fault("latencies are finite and not negative", value=f"{least:g} .. {most:g}"))
        counts = np.zeros(BUCKETS, np.int64)
        for start in range(0, len(array), CHUNK):
            counts += np.bincount(_places(np.clip(array[start : start + CHUNK], LOWEST, HIGHEST)), minlength=BUCKETS)
        used, step = np.flatnonzero(counts), 0.0
        if least < LOWEST:
            positive = array[array > 0]
            if not len(positive) and resolution is None:
                remedy = "record finer times, such as microseconds"
                raise InputError(Fault("all latencies are 0: below the clock's resolution", remedy=remedy))
            step = resolution or float(positive.min())
        return cls(counts, least, most, float(middles(used) @ counts[used]), step)

    @classmethod
    def from_counts(cls, values: Sequence[float] | Floats, counts: Sequence[int] | Counts) -> Histogram:
        """From another tool's buckets: a representative value and a count each."""
        seconds, weights = np.asarray(values, np.float64), np.asarray(counts, np.int64)
        used = weights > 0
        seconds, weights = seconds[used], weights[used]
        if not len(seconds):
            return cls.empty()
        places = _places(np.clip(seconds, LOWEST, HIGHEST))
        filled = np.zeros(BUCKETS, np.int64)
        np.add.at(filled, places, weights)
        step = float(seconds[seconds > 0].min(initial=np.inf)) if seconds.min() < LOWEST else 0.0
        step = step if np.isfinite(step) else LOWEST
        return cls(filled, float(seconds.min()), float(seconds.max()), float(seconds @ weights), step)

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        return self.total / self.n

    def __add__(self, other: Histogram) -> Histogram:
        least, most = min(self.least, other.least), max(self.most, other.most)
        step = max(self.resolution, other.resolution)
        return Histogram(self.counts + other.counts, least, most, self.total + other.total, step)

    def nonzero(self) -> tuple[Floats, Counts]:
        """The middle of every bucket in use, with its count."""
        used = np.flatnonzero(self.counts)
        return middles(used), self.counts[used]


def _places(values: Floats) -> npt.NDArray[np.int64]:
    keys: npt.NDArray[np.int64] = (values.view(np.int64) >> SHIFT) - BASE
    return keys


def middles(places: npt.NDArray[Any]) -> Floats:
    """The middle of each bucket."""
    low = ((places.astype(np.int64) + BASE) << SHIFT).view(np.float64)
    high = ((places.astype(np.int64) + BASE + 1) << SHIFT).view(np.float64)
    between: Floats = (low + high) / 2
    return between


@dataclass(frozen=True, kw_only=True, eq=False)
class LatencyRecord:
    """One load test, or one part of it.

    `histogram` where single latencies are recorded; otherwise `stated`, the percentiles the tool printed (share ->
    seconds).  `seconds` is how long the test ran; `intended_rate` is the rate it was to send, in requests per second,
    None for a closed loop; `open_loop` says that latencies count from intended starts, so that none is omitted.
    `errors` are answers that were no good, `timeouts` those of them that never came; `good` has the latencies of the
    good answers alone, where they are told apart.
    """

    name: str
    histogram: Histogram | None = None
    stated: dict[float, float] = field(default_factory=dict)
    count: int | None = None
    seconds: float | None = None
    errors: int | None = None
    timeouts: int | None = None
    good: Histogram | None = None
    intended_rate: float | None = None
    open_loop: bool = False
    connections: int | None = None
    provenance: Provenance = field(default_factory=Provenance)
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        make_inert(self, "name")
        if self.histogram is None and not self.stated:
            raise InputError(Fault("a latency record holds a histogram or stated percentiles", where=self.name))

    @property
    def n(self) -> int | None:
        return self.histogram.n if self.histogram is not None else self.count

    @property
    def throughput(self) -> float | None:
        """Requests finished per second."""
        return self.n / self.seconds if self.n and self.seconds else None

    def goodput(self, slo: float) -> float | None:
        """Good answers per second within `slo` seconds; at least so many where errors are not told apart."""
        if self.seconds is None or self.histogram is None:
            return None
        if self.good is not None or not self.errors:
            return _within(self.good or self.histogram, slo) / self.seconds
        return max(0, _within(self.histogram, slo) - self.errors) / self.seconds


def _within(histogram: Histogram, seconds: float) -> int:
    values, counts = histogram.nonzero()
    return int(counts[values <= seconds].sum())


def merged(records: Sequence[LatencyRecord], *, name: str = "all") -> LatencyRecord:
    """One record with the histograms added; records that only state percentiles are refused."""
    without = [record.name for record in records if record.histogram is None]
    if without:
        hint = "let the tool write a histogram (.hlog) or the samples"
        raise InputError(
            Fault("stated percentiles cannot be merged or averaged", value=", ".join(without[:5]), remedy=hint)
        )
    total = Histogram.empty()
    for record in records:
        total += record.histogram or Histogram.empty()
    spans = [record.seconds for record in records if record.seconds is not None]
    errors = [record.errors for record in records if record.errors is not None]
    return LatencyRecord(
        name=name,
        histogram=total,
        seconds=max(spans) if spans else None,
        errors=sum(errors) if errors else None,
        timeouts=sum(record.timeouts or 0 for record in records) or None,
        provenance=records[0].provenance,
        findings=tuple(finding for record in records for finding in record.findings),
    )
