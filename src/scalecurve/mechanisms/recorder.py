"""Recording a task graph from plain Python functions: decorate them, run the program once, ask for the graph.

    record = TaskRecorder()

    @record.task
    def add(a, b): return a + b

    total = add(add(1, 2), add(3, 4))
    measure_parallelism(record.graph())

A decorated function gives a `Recorded` value; handing one to another decorated function makes a dependency.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from scalecurve.study.task_graph import TaskGraph


@dataclass(frozen=True)
class Recorded:
    """What a recorded task returned, and which task that was."""

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
        """Decorator: every call becomes one task, timed, behind the tasks whose results it takes."""

        @wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Recorded:
            waited = sorted({result.task for result in _results((args, kwargs))})
            plain_args, plain_kwargs = _plain(args), _plain(kwargs)
            begin = self.clock()
            value = function(*plain_args, **plain_kwargs)
            return self._add(function.__name__, self.clock() - begin, value, waited)

        return recorded

    def _add(self, name: str, seconds: float, value: Any, waited: list[int]) -> Recorded:
        task = len(self._names)
        self._names.append(f"{name}#{task}")
        self._seconds.append(seconds)
        self._edges += [(other, task) for other in waited]
        return Recorded(value, task)

    def graph(self) -> TaskGraph:
        """The tasks recorded so far."""
        sources, targets = [edge[0] for edge in self._edges], [edge[1] for edge in self._edges]
        return TaskGraph.of(self._seconds, sources, targets, names=self._names, unit="s")


def _results(value: Any) -> Iterator[Recorded]:
    if isinstance(value, Recorded):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _results(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _results(item)


def _plain(value: Any) -> Any:
    if isinstance(value, Recorded):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if type(value) is tuple:
        return tuple(_plain(item) for item in value)
    return value
