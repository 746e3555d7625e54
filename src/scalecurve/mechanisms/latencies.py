"""What a load test says: percentiles with intervals, throughput, goodput, and whether the tail can be trusted.

Percentiles with intervals that assume no distribution, none where samples are too few, and omitted requests.

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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from scalecurve.document import (
    Answer,
    Block,
    Cell,
    Column,
    Document,
    FindingList,
    Heading,
    JsonRecord,
    Paragraph,
    Result,
    table,
)
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.study.latency_record import LOWEST, Histogram, LatencyRecord, merged, middles
from scalecurve.units import format_seconds, format_seconds_range
from scalecurve.words import percent

LEVEL = 0.95
LOAD = "`scalecurve latency measure http://localhost:8080 --rates 10,20,40` loads an address"
USUAL = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)
MAX_ADDED = 200_000_000
MISSING = 0.005  # share of intended requests that may be absent without suspicion


@dataclass(frozen=True, kw_only=True)
class Percentile(JsonRecord):
    """A percentile in seconds, or None with the number of samples it would need.

    Also None where it is `below` the step of the clock, in seconds: then no number can be told.
    """

    share: float
    estimate: Estimate | None
    needed: int
    below: float | None = None

    JSON = "percentile=name share seconds=estimate samples_needed=needed below_resolution=below"

    @property
    def name(self) -> str:
        return percentile_name(self.share)

    def cells(self) -> list[Cell | str | None]:
        """Name, value and interval, or what it would need."""
        if self.below is not None:
            return [self.name, Cell(str(self), "warn"), Cell("the clock's resolution", "muted")]
        if self.estimate is None:
            return [self.name, Cell(str(self), "warn"), Cell(f"needs {self.needed:,}", "muted")]
        ends = self.estimate.ends
        return [self.name, str(self), ends and format_seconds_range(*ends, " .. ")]

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


def percentiles(histogram: Histogram, shares: Sequence[float] = USUAL) -> tuple[Percentile, ...]:
    """Percentiles of a histogram with order-statistic intervals; each value is within 0.05 %."""
    from scipy.stats import binom

    cumulative = np.cumsum(histogram.counts)
    n, tail, results = int(cumulative[-1]), (1 - LEVEL) / 2, []
    for share in shares:
        needed, estimate, below = samples_needed(share), None, None
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
                estimate = Estimate(value, bottom, top, LEVEL, "order statistics, no distribution assumed")
        results.append(Percentile(share=share, estimate=estimate, needed=needed, below=below))
    return tuple(results)


def corrected(histogram: Histogram, interval: float) -> Histogram:
    """The histogram as if every intended request had been timed from its intended start."""
    if not interval > 0:
        raise InputError(Fault("the intended interval is a positive time", value=f"{interval:g}"))
    values, counts = histogram.nonzero()
    late = values > interval
    if float((values[late] / interval).sum()) > MAX_ADDED:
        raise InputError(
            Fault("the interval is too short for these latencies", value=f"{interval:g} s", remedy="give a longer one")
        )
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
    return (warning("clock-resolution", text, remedy="log finer times", zeros=zeros),)


LatenciesLike = str | Path | LatencyRecord | Sequence[str | Path | LatencyRecord]


def latency_records(
    sources: LatenciesLike, *, unit: float | None = None, rate: float | None = None
) -> list[LatencyRecord]:
    """Records as they are, or read from files of other tools; `unit` is the seconds of one raw value."""
    from scalecurve.formats.latencies import read_latencies

    records: list[LatencyRecord] = []
    for source in [sources] if isinstance(sources, str | Path | LatencyRecord) else sources:
        if isinstance(source, LatencyRecord):
            records.append(source)
        else:
            records += read_latencies(Path(source), unit=unit, rate=rate)
    return records


@dataclass(frozen=True, kw_only=True, repr=False)
class LatencySummary(Result):
    """One record: percentiles as recorded and, where the intended rate is known, corrected for omitted requests."""

    record: LatencyRecord
    percentiles: tuple[Percentile, ...]
    corrected: tuple[Percentile, ...] | None
    slo: float | None
    goodput: float | None
    findings: tuple[Finding, ...] = ()

    JSON = """
        name=record.name n=record.n seconds=record.seconds throughput=record.throughput errors=record.errors
        timeouts=record.timeouts mean max percentiles corrected slo goodput source=record.provenance.source
        findings"""

    @property
    def mean(self) -> float | None:
        histogram = self.record.histogram
        return None if histogram is None or histogram.mean < histogram.resolution else histogram.mean

    @property
    def max(self) -> float | None:
        return None if self.record.histogram is None else self.record.histogram.most

    def at(self, share: float) -> Estimate | None:
        """The percentile at a share in seconds, corrected where possible."""
        chosen = self.corrected or self.percentiles
        return next((item.estimate for item in chosen if abs(item.share - share) < 1e-12), None)

    def records(self) -> list[dict[str, Any]]:
        return [
            {
                "name": self.record.name,
                "percentile": item.name,
                "seconds": None if item.estimate is None else item.estimate.value,
                "low": None if item.estimate is None else item.estimate.low,
                "high": None if item.estimate is None else item.estimate.high,
                "samples_needed": item.needed,
            }
            for item in self.percentiles
        ]

    def _met(self, estimate: Estimate) -> str:
        """`; 98 % stay within the SLO`, or on which side of it a percentile is, and whether that is sure."""
        if self.slo is None:
            return ""
        if self.goodput is not None and self.record.throughput:
            return f"; {percent(self.goodput / self.record.throughput)} stay within the SLO"
        return f", {'within' if estimate.value <= self.slo else 'beyond'} the SLO of {format_seconds(self.slo)}"

    @property
    def answer(self) -> Answer:
        """The p99, or the highest percentile that the samples support, against the SLO."""
        sure = [(item, item.estimate) for item in self.corrected or self.percentiles if item.estimate is not None]
        if not sure:
            return Answer(decision="Too few requests for any percentile.", next=f"record more requests: {LOAD}")
        item, estimate = next((pair for pair in sure if abs(pair[0].share - 0.99) < 1e-9), sure[-1])
        interval = estimate.ends and f"Between {format_seconds_range(*estimate.ends, ' and ')}."
        if self.slo is not None and self.goodput is None and estimate.is_above(self.slo) is None:
            count = "the requests" if self.record.n is None else f"{self.record.n:,} requests"
            return Answer(
                decision=f"{item.name} is {item}, but {count} cannot tell whether it is within the SLO of "
                f"{format_seconds(self.slo)}: {format_seconds(estimate.high or 0.0)} is possible.",
                confidence=interval or None,
                next=f"record ten times as many requests: {LOAD}",
            )
        met = self._met(estimate)
        following = (
            "`scalecurve latency tails STUDY` says what fan-out makes of it"
            if self.slo is not None
            else "`SAME --slo 100ms` says whether that is within a limit"
        )
        return Answer(decision=f"{item.name} is {item}{met}.", confidence=interval, next=following)

    def body(self) -> Document:
        record = self.record
        parts = ["an unknown number of requests" if record.n is None else f"{record.n:,} requests"]
        if record.throughput is not None:
            parts.append(f"{record.throughput:.4g}/s")
        if record.errors:
            parts.append(f"{record.errors:,} errors" + (f" ({record.timeouts:,} time-outs)" if record.timeouts else ""))
        if record.histogram is not None:
            longest, step = record.histogram.most, record.histogram.resolution
            parts.append(f"longest {format_seconds(longest) if longest >= step else f'below {format_seconds(step)}'}")
        if self.goodput is not None and self.slo is not None:
            parts.append(f"goodput {self.goodput:.4g}/s within {format_seconds(self.slo)}")
        columns: list[Column | str] = [Column("percentile", "left"), "latency", "95 % interval"]
        columns += ["corrected"] if self.corrected else []
        rows = [item.cells() for item in self.percentiles]
        for row, item in zip(rows, self.corrected or (), strict=bool(self.corrected)):
            row.append(str(item))
        return Document(record.name, (Paragraph(", ".join(parts)), table(columns, rows), FindingList(self.findings)))


def summarise_latency(record: LatencyRecord, *, slo: float | None = None) -> LatencySummary:
    """Percentiles, goodput in requests/s within the SLO (seconds), and findings about the tail."""
    if slo is not None and not slo > 0:
        raise InputError(Fault("the SLO is not a positive time", value=f"{slo:g}", remedy="give a time such as 50ms"))
    histogram, findings = record.histogram, [*record.findings, *clock_findings(record), *omission_findings(record)]
    fixed = None
    goodput = None if slo is None else record.goodput(slo)
    if histogram is not None:
        quantiles = percentiles(histogram)
        if record.intended_rate and omits(record):
            fixed = percentiles(corrected(histogram, 1 / record.intended_rate))
    else:
        names = ", ".join(percentile_name(share) for share in record.stated)
        text = f"the tool states percentiles only ({names}): they have no interval and cannot be merged with others"
        findings.append(info("stated-percentiles", text, remedy="let it write its histogram or samples"))
        quantiles = tuple(_stated(record, share) for share in sorted(record.stated))
    return LatencySummary(
        record=record,
        percentiles=quantiles,
        corrected=fixed,
        slo=slo,
        goodput=goodput,
        findings=tuple(findings),
    )


def _stated(record: LatencyRecord, share: float) -> Percentile:
    """A percentile as a tool printed it; absent where the tool itself had too few samples."""
    seconds, needed = record.stated[share], samples_needed(share) if 0 < share < 1 else 1
    if record.count is not None and record.count < needed:
        return Percentile(share=share, estimate=None, needed=needed)
    if seconds <= 0:
        return Percentile(share=share, estimate=None, needed=needed, below=0.0)
    estimate = Estimate(seconds, method=f"as printed by {record.provenance.tool}")
    return Percentile(share=share, estimate=estimate, needed=needed)


@dataclass(frozen=True, kw_only=True, repr=False)
class LatencySummaries(Result):
    """Several load tests side by side."""

    summaries: tuple[LatencySummary, ...]

    JSON = "records=summaries"

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for summary in self.summaries for finding in summary.findings)

    def records(self) -> list[dict[str, Any]]:
        return [record for summary in self.summaries for record in summary.records()]

    @property
    def answer(self) -> Answer:
        """The slowest of the tests by its tail."""
        if len(self.summaries) == 1:
            return self.summaries[0].answer
        slowest = max(self.summaries, key=lambda one: max((e.value for e in [one.at(0.99)] if e), default=0.0))
        name = f"Slowest of {len(self.summaries)} is {slowest.record.name or 'unnamed'}"
        return replace(slowest.answer, decision=f"{name}: {slowest.answer.decision}")

    def body(self) -> Document:
        blocks: list[Block] = []
        for summary in self.summaries:
            blocks += [Heading(summary.record.name or "latencies"), *summary.document().blocks]
        return Document(None, tuple(blocks))


def summarise_latencies(
    sources: LatenciesLike,
    *,
    unit: float | None = None,
    slo: float | None = None,
    rate: float | None = None,
    merge: bool = False,
) -> LatencySummaries:
    """Percentiles of load tests: files of other tools (.hlog, wrk, hey, oha, k6, access logs, a column) or records.

    `unit` is the seconds of one raw value, `slo` the latency in seconds to stay within, `rate` the intended requests/s;
    `merge` adds the histograms.
    """
    records = latency_records(sources, unit=unit, rate=rate)
    if merge and len(records) > 1:
        records = [merged(records)]
    if rate:
        records = [replace(record, intended_rate=rate) for record in records]
    return LatencySummaries(summaries=tuple(summarise_latency(record, slo=slo) for record in records))
