"""Work, depth and the speedup a task graph admits.

The longest chain comes from one walk over the tasks in the order in which they become ready (A. B. Kahn, 1962).

Recording a task graph from plain Python functions: decorate them, run the program once, ask for the graph.

    record = TaskRecorder()

    @record.task
    def add(a, b): return a + b

    total = add(add(1, 2), add(3, 4))
    work_depth(record.graph())

A decorated function returns a `Recorded` value; passing one to another decorated function makes a dependency.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.document import Answer, Column, Document, FindingList, JsonRecord, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.laws import workdepth as law
from scalecurve.study.task_graph import TaskGraph
from scalecurve.units import WorkersLike, as_workers
from scalecurve.words import share_text

MAX_CYCLE_NAMES = 12  # tasks of a cycle quoted in a message
MAX_SIMULATED = 250_000  # tasks up to which schedules are simulated, so that plain Python takes seconds
MAX_PATH_NAMES = 20  # tasks of the critical path printed

Tasks = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ScheduleRow(JsonRecord):
    """What P workers can reach: the bounds, and a greedy schedule where it was simulated."""

    workers: int
    least: float
    greedy_bound: float
    simulated: float | None
    most_speedup: float | None
    slack: float | None

    JSON = "p=workers lower=least greedy_bound simulated most_speedup slack"


@dataclass(frozen=True, kw_only=True, repr=False)
class WorkDepth(Result):
    """Work W, depth D, parallelism W/D, the critical path by name, and a row for each number of workers."""

    tasks: int
    edges: int
    unit: str
    work: float
    depth: float
    path: tuple[str, ...]
    rows: tuple[ScheduleRow, ...]
    findings: tuple[Finding, ...] = ()

    JSON = "tasks edges unit work depth parallelism critical_path=path rows findings"

    @property
    def parallelism(self) -> float | None:
        return law.parallelism(self.work, self.depth)

    @property
    def answer(self) -> Answer:
        """How many workers the graph can keep busy."""
        if self.parallelism is None:
            return Answer(decision="The graph has no work, so there is nothing to speed up.")
        most = max(1, int(self.parallelism))
        useful = max((row.workers for row in self.rows if (row.slack or 0.0) >= 1), default=1)
        last = self.rows[-1]
        bound = last.workers < most and (last.most_speedup or 0.0) < 0.995 * last.workers
        reach = f"; {last.workers:,} workers reach at most {last.most_speedup:.3g}x" if bound else ""
        return Answer(
            decision=f"Use at most {most:,} workers: no more than {self.parallelism:.4g}x is possible{reach}.",
            reason=f"The longest chain is {share_text(self.depth / self.work)} of the work.",
            next="shorten the longest chain: `SAME --verbose` shows it"
            if useful < last.workers
            else f"`SAME --workers 1..{2 * most}` shows where it ends",
        )

    def body(self) -> Document:
        wide = "-" if self.parallelism is None else f"{self.parallelism:.4g}"
        head = f"{self.tasks:,} tasks, {self.edges:,} dependencies"
        unit = "" if self.unit == "work" else f" {self.unit}"
        sums = f"work W = {self.work:.6g}{unit}, depth D = {self.depth:.6g}{unit}, parallelism W/D = {wide}"
        columns = [
            Column("P", meaning="workers"),
            Column("T_P at least", meaning="max(W/P, D)"),
            Column("greedy", meaning="a greedy schedule, simulated"),
            Column("at most", meaning="(W - D)/P + D, the bound of any greedy schedule"),
            Column("S at most", meaning="min(P, W/D)"),
            Column("slack", meaning="(W/D)/P; 10 or more is comfortable"),
        ]
        rows = []
        for row in self.rows:
            numbers = (row.least, row.simulated, row.greedy_bound, row.most_speedup, row.slack)
            rows.append([str(row.workers), *(None if value is None else f"{value:.4g}" for value in numbers)])
        path = Paragraph(f"critical path ({len(self.path):,} tasks): {_chain_text(self.path, MAX_PATH_NAMES)}")
        blocks = (Paragraph(head), Paragraph(sums), table(columns, rows), path, FindingList(self.findings))
        return Document("Work and depth", blocks)


def _chain_text(names: Sequence[str], most: int) -> str:
    """`a -> b -> c`, the middle left out where there are more than `most`."""
    if len(names) > most:
        names = [*names[: most // 2], "...", *names[-(most // 2) :]]
    return " -> ".join(names)


def work_depth(graph: str | Path | TaskGraph, workers: WorkersLike = "1..64") -> WorkDepth:
    """Work, depth and bounds of a TaskGraph or of a file (JSON, DOT, chrome trace, .npz) or module:attribute.

    Greedy schedules are simulated while the graph is small enough.
    """
    if not isinstance(graph, TaskGraph):
        from scalecurve.formats.graphs import read_task_graph

        graph = read_task_graph(str(graph))
    chain = critical_path(graph)
    work = float(graph.work.sum())
    depth = min(chain.length, work)  # the two sums round differently; a chain of all tasks is the whole work
    simulate = len(graph) <= MAX_SIMULATED
    rows = tuple(
        ScheduleRow(
            workers=p,
            least=law.least_time(work, depth, p),
            greedy_bound=law.greedy_time(work, depth, p),
            simulated=greedy_makespan(graph, p) if simulate else None,
            most_speedup=law.most_speedup(work, depth, p),
            slack=law.slack(work, depth, p),
        )
        for p in as_workers(workers)
    )
    findings = []
    if not simulate:
        text = f"the greedy schedule was not simulated: more than {MAX_SIMULATED:,} tasks; the two bounds enclose it"
        findings.append(info("schedule-not-simulated", text))
    wide = law.parallelism(work, depth)
    starved = [row.workers for row in rows if row.workers > 1 and wide is not None and row.workers > wide]
    if starved:
        text = f"from P = {starved[0]} on there are more workers than parallelism ({wide:.3g}): they cannot all be busy"
        hint = "shorten the critical path (split its longest tasks) rather than add workers"
        findings.append(warning("workers-exceed-parallelism", text, remedy=hint, workers=starved[0], parallelism=wide))
    return WorkDepth(
        tasks=len(graph),
        edges=graph.edges,
        unit=graph.unit,
        work=work,
        depth=depth,
        path=tuple(graph.name(int(task)) for task in chain.tasks),
        rows=rows,
        findings=tuple(findings),
    )


def greedy_makespan(graph: TaskGraph, workers: int) -> float:
    """T_P of a greedy schedule that takes ready tasks in the order in which they became ready."""
    if workers < 1:
        raise InputError(Fault("a schedule needs at least one worker", where="workers", value=str(workers)))
    work, waits = graph.work.tolist(), graph.waits.tolist()
    first, after = graph.first.tolist(), graph.after.tolist()
    ready = deque(task for task, count in enumerate(waits) if count == 0)
    running: list[tuple[float, int]] = []
    now, done = 0.0, 0
    while ready or running:
        while ready and len(running) < workers:
            task = ready.popleft()
            heappush(running, (now + work[task], task))
        now, task = heappop(running)
        done += 1
        for following in after[first[task] : first[task + 1]]:
            waits[following] -= 1
            if waits[following] == 0:
                ready.append(following)
    if done < len(graph):
        raise InputError(_cycle_fault(graph, np.array(waits) > 0), subject="graph")
    return now


@dataclass(frozen=True)
class CriticalPath:
    """The longest chain: its length and its tasks from first to last."""

    length: float
    tasks: Tasks


def critical_path(graph: TaskGraph) -> CriticalPath:
    """The longest chain, or an InputError that prints a cycle."""
    work, waits = graph.work.tolist(), graph.waits.tolist()
    first, after = graph.first.tolist(), graph.after.tolist()
    start, latest = [0.0] * len(work), [-1] * len(work)  # when a task may start, and the task it waits for last
    ready = [task for task, count in enumerate(waits) if count == 0]
    for task in ready:  # grows while it is read
        end = start[task] + work[task]
        for following in after[first[task] : first[task + 1]]:
            waits[following] -= 1
            if waits[following] == 0:
                ready.append(following)
            if end >= start[following]:
                start[following], latest[following] = end, task
    if len(ready) < len(work):
        raise InputError(_cycle_fault(graph, np.array(waits) > 0), subject="graph")
    ends = np.array(start) + graph.work
    chain = [int(np.argmax(ends))]
    while latest[chain[-1]] >= 0:
        chain.append(latest[chain[-1]])
    return CriticalPath(float(ends[chain[0]]), np.array(chain[::-1], np.int64))


def _cycle_fault(graph: TaskGraph, is_stuck: npt.NDArray[np.bool_]) -> Fault:
    """A cycle among the tasks that never become ready: walk back along them until one repeats."""
    sources = np.repeat(np.arange(len(graph)), np.diff(graph.first))
    inside = is_stuck[sources] & is_stuck[graph.after]
    before = dict(zip(graph.after[inside].tolist(), sources[inside].tolist(), strict=True))
    chain = [next(iter(before))]
    while (task := before[chain[-1]]) not in chain:
        chain.append(task)
    cycle = [task, *chain[chain.index(task) + 1 :][::-1]]
    place = cycle.index(min(cycle))
    names = [graph.name(each) for each in (*cycle[place:], *cycle[: place + 1])]
    return Fault(
        f"the graph has a cycle of {len(names) - 1} tasks",
        value=_chain_text(names, MAX_CYCLE_NAMES),
        remedy="a task cannot wait for itself; remove one of these edges",
    )


@dataclass(frozen=True)
class Recorded:
    """The return value of a recorded task, and the number of the task."""

    value: Any
    task: int


@dataclass
class TaskRecorder:
    """Collects tasks while a program runs; `clock` is replaceable so that tests need no waiting."""

    clock: Callable[[], float] = time.perf_counter
    _names: list[str] = field(default_factory=list)
    _seconds: list[float] = field(default_factory=list)
    _edges: list[tuple[int, int]] = field(default_factory=list)

    def task(self, function: Callable[..., Any]) -> Callable[..., Recorded]:
        """Decorator: every call becomes one timed task that waits for the tasks whose results it takes."""

        @wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Recorded:
            waited = sorted({result.task for result in _results((args, kwargs))})
            plain_args, plain_kwargs = _plain(args), _plain(kwargs)
            begin = self.clock()
            value = function(*plain_args, **plain_kwargs)
            seconds, task = self.clock() - begin, len(self._names)
            self._names.append(f"{function.__name__}#{task}")
            self._seconds.append(seconds)
            self._edges += [(other, task) for other in waited]
            return Recorded(value, task)

        return recorded

    def graph(self) -> TaskGraph:
        """The tasks recorded so far, in seconds."""
        sources, targets = [edge[0] for edge in self._edges], [edge[1] for edge in self._edges]
        return TaskGraph.of(self._seconds, sources, targets, names=self._names, unit="s")


def _results(value: Any) -> Iterator[Recorded]:
    """Every Recorded value inside lists, tuples and dicts."""
    if isinstance(value, Recorded):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _results(item)


def _plain(value: Any) -> Any:
    """The same arguments with every Recorded value replaced by what the task returned."""
    if isinstance(value, Recorded):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if type(value) is tuple:
        return tuple(_plain(item) for item in value)
    return value
