"""Work, depth and the speedup a task graph admits.

The longest chain is found without a Python loop over tasks, in one of two compiled ways: level by level in numpy while
levels are wide; otherwise Dijkstra over shifted lengths.  With t a topological number and C the largest work, the
length C (t(v) - t(u)) - work(v) of every edge is not negative, and the shifts telescope, so the shortest path is the
longest chain.  The topological number comes from scipy's strong components, which are numbered along or against the
edges; fewer components than tasks prove a cycle.  See docs/decisions/0061-longest-path.md.

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
from scalecurve.study.task_graph import Floats, Ids, TaskGraph
from scalecurve.units import WorkersLike, as_workers
from scalecurve.words import percent

TRIAL_LEVELS = 64  # levels tried before judging how wide the graph is
NARROW = 250  # tasks a level below which one numpy step per level is the slower way
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
        reach = f"; {last.workers:,} workers reach at most {last.most_speedup:.3g}x" if last.most_speedup else ""
        return Answer(
            decision=f"Use at most {most:,} workers: no more than {self.parallelism:.4g}x is possible{reach}.",
            reason=f"The longest chain is {percent(self.depth / self.work)} of the work.",
            next="shorten the critical path" if useful < last.workers else None,
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
        raise InputError(
            Fault(
                "the graph has a cycle, so some tasks never become ready",
                value=f"{len(graph) - done}",
                remedy="remove one of its dependencies",
            )
        )
    return now


@dataclass(frozen=True)
class CriticalPath:
    """The longest chain: its length and its tasks from first to last."""

    length: float
    tasks: Tasks


def critical_path(graph: TaskGraph) -> CriticalPath:
    """The longest chain, or an InputError that prints a cycle."""
    return chain_by_levels(graph) or chain_by_shortest_path(graph)


def chain_by_levels(graph: TaskGraph) -> CriticalPath | None:
    """Finish all ready tasks, level by level; None once levels prove narrow or a cycle leaves no task ready."""
    n, waits = len(graph), graph.waits.copy()
    start = np.zeros(n)  # when a task may start
    latest, place = np.full(n, -1, np.int32), np.empty(n, np.int32)  # the task it waits for last; scratch
    ready: npt.NDArray[Any] = np.flatnonzero(waits == 0)
    levels = done = 0
    while len(ready):
        levels, done = levels + 1, done + len(ready)
        if levels > TRIAL_LEVELS and done < levels * NARROW:
            return None
        begin = graph.first[ready]
        counts = graph.first[ready + 1] - begin  # edges that leave each ready task
        targets: Ids = graph.after[_spans(begin, counts)]
        ended = np.repeat(start[ready] + graph.work[ready], counts)
        np.maximum.at(start, targets, ended)
        last = ended == start[targets]
        latest[targets[last]] = np.repeat(ready, counts)[last]
        np.subtract.at(waits, targets, np.int32(1))
        ready = targets[waits[targets] == 0]
        places = np.arange(len(ready), dtype=np.int32)
        place[ready] = places
        ready = ready[place[ready] == places]  # each task once, without sorting: the last place written wins
    if done < n:
        return None
    ends = start + graph.work
    task = last_task = int(np.argmax(ends))
    chain = []
    while task >= 0:  # one round per level, and levels are few here
        chain.append(task)
        task = int(latest[task])
    return CriticalPath(float(ends[last_task]), np.array(chain[::-1], np.int64))


def _spans(begins: npt.NDArray[Any], counts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """begins[0], begins[0] + 1, ... counts[0] numbers, then those of the next span."""
    ends = np.cumsum(counts)
    spans: npt.NDArray[Any] = np.repeat(begins - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)
    return spans


def chain_by_shortest_path(graph: TaskGraph) -> CriticalPath:
    """Dijkstra from a root before all first tasks, over lengths shifted by the topological number."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    n, root = len(graph), len(graph)
    number = _topological_number(graph)
    sources = np.repeat(np.arange(n), np.diff(graph.first))
    starts = np.flatnonzero(graph.waits == 0)
    shift = float(graph.work.max()) or 1.0
    lengths = shift * (number[graph.after] - number[sources]) - graph.work[graph.after]
    from_root = shift * (number[starts] + 1.0) - graph.work[starts]
    first = np.append(graph.first, graph.first[-1] + len(starts))
    index = np.concatenate([graph.after, starts.astype(np.int32)])
    # scipy drops explicit zeros of a dense input only; in a sparse one a zero length stays an edge
    matrix = csr_array((np.concatenate([lengths, from_root]), index, _small(first)), shape=(n + 1, n + 1))
    distance, before = dijkstra(matrix, indices=[root], return_predecessors=True)
    depth = shift * (number + 1.0) - distance[0, :n]
    tasks = _trace(before[0, :n], int(np.argmax(depth)), number.astype(np.int64))
    return CriticalPath(float(graph.work[tasks].sum()), tasks)


def _small(index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Indices as 32-bit numbers where they fit: scipy then copies less."""
    return index.astype(np.int32) if index[-1] < 2**31 else index


def _topological_number(graph: TaskGraph) -> Floats:
    """A number for each task that rises along every edge; an InputError prints a cycle."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(graph)
    matrix = csr_array((np.ones(graph.edges, np.int8), graph.after, _small(graph.first)), shape=(n, n))
    count, label = connected_components(matrix, directed=True, connection="strong")
    sources = np.repeat(np.arange(n), np.diff(graph.first))
    if count < n or bool(np.any(sources == graph.after)):
        names = [graph.name(task) for task in _find_cycle(graph, label)]
        cycle = Fault(
            f"the graph has a cycle of {len(names) - 1} tasks",
            value=_chain_text(names, MAX_CYCLE_NAMES),
            remedy="a task cannot wait for itself; remove one of these edges",
        )
        raise InputError(cycle, subject="graph")
    rising = bool(np.all(label[sources] < label[graph.after]))  # scipy does not say in which direction it numbers
    return np.asarray(label if rising else count - 1 - label, dtype=np.float64)


def _trace(before: npt.NDArray[Any], last: int, number: Tasks) -> Tasks:
    """The chain that ends in `last`; runs of tasks numbered one after another are jumped over together."""
    n = len(before)
    by_number = np.empty(n, np.int64)
    by_number[number] = np.arange(n)
    predecessors = before[by_number]
    previous = np.where(predecessors < n, number[np.minimum(predecessors, n - 1)], -1)
    breaks = previous != np.arange(n) - 1
    breaks[0] = True
    begins = np.flatnonzero(breaks)
    run_of = np.cumsum(breaks) - 1
    first, earlier = begins.tolist(), previous[begins].tolist()
    run_before = run_of[previous[begins]].tolist()
    place = int(number[last])
    run, runs = int(run_of[place]), []
    while place >= 0:  # first number and length of every run on the chain, from its end
        runs.append((first[run], place - first[run] + 1))
        place, run = earlier[run], run_before[run]
    columns = np.array(runs[::-1], np.int64)
    chain: Tasks = by_number[_spans(columns[:, 0], columns[:, 1])]
    return chain


def _find_cycle(graph: TaskGraph, label: npt.NDArray[Any]) -> list[int]:
    """Walk inside one strong component until a task repeats."""
    sizes = np.bincount(label)
    knotted = np.flatnonzero(sizes[label] > 1)
    if not len(knotted):
        sources = np.repeat(np.arange(len(graph)), np.diff(graph.first))
        task = int(sources[np.flatnonzero(sources == graph.after)[0]])
        return [task, task]
    task, position = int(knotted[0]), {}
    chain: list[int] = []
    while task not in position:
        position[task] = len(chain)
        chain.append(task)
        following = graph.after[graph.first[task] : graph.first[task + 1]]
        task = int(following[label[following] == label[task]][0])
    return [*chain[position[task] :], task]


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
