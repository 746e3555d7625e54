"""How many replicas keep a share of requests within a limit, by the exact tail of M/M/c."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scalecurve.document import Cell, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError, Refused
from scalecurve.findings import Finding, info
from scalecurve.laws import queueing
from scalecurve.units import format_seconds

AROUND = 2  # replica counts shown on either side of the answer


@dataclass(frozen=True, kw_only=True)
class ReplicaRow:
    """One number of replicas; None where the queue would grow for ever."""

    replicas: int
    utilisation: float
    mean: float | None
    percentile: float | None
    within: float | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "replicas": self.replicas,
            "utilisation": self.utilisation,
            "mean": self.mean,
            "percentile": self.percentile,
            "share_within_slo": self.within,
        }


@dataclass(frozen=True, kw_only=True)
class ReplicaPlan(Shown):
    """The fewest replicas that meet the SLO, with its neighbours."""

    rate: float
    service: float
    slo: float
    share: float
    replicas: int
    rows: tuple[ReplicaRow, ...]
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "rate": self.rate,
            "service_seconds": self.service,
            "slo": {"seconds": self.slo, "share": self.share},
            "replicas": self.replicas,
            "rows": self.records(),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def document(self) -> Document:
        head = f"{self.replicas} replicas keep {self.share:.4g} of {self.rate:g}/s within {format_seconds(self.slo)}"
        rows = [
            [str(r.replicas), f"{r.utilisation:.1%}", _shown(r.mean), _shown(r.percentile), _share(r.within)]
            for r in self.rows
        ]
        grid = table(["replicas", "busy", "mean", f"p{100 * self.share:g}", "within"], rows)
        return Document("Replicas for an SLO", (Paragraph(head), grid, FindingList(self.findings)))


def _shown(value: float | None) -> Cell | str:
    return Cell("unstable", "bad") if value is None else format_seconds(value)


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.3%}"


def plan_replicas(*, rate: float, service: float, slo: float, share: float = 0.99) -> ReplicaPlan:
    """The fewest replicas, or a refusal where even an idle one is too slow."""
    if not (service > 0 and slo > 0 and 0 < share < 1):
        seen = f"service {service:g} s, SLO {slo:g} s, share {share:g}"
        raise InputError(Fault("service and SLO are positive times and the share lies between 0 and 1", seen=seen))
    count = queueing.servers_for(slo, share, rate, 1 / service)
    if count is None:
        raise Refused(
            f"no number of replicas meets {format_seconds(slo)} for {share:.4g}: service alone takes longer "
            f"(exponential with mean {format_seconds(service)}); make a request faster first"
        )
    counts = range(max(1, count - AROUND), count + AROUND + 1)
    text = "arrivals and service are taken as random (M/M/c); regular ones need fewer, bursts need more"
    return ReplicaPlan(
        rate=rate,
        service=service,
        slo=slo,
        share=share,
        replicas=count,
        rows=tuple(_row(rate, service, slo, share, each) for each in counts),
        findings=(info("queue-model", text, remedy="check with latency measure"),),
    )


def _row(rate: float, service: float, slo: float, share: float, replicas: int) -> ReplicaRow:
    mu = 1 / service
    tail = queueing.mmc_response_tail(slo, rate, mu, replicas)
    return ReplicaRow(
        replicas=replicas,
        utilisation=queueing.utilisation(rate, mu, replicas),
        mean=queueing.mmc_response(rate, mu, replicas),
        percentile=queueing.mmc_response_percentile(share, rate, mu, replicas),
        within=None if tail is None else 1 - tail,
    )
