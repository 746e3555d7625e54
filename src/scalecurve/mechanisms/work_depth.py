"""Work, depth and the speedup a task graph admits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.document import Column, Document, FindingList, Paragraph, Shown, table
from scalecurve.findings import Finding, info, warning
from scalecurve.laws import workdepth as law
from scalecurve.mechanisms.critical_path import critical_path
from scalecurve.mechanisms.schedule import greedy_makespan
from scalecurve.study.task_graph import TaskGraph

MAX_SIMULATED = 250_000  # tasks x schedules stays within seconds of plain Python
MAX_NAMED = 20  # tasks of the critical path shown in text


@dataclass(frozen=True, kw_only=True)
class ScheduleRow:
    """What P workers can reach: the bounds, and a greedy schedule where it was simulated."""

    workers: int
    least: float
    greedy_bound: float
    simulated: float | None
    most_speedup: float | None
    slack: float | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "p": self.workers,
            "lower": self.least,
            "greedy_bound": self.greedy_bound,
            "simulated": self.simulated,
            "most_speedup": self.most_speedup,
            "slack": self.slack,
        }


@dataclass(frozen=True, kw_only=True)
class WorkDepth(Shown):
    """Work W, depth D, parallelism W/D, the critical path by name, and a row for each number of workers."""

    tasks: int
    edges: int
    unit: str
    work: float
    depth: float
    path: tuple[str, ...]
    rows: tuple[ScheduleRow, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def parallelism(self) -> float | None:
        return law.parallelism(self.work, self.depth)

    def to_dict(self) -> dict[str, Any]:
        return {
            "tasks": self.tasks,
            "edges": self.edges,
            "unit": self.unit,
            "work": self.work,
            "depth": self.depth,
            "parallelism": self.parallelism,
            "critical_path": list(self.path),
            "rows": self.records(),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def document(self) -> Document:
        wide = "-" if self.parallelism is None else f"{self.parallelism:.4g}"
        head = f"{self.tasks:,} tasks, {self.edges:,} dependencies"
        unit = "" if self.unit == "work" else f" {self.unit}"
        sums = f"work W = {self.work:.6g}{unit}, depth D = {self.depth:.6g}{unit}, parallelism W/D = {wide}"
        columns = [
            Column("P", meaning="workers"),
            Column("T_P at least", meaning="max(W/P, D)"),
            Column("greedy", meaning="a greedy schedule, simulated"),
            Column("at most", meaning="(W - D)/P + D, what any greedy schedule keeps"),
            Column("S at most", meaning="min(P, W/D)"),
            Column("slack", meaning="(W/D)/P; 10 or more is comfortable"),
        ]
        grid = table(columns, [_cells(row) for row in self.rows])
        path = Paragraph(f"critical path ({len(self.path):,} tasks): {_shown_path(self.path)}")
        return Document("Work and depth", (Paragraph(head), Paragraph(sums), grid, path, FindingList(self.findings)))


def _cells(row: ScheduleRow) -> list[str | None]:
    numbers = (row.least, row.simulated, row.greedy_bound, row.most_speedup, row.slack)
    return [str(row.workers), *(None if value is None else f"{value:.4g}" for value in numbers)]


def _shown_path(names: Sequence[str]) -> str:
    if len(names) <= MAX_NAMED:
        return " -> ".join(names)
    half = MAX_NAMED // 2
    return " -> ".join([*names[:half], "...", *names[-half:]])


def measure_parallelism(graph: TaskGraph, workers: Sequence[int] = (1, 2, 4, 8, 16, 32, 64)) -> WorkDepth:
    """Work, depth and bounds of a graph; greedy schedules are simulated while the graph is small enough."""
    chain = critical_path(graph)
    work = float(graph.work.sum())
    depth = min(chain.length, work)  # the two sums round differently; a chain of everything is the whole work
    simulate = len(graph) <= MAX_SIMULATED
    rows = tuple(_row(graph, work, depth, p, simulate) for p in workers)
    return WorkDepth(
        tasks=len(graph),
        edges=graph.edges,
        unit=graph.unit,
        work=work,
        depth=depth,
        path=tuple(graph.name(int(task)) for task in chain.tasks),
        rows=rows,
        findings=_findings(work, depth, rows, simulate),
    )


def _row(graph: TaskGraph, work: float, depth: float, workers: int, simulate: bool) -> ScheduleRow:
    return ScheduleRow(
        workers=workers,
        least=law.least_time(work, depth, workers),
        greedy_bound=law.greedy_time(work, depth, workers),
        simulated=greedy_makespan(graph, workers) if simulate else None,
        most_speedup=law.most_speedup(work, depth, workers),
        slack=law.slack(work, depth, workers),
    )


def _findings(work: float, depth: float, rows: Sequence[ScheduleRow], simulated: bool) -> tuple[Finding, ...]:
    found: list[Finding] = []
    wide = law.parallelism(work, depth)
    if not simulated:
        text = f"the greedy schedule was not simulated: more than {MAX_SIMULATED:,} tasks; the two bounds enclose it"
        found.append(info("schedule-not-simulated", text))
    starved = [row.workers for row in rows if row.workers > 1 and wide is not None and row.workers > wide]
    if starved:
        text = f"from P = {starved[0]} on there are more workers than parallelism ({wide:.3g}): they cannot all be busy"
        hint = "shorten the critical path (split its longest tasks) rather than add workers"
        found.append(warning("workers-exceed-parallelism", text, remedy=hint, workers=starved[0], parallelism=wide))
    return tuple(found)
