"""Task graphs as JSON, DOT, a Chrome trace, .npz arrays, `module:attribute` with a Dask graph or a recorder, or
`classic:NAME:SIZES` for the graphs of textbooks.

JSON is `{"unit": "s", "tasks": [{"id": "a", "work": 2.0, "after": ["b"]}]}`; .npz holds arrays work, sources and
targets, for graphs of millions.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError, MissingExtra, code_of_a_user
from scalecurve.files import read_bytes
from scalecurve.formats.detection import FileKind, detect
from scalecurve.formats.reading import MOST_FAULTS, Reader, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.study.file import read_arrays
from scalecurve.study.task_graph import TaskGraph, matrix_product, pipeline, prefix_sum, reduction_tree

CLASSIC: dict[str, Callable[..., TaskGraph]] = {
    "reduction": reduction_tree,
    "scan": prefix_sum,
    "matmul": matrix_product,
    "pipeline": pipeline,
}
_DOT_EDGE = re.compile(r'("[^"]+"|[\w.]+)\s*->\s*(?=("[^"]+"|[\w.]+))')
_DOT_NODE = re.compile(r'("[^"]+"|[\w.]+)\s*\[(?P<attributes>[^\]]*)\]')
_DOT_WORK = re.compile(r'\b(?P<measure>work|seconds|weight|duration)\s*=\s*"?(?P<value>[\d.eE+-]+)"?')
_MODULE = re.compile(r"[\w.]+:[\w.]+")

# What PyTorch's profiler writes of itself, and its copies of annotations on the lanes of accelerators.
PROFILER_CATEGORIES = ("Trace", "gpu_user_annotation", "overhead")

Event = dict[str, Any]
Thread = tuple[Any, Any]


@dataclass(frozen=True)
class Slice:
    """A named stretch of one thread, in microseconds."""

    name: str
    begin: float
    end: float


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
            arrays = read_arrays(read_bytes(path), subject=str(path))
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
    tasks = data["tasks"]
    measures = {"work", "seconds"} & set[str]().union(*(task for task in tasks if isinstance(task, dict)))
    if len(measures) > 1:
        raise FormatError(Fault("some tasks have `work` and some `seconds`", remedy="use one of them for all tasks"))
    measure = measures.pop() if measures else None
    work: dict[str, float] = {}
    after: dict[str, list[str]] = {}
    faults: list[Fault] = []
    for i, task in enumerate(tasks):
        try:
            name = str(task["id"])
            if name in work:
                raise ValueError(f"the id {name} is used twice")
            work[name] = _task_work(task, measure)
            after[name] = [str(other) for other in task.get("after", ())]
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            faults.append(Fault(f"the task is damaged: {problem}", where=f"tasks[{i}]"))
    if faults:
        raise FormatError(faults[:MOST_FAULTS])
    unit = data.get("unit") or {"seconds": "s", "work": "work"}.get(measure or "", "tasks")
    return TaskGraph.from_tasks(work, after, unit=str(unit))


def _task_work(task: dict[str, Any], measure: str | None) -> float:
    """How much work a task is: its `work` or `seconds`; 1 where no task says, and none may say it in another way."""
    if measure is not None and measure in task:
        return float(task[measure])
    numbers = [key for key, value in task.items() if type(value) in (int, float) and key not in ("id", "after")]
    if numbers:
        raise ValueError(f"its work is in neither `work` nor `seconds`, but it has {', '.join(numbers)}")
    if measure == "seconds":
        raise ValueError("it has no `seconds` although others do")
    return 1.0


def recognise_dot(source: Source) -> str | None:
    return "the word digraph" if re.match(r"\s*(strict\s+)?digraph\b", source.head_text) else None


def read_dot(source: Source, options: ReadOptions) -> TaskGraph:
    """`a -> b` says that a comes before b; work is the attribute work, seconds, weight or duration (default 1)."""
    text = re.sub(r"//[^\n]*|#[^\n]*|/\*.*?\*/", "", source.text, flags=re.DOTALL)
    work: dict[str, float] = {}
    after: dict[str, list[str]] = {}
    # Edge statements are taken out first, so that their attributes are not read as a node's.
    nodes = "\n".join(statement for statement in re.split(r"[;\n]", text) if "->" not in statement)
    measures: set[str] = set()
    for match in _DOT_NODE.finditer(nodes):
        name, value = match[1].strip('"'), _DOT_WORK.search(match["attributes"])
        if name not in ("node", "edge", "graph"):
            work[name] = float(value["value"]) if value else work.get(name, 1.0)
            measures |= {value["measure"]} if value else set()
    for before, behind in _DOT_EDGE.findall(text):
        first, second = before.strip('"'), behind.strip('"')
        work.setdefault(first, 1.0)
        work.setdefault(second, 1.0)
        after.setdefault(second, []).append(first)
    if not work:
        raise FormatError(Fault("no tasks in the graph", remedy="write edges such as a -> b;"))
    if len(measures) > 1:
        listed = ", ".join(sorted(measures))
        raise FormatError(Fault("the work of tasks is in several attributes", value=listed, remedy="use one of them"))
    return TaskGraph.from_tasks(work, after, unit={"seconds": "s"}.get("".join(measures), "work"))


def recognise_trace(source: Source) -> str | None:
    return "JSON with trace events" if isinstance(source.json, list) or "traceEvents" in source.keys else None


def read_trace(source: Source, options: ReadOptions) -> TaskGraph:
    return graph_from_trace(source.required_json())


def graph_from_trace(data: Any) -> TaskGraph:
    """Chrome trace: the self time of every slice is work; a thread runs in order; flow events (s, f) join threads.

    A slice that contains others is split where they begin and end, so that no moment counts twice and none is lost:
    the work of a thread is the time in which it has any slice.  The profiler's own span is left out.
    """
    events = data["traceEvents"] if isinstance(data, dict) else data
    listed = [event for event in events if isinstance(event, dict)] if isinstance(events, list) else []
    threads: dict[Thread, list[Slice]] = {}
    for thread, piece in _slices(listed):
        threads.setdefault(thread, []).append(piece)
    if not threads:
        raise FormatError("no complete events (ph X, or B and E) in the trace")
    tasks: list[Slice] = []
    edges: list[tuple[int, int]] = []
    rows: dict[Thread, list[int]] = {}
    for thread, slices in threads.items():
        pieces = _self_times(slices)
        rows[thread] = list(range(len(tasks), len(tasks) + len(pieces)))
        edges += zip(rows[thread], rows[thread][1:], strict=False)
        tasks += pieces
    edges += _flow_edges(listed, rows, tasks)
    names = [f"{task.name}#{i}" for i, task in enumerate(tasks)]
    work = [(task.end - task.begin) * 1e-6 for task in tasks]
    return TaskGraph.of(work, [a for a, _ in edges], [b for _, b in edges], names=names, unit="s")


def _slices(events: list[Event]) -> Iterator[tuple[Thread, Slice]]:
    """Slices in microseconds, from complete events (X) and from pairs (B, E); spans of the profiler are passed over."""
    begun: dict[Thread, list[tuple[str, float]]] = {}
    for event in events:
        kind, thread, name = event.get("ph"), (event.get("pid"), event.get("tid")), str(event.get("name", "event"))
        if "ts" not in event or event.get("cat") in PROFILER_CATEGORIES or event.get("pid") == "Spans":
            continue
        moment = float(event["ts"])
        if kind == "X" and "dur" in event:
            yield thread, Slice(name, moment, moment + float(event["dur"]))
        elif kind == "B":
            begun.setdefault(thread, []).append((name, moment))
        elif kind == "E" and begun.get(thread):
            name, begin = begun[thread].pop()
            yield thread, Slice(name, begin, moment)


def _self_times(slices: list[Slice]) -> list[Slice]:
    """The pieces of one thread's slices in order of time: at each moment the one that began last."""
    pieces: list[Slice] = []
    open_slices: list[Slice] = []
    now = -math.inf

    def run_until(moment: float) -> None:
        nonlocal now
        while open_slices and now < moment:
            top = open_slices[-1]
            end = min(top.end, moment)
            if end > now:
                pieces.append(Slice(top.name, now, end))
                now = end
            if top.end <= now:
                open_slices.pop()

    for piece in sorted(slices, key=lambda piece: (piece.begin, -piece.end)):
        run_until(piece.begin)
        now = max(now, piece.begin)
        open_slices.append(piece)
    run_until(math.inf)
    return pieces or [Slice(piece.name, piece.begin, piece.begin) for piece in slices]


def _flow_edges(events: list[Event], rows: dict[Thread, list[int]], tasks: list[Slice]) -> list[tuple[int, int]]:
    """Edges from the tasks that flow events start in to those they end in.

    A flow event belongs to the task around it, or to the next one that begins on its thread.
    """
    starts: dict[Any, int] = {}
    edges: list[tuple[int, int]] = []
    ends = {thread: [tasks[i].end for i in row] for thread, row in rows.items()}
    flows = [event for event in events if event.get("ph") in ("s", "f") and "ts" in event]
    for event in sorted(flows, key=lambda flow: float(flow["ts"])):
        thread = (event.get("pid"), event.get("tid"))
        side = (
            bisect_left if event["ph"] == "s" else bisect_right
        )  # at a border: from the task before, to the one after
        place = side(ends.get(thread, []), float(event["ts"]))
        if place >= len(rows.get(thread, [])):
            continue
        task = rows[thread][place]
        if event["ph"] == "s":
            starts[event.get("id")] = task
        elif event.get("id") in starts and starts[event["id"]] != task:
            edges.append((starts[event["id"]], task))
    return edges


def _imported_graph(source: str) -> TaskGraph:
    """The TaskGraph, recorder or Dask graph that `module:attribute` names."""
    name, _, attribute = source.partition(":")
    with code_of_a_user(source, remedy="name a file, or module:attribute of a module that Python can import here"):
        value = getattr(import_module(name), attribute)
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
