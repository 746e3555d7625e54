"""Latencies as raw data: a histogram fine enough to lose nothing that matters, or the percentiles a tool printed.

Buckets are the leading bits of the number itself: exponent and ten bits of mantissa, so a bucket is at most 0.1 %
wide and
its middle at most 0.05 % off, from a nanosecond to twelve days, in 60 thousand counters however many samples there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.study.provenance import Provenance

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

SHIFT = 42  # 52 bits of mantissa, ten of them kept
CHUNK = 1 << 16  # samples at a time: they stay in the cache


def _key(value: float) -> int:
    return int(np.float64(value).view(np.int64) >> SHIFT)


LOWEST, HIGHEST = 1e-9, 2.0**20
BASE = _key(LOWEST)
BUCKETS = _key(HIGHEST) - BASE + 1


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of latencies in seconds; adding two loses nothing, which is why percentiles are never averaged."""

    counts: Counts
    least: float
    most: float
    total: float

    @classmethod
    def empty(cls) -> Histogram:
        return cls(np.zeros(BUCKETS, np.int64), float("inf"), 0.0, 0.0)

    @classmethod
    def of(cls, samples: Iterable[float] | npt.NDArray[Any]) -> Histogram:
        """All samples at once; 100 million take about a second."""
        array = np.asarray(samples if isinstance(samples, np.ndarray) else list(samples), dtype=np.float64)
        array = np.ascontiguousarray(array.ravel())
        if not len(array):
            raise InputError(Fault("there are no latencies"))
        least, most = float(array.min()), float(array.max())
        if not (least >= 0 and np.isfinite(most)):
            seen = f"{least:g} .. {most:g}"
            raise InputError(Fault("latencies are finite and not negative", seen=seen))
        inside = least >= LOWEST and most <= HIGHEST
        return cls(_count(array, inside), least, most, float(array.sum()))

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
        return cls(filled, float(seconds.min()), float(seconds.max()), float(seconds @ weights))

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        return self.total / self.n

    def __add__(self, other: Histogram) -> Histogram:
        least, most = min(self.least, other.least), max(self.most, other.most)
        return Histogram(self.counts + other.counts, least, most, self.total + other.total)

    def nonzero(self) -> tuple[Floats, Counts]:
        """The middle of every bucket in use, with its count."""
        used = np.flatnonzero(self.counts)
        return middles(used), self.counts[used]


def _count(array: Floats, inside: bool) -> Counts:
    """Bucket counts, a cache-sized chunk at a time."""
    found = np.zeros(BUCKETS, np.int64)
    keys = np.empty(CHUNK, np.int64)
    for start in range(0, len(array), CHUNK):
        chunk = array[start : start + CHUNK]
        if not inside:
            chunk = np.clip(chunk, LOWEST, HIGHEST)
        used = keys[: len(chunk)]
        np.right_shift(chunk.view(np.int64), SHIFT, out=used)
        used -= BASE
        found += np.bincount(used, minlength=BUCKETS)
    return found


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

    `histogram` where latencies are known; otherwise `stated`, the percentiles the tool printed (share -> seconds).
    `seconds` is how long the test ran; `intended_rate` requests per second it meant to send, None for a closed loop.
    """

    name: str
    histogram: Histogram | None = None
    stated: dict[float, float] = field(default_factory=dict)
    count: int | None = None
    seconds: float | None = None
    errors: int | None = None
    intended_rate: float | None = None
    connections: int | None = None
    provenance: Provenance = field(default_factory=Provenance)
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        if self.histogram is None and not self.stated:
            raise InputError(Fault("a latency record holds a histogram or stated percentiles", where=self.name))

    @property
    def n(self) -> int | None:
        return self.histogram.n if self.histogram is not None else self.count

    @property
    def throughput(self) -> float | None:
        """Requests finished per second."""
        return self.n / self.seconds if self.n and self.seconds else None


def merged(records: Sequence[LatencyRecord], *, name: str = "all") -> LatencyRecord:
    """Histograms added; records that only state percentiles cannot be merged, and percentiles are never averaged."""
    without = [record.name for record in records if record.histogram is None]
    if without:
        hint = "let the tool write a histogram (.hlog) or the samples"
        seen = ", ".join(without[:5])
        raise InputError(Fault("stated percentiles cannot be merged or averaged", seen=seen, remedy=hint))
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
        provenance=records[0].provenance,
        findings=tuple(finding for record in records for finding in record.findings),
    )
