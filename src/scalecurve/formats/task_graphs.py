"""Task graphs as JSON, DOT, a chrome trace, .npz arrays, `module:attribute` with a Dask graph or a
recorder, or `classic:NAME:SIZES` for the graphs of textbooks.

JSON is `{"unit": "s", "tasks": [{"id": "a", "work": 2.0, "after": ["b"]}]}`;
.npz holds arrays work, sources and targets,
for graphs of millions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError, MissingExtra
from scalecurve.formats.text import read_text
from scalecurve.study.file import parse_json
from scalecurve.study.task_graph import TaskGraph

_DOT_EDGE = re.compile(r'("[^"]+"|[\w.]+)\s*->\s*(?=("[^"]+"|[\w.]+))')
_DOT_NODE = re.compile(r'("[^"]+"|[\w.]+)\s*\[(?P<attributes>[^\]]*)\]')
_DOT_WORK = re.compile(r'\b(?:work|seconds|weight|duration)\s*=\s*"?(?P<value>[\d.eE+-]+)"?')
_MODULE = re.compile(r"[\w.]+:[\w.]+")


def read_task_graph(source: str) -> TaskGraph:
    """By content: `module:attribute` is imported, everything else is a file."""
    path = Path(source)
    if source.startswith("classic:"):
        return _classic(source)
    if _MODULE.fullmatch(source) and not path.exists():
        return _from_module(source)
    if path.suffix == ".npz":
        return _from_arrays(path)
    text = read_text(path)
    if re.match(r"\s*(strict\s+)?digraph\b", text):
        return graph_from_dot(text, subject=str(path))
    data = parse_json(text.encode(), subject=str(path))
    if isinstance(data, list) or (isinstance(data, dict) and "traceEvents" in data):
        return graph_from_trace(data, subject=str(path))
    return graph_from_json(data, subject=str(path))


def _classic(source: str) -> TaskGraph:
    """`classic:pipeline:4,16`: a textbook graph by name and sizes."""
    from scalecurve.study import task_graph as classic_graphs

    known: dict[str, Callable[..., TaskGraph]] = {
        "reduction": classic_graphs.reduction_tree,
        "scan": classic_graphs.prefix_sum,
        "matmul": classic_graphs.matrix_product,
        "pipeline": classic_graphs.pipeline,
    }
    _, _, rest = source.partition(":")
    name, _, sizes = rest.partition(":")
    try:
        return known[name](*(int(size) for size in sizes.split(",")))
    except (KeyError, TypeError, ValueError):
        hint = "reduction:N, scan:N, matmul:N or pipeline:STAGES,MICROBATCHES"
        raise InputError(Fault("no such classic graph", seen=source, remedy=f"classic:{hint}")) from None


def graph_from_json(data: Any, *, subject: str) -> TaskGraph:
    """Tasks with id, work and after; every fault is reported."""
    if not isinstance(data, dict) or not isinstance(data.get("tasks"), list):
        hint = 'expected {"tasks": [{"id": "a", "work": 1.0, "after": []}]}'
        raise FormatError(Fault("not a task graph", remedy=hint), subject=subject)
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
        raise FormatError(faults[:20], subject=subject)
    return _named(work, after, str(data.get("unit", "tasks")), subject)


def _named(work: dict[str, float], after: dict[str, list[str]], unit: str, subject: str) -> TaskGraph:
    try:
        return TaskGraph.from_tasks(work, after, unit=unit)
    except InputError as problem:
        raise FormatError(problem.faults, subject=subject) from None


def graph_from_dot(text: str, *, subject: str) -> TaskGraph:
    """`a -> b` says that a comes before b; work is the attribute work, seconds, weight or duration (default 1)."""
    plain = re.sub(r"//[^\n]*|#[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    work: dict[str, float] = {}
    after: dict[str, list[str]] = {}
    for match in _DOT_NODE.finditer(_without_edges(plain)):
        name = match[1].strip('"')
        value = _DOT_WORK.search(match["attributes"])
        if name not in ("node", "edge", "graph"):
            work[name] = float(value["value"]) if value else work.get(name, 1.0)
    for before, behind in _DOT_EDGE.findall(plain):
        first, second = before.strip('"'), behind.strip('"')
        work.setdefault(first, 1.0)
        work.setdefault(second, 1.0)
        after.setdefault(second, []).append(first)
    if not work:
        raise FormatError(Fault("no tasks in the graph", remedy="write edges such as a -> b;"), subject=subject)
    return _named(work, after, "work", subject)


def _without_edges(text: str) -> str:
    """Edge statements removed, so that their attributes are not taken for a node's."""
    return "\n".join(line for line in re.split(r"[;\n]", text) if "->" not in line)


def graph_from_trace(data: Any, *, subject: str) -> TaskGraph:
    """Chrome trace: innermost complete events are tasks; a thread runs in order; flow events (s, f) join threads."""
    events = data["traceEvents"] if isinstance(data, dict) else data
    spans = [e for e in events if isinstance(e, dict) and e.get("ph") == "X" and "ts" in e and "dur" in e]
    if not spans:
        raise FormatError(Fault("no complete events (ph X) in the trace"), subject=subject)
    threads: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for event in spans:
        threads.setdefault((event.get("pid"), event.get("tid")), []).append(event)
    tasks: list[dict[str, Any]] = []
    edges: list[tuple[int, int]] = []
    rows: dict[tuple[Any, Any], list[int]] = {}
    for key, listed in threads.items():
        for event in _innermost(listed):
            if rows.setdefault(key, []):
                edges.append((rows[key][-1], len(tasks)))
            rows[key].append(len(tasks))
            tasks.append(event)
    edges += _flows(events, rows, tasks)
    names = [f"{event.get('name', 'event')}#{i}" for i, event in enumerate(tasks)]
    work = [float(event["dur"]) * 1e-6 for event in tasks]
    return TaskGraph.of(work, [a for a, _ in edges], [b for _, b in edges], names=names, unit="s")


def _innermost(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events that contain no other: only they are work; their parents are the same time again."""
    ordered = sorted(events, key=lambda e: (float(e["ts"]), -float(e["dur"])))
    following = [*ordered[1:], None]
    return [
        event
        for event, after in zip(ordered, following, strict=True)
        if after is None or float(after["ts"]) >= float(event["ts"]) + float(event["dur"])
    ]


def _flows(events: Any, rows: dict[tuple[Any, Any], list[int]], tasks: list[dict[str, Any]]) -> list[tuple[int, int]]:
    starts: dict[Any, int] = {}
    found: list[tuple[int, int]] = []
    flows = [e for e in events if isinstance(e, dict) and e.get("ph") in ("s", "f") and "ts" in e]
    for event in sorted(flows, key=lambda e: float(e["ts"])):
        task = _at(event, rows.get((event.get("pid"), event.get("tid")), []), tasks)
        if task is None:
            continue
        if event["ph"] == "s":
            starts[event.get("id")] = task
        elif event.get("id") in starts and starts[event["id"]] != task:
            found.append((starts[event["id"]], task))
    return found


def _at(event: dict[str, Any], row: list[int], tasks: list[dict[str, Any]]) -> int | None:
    """The task a flow event is bound to: the one around it, or the next that begins."""
    moment = float(event["ts"])
    return next((i for i in row if float(tasks[i]["ts"]) + float(tasks[i]["dur"]) >= moment), None)


def _from_arrays(path: Path) -> TaskGraph:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return TaskGraph.of(arrays["work"], arrays["sources"], arrays["targets"])
    except (OSError, ValueError, KeyError) as problem:
        hint = "expected numpy arrays work, sources and targets"
        raise FormatError(Fault(f"not a graph: {problem}", remedy=hint), subject=str(path)) from None
    except InputError as problem:
        raise FormatError(problem.faults, subject=str(path)) from None


def _from_module(source: str) -> TaskGraph:
    import sys
    from importlib import import_module

    name, _, attribute = source.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(import_module(name), attribute)
    except (ImportError, AttributeError) as problem:
        raise InputError(Fault(f"cannot be imported: {problem}", seen=source)) from None
    finally:
        sys.path.pop(0)
    if isinstance(found, TaskGraph):
        return found
    graph = getattr(found, "graph", None)
    return graph() if callable(graph) else graph_from_dask(found)


def graph_from_dask(collection: Any) -> TaskGraph:
    """A Dask collection or graph; every task counts one, since a graph does not say how long they take."""
    try:
        from dask.core import get_dependencies
    except ImportError:
        raise MissingExtra("reading a Dask graph", "dask") from None
    graph = collection.__dask_graph__() if hasattr(collection, "__dask_graph__") else collection
    if not isinstance(graph, Mapping):
        raise InputError(
            Fault("not a Dask graph", seen=type(collection).__name__, remedy="give a collection or a dict")
        )
    flat = dict(graph)
    after = {str(key): [str(other) for other in _waits(flat, key, get_dependencies)] for key in flat}
    return TaskGraph.from_tasks(dict.fromkeys(after, 1.0), after)


def _waits(graph: dict[Any, Any], key: Any, dependencies: Any) -> list[Any]:
    """New Dask tasks know their own dependencies; old tuples are searched."""
    known = getattr(graph[key], "dependencies", None)
    waits = known if known is not None else dependencies(graph, key)
    return [other for other in waits if other in graph]
