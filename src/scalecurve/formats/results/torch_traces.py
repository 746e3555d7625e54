"""PyTorch profiler traces (Kineto's Chrome trace JSON, one file per rank): step times, and where each step's time went.

Steps are the annotations `ProfilerStep#N`; the profiler's own schedule excludes warm-up.  World size and rank are under
`distributedInfo`, which a single process does not write.  The traces of one folder and world size are one run, whose
time is the mean step of its slowest rank, in seconds; every rank must be there.

Per step and rank, times are lengths of unions of intervals, so that work on several threads or streams is not counted
twice:

    communication  NCCL kernels, or on the CPU gloo's transfers (`gloo:all_reduce`) and their enqueueing (`c10d::`)
    compute        other GPU kernels and copies; without a GPU, operators (`cpu_op`) outside communication calls
    hidden         communication while compute runs           exposed     the rest of it: what the step waits for
    data loading   the data loader, outside both              idle        what none of them covers

compute + exposed + data loading + idle = step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.columns import as_count, as_dict, as_float, as_text
from scalecurve.formats.reading import Point, Reader, Reading, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, RankRecord, Treatment, Workload
from scalecurve.study.run import FloatArray

MICRO = 1e-6
MOST_STEPS = 1000  # a schedule records tens of steps; thousands are not accounted for one by one
KINETO = {"schemaVersion", "deviceProperties", "distributedInfo", "trace_id"}

EXPOSED, HIDDEN = "communication (exposed)", "communication (hidden)"
COMPUTE, DATA, IDLE = "compute", "data loading", "idle"

_STEP = re.compile(r"ProfilerStep#(\d{1,18})$")
_NCCL = re.compile(r"nccl", re.IGNORECASE)
_TRANSFER = re.compile(r"^(gloo|nccl|mpi|ucc):", re.IGNORECASE)
_ENQUEUE = re.compile(r"^(c10d::|record_param_comms)", re.IGNORECASE)
_LOADER = re.compile(r"DataLoader")
_DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}
_RANK_IN_NAME = re.compile(r"rank[_-]?(\d{1,9})", re.IGNORECASE)


@dataclass(frozen=True)
class TraceEvent:
    """A complete event, in the trace's microseconds."""

    name: str
    category: str
    begin: float
    end: float


@dataclass(frozen=True, kw_only=True)
class TraceStep:
    """One step of one rank, in seconds; the parts are 0 in a trace of more than MOST_STEPS steps."""

    number: int
    seconds: float
    compute: float = 0.0
    exposed: float = 0.0
    hidden: float = 0.0
    data: float = 0.0
    idle: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RankTrace:
    """The steps of one rank."""

    rank: int
    world_size: int | None
    host: str | None
    backend: str | None
    steps: tuple[TraceStep, ...]

    def record(self) -> RankRecord:
        """The seconds of every step, and the phases summed over the steps."""
        times = tuple(step.seconds for step in self.steps)
        phases = {
            COMPUTE: sum(step.compute for step in self.steps),
            EXPOSED: sum(step.exposed for step in self.steps),
            HIDDEN: sum(step.hidden for step in self.steps),
            DATA: sum(step.data for step in self.steps),
            IDLE: sum(step.idle for step in self.steps),
        }
        if len(times) > MOST_STEPS:
            phases = {}
        return RankRecord(rank=self.rank, seconds=sum(times), host=self.host, steps=times, phases=phases)


def recognise(source: Source) -> str | None:
    if "traceEvents" not in source.keys:
        return None
    marks = ", ".join(sorted(KINETO & source.keys))
    return f"JSON with traceEvents and Kineto's {marks}" if marks else "JSON with traceEvents"


def read(source: Source, options: ReadOptions) -> Reading:
    trace = read_trace(source)
    size = trace.world_size or 1
    point = Point(
        values=(sum(step.seconds for step in trace.steps) / len(trace.steps),),
        name=source.name,
        metric="mean ProfilerStep",
        k=size,
        fields={"world_size": size},
        details={"ranks": (trace.record(),)},
        launch="job",
        launch_ranks=size,
    )
    alone = () if trace.world_size else ("a trace without distributedInfo is of one process",)
    return Reading(
        points=(point,),
        k_origin="`world_size` of distributedInfo",
        k_unit="ranks",
        workload=Workload(work_unit="step"),
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="torch.profiler", timing="ProfilerStep annotations, mean of the slowest rank"),
        assumed=("one step is the unit of work", "profiling slows the steps alike at every K", *alone),
        missing=("several launches of each K",),
    )


def read_trace(source: Source) -> RankTrace:
    """One rank's trace (.json or .json.gz)."""
    data = source.json if source.json is not None else source.required_json()
    if not isinstance(data, dict) or not isinstance(data.get("traceEvents"), list):
        raise FormatError(Fault("not a Chrome trace", remedy="export it with export_chrome_trace"))
    events = _complete_events(data["traceEvents"])
    if not events:
        raise FormatError(Fault("the trace has no timed events", remedy="let the profiler finish"))
    windows: dict[int, TraceEvent] = {}
    for event in events:
        match = _STEP.search(event.name)
        # The GPU's copy of the annotation is not counted again.
        if match and event.category not in (*_DEVICE, "gpu_user_annotation") and event.end > event.begin:
            windows.setdefault(int(match[1]), event)
    if not windows:
        remedy = "profile with a schedule and call prof.step(), so that steps are marked"
        raise FormatError(Fault("the trace marks no steps (ProfilerStep#n)", remedy=remedy))
    job = as_dict(data.get("distributedInfo"))
    in_name = _RANK_IN_NAME.search(source.file_name)
    rank = as_float(job.get("rank"))
    spans = Spans.of(events) if len(windows) <= MOST_STEPS else None
    return RankTrace(
        rank=int(rank) if rank is not None else int(in_name[1]) if in_name else 0,
        world_size=as_count(job.get("world_size")),
        host=as_text(data.get("host_name")),
        backend=as_text(job.get("backend")),
        steps=tuple(
            TraceStep(number=number, seconds=(step.end - step.begin) * MICRO)
            if spans is None
            else spans.step(number, step.begin, step.end)
            for number, step in sorted(windows.items())
        ),
    )


def _complete_events(items: Iterable[Any]) -> list[TraceEvent]:
    events = []
    for item in items:
        if not isinstance(item, dict) or item.get("ph") != "X" or not isinstance(item.get("name"), str):
            continue
        begin, length = as_float(item.get("ts")), as_float(item.get("dur"))
        if begin is not None and length is not None and length >= 0:
            events.append(TraceEvent(item["name"], str(item.get("cat")), begin, begin + length))
    return events


@dataclass(frozen=True, eq=False)
class Spans:
    """Unions of intervals by kind, each an array of disjoint rising (begin, end)."""

    compute: FloatArray
    communication: FloatArray
    data: FloatArray

    @classmethod
    def of(cls, events: list[TraceEvent]) -> Spans:
        device = [event for event in events if event.category in _DEVICE]
        if device:
            communication = _named(device, _NCCL)
            compute = _union(event for event in device if not _NCCL.search(event.name))
        else:
            calls = _named(events, _ENQUEUE)
            communication = _merged(np.concatenate([calls, _named(events, _TRANSFER)]))
            operators = (e for e in events if e.category == "cpu_op" and not _ENQUEUE.search(e.name))
            compute = _without(_union(e for e in operators if not _TRANSFER.search(e.name)), calls)
        return cls(compute, communication, _named(events, _LOADER))

    def step(self, number: int, begin: float, end: float) -> TraceStep:
        """Where the time of one step went."""
        compute, communication = _within(self.compute, begin, end), _within(self.communication, begin, end)
        busy = _merged(np.concatenate([compute, communication]))
        data = _length(_without(_within(self.data, begin, end), busy))
        hidden = _length(communication) + _length(compute) - _length(busy)
        return TraceStep(
            number=number,
            seconds=(end - begin) * MICRO,
            compute=_length(compute) * MICRO,
            exposed=(_length(communication) - hidden) * MICRO,
            hidden=hidden * MICRO,
            data=data * MICRO,
            idle=max(0.0, end - begin - _length(busy) - data) * MICRO,
        )


def _named(events: Iterable[TraceEvent], pattern: re.Pattern[str]) -> FloatArray:
    return _union(event for event in events if pattern.search(event.name))


def _union(events: Iterable[TraceEvent]) -> FloatArray:
    return _merged(np.array([(e.begin, e.end) for e in events], dtype=np.float64).reshape(-1, 2))


def _merged(spans: FloatArray) -> FloatArray:
    """Overlapping intervals made one."""
    if not len(spans):
        return spans
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    reach = np.maximum.accumulate(spans[:, 1])
    starts = np.flatnonzero(np.concatenate([[True], spans[1:, 0] > reach[:-1]]))
    ends = np.append(starts[1:], len(spans)) - 1
    return np.column_stack([spans[starts, 0], reach[ends]])


def _within(spans: FloatArray, begin: float, end: float) -> FloatArray:
    clipped = np.clip(spans, begin, end)
    kept: FloatArray = clipped[clipped[:, 1] > clipped[:, 0]]
    return kept


def _without(spans: FloatArray, holes: FloatArray) -> FloatArray:
    """The intervals with the holes cut out."""
    if not len(spans) or not len(holes):
        return spans
    parts = []
    for begin, end in spans:
        at = begin
        for hole_begin, hole_end in _within(holes, begin, end):
            parts.append((at, hole_begin))
            at = hole_end
        parts.append((at, end))
    rest = np.array(parts, dtype=np.float64).reshape(-1, 2)
    cut: FloatArray = rest[rest[:, 1] > rest[:, 0]]
    return cut


def _length(spans: FloatArray) -> float:
    return float((spans[:, 1] - spans[:, 0]).sum()) if len(spans) else 0.0


READER = Reader("torch-traces", "PyTorch trace", recognise, read)
