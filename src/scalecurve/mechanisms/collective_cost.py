"""What a collective costs at each number of ranks, and what that does to a training step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.document import Column, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info
from scalecurve.laws.collectives import (
    Choice,
    Crossing,
    Network,
    Operation,
    as_operation,
    best,
    candidates,
    cost,
    crossings,
    lower_bound,
    totals,
)
from scalecurve.units import format_bytes, format_seconds


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """One number of ranks: the algorithm, its cost, and what no algorithm can beat."""

    ranks: int
    choice: Choice
    bound: float
    others: dict[str, float]
    bus_bandwidth: float | None

    def to_dict(self) -> dict[str, Any]:
        sums = totals(self.choice.steps)
        return {
            "ranks": self.ranks,
            "algorithm": self.choice.algorithm,
            "seconds": self.choice.seconds,
            "lower_bound": self.bound,
            "rounds": sums.rounds,
            "bytes_sent": sums.sent,
            "bytes_reduced": sums.reduced,
            "bus_bandwidth": self.bus_bandwidth,
        }


@dataclass(frozen=True, kw_only=True)
class CollectiveCost(Shown):
    """Cost of one operation over ranks on one network."""

    operation: Operation
    vector: float
    network: Network
    rows: tuple[CostRow, ...]
    crossings: tuple[Crossing, ...]
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        crossing = [{"bytes": c.size, "before": c.before, "to": c.to} for c in self.crossings]
        return {
            "operation": str(self.operation),
            "bytes": self.vector,
            "network": self.network.to_dict(),
            "rows": [row.to_dict() | {"algorithms": row.others} for row in self.rows],
            "crossings": crossing,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def document(self) -> Document:
        columns: list[Column | str] = [
            "ranks",
            Column("algorithm", "left"),
            "time",
            Column("at least", meaning="no algorithm beats the largest of latency, bandwidth and arithmetic bound"),
            "rounds",
            "sent per rank",
            Column("bus bandwidth", meaning="as nccl-tests print it"),
        ]
        rows = [_cells(row) for row in self.rows]
        lines = [f"{format_bytes(self.vector)} over {self.network.name}"]
        if self.crossings:
            shown = ", ".join(f"{c.to} from {format_bytes(c.size)}" for c in self.crossings)
            lines.append(f"at {self.rows[-1].ranks} ranks the fastest changes: {shown}")
        lines += [f"source: {source}" for source in self.network.sources]
        body = (table(columns, rows), Paragraph("\n".join(lines)), FindingList(self.findings))
        return Document(f"Cost of {self.operation}", body)


def _cells(row: CostRow) -> list[str | None]:
    sums = totals(row.choice.steps)
    return [
        str(row.ranks),
        row.choice.algorithm,
        format_seconds(row.choice.seconds),
        format_seconds(row.bound),
        str(sums.rounds),
        format_bytes(sums.sent),
        None if row.bus_bandwidth is None else f"{format_bytes(row.bus_bandwidth)}/s",
    ]


def bus_factor(operation: Operation, ranks: int) -> float:
    """NCCL's bus bandwidth factor: 2(n-1)/n, (n-1)/n or 1 (nccl-tests doc/PERFORMANCE.md)."""
    share = (ranks - 1) / ranks
    match operation:
        case Operation.ALLREDUCE:
            return 2 * share
        case Operation.BROADCAST | Operation.REDUCE:
            return 1.0
        case _:
            return share


def cost_collective(
    operation: str, vector: float, ranks: Sequence[int], network: Network, *, algorithm: str | None = None
) -> CollectiveCost:
    """Cost over ranks, by the fastest algorithm or by a named one."""
    which = as_operation(operation)
    if vector < 0:
        raise InputError(Fault("a message size is a finite number from 0", where="bytes", seen=f"{vector:g}"))
    rows = tuple(_row(which, vector, p, network, algorithm) for p in ranks)
    return CollectiveCost(
        operation=which,
        vector=vector,
        network=network,
        rows=rows,
        crossings=crossings(which, ranks[-1], network),
        findings=_findings(rows, network),
    )


def _row(operation: Operation, vector: float, ranks: int, network: Network, algorithm: str | None) -> CostRow:
    every = candidates(operation, ranks, vector, network)
    choice = every[0] if algorithm is None else cost(operation, algorithm, ranks, vector, network)
    rate = vector / choice.seconds * bus_factor(operation, ranks) if choice.seconds > 0 and ranks > 1 else None
    return CostRow(
        ranks=ranks,
        choice=choice,
        bound=lower_bound(operation, ranks, vector, network).seconds,
        others={each.algorithm: each.seconds for each in every},
        bus_bandwidth=rate,
    )


def _findings(rows: Sequence[CostRow], network: Network) -> tuple[Finding, ...]:
    broken = [
        row.ranks
        for row in rows
        if network.per_node > 1 and row.ranks > network.per_node and not network.nodes(row.ranks)
    ]
    if not broken:
        return ()
    text = (
        f"{broken[0]} ranks do not fill nodes of {network.per_node}, so only flat algorithms over the slow wire apply"
    )
    return (info("nodes-not-filled", text, remedy="use whole nodes, or state --per-node", ranks=broken[0]),)


@dataclass(frozen=True, kw_only=True)
class StepRow:
    workers: int
    compute: float
    communication: float

    def to_dict(self) -> dict[str, Any]:
        step = self.compute + self.communication
        return {
            "k": self.workers,
            "compute": self.compute,
            "communication": self.communication,
            "seconds": step,
            "comm_frac": self.communication / self.compute,
            "comm_share": self.communication / step,
        }


@dataclass(frozen=True, kw_only=True)
class StepCost(Shown):
    """A step that computes and then all-reduces its gradients: T(K), nothing overlapped.

    `terms` are the coefficients of T_comm(K) = constant + log lgK + linear K in seconds, fitted to the rows; divided by
    T(1) the log term is the `comm` of `scalecurve law logcomm`.
    """

    regime: str
    rows: tuple[StepRow, ...]
    exceeds_at: int | None
    terms: dict[str, float]
    term_error: float
    network: Network
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "regime": self.regime,
            "network": self.network.to_dict(),
            "rows": self.records(),
            "communication_exceeds_compute_at": self.exceeds_at,
            "communication_terms": self.terms,
            "term_error": self.term_error,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def document(self) -> Document:
        rows = [
            [
                str(row.workers),
                format_seconds(row.compute),
                format_seconds(row.communication),
                format_seconds(row.compute + row.communication),
                f"{row.communication / (row.compute + row.communication):.1%}",
            ]
            for row in self.rows
        ]
        grid = table(["K", "compute", "communication", "step", "share"], rows)
        if self.exceeds_at is None:
            answer = f"communication stays below compute up to K = {self.rows[-1].workers}"
        else:
            answer = f"communication exceeds compute from K = {self.exceeds_at} on"
        parts = ", ".join(f"{name} {format_seconds(value)}" for name, value in self.terms.items() if value > 0)
        form = "T_comm(K) = constant + log x lg K + linear x K"
        terms = f"{form}: {parts or 'nothing'} (typical error {self.term_error:.1%})"
        body = (grid, Paragraph(answer), Paragraph(terms), FindingList(self.findings))
        return Document(f"Gradient all-reduce in every step ({self.regime} scaling, nothing overlapped)", body)


def cost_step(
    vector: float, compute: float, workers: Sequence[int], network: Network, *, regime: str = "strong"
) -> StepCost:
    """T(K) of a step with a gradient all-reduce; `compute` is the step's compute time on one worker."""
    if not compute > 0:
        raise InputError(Fault("compute is the positive time of a step on one worker", seen=f"{compute:g}"))
    rows = tuple(
        StepRow(
            workers=k,
            compute=compute / k if regime == "strong" else compute,
            communication=best(Operation.ALLREDUCE, k, vector, network).seconds,
        )
        for k in workers
    )
    over = next((row.workers for row in rows if row.communication > row.compute), None)
    terms, error = _terms(rows)
    first = _first_exceeding(vector, compute, rows, network, regime) if over else None
    return StepCost(regime=regime, rows=rows, exceeds_at=first, terms=terms, term_error=error, network=network)


def _first_exceeding(
    vector: float, compute: float, rows: Sequence[StepRow], network: Network, regime: str
) -> int | None:
    """The exact first K, between the last listed K that is fine and the first that is not."""
    over = next(i for i, row in enumerate(rows) if row.communication > row.compute)
    start = rows[over - 1].workers + 1 if over else rows[over].workers
    for k in range(start, rows[over].workers + 1):
        own = compute / k if regime == "strong" else compute
        if best(Operation.ALLREDUCE, k, vector, network).seconds > own:
            return k
    return rows[over].workers


def _terms(rows: Sequence[StepRow]) -> tuple[dict[str, float], float]:
    from scipy.optimize import nnls

    several = [row for row in rows if row.workers > 1 and row.communication > 0]
    names = ("constant", "log", "linear")
    if not several:
        return dict.fromkeys(names, 0.0), 0.0
    seconds = np.array([row.communication for row in several])
    k = np.array([row.workers for row in several], float)
    design = np.stack([np.ones_like(k), np.log2(k), k], axis=1)
    weighted = design / seconds[:, None]
    scale = np.linalg.norm(weighted, axis=0)
    found = nnls(weighted / scale, np.ones(len(seconds)))[0] / scale
    error = float(np.median(np.abs(design @ found / seconds - 1)))
    return {name: float(value) for name, value in zip(names, found, strict=True)}, error
