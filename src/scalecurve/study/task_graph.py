"""A task graph as raw arrays: what each task takes and which tasks must come before it.

Ten million edges are two arrays and an index, not ten million objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError
from scalecurve.study.provenance import Provenance

Ids = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

MAX_FAULTS = 20


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
        faults = _faults(weights, before, behind, names)
        if faults:
            raise InputError(faults, subject="task graph")
        first, after = _packed(len(weights), before, behind)
        labels = None if names is None else tuple(names)
        return cls(weights, first, after, labels, unit, provenance or Provenance())

    @classmethod
    def from_tasks(
        cls, work: Mapping[str, float], after: Mapping[str, Iterable[str]], *, unit: str = "tasks", **more: Any
    ) -> TaskGraph:
        """A graph by name: what each task takes, and the tasks each one waits for."""
        place = {name: i for i, name in enumerate(work)}
        pairs = [(name, waited) for name, waits in after.items() for waited in waits]
        unknown = sorted({name for pair in pairs for name in pair if name not in place})
        if unknown:
            faults = [Fault("a dependency names an unknown task", seen=name) for name in unknown[:MAX_FAULTS]]
            raise InputError(faults, subject="task graph")
        sources, targets = [place[waited] for _, waited in pairs], [place[name] for name, _ in pairs]
        return cls.of(list(work.values()), sources, targets, names=list(work), unit=unit, **more)

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
        return str(task) if self.names is None else self.names[task]


def _packed(n: int, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]) -> tuple[Any, Ids]:
    """Edges grouped by source; a repeated edge says the same twice and stays harmless."""
    first = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=n), out=first[1:])
    if len(sources) and np.all(sources[1:] >= sources[:-1]):
        return first, targets.astype(np.int32)
    order = np.argsort(sources, kind="stable")
    return first, targets[order].astype(np.int32)


def _faults(
    work: Floats, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64], names: Sequence[str] | None
) -> list[Fault]:
    n = len(work)
    if n == 0:
        return [Fault("the graph has no tasks")]
    if work.ndim != 1 or len(sources) != len(targets) or (names is not None and len(names) != n):
        return [Fault("the columns differ in length", seen=f"{n} tasks, {len(sources)} and {len(targets)} edge ends")]
    bad = np.flatnonzero(~(np.isfinite(work) & (work >= 0)))[:MAX_FAULTS]
    found = [Fault("work is a finite number from 0", where=_label(i, names), seen=f"{work[i]:g}") for i in bad]
    outside = np.flatnonzero((sources < 0) | (sources >= n) | (targets < 0) | (targets >= n))[:MAX_FAULTS]
    found += [
        Fault("an edge names a task that does not exist", where=f"edge {i + 1}", seen=f"{sources[i]} -> {targets[i]}")
        for i in outside
    ]
    return found


def _label(task: int, names: Sequence[str] | None) -> str:
    return f"task {task}" if names is None else f"task {names[task]}"
