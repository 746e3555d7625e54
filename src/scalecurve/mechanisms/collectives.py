"""What a collective costs over ranks, and what that does to a training step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.document import Answer, Column, Document, FindingList, JsonRecord, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info
from scalecurve.laws.collectives import (
    Choice,
    Crossing,
    Network,
    Operation,
    Totals,
    as_operation,
    best,
    candidates,
    cost,
    crossings,
    lower_bound,
    totals,
)
from scalecurve.units import WorkersLike, as_workers, format_bytes, format_seconds
from scalecurve.words import percent

FASTER = "nvlink+ib400"  # a network to compare with


@dataclass(frozen=True, kw_only=True)
class CollectiveRow(JsonRecord):
    """One number of ranks: the algorithm, its cost, the lower bound, and the seconds of every other algorithm."""

    ranks: int
    choice: Choice
    bound: float
    others: dict[str, float]
    bus_bandwidth: float | None

    JSON = """
        ranks algorithm=choice.algorithm seconds=choice.seconds lower_bound=bound rounds=totals.rounds
        bytes_sent=totals.sent bytes_reduced=totals.reduced bus_bandwidth"""

    @property
    def totals(self) -> Totals:
        return totals(self.choice.steps)


@dataclass(frozen=True, kw_only=True, repr=False)
class CollectiveCost(Result):
    """Cost of one operation over ranks on one network; `vector` is the full vector in bytes."""

    operation: Operation
    vector: float
    network: Network
    rows: tuple[CollectiveRow, ...]
    crossings: tuple[Crossing, ...]
    findings: tuple[Finding, ...] = ()

    JSON = "operation bytes=vector network rows crossings findings"

    def content(self) -> dict[str, Any]:
        return super().content() | {"rows": [row.to_dict() | {"algorithms": row.others} for row in self.rows]}

    @property
    def answer(self) -> Answer:
        """What the operation takes on the most ranks, and by which algorithm."""
        first, last = self.rows[0], self.rows[-1]
        seconds, bound = last.choice.seconds, last.bound
        growth = (
            f"; it is {seconds / first.choice.seconds:.3g}x the time of {first.ranks:,}" if last is not first else ""
        )
        return Answer(
            decision=f"{self.operation} of {format_bytes(self.vector)} takes {format_seconds(seconds)} on "
            f"{last.ranks:,} ranks by {last.choice.algorithm}.",
            reason=f"No algorithm takes less than {format_seconds(bound)} there{growth}.",
            next="`scalecurve collective measure` times it on your network",
        )

    def body(self) -> Document:
        columns: list[Column | str] = [
            "ranks",
            Column("algorithm", "left"),
            "time",
            Column("at least", meaning="no algorithm beats the largest of latency, bandwidth and arithmetic bound"),
            "rounds",
            "sent per rank",
            Column("bus bandwidth", meaning="as nccl-tests print it"),
        ]
        rows = []
        for row in self.rows:
            sums, rate = row.totals, row.bus_bandwidth
            times = [format_seconds(row.choice.seconds), format_seconds(row.bound)]
            sent = [str(sums.rounds), format_bytes(sums.sent), None if rate is None else f"{format_bytes(rate)}/s"]
            rows.append([str(row.ranks), row.choice.algorithm, *times, *sent])
        lines = [f"{format_bytes(self.vector)} over {self.network.name}; at least: the lower bound of any algorithm"]
        if self.crossings:
            changes = ", ".join(f"{c.to} from {format_bytes(c.size)}" for c in self.crossings)
            lines.append(f"fastest at {self.rows[-1].ranks} ranks, by size: {self.crossings[0].before}, {changes}")
        lines += [f"source: {source}" for source in self.network.sources]
        body = (table(columns, rows), Paragraph("\n".join(lines)), FindingList(self.findings))
        return Document(f"Cost of {self.operation}", body)


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


def collective_cost(
    operation: str,
    vector: float,
    ranks: WorkersLike,
    network: str | Network,
    *,
    algorithm: str | None = None,
    per_node: int | None = None,
    adapters: int | None = None,
    gamma: float = 0.0,
) -> CollectiveCost:
    """Cost over ranks by the fastest algorithm or a named one: `collective_cost("allreduce", 350e6, [8, 64], "ib400")`.

    `vector` is the full vector in bytes; `network` is a preset such as "nvlink+ib400", typed "2us/400Gb/s", or a
    Network.  `per_node` ranks share a node and `adapters` network adapters; `gamma` is seconds per reduced byte.
    """
    which, counts = as_operation(operation), as_workers(ranks)
    wires = _network(network, per_node, adapters, gamma)
    if vector < 0:
        raise InputError(Fault("a message size is a finite number from 0", where="bytes", value=f"{vector:g}"))
    rows = []
    for p in counts:
        choices = candidates(which, p, vector, wires)
        choice = choices[0] if algorithm is None else cost(which, algorithm, p, vector, wires)
        rate = vector / choice.seconds * bus_factor(which, p) if choice.seconds > 0 and p > 1 else None
        rows.append(
            CollectiveRow(
                ranks=p,
                choice=choice,
                bound=lower_bound(which, p, vector, wires).seconds,
                others={other.algorithm: other.seconds for other in choices},
                bus_bandwidth=rate,
            )
        )
    findings = []
    unfilled = [p for p in counts if p > wires.per_node > 1 and not wires.nodes(p)]
    if unfilled:
        text = (
            f"{unfilled[0]} ranks do not fill nodes of {wires.per_node}: only flat algorithms over the slow wire apply"
        )
        findings.append(
            info("nodes-not-filled", text, remedy="use whole nodes, or state --per-node", ranks=unfilled[0])
        )
    changes = crossings(which, counts[-1], wires)
    return CollectiveCost(
        operation=which, vector=vector, network=wires, rows=tuple(rows), crossings=changes, findings=tuple(findings)
    )


def _network(network: str | Network, per_node: int | None, adapters: int | None, gamma: float) -> Network:
    if isinstance(network, Network):
        return network
    from scalecurve.hardware.networks import network as preset

    return preset(network, per_node=per_node, adapters=adapters, gamma=gamma)


@dataclass(frozen=True, kw_only=True)
class StepRow(JsonRecord):
    """Seconds of a training step at one K: compute, then communication."""

    workers: int
    compute: float
    communication: float

    JSON = "k=workers compute communication seconds comm_frac comm_share"

    @property
    def seconds(self) -> float:
        return self.compute + self.communication

    @property
    def exceeds(self) -> bool:
        """Whether communication takes longer than compute."""
        return self.communication > self.compute

    @property
    def comm_frac(self) -> float:
        return self.communication / self.compute

    @property
    def comm_share(self) -> float:
        return self.communication / self.seconds


@dataclass(frozen=True, kw_only=True, repr=False)
class StepCost(Result):
    """A step that computes and then all-reduces its gradients: T(K) without overlap.

    `terms` are the coefficients of T_comm(K) = constant + log lg K + linear K in seconds, fitted to the rows; divided
    by T(1) the log term is the `comm` of `scalecurve law logcomm`.
    """

    regime: str
    rows: tuple[StepRow, ...]
    exceeds_at: int | None
    terms: dict[str, float]
    term_error: float
    network: Network
    findings: tuple[Finding, ...] = ()

    JSON = """
        regime network rows communication_exceeds_compute_at=exceeds_at communication_terms=terms term_error
        findings"""

    @property
    def answer(self) -> Answer:
        """From which K communication takes more of a step than compute."""
        last = self.rows[-1]
        share = f"communication is {percent(last.communication / last.seconds)} of a step at K = {last.workers:,}"
        if self.exceeds_at is None:
            return Answer(
                decision=f"Communication stays below compute: {share}.",
                next="overlap it: `scalecurve collective measure` times it on your network",
            )
        return Answer(
            decision=f"Stay below K = {self.exceeds_at:,}: from there communication takes longer than compute.",
            reason=f"Nothing overlapped, {share}.",
            next="overlap the all-reduce with compute"
            + (f"; `SAME --network {FASTER}` prices a faster network" if self.network.name != FASTER else ""),
        )

    def body(self) -> Document:
        rows = []
        for row in self.rows:
            step = row.seconds
            times = [format_seconds(seconds) for seconds in (row.compute, row.communication, step)]
            rows.append([str(row.workers), *times, f"{row.communication / step:.1%}"])
        parts = ", ".join(f"{name} {format_seconds(value)}" for name, value in self.terms.items() if value > 0)
        form = "T_comm(K) = constant + log x lg K + linear x K"
        terms = f"{form}: {parts or 'nothing'} (typical error {self.term_error:.1%})"
        grid = table(["K", "compute", "communication", "step", "share"], rows)
        body = (grid, Paragraph(terms), FindingList(self.findings))
        return Document(f"Gradient all-reduce in every step ({self.regime} scaling, nothing overlapped)", body)


def training_step_cost(
    *,
    vector: float,
    compute: float,
    ranks: WorkersLike,
    network: str | Network,
    regime: str = "strong",
    per_node: int | None = None,
    adapters: int | None = None,
    gamma: float = 0.0,
) -> StepCost:
    """T(K) in seconds of a step that computes `compute` seconds on one worker, then all-reduces `vector` bytes."""
    if not compute > 0:
        remedy = "give the time of a step on one worker"
        raise InputError(Fault("the compute time is not above 0", value=f"{compute:g}", remedy=remedy))
    counts, wires = as_workers(ranks), _network(network, per_node, adapters, gamma)

    def step(k: int) -> StepRow:
        own = compute / k if regime == "strong" else compute
        return StepRow(workers=k, compute=own, communication=best(Operation.ALLREDUCE, k, vector, wires).seconds)

    rows = [step(k) for k in counts]
    place = next((i for i, row in enumerate(rows) if row.exceeds), None)
    exceeds_at = None
    if place is not None:  # the exact K lies after the last listed K that is fine
        between = range(counts[place - 1] + 1 if place else counts[0], counts[place])
        exceeds_at = next((k for k in between if step(k).exceeds), counts[place])
    terms, error = _terms(rows)
    return StepCost(
        regime=regime, rows=tuple(rows), exceeds_at=exceeds_at, terms=terms, term_error=error, network=wires
    )


def _terms(rows: list[StepRow]) -> tuple[dict[str, float], float]:
    """Positive coefficients of 1, lg K and K that explain the communication, and their median relative error."""
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
    coefficients = nnls(weighted / scale, np.ones(len(seconds)))[0] / scale
    error = float(np.median(np.abs(design @ coefficients / seconds - 1)))
    return {name: float(value) for name, value in zip(names, coefficients, strict=True)}, error
