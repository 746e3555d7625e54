"""Throughput against latency over a sweep of load: the knee, goodput, Little's law, and the queue models beside it.

The knee is the load with the largest power X/W (Kleinrock 1979): throughput per second of latency.  Below it one pays
little wait for throughput, above it much.  M/M/c is the one nearest to the measured means; Allen-Cunneen (Kingman for
one server) uses the variation of the lightest load, and regular arrivals where the load was sent at a constant rate.
Both stand beside the data, never instead of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.document import Column, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.laws import queueing
from scalecurve.mechanisms.percentiles import percentiles
from scalecurve.study.latency_record import LatencyRecord
from scalecurve.units import format_seconds

SATURATED = 0.95  # finished per offered below which the server no longer keeps up
LITTLE_TOLERANCE = 0.2
MAX_SERVERS = 64  # tried for the model beside the data
UNSTABLE = 3.0


@dataclass(frozen=True, kw_only=True)
class LoadPoint:
    """One load: what was offered, what finished, how long it took."""

    offered: float
    throughput: float
    mean: float
    p50: Estimate | None
    p99: Estimate | None
    goodput: float | None
    in_flight: float | None
    errors: int | None
    mmc: float | None
    kingman: float | None

    @property
    def power(self) -> float:
        return self.throughput / self.mean

    def to_dict(self) -> dict[str, Any]:
        return {
            "offered": self.offered,
            "throughput": self.throughput,
            "mean": self.mean,
            "p50": None if self.p50 is None else self.p50.to_dict(),
            "p99": None if self.p99 is None else self.p99.to_dict(),
            "goodput": self.goodput,
            "in_flight": self.in_flight,
            "little": self.throughput * self.mean,
            "errors": self.errors,
            "mmc_mean": self.mmc,
            "kingman_mean": self.kingman,
            "power": self.power,
        }


@dataclass(frozen=True, kw_only=True)
class LoadCurve(Shown):
    """A sweep of load with its knee and the replicas an SLO needs."""

    points: tuple[LoadPoint, ...]
    knee: float
    slo: float | None
    slo_share: float
    service_seconds: float
    servers: int
    replicas: dict[float, int | None]
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": [point.to_dict() for point in self.points],
            "knee": {"offered": self.knee, "rule": "largest throughput / mean latency"},
            "slo": None if self.slo is None else {"seconds": self.slo, "share": self.slo_share},
            "model": {"service_seconds": self.service_seconds, "servers": self.servers},
            "replicas": [{"rate": rate, "replicas": count} for rate, count in self.replicas.items()],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        flat = []
        for point in self.points:
            row = point.to_dict()
            row |= {name: None if row[name] is None else row[name]["value"] for name in ("p50", "p99")}
            flat.append(row)
        return flat

    def document(self) -> Document:
        columns: list[Column | str] = ["offered/s", "finished/s", "mean", "p50", "p99"]
        columns += [Column("M/M/c mean", meaning="the nearest queue beside the data")]
        columns += [Column("Kingman mean", meaning="Allen-Cunneen with the measured variation"), "goodput/s"]
        rows = [_cells(point) for point in self.points]
        lines = [f"knee at {self.knee:.4g}/s (largest throughput per mean latency)"]
        lines.append(f"nearest M/M/c: {self.servers} servers of {format_seconds(self.service_seconds)} each")
        if self.slo is not None:
            counts = ", ".join(f"{r:.4g}/s: {'none' if c is None else c}" for r, c in self.replicas.items())
            lines.append(f"replicas for {self.slo_share:.4%} within {format_seconds(self.slo)}: {counts}")
        body = (table(columns, rows), Paragraph("\n".join(lines)), FindingList(self.findings))
        return Document("Load and latency", body)


def _cells(point: LoadPoint) -> list[str | None]:
    def shown(value: Estimate | float | None) -> str | None:
        if value is None:
            return None
        return format_seconds(value.value if isinstance(value, Estimate) else value)

    return [
        f"{point.offered:.4g}",
        f"{point.throughput:.4g}",
        shown(point.mean),
        shown(point.p50) or "not enough samples",
        shown(point.p99) or "not enough samples",
        shown(point.mmc) or "unstable",
        shown(point.kingman) or "unstable",
        None if point.goodput is None else f"{point.goodput:.4g}",
    ]


def curve_of_load(
    records: Sequence[LatencyRecord], *, slo: float | None = None, slo_share: float = 0.99, rates: Sequence[float] = ()
) -> LoadCurve:
    """A load curve from one record per load, each with its offered (or reached) rate."""
    usable = [r for r in records if r.histogram is not None and r.throughput is not None]
    if len(usable) < 2:
        hint = "give the records of two or more loads, each with samples and its duration"
        raise InputError(Fault("a load curve needs several loads", seen=f"{len(usable)} usable records", remedy=hint))
    ordered = sorted(usable, key=_offered)
    service, servers = _model(ordered)
    queue = _Queue(1 / service, servers, _variation(ordered[0]))
    points = tuple(_point(record, slo, queue) for record in ordered)
    best = max(points, key=lambda point: point.power)
    wanted = tuple(rates) or tuple(point.offered for point in points)
    replicas = {r: queueing.servers_for(slo, slo_share, r, 1 / service) for r in wanted} if slo else {}
    return LoadCurve(
        points=points,
        knee=best.offered,
        slo=slo,
        slo_share=slo_share,
        service_seconds=service,
        servers=servers,
        replicas=replicas,
        findings=_findings(points, best),
    )


def _offered(record: LatencyRecord) -> float:
    return record.intended_rate or record.throughput or 0.0


def _model(ordered: Sequence[LatencyRecord]) -> tuple[float, int]:
    """The M/M/c nearest to the measured means: service time and servers, by search."""
    loads = [(r.throughput or 0.0, r.histogram.mean) for r in ordered if r.histogram is not None]
    lightest = loads[0][1]
    most = max(rate for rate, _ in loads)
    services = [lightest * (0.5 + 0.01 * i) for i in range(54)]
    servers = range(1, min(MAX_SERVERS, 2 * math.ceil(most * lightest)) + 1)
    return min(((s, c) for s in services for c in servers), key=lambda model: _misfit(loads, *model))


def _misfit(loads: Sequence[tuple[float, float]], service: float, servers: int) -> float:
    """Sum of |ln(model/measured)|; a load the model cannot carry counts three."""
    errors = 0.0
    for rate, mean in loads:
        model = queueing.mmc_response(rate, 1 / service, servers)
        errors += UNSTABLE if model is None else abs(math.log(model / mean))
    return errors


@dataclass(frozen=True)
class _Queue:
    """The queue beside the data: rate and number of servers, and the squared variation of service."""

    service_rate: float
    servers: int
    variation: float

    def general_response(self, rate: float, arrivals: float) -> float | None:
        wait = queueing.allen_cunneen_wait(rate, self.service_rate, self.servers, arrivals, self.variation)
        return None if wait is None else wait + 1 / self.service_rate


def _variation(record: LatencyRecord) -> float:
    """Squared coefficient of variation of the latencies of one record."""
    if record.histogram is None:
        return 1.0
    values, counts = record.histogram.nonzero()
    mean = float(values @ counts) / record.histogram.n
    return float(((values - mean) ** 2) @ counts) / record.histogram.n / mean**2


def _point(record: LatencyRecord, slo: float | None, queue: _Queue) -> LoadPoint:
    histogram, throughput = record.histogram, record.throughput
    if histogram is None or throughput is None:
        raise InputError(Fault("a load needs samples and a duration", where=record.name))
    p50, p99 = (each.estimate for each in percentiles(histogram, (0.5, 0.99)))
    values, counts = histogram.nonzero()
    good = None if slo is None else throughput * float(counts[values <= slo].sum()) / histogram.n
    return LoadPoint(
        offered=_offered(record),
        throughput=throughput,
        mean=histogram.mean,
        p50=p50,
        p99=p99,
        goodput=good,
        in_flight=float(record.connections) if record.connections else None,
        errors=record.errors,
        mmc=queueing.mmc_response(throughput, queue.service_rate, queue.servers),
        kingman=queue.general_response(throughput, 0.0 if record.open_loop else 1.0),
    )


def _findings(points: Sequence[LoadPoint], best: LoadPoint) -> tuple[Finding, ...]:
    found = []
    behind = [point for point in points if point.throughput < SATURATED * point.offered]
    if behind:
        text = f"from {behind[0].offered:.4g}/s on fewer than {SATURATED:.0%} of the offered requests finish: saturated"
        found.append(warning("saturated", text, remedy="add replicas or lower the load", offered=behind[0].offered))
    if best is points[-1] and not behind:
        text = "the knee is at the largest load: it may lie beyond what was offered"
        found.append(info("knee-not-bracketed", text, remedy="offer more load"))
    off = [
        point
        for point in points
        if point.in_flight and abs(point.throughput * point.mean / point.in_flight - 1) > LITTLE_TOLERANCE
    ]
    if off:
        held = off[0].throughput * off[0].mean
        text = f"Little's law: {off[0].in_flight:.3g} connections but throughput x latency is {held:.3g}"
        hint = "the generator was the bottleneck, or latencies leave out waiting"
        found.append(warning("little-violated", text, remedy=hint))
    return tuple(found)
