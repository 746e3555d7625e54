"""What a load test says: percentiles with intervals, throughput, goodput, and whether the tail can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.document import Cell, Column, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info
from scalecurve.mechanisms.omission import corrected, omits, suspected
from scalecurve.mechanisms.percentiles import (
    LEVEL,
    USUAL,
    Percentile,
    percentile_name,
    percentiles,
    samples_needed,
    share_above,
)
from scalecurve.study.latency_record import LatencyRecord
from scalecurve.units import format_seconds


@dataclass(frozen=True, kw_only=True)
class LatencySummary(Shown):
    """One record: percentiles as recorded and, where the intended rate is known, corrected for omitted requests."""

    name: str
    n: int | None
    seconds: float | None
    throughput: float | None
    errors: int | None
    mean: float | None
    longest: float | None
    percentiles: tuple[Percentile, ...]
    corrected: tuple[Percentile, ...] | None
    slo: float | None
    goodput: float | None
    source: str | None
    findings: tuple[Finding, ...] = ()

    def at(self, share: float) -> Estimate | None:
        """The percentile at a share, corrected where that is known."""
        chosen = self.corrected or self.percentiles
        return next((each.estimate for each in chosen if abs(each.share - share) < 1e-12), None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "n": self.n,
            "seconds": self.seconds,
            "throughput": self.throughput,
            "errors": self.errors,
            "mean": self.mean,
            "max": self.longest,
            "percentiles": [each.to_dict() for each in self.percentiles],
            "corrected": None if self.corrected is None else [each.to_dict() for each in self.corrected],
            "slo": self.slo,
            "goodput": self.goodput,
            "source": self.source,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [
            {
                "name": self.name,
                "percentile": each.name,
                "seconds": None if each.estimate is None else each.estimate.value,
                "low": None if each.estimate is None else each.estimate.low,
                "high": None if each.estimate is None else each.estimate.high,
                "samples_needed": each.needed,
            }
            for each in self.percentiles
        ]

    def document(self) -> Document:
        columns: list[Column | str] = [Column("percentile", "left"), "latency", "95 % interval"]
        columns += ["corrected"] if self.corrected else []
        other = self.corrected or (None,) * len(self.percentiles)
        rows = [_row(each, fixed) for each, fixed in zip(self.percentiles, other, strict=True)]
        return Document(self.name, (Paragraph(self._words()), table(columns, rows), FindingList(self.findings)))

    def _words(self) -> str:
        parts = [f"{self.n:,} requests" if self.n is not None else "an unknown number of requests"]
        if self.throughput is not None:
            parts.append(f"{self.throughput:.4g}/s")
        if self.errors:
            parts.append(f"{self.errors} errors")
        if self.longest is not None:
            parts.append(f"longest {format_seconds(self.longest)}")
        if self.goodput is not None and self.slo is not None:
            parts.append(f"goodput {self.goodput:.4g}/s within {format_seconds(self.slo)}")
        return ", ".join(parts)


def _row(each: Percentile, fixed: Percentile | None) -> list[Cell | str | None]:
    cells: list[Cell | str | None] = [each.name]
    if each.estimate is None:
        cells += [Cell("not enough samples", "warn"), Cell(f"needs {each.needed:,}", "muted")]
    else:
        cells += [format_seconds(each.estimate.value), _interval(each.estimate)]
    if fixed is not None:
        cells.append("not enough samples" if fixed.estimate is None else format_seconds(fixed.estimate.value))
    return cells


def _interval(value: Estimate) -> str | None:
    if value.low is None or value.high is None:
        return None
    return f"{format_seconds(value.low)} .. {format_seconds(value.high)}"


def summarise_latency(
    record: LatencyRecord, *, shares: Sequence[float] = USUAL, slo: float | None = None
) -> LatencySummary:
    """Percentiles, goodput under the SLO, and the findings about the tail."""
    if slo is not None and not slo > 0:
        raise InputError(Fault("the SLO is a positive time", seen=f"{slo:g}"))
    histogram = record.histogram
    fixed = None
    if histogram is not None and record.intended_rate and omits(record):
        fixed = percentiles(corrected(histogram, 1 / record.intended_rate), shares)
    return LatencySummary(
        name=record.name,
        n=record.n,
        seconds=record.seconds,
        throughput=record.throughput,
        errors=record.errors,
        mean=None if histogram is None else histogram.mean,
        longest=None if histogram is None else histogram.most,
        percentiles=_stated(record) if histogram is None else percentiles(histogram, shares),
        corrected=fixed,
        slo=slo,
        goodput=_goodput(record, slo),
        source=record.provenance.source,
        findings=(*record.findings, *suspected(record), *_thin(record)),
    )


def _stated(record: LatencyRecord) -> tuple[Percentile, ...]:
    """What the tool printed: values without an interval, and none where its own samples were too few."""
    found = []
    for share, seconds in sorted(record.stated.items()):
        needed = samples_needed(share, LEVEL) if 0 < share < 1 else 1
        enough = record.count is None or record.count >= needed
        estimate = Estimate(seconds, method=f"as printed by {record.provenance.tool}") if enough else None
        found.append(Percentile(share=share, estimate=estimate, needed=needed))
    return tuple(found)


def _goodput(record: LatencyRecord, slo: float | None) -> float | None:
    """Requests per second that met the SLO."""
    if slo is None or record.histogram is None or record.throughput is None:
        return None
    return record.throughput * (1 - share_above(record.histogram, slo))


def _thin(record: LatencyRecord) -> tuple[Finding, ...]:
    if record.histogram is not None:
        return ()
    shown = ", ".join(percentile_name(share) for share in record.stated)
    text = f"the tool states percentiles only ({shown}): they have no interval and cannot be merged with others"
    return (info("stated-percentiles", text, remedy="let it write its histogram or samples"),)


@dataclass(frozen=True, kw_only=True)
class LatencySummaries(Shown):
    """Several records beside each other, and all of them merged where they have histograms."""

    summaries: tuple[LatencySummary, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for each in self.summaries for finding in each.findings)

    def to_dict(self) -> dict[str, Any]:
        return {"records": [each.to_dict() for each in self.summaries]}

    def records(self) -> list[dict[str, Any]]:
        return [record for each in self.summaries for record in each.records()]

    def document(self) -> Document:
        from scalecurve.document import Heading

        blocks: list[Any] = []
        for each in self.summaries:
            inner = each.document()
            blocks += [Heading(inner.title or "latencies"), *inner.blocks]
        return Document(None, tuple(blocks))
