"""A task graph as raw arrays: the work of each task and which tasks must end before it starts.

Ten million edges are two arrays and an index, not ten million objects.  The classic graphs of textbooks (reduction,
scan, matrix product, pipeline) are built here with unit tasks; `laws.workdepth` has their closed forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError, one_line
from scalecurve.study.run import Provenance

Ids = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

MAX_FAULTS = 20
MOST_TASKS = 20_000_000
"""Of a graph that is made from a formula, whose sizes cost nothing to write."""


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """Task i takes `work[i]`; the tasks after it are `after[first[i]:first[i+1]]`.

    `names` is None where tasks are only numbered.  `unit` says what work is measured in ("s", "tasks", "FLOP").
    """

    work: Floats
    first: npt.NDArray[np.int64]
    after: Ids
    names: tuple[str, ...] | None = None
    unit: str = "tasks"
    provenance: Provenance = field(default_factory=Provenance)

    @classmethod
    def of(
        cls,
        work: Iterable[float] | Floats,
        sources: Iterable[int] | npt.NDArray[Any],
        targets: Iterable[int] | npt.NDArray[Any],
        *,
        names: Sequence[str] | None = None,
        unit: str = "tasks",
        provenance: Provenance | None = None,
    ) -> TaskGraph:
        """Checked graph from columns: edge j says that `sources[j]` must end before `targets[j]` starts."""
        weights = np.asarray(work if isinstance(work, np.ndarray) else list(work), dtype=np.float64)
        before = np.asarray(sources if isinstance(sources, np.ndarray) else list(sources), dtype=np.int64)
        behind = np.asarray(targets if isinstance(targets, np.ndarray) else list(targets), dtype=np.int64)
        n = len(weights)
        if n == 0:
            raise InputError(Fault("the graph has no tasks"), subject="task graph")
        if weights.ndim != 1 or len(before) != len(behind) or (names is not None and len(names) != n):
            lengths = f"{n} tasks, {len(before)} and {len(behind)} edge ends"
            raise InputError(Fault("the columns differ in length", value=lengths), subject="task graph")
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[:MAX_FAULTS]
        faults = [
            Fault(
                "work is a finite number from 0",
                where=f"task {i if names is None else names[i]}",
                value=f"{weights[i]:g}",
            )
            for i in bad
        ]
        outside = np.flatnonzero((before < 0) | (before >= n) | (behind < 0) | (behind >= n))[:MAX_FAULTS]
        for i in outside:
            message = "an edge names a task that does not exist"
            faults.append(Fault(message, where=f"edge {i + 1}", value=f"{before[i]} -> {behind[i]}"))
        if faults:
            raise InputError(faults, subject="task graph")
        first = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(before, minlength=n), out=first[1:])
        if len(before) and not np.all(before[1:] >= before[:-1]):
            behind = behind[np.argsort(before, kind="stable")]
        labels = None if names is None else tuple(map(one_line, names))
        return cls(weights, first, behind.astype(np.int32), labels, unit, provenance or Provenance())

    @classmethod
    def from_tasks(
        cls,
        work: Mapping[str, float],
        after: Mapping[str, Iterable[str]],
        *,
        unit: str = "tasks",
        provenance: Provenance | None = None,
    ) -> TaskGraph:
        """A graph by name: the work of each task, and the tasks each one waits for."""
        place = {name: i for i, name in enumerate(work)}
        pairs = [(name, waited) for name, waits in after.items() for waited in waits]
        unknown = sorted({name for pair in pairs for name in pair if name not in place})
        if unknown:
            faults = [Fault("a dependency names an unknown task", value=name) for name in unknown[:MAX_FAULTS]]
            raise InputError(faults, subject="task graph")
        sources, targets = [place[waited] for _, waited in pairs], [place[name] for name, _ in pairs]
        return cls.of(list(work.values()), sources, targets, names=list(work), unit=unit, provenance=provenance)

    def __len__(self) -> int:
        return len(self.work)

    @property
    def edges(self) -> int:
        return len(self.after)

    @cached_property
    def waits(self) -> Ids:
        """How many tasks each task waits for."""
        return np.bincount(self.after, minlength=len(self)).astype(np.int32)

    def name(self, task: int) -> str:
        """The task's name, or its number where tasks have none."""
        return str(task) if self.names is None else self.names[task]


def _refuse_more_tasks(tasks: int) -> None:
    if tasks > MOST_TASKS:
        remedy = f"choose sizes of at most {MOST_TASKS:,}"
        raise InputError(Fault("the graph has too many tasks", value=f"{tasks:,}", remedy=remedy))


def reduction_tree(n: int) -> TaskGraph:
    """Sum of n values: n - 1 additions in a balanced tree."""
    if n < 2:
        raise InputError(Fault("a reduction needs at least two values", value=str(n)))
    _refuse_more_tasks(n - 1)
    children = np.arange(1, n - 1)  # heap order: node i adds the results of its children 2i+1 and 2i+2
    return TaskGraph.of(np.ones(n - 1), children, (children - 1) // 2)


def prefix_sum(n: int) -> TaskGraph:
    """Blelloch's scan of n = 2^k values: the up-sweep tree, then the mirrored down-sweep tree."""
    if n < 2 or n & (n - 1):
        raise InputError(Fault("Blelloch's scan needs a power of two", value=str(n)))
    size = n - 1
    _refuse_more_tasks(2 * size)
    children = np.arange(1, size)
    up = (children, (children - 1) // 2)
    down = (size + (children - 1) // 2, size + children)
    across = (np.arange(size), size + np.arange(size))  # a down node also needs the result of its up node
    sources = np.concatenate([up[0], down[0], across[0]])
    targets = np.concatenate([up[1], down[1], across[1]])
    return TaskGraph.of(np.ones(2 * size), sources, targets)


def matrix_product(n: int) -> TaskGraph:
    """Two n x n matrices: for every entry n products and a balanced tree of n - 1 additions."""
    if n < 1:
        raise InputError(Fault("a matrix has at least one row", value=str(n)))
    _refuse_more_tasks(n * n * (2 * n - 1))
    nodes = 2 * n - 1  # one entry: additions 0 .. n-2 in heap order, products n-1 .. 2n-2 as its leaves
    children = np.arange(1, nodes)
    offsets = np.repeat(np.arange(n * n) * nodes, nodes - 1)
    sources = offsets + np.tile(children, n * n)
    targets = offsets + np.tile((children - 1) // 2, n * n)
    return TaskGraph.of(np.ones(n * n * nodes), sources, targets)


def pipeline(stages: int, microbatches: int) -> TaskGraph:
    """Task (stage, batch) waits for the same batch in the stage before and for the batch before in its stage."""
    if stages < 1 or microbatches < 1:
        raise InputError(Fault("a pipeline has at least one stage and one batch", value=f"{stages} x {microbatches}"))
    _refuse_more_tasks(stages * microbatches)
    ids = np.arange(stages * microbatches).reshape(stages, microbatches)
    sources = np.concatenate([ids[:-1].ravel(), ids[:, :-1].ravel()])
    targets = np.concatenate([ids[1:].ravel(), ids[:, 1:].ravel()])
    return TaskGraph.of(np.ones(ids.size), sources, targets)
