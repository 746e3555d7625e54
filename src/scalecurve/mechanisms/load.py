"""Throughput against latency over a sweep of load, and the replicas an SLO needs.

The knee is the load with the largest power X/W (Kleinrock 1979), throughput per second of latency: below it more
throughput costs little waiting, above it much.  M/M/c is the queue nearest to the measured means; Allen-Cunneen
(Kingman for one server) uses the variation of the lightest load, and regular arrivals where the load was sent at a
constant rate.  Both are shown beside the data and never replace it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from scalecurve.document import Answer, Cell, Column, Document, FindingList, JsonRecord, Paragraph, Result, table
from scalecurve.errors import Fault, InputError, Refused
from scalecurve.findings import Finding, info, warning
from scalecurve.laws import queueing
from scalecurve.mechanisms.latencies import LatenciesLike, Percentile, clock_findings, latency_records, percentiles
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.units import format_seconds
from scalecurve.words import percent

SATURATED = 0.95  # finished per offered below which the server no longer keeps up
LITTLE_TOLERANCE = 0.2
MAX_SERVERS = 64  # tried for the model beside the data
UNSTABLE = 3.0  # misfit of a load that the model cannot carry
AROUND = 2  # replica counts shown on either side of the answer
MOST_BUSY = 100_000  # replicas: beyond, M/M/c is summed for minutes and the question is one of units


@dataclass(frozen=True, kw_only=True)
class LoadPoint(JsonRecord):
    """One load: requests/s offered and finished, and how many seconds they took."""

    offered: float
    throughput: float
    mean: float
    p50: Percentile
    p99: Percentile
    goodput: float | None
    in_flight: float | None
    requests: int
    errors: int | None
    timeouts: int | None
    mmc: float | None
    kingman: float | None

    JSON = """
        offered throughput mean p50=p50.estimate p99=p99.estimate goodput in_flight little requests errors
        timeouts mmc_mean=mmc kingman_mean=kingman power"""

    @property
    def little(self) -> float:
        """Requests in flight by Little's law."""
        return self.throughput * self.mean

    @property
    def power(self) -> float:
        return self.throughput / self.mean

    def cells(self, *, has_model: bool) -> list[Cell | str | None]:
        """The row as printed."""
        measured = [format_seconds(self.mean), str(self.p50), str(self.p99)]
        models = ["unstable" if mean is None else format_seconds(mean) for mean in (self.mmc, self.kingman)]
        errors = Cell(f"{self.errors:,}", "bad") if self.errors else "0" if self.errors == 0 else "-"
        goodput = None if self.goodput is None else f"{self.goodput:.4g}"
        rates = [f"{self.offered:.4g}", f"{self.throughput:.4g}"]
        return [*rates, errors, *measured, *(models if has_model else ["-", "-"]), goodput]


@dataclass(frozen=True, kw_only=True, repr=False)
class LoadCurve(Result):
    """A sweep of load with its knee and the replicas an SLO needs.

    One load has no knee and no queue beside it; where requests failed there is neither a queue nor advice on replicas.
    """

    points: tuple[LoadPoint, ...]
    knee: float | None
    slo: float | None
    slo_share: float
    service_seconds: float | None
    servers: int | None
    replicas: dict[float, int | None]
    findings: tuple[Finding, ...] = ()

    knee_rule = "largest throughput / mean latency"
    JSON = """
        rows=points failures knee.offered=knee knee.rule=knee_rule slo model.service_seconds=service_seconds
        model.servers=servers replicas findings"""

    @property
    def failures(self) -> str:
        """How many requests failed, in one line; empty where none did."""
        errors = sum(point.errors or 0 for point in self.points)
        if not errors:
            return ""
        timeouts = sum(point.timeouts or 0 for point in self.points)
        late = f", {timeouts:,} of them by time-out" if timeouts else ""
        return f"{errors:,} of {sum(point.requests for point in self.points):,} requests failed{late}"

    def content(self) -> dict[str, Any]:
        return super().content() | {
            "failures": self.failures or None,
            "slo": None if self.slo is None else {"seconds": self.slo, "share": self.slo_share},
            "replicas": [{"rate": rate, "replicas": count} for rate, count in self.replicas.items()],
        }

    def records(self) -> list[dict[str, Any]]:
        rows = [point.to_dict() for point in self.points]
        return [
            row | {name: None if row[name] is None else row[name]["value"] for name in ("p50", "p99")} for row in rows
        ]

    @property
    def answer(self) -> Answer:
        """The load to stay below, and the replicas that the SLO needs."""
        if self.failures:
            return Answer(decision=f"No load can be recommended: {self.failures}.", next="fix the failures first")
        if self.knee is None:
            return Answer(decision="One load has no knee: measure several rates.", next="add rates with --rates")
        count = next((f"{c} replicas for {r:.4g}/s" for r, c in self.replicas.items() if c), None)
        slo = None if self.slo is None or count is None else f"{count} keep the SLO of {format_seconds(self.slo)}."
        return Answer(
            decision=f"Stay below {self.knee:.4g} requests/s: above, waiting grows faster than throughput.",
            reason=slo,
            next="`SAME --slo 100ms` counts the replicas for a limit" if self.slo is None else None,
        )

    def body(self) -> Document:
        columns: list[Column | str] = ["offered/s", "finished/s", "errors", "mean", "p50", "p99"]
        columns += [Column("M/M/c mean", meaning="the nearest queue beside the data")]
        columns += [Column("Kingman mean", meaning="Allen-Cunneen with the measured variation"), "goodput/s"]
        rows = [point.cells(has_model=self.servers is not None) for point in self.points]
        lines = []
        if self.knee is not None:
            lines.append(f"knee at {self.knee:.4g}/s (largest throughput per mean latency)")
        if self.servers is not None and self.service_seconds is not None:
            lines.append(f"nearest M/M/c: {self.servers} servers of {format_seconds(self.service_seconds)} each")
        if self.slo is not None and self.replicas:
            counts = ", ".join(f"{r:.4g}/s: {'none' if c is None else c}" for r, c in self.replicas.items())
            lines.append(f"replicas for {100 * self.slo_share:.6g} % within {format_seconds(self.slo)}: {counts}")
        body = (table(columns, rows), Paragraph("\n".join(lines)), FindingList(self.findings))
        return Document(f"Load and latency: {self.failures}" if self.failures else "Load and latency", body)


def load_curve(
    sources: LatenciesLike,
    *,
    unit: float | None = None,
    slo: float | None = None,
    slo_share: float = 0.99,
    rates: Sequence[float] | None = None,
) -> LoadCurve:
    """A load curve from one file or record per load, at its offered (or reached) rate.

    `unit` is the seconds of one raw value; `slo` is the latency in seconds that `slo_share` of requests stay within;
    replicas are given for `rates` (requests/s), by default for the measured loads.
    """
    loads = _loads(latency_records(sources, unit=unit), slo)
    points, usable = [point for point, _ in loads], [record for _, record in loads]
    failed, several = any(point.errors for point in points), len(points) > 1
    queue = _nearest_queue(loads) if several and not failed else None
    if queue is not None:
        points = beside_queues(loads, *queue)
    findings = [finding for record in usable for finding in (*record.findings, *clock_findings(record))]
    findings += _findings(points, failed=failed)
    needed = rates or [point.offered for point in points]
    return LoadCurve(
        points=tuple(points),
        knee=max(points, key=lambda point: point.power).offered if several and not failed else None,
        slo=slo,
        slo_share=slo_share,
        service_seconds=queue and queue[0],
        servers=queue and queue[1],
        replicas={rate: queueing.servers_for(slo, slo_share, rate, 1 / queue[0]) for rate in needed}
        if queue is not None and slo is not None
        else {},
        findings=tuple({finding.code + finding.message: finding for finding in findings}.values()),
    )


def _loads(records: Sequence[LatencyRecord], slo: float | None) -> list[tuple[LoadPoint, LatencyRecord]]:
    """The records that have latencies and a rate, the lightest load first."""
    loads = [(point, record) for record in records if (point := load_point(record, slo)) is not None]
    if not loads:
        hint = "give one file for each load, with latencies and the duration of the test, or load an address: "
        hint += "`scalecurve latency measure http://localhost:8080 --rates 10,20,40`"
        raise InputError(Fault("no record has both latencies and a load", value=f"{len(records)} records", remedy=hint))
    return sorted(loads, key=lambda load: load[0].offered)


def load_point(record: LatencyRecord, slo: float | None) -> LoadPoint | None:
    """The load of a record, without a queue beside it; None where the record has no latencies or no rate."""
    histogram, throughput = record.histogram, record.throughput
    offered = record.intended_rate or throughput
    if histogram is None or not throughput or not offered:
        return None
    p50, p99 = percentiles(histogram, (0.5, 0.99))
    return LoadPoint(
        offered=offered,
        throughput=throughput,
        mean=histogram.mean,
        p50=p50,
        p99=p99,
        goodput=None if slo is None else record.goodput(slo),
        in_flight=float(record.connections) if record.connections else None,
        requests=histogram.n,
        errors=record.errors,
        timeouts=record.timeouts,
        mmc=None,
        kingman=None,
    )


def beside_queues(loads: Sequence[tuple[LoadPoint, LatencyRecord]], service: float, servers: int) -> list[LoadPoint]:
    """The points with the mean latency in seconds that M/M/c and Allen-Cunneen expect at each load.

    Allen-Cunneen takes the variation of the service times from the lightest load, the first.
    """
    lightest = loads[0][1].histogram
    variation = 0.0 if lightest is None else squared_variation(lightest)
    points = []
    for point, record in loads:
        arrivals = 0.0 if record.open_loop else 1.0  # squared variation of the arrivals
        wait = queueing.allen_cunneen_wait(point.throughput, 1 / service, servers, arrivals, variation)
        mmc = queueing.mmc_response(point.throughput, 1 / service, servers)
        points.append(replace(point, mmc=mmc, kingman=None if wait is None else wait + service))
    return points


def squared_variation(histogram: Histogram) -> float:
    """The squared coefficient of variation of the latencies."""
    values, counts = histogram.nonzero()
    mean = float(values @ counts) / histogram.n
    return float(((values - mean) ** 2) @ counts) / histogram.n / mean**2


def _nearest_queue(loads: Sequence[tuple[LoadPoint, LatencyRecord]]) -> tuple[float, int] | None:
    """Service seconds and servers of the M/M/c with the least sum of |ln(model/measured)| over the loads.

    None where a mean is below the clock's resolution.
    """
    if any(own is not None and own.mean < own.resolution for own in (record.histogram for _, record in loads)):
        return None
    means = [(point.throughput, point.mean) for point, _ in loads]
    lightest, most = means[0][1], max(rate for rate, _ in means)
    counts = range(1, min(MAX_SERVERS, 2 * math.ceil(most * lightest)) + 1)
    tried = itertools.product((lightest * (0.5 + 0.01 * i) for i in range(54)), counts)

    def misfit(queue: tuple[float, int]) -> float:
        models = [queueing.mmc_response(rate, 1 / queue[0], queue[1]) for rate, _ in means]
        pairs = zip(models, means, strict=True)
        return sum(UNSTABLE if model is None else abs(math.log(model / mean)) for model, (_, mean) in pairs)

    return min(tried, key=misfit)


def _findings(points: Sequence[LoadPoint], *, failed: bool) -> list[Finding]:
    findings: list[Finding] = []
    behind = [point for point in points if point.throughput < SATURATED * point.offered]
    if behind:
        text = f"from {behind[0].offered:.4g}/s on fewer than {SATURATED:.0%} of the offered requests finish: saturated"
        findings.append(warning("saturated", text, remedy="add replicas or lower the load", offered=behind[0].offered))
    if len(points) > 1 and not behind and max(points, key=lambda point: point.power) is points[-1]:
        text = "the knee is at the largest load: it may lie beyond what was offered"
        findings.append(info("knee-not-bracketed", text, remedy="offer more load"))
    for point in points:
        held = point.little
        if point.in_flight and abs(held / point.in_flight - 1) > LITTLE_TOLERANCE:
            text = f"Little's law: {point.in_flight:.3g} connections but throughput x latency is {held:.3g}"
            hint = "check whether the generator was the bottleneck or latencies leave out waiting"
            findings.append(warning("little-violated", text, remedy=hint))
            break
    if failed:
        text = "requests failed: there is no queue model and no advice on replicas from such a run"
        findings.append(warning("errors", text, remedy="find out why they fail, then load the address again"))
    if len(points) == 1:
        findings.append(info("one-load", "one load has no knee and no queue model", remedy="offer several: --rates"))
    return findings


@dataclass(frozen=True, kw_only=True)
class ReplicaRow:
    """One number of replicas; None where the queue would grow without bound."""

    replicas: int
    utilisation: float
    mean: float | None
    percentile: float | None
    share_within_slo: float | None


@dataclass(frozen=True, kw_only=True, repr=False)
class ReplicaPlan(Result):
    """The fewest replicas that meet the SLO, with its neighbours."""

    rate: float
    service: float
    slo: float
    share: float
    replicas: int
    rows: tuple[ReplicaRow, ...]
    findings: tuple[Finding, ...] = ()

    JSON = "rate service_seconds=service slo.seconds=slo slo.share=share replicas rows findings"

    @property
    def answer(self) -> Answer:
        """The replicas to run."""
        within = f"{100 * self.share:.4g} % of {self.rate:g}/s within {format_seconds(self.slo)}"
        busy = next((row.utilisation for row in self.rows if row.replicas == self.replicas), None)
        return Answer(
            decision=f"Run {self.replicas:,} replicas: they keep {within}.",
            reason=None if busy is None else f"Each is busy {percent(busy)} of the time.",
            next="load a real one: `scalecurve latency measure http://localhost:8080 --rates 10,20,40`",
        )

    def body(self) -> Document:
        rows = []
        for row in self.rows:
            times = [Cell("unstable", "bad") if t is None else format_seconds(t) for t in (row.mean, row.percentile)]
            within = None if row.share_within_slo is None else f"{row.share_within_slo:.3%}"
            rows.append([str(row.replicas), f"{row.utilisation:.1%}", *times, within])
        grid = table(["replicas", "busy", "mean", f"p{100 * self.share:g}", "within"], rows)
        return Document("Replicas for an SLO", (grid, FindingList(self.findings)))


def replicas_needed(*, rate: float, service: float, slo: float, slo_share: float = 0.99) -> ReplicaPlan:
    """The fewest replicas that keep `slo_share` of `rate` requests/s within `slo` seconds, by the exact tail of M/M/c.

    `service` is the mean seconds of a request on an idle replica; Refused where even an idle replica is too slow.
    """
    if not (service > 0 and slo > 0 and 0 < slo_share < 1):
        values = f"service {service:g} s, SLO {slo:g} s, share {slo_share:g}"
        raise InputError(Fault("service and SLO are positive times and the share lies between 0 and 1", value=values))
    if rate * service > MOST_BUSY:
        value = f"{rate:g} requests/s of {service:g} s keep {rate * service:.3g} replicas busy"
        raise InputError(Fault(f"at most {MOST_BUSY:,} busy replicas", value=value, remedy="check the units"))
    mu = 1 / service
    count = queueing.servers_for(slo, slo_share, rate, mu)
    if count is None:
        least = math.ceil(-1.02e3 * math.log1p(-slo_share) * service)  # ms: service alone, and some waiting
        raise Refused(
            f"no number of replicas keeps {100 * slo_share:.4g} % within {format_seconds(slo)}: service alone takes "
            f"longer (exponential with mean {format_seconds(service)}); make a request faster first, or allow more: "
            f"`scalecurve latency replicas --rate {rate:g} --service {service:g}s --slo {least}ms "
            f"--slo-share {slo_share:g}`"
        )
    rows = []
    for replicas in range(max(1, count - AROUND), count + AROUND + 1):
        tail = queueing.mmc_response_tail(slo, rate, mu, replicas)
        rows.append(
            ReplicaRow(
                replicas=replicas,
                utilisation=queueing.utilisation(rate, mu, replicas),
                mean=queueing.mmc_response(rate, mu, replicas),
                percentile=queueing.mmc_response_percentile(slo_share, rate, mu, replicas),
                share_within_slo=None if tail is None else 1 - tail,
            )
        )
    text = "arrivals and service are taken as random (M/M/c); regular ones need fewer, bursts need more"
    findings = (info("queue-model", text, remedy="check with latency measure"),)
    return ReplicaPlan(
        rate=rate, service=service, slo=slo, share=slo_share, replicas=count, rows=tuple(rows), findings=findings
    )
