"""Recording a task graph from plain Python functions: decorate them, run the program once, ask for the graph.

    record = TaskRecorder()

    @record.task
    def add(a, b): return a + b

    total = add(add(1, 2), add(3, 4))
    work_depth(record.graph())

A decorated function returns a `Recorded` value; passing one to another decorated function makes a dependency.
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
