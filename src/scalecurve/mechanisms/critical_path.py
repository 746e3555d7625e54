"""The longest chain of a task graph, without a Python loop over tasks.

Two ways, both compiled: level by level in numpy while levels are wide; otherwise Dijkstra over shifted lengths.  With
t a topological number and C the largest work, the length C (t(v) - t(u)) - work(v) of every edge is not negative, and
the shifts telescope, so the shortest path is the longest chain.  The topological number comes from scipy's strong
components, which are numbered against the edges and, when fewer than the tasks, prove a cycle.  See
docs/decisions/0061-longest-path.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError
from scalecurve.study.task_graph import Floats, Ids, TaskGraph

TRIAL_LEVELS = 64  # levels tried before judging how wide the graph is
NARROW = 250  # tasks a level below which one numpy step per level is the slower way
MAX_SHOWN = 12  # tasks of a cycle quoted in a message


@dataclass(frozen=True)
class CriticalPath:
    """The longest chain: its length and its tasks from first to last."""

    length: float
    tasks: npt.NDArray[np.int64]


def critical_path(graph: TaskGraph) -> CriticalPath:
    """The longest chain, or an InputError that prints a cycle."""
    before = _by_levels(graph)
    if before is None:
        before = _by_shortest_path(graph)
    return before


def _by_levels(graph: TaskGraph) -> CriticalPath | None:
    """All tasks that are ready, step by step; None once levels prove narrow or a cycle leaves nothing ready."""
    sweep = _Sweep(graph)
    ready = np.flatnonzero(graph.waits == 0)
    levels = done = 0
    while len(ready):
        levels, done = levels + 1, done + len(ready)
        if levels > TRIAL_LEVELS and done < levels * NARROW:
            return None
        ready = sweep.step(ready)
    return sweep.path() if done == len(graph) else None


class _Sweep:
    """State of one pass over the levels: when each task may start, and which task it waited for last."""

    def __init__(self, graph: TaskGraph) -> None:
        self.graph = graph
        self.start = np.zeros(len(graph))
        self.latest = np.full(len(graph), -1, np.int32)
        self.waits = graph.waits.copy()
        self.place = np.empty(len(graph), np.int32)

    def step(self, ready: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Finish these tasks; returns the tasks nothing waits for any more."""
        counts, targets = _edges_from(self.graph, ready)
        ended = np.repeat(self.start[ready] + self.graph.work[ready], counts)
        np.maximum.at(self.start, targets, ended)
        last = ended == self.start[targets]
        self.latest[targets[last]] = np.repeat(ready, counts)[last]
        np.subtract.at(self.waits, targets, np.int32(1))
        return self._distinct(targets[self.waits[targets] == 0])

    def _distinct(self, tasks: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Each task once, without sorting: the last place written wins."""
        places = np.arange(len(tasks), dtype=np.int32)
        self.place[tasks] = places
        once: npt.NDArray[Any] = tasks[self.place[tasks] == places]
        return once

    def path(self) -> CriticalPath:
        ends = self.start + self.graph.work
        last = int(np.argmax(ends))
        chain, task = [], last
        while task >= 0:  # as long as there are levels, and those are few here
            chain.append(task)
            task = int(self.latest[task])
        return CriticalPath(float(ends[last]), np.array(chain[::-1], np.int64))


def _edges_from(graph: TaskGraph, tasks: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Ids]:
    """How many edges leave each of these tasks, and where they lead."""
    begin = graph.first[tasks]
    counts = graph.first[tasks + 1] - begin
    ends = np.cumsum(counts)
    places = np.repeat(begin - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)
    return counts, graph.after[places]


def _by_shortest_path(graph: TaskGraph) -> CriticalPath:
    from scipy.sparse.csgraph import dijkstra

    n, root = len(graph), len(graph)
    number = _topological_number(graph)
    sources = np.repeat(np.arange(n), np.diff(graph.first))
    starts = np.flatnonzero(graph.waits == 0)
    shift = float(graph.work.max()) or 1.0
    lengths = shift * (number[graph.after] - number[sources]) - graph.work[graph.after]
    from_root = shift * (number[starts] + 1.0) - graph.work[starts]
    matrix = _with_root(graph, starts, np.concatenate([lengths, from_root]))
    distance, before = dijkstra(matrix, indices=[root], return_predecessors=True)
    depth = shift * (number + 1.0) - distance[0, :n]
    tasks = _trace(before[0, :n], int(np.argmax(depth)), number.astype(np.int64))
    return CriticalPath(float(graph.work[tasks].sum()), tasks)


def _with_root(graph: TaskGraph, starts: npt.NDArray[Any], lengths: Floats) -> Any:
    from scipy.sparse import csr_array

    first = np.append(graph.first, graph.first[-1] + len(starts))
    index = np.concatenate([graph.after, starts.astype(np.int32)])
    # scipy drops explicit zeros of a dense input only; in a sparse one a zero length stays an edge
    return csr_array((lengths, index, _small(first)), shape=(len(graph) + 1, len(graph) + 1))


def _small(index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    return index.astype(np.int32) if index[-1] < 2**31 else index


def _topological_number(graph: TaskGraph) -> npt.NDArray[np.float64]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    shape = (len(graph), len(graph))
    ones = np.ones(graph.edges, np.int8)
    matrix = csr_array((ones, graph.after, _small(graph.first)), shape=shape)
    count, label = connected_components(matrix, directed=True, connection="strong")
    sources = np.repeat(np.arange(len(graph)), np.diff(graph.first))
    if count < len(graph) or bool(np.any(sources == graph.after)):
        raise _cyclic(graph, label)
    rising = bool(np.all(label[sources] < label[graph.after]))  # which way is scipy's choice: look, do not assume
    return np.asarray(label if rising else count - 1 - label, dtype=np.float64)


def _trace(before: npt.NDArray[Any], last: int, number: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The chain that ends in `last`, run by run: tasks numbered one after another are jumped over together."""
    n = len(before)
    by_number = np.empty(n, np.int64)
    by_number[number] = np.arange(n)
    came = before[by_number]
    previous = np.where(came < n, number[np.minimum(came, n - 1)], -1)
    breaks = previous != np.arange(n) - 1
    breaks[0] = True
    begins = np.flatnonzero(breaks)
    run_of = np.cumsum(breaks) - 1
    pieces = _walk_runs(begins, previous[begins], run_of, int(number[last]))
    chain: npt.NDArray[np.int64] = by_number[_spans(*pieces)]
    return chain


def _walk_runs(
    begins: npt.NDArray[Any], earlier: npt.NDArray[Any], run_of: npt.NDArray[Any], place: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """First and last number of every run on the chain, in order."""
    first, before, run_before = begins.tolist(), earlier.tolist(), run_of[earlier].tolist()
    run, pieces = int(run_of[place]), []
    while place >= 0:
        pieces.append((first[run], place))
        place, run = before[run], run_before[run]
    columns = np.array(pieces[::-1], np.int64)
    return columns[:, 0], columns[:, 1]


def _spans(firsts: npt.NDArray[np.int64], lasts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """All whole numbers of the given spans, one span after another."""
    counts = lasts - firsts + 1
    ends = np.cumsum(counts)
    spans: npt.NDArray[Any] = np.repeat(firsts - ends + counts, counts) + np.arange(ends[-1])
    return spans


def _cyclic(graph: TaskGraph, label: npt.NDArray[Any]) -> InputError:
    names = [graph.name(task) for task in _find_cycle(graph, label)]
    shown = names if len(names) <= MAX_SHOWN else [*names[: MAX_SHOWN - 1], "...", names[-1]]
    hint = "a task cannot wait for itself; remove one of these edges"
    seen = " -> ".join(shown)
    return InputError(
        Fault(f"the graph has a cycle of {len(names) - 1} tasks", seen=seen, remedy=hint), subject="graph"
    )


def _find_cycle(graph: TaskGraph, label: npt.NDArray[Any]) -> list[int]:
    """Walk inside one strong component until a task repeats."""
    sizes = np.bincount(label)
    knotted = np.flatnonzero(sizes[label] > 1)
    if not len(knotted):
        sources = np.repeat(np.arange(len(graph)), np.diff(graph.first))
        task = int(sources[np.flatnonzero(sources == graph.after)[0]])
        return [task, task]
    task, seen = int(knotted[0]), {}
    chain: list[int] = []
    while task not in seen:
        seen[task] = len(chain)
        chain.append(task)
        following = graph.after[graph.first[task] : graph.first[task + 1]]
        task = int(following[label[following] == label[task]][0])
    return [*chain[seen[task] :], task]
