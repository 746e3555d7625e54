"""Task graphs as JSON, DOT, a Chrome trace, .npz arrays, `module:attribute` with a Dask graph or a recorder, or
`classic:NAME:SIZES` for the graphs of textbooks.

JSON is `{"unit": "s", "tasks": [{"id": "a", "work": 2.0, "after": ["b"]}]}`; .npz holds arrays work, sources and
targets, for graphs of millions.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError, MissingExtra
from scalecurve.formats.detection import FileKind, detect
from scalecurve.formats.reading import MOST_FAULTS, Reader, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.study.task_graph import TaskGraph, matrix_product, pipeline, prefix_sum, reduction_tree

CLASSIC: dict[str, Callable[..., TaskGraph]] = {
    "reduction": reduction_tree,
    "scan": prefix_sum,
    "matmul": matrix_product,
    "pipeline": pipeline,
}
_DOT_EDGE = re.compile(r'("[^"]+"|[\w.]+)\s*->\s*(?=("[^"]+"|[\w.]+))')
_DOT_NODE = re.compile(r'("[^"]+"|[\w.]+)\s*\[(?P<attributes>[^\]]*)\]')
_DOT_WORK = re.compile(r'\b(?:work|seconds|weight|duration)\s*=\s*"?(?P<value>[\d.eE+-]+)"?')
_MODULE = re.compile(r"[\w.]+:[\w.]+")

Event = dict[str, Any]


def read_task_graph(source: str) -> TaskGraph:
    """The graph of a file, of `module:attribute` (which is imported), or of `classic:NAME:SIZES`."""
    path = Path(source)
    if source.startswith("classic:"):
        name, _, sizes = source.removeprefix("classic:").partition(":")
        try:
            return CLASSIC[name](*(int(size) for size in sizes.split(",")))
        except (KeyError, TypeError, ValueError):
            names = "classic:reduction:N, scan:N, matmul:N or pipeline:STAGES,MICROBATCHES"
            raise InputError(Fault("no such classic graph", value=source, remedy=names)) from None
    if _MODULE.fullmatch(source) and not path.exists():
        return _imported_graph(source)
    remedy = "expected numpy arrays work, sources and targets" if path.suffix == ".npz" else None
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return TaskGraph.of(arrays["work"], arrays["sources"], arrays["targets"])
        detection = detect(Source.at(path), FileKind.GRAPHS)
        graph: TaskGraph = detection.read(ReadOptions())
        return graph
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise FormatError(Fault(f"not a graph: {problem}", remedy=remedy), subject=str(path)) from None
    except FormatError:
        raise
    except InputError as problem:
        raise FormatError(problem.faults, subject=str(path)) from None


def recognise_tasks(source: Source) -> str | None:
    return "JSON, or text without the marks of another format"


def read_tasks(source: Source, options: ReadOptions) -> TaskGraph:
    """Tasks with id, work and after; every fault is reported."""
    data = source.required_json()
    if not isinstance(data, dict) or not isinstance(data.get("tasks"), list):
        remedy = 'expected {"tasks": [{"id": "a", "work": 1.0, "after": []}]}'
        raise FormatError(Fault("not a task graph", remedy=remedy))
    work: dict[str, float] = {}
    after: dict[str, list[str]] = {}
    faults: list[Fault] = []
    for i, task in enumerate(data["tasks"]):
        try:
            name = str(task["id"])
            if name in work:
                raise ValueError(f"the id {name} is used twice")
            work[name] = float(task.get("work", task.get("seconds", 1.0)))
            after[name] = [str(other) for other in task.get("after", ())]
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            faults.append(Fault(f"the task is damaged: {problem}", where=f"tasks[{i}]"))
    if faults:
        raise FormatError(faults[:MOST_FAULTS])
    return TaskGraph.from_tasks(work, after, unit=str(data.get("unit", "tasks")))


def recognise_dot(source: Source) -> str | None:
    return "the word digraph" if re.match(r"\s*(strict\s+)?digraph\b", source.head_text) else None


def read_dot(source: Source, options: ReadOptions) -> TaskGraph:
    """`a -> b` says that a comes before b; work is the attribute work, seconds, weight or duration (default 1)."""
    text = re.sub(r"//[^\n]*|#[^\n]*|/\*.*?\*/", "", source.text, flags=re.DOTALL)
    work: dict[str, float] = {}
    after: dict[str, list[str]] = {}
    # Edge statements are taken out first, so that their attributes are not read as a node's.
    nodes = "\n".join(statement for statement in re.split(r"[;\n]", text) if "->" not in statement)
    for match in _DOT_NODE.finditer(nodes):
        name, value = match[1].strip('"'), _DOT_WORK.search(match["attributes"])
        if name not in ("node", "edge", "graph"):
            work[name] = float(value["value"]) if value else work.get(name, 1.0)
    for before, behind in _DOT_EDGE.findall(text):
        first, second = before.strip('"'), behind.strip('"')
        work.setdefault(first, 1.0)
        work.setdefault(second, 1.0)
        after.setdefault(second, []).append(first)
    if not work:
        raise FormatError(Fault("no tasks in the graph", remedy="write edges such as a -> b;"))
    return TaskGraph.from_tasks(work, after, unit="work")


def recognise_trace(source: Source) -> str | None:
    return "JSON with trace events" if isinstance(source.json, list) or "traceEvents" in source.keys else None


def read_trace(source: Source, options: ReadOptions) -> TaskGraph:
    return graph_from_trace(source.required_json())


def graph_from_trace(data: Any) -> TaskGraph:
    """Chrome trace: innermost complete events are tasks; a thread runs in order; flow events (s, f) join threads.

    Only events that contain no other are work; their parents are the same time again.
    """
    events = data["traceEvents"] if isinstance(data, dict) else data
    threads: dict[tuple[Any, Any], list[Event]] = {}
    for event in events if isinstance(events, list) else []:
        if isinstance(event, dict) and event.get("ph") == "X" and "ts" in event and "dur" in event:
            threads.setdefault((event.get("pid"), event.get("tid")), []).append(event)
    if not threads:
        raise FormatError("no complete events (ph X) in the trace")
    tasks: list[Event] = []
    edges: list[tuple[int, int]] = []
    rows: dict[tuple[Any, Any], list[int]] = {}
    for thread, listed in threads.items():
        ordered = sorted(listed, key=lambda e: (float(e["ts"]), -float(e["dur"])))
        for event, behind in zip(ordered, [*ordered[1:], None], strict=True):
            if behind is None or float(behind["ts"]) >= float(event["ts"]) + float(event["dur"]):
                row = rows.setdefault(thread, [])
                if row:
                    edges.append((row[-1], len(tasks)))
                row.append(len(tasks))
                tasks.append(event)
    edges += _flow_edges(events, rows, tasks)
    names = [f"{event.get('name', 'event')}#{i}" for i, event in enumerate(tasks)]
    work = [float(event["dur"]) * 1e-6 for event in tasks]
    return TaskGraph.of(work, [a for a, _ in edges], [b for _, b in edges], names=names, unit="s")


def _flow_edges(events: list[Any], rows: dict[tuple[Any, Any], list[int]], tasks: list[Event]) -> list[tuple[int, int]]:
    """Edges from the tasks that flow events start in to those they end in.

    A flow event belongs to the task around it, or to the next one that begins on its thread.
    """
    starts: dict[Any, int] = {}
    edges: list[tuple[int, int]] = []
    flows = [e for e in events if isinstance(e, dict) and e.get("ph") in ("s", "f") and "ts" in e]
    for event in sorted(flows, key=lambda e: float(e["ts"])):
        row, moment = rows.get((event.get("pid"), event.get("tid")), []), float(event["ts"])
        task = next((i for i in row if float(tasks[i]["ts"]) + float(tasks[i]["dur"]) >= moment), None)
        if task is None:
            continue
        if event["ph"] == "s":
            starts[event.get("id")] = task
        elif event.get("id") in starts and starts[event["id"]] != task:
            edges.append((starts[event["id"]], task))
    return edges


def _imported_graph(source: str) -> TaskGraph:
    """The TaskGraph, recorder or Dask graph that `module:attribute` names."""
    name, _, attribute = source.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        value = getattr(import_module(name), attribute)
    except (ImportError, AttributeError) as problem:
        raise InputError(Fault(f"cannot be imported: {problem}", value=source)) from None
    finally:
        sys.path.pop(0)
    if isinstance(value, TaskGraph):
        return value
    graph = getattr(value, "graph", None)
    return graph() if callable(graph) else graph_from_dask(value)


def graph_from_dask(collection: Any) -> TaskGraph:
    """A Dask collection or graph; every task counts one, since a graph does not say how long they take."""
    try:
        from dask.core import get_dependencies
    except ImportError:
        raise MissingExtra("reading a Dask graph", "dask") from None
    graph = collection.__dask_graph__() if hasattr(collection, "__dask_graph__") else collection
    if not isinstance(graph, Mapping):
        kind = type(collection).__name__
        raise InputError(Fault("not a Dask graph", value=kind, remedy="give a collection or a dict"))
    tasks = dict(graph)
    after: dict[str, list[str]] = {}
    for key, task in tasks.items():
        own = getattr(task, "dependencies", None)  # new Dask tasks list their dependencies; old tuples are searched
        waits = own if own is not None else get_dependencies(tasks, key)
        after[str(key)] = [str(other) for other in waits if other in tasks]
    return TaskGraph.from_tasks(dict.fromkeys(after, 1.0), after)


DOT = Reader("dot", "DOT", recognise_dot, read_dot)
TRACE = Reader("trace", "Chrome trace", recognise_trace, read_trace)
TASKS = Reader("tasks", "JSON tasks", recognise_tasks, read_tasks)
