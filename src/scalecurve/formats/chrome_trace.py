"""PyTorch profiler traces (Chrome trace JSON, one file per rank): where each step's time went.

Per step (`ProfilerStep#n`) and rank, times are lengths of unions of intervals, so that work on several threads or
streams is not counted twice:

    communication  NCCL kernels, or on the CPU gloo's transfers (`gloo:all_reduce`) and their enqueueing (`c10d::`)
    compute        other GPU kernels and copies; without a GPU, operators (`cpu_op`) outside communication calls
    hidden         communication while compute runs           exposed     the rest of it: what the step waits for
    data loading   the data loader, outside both              idle        what none of them covers

compute + exposed + data loading + idle = step.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError
from scalecurve.study import Provenance, RankRecord, Run, Study, Treatment, Workload
from scalecurve.study.samples import FloatArray
from scalecurve.study.study import as_regime

MAX_BYTES = 512 * 1024 * 1024
MICRO = 1e-6

EXPOSED, HIDDEN = "communication (exposed)", "communication (hidden)"
COMPUTE, DATA, IDLE = "compute", "data loading", "idle"

_STEP = re.compile(r"ProfilerStep#(\d+)$")
_NCCL = re.compile(r"nccl", re.IGNORECASE)
_TRANSFER = re.compile(r"^(gloo|nccl|mpi|ucc):", re.IGNORECASE)
_ENQUEUE = re.compile(r"^(c10d::|record_param_comms)", re.IGNORECASE)
_LOADER = re.compile(r"DataLoader")
_DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}
_RANK_IN_NAME = re.compile(r"rank[_-]?(\d+)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class TraceStep:
    """One step of one rank, in seconds."""

    number: int
    seconds: float
    compute: float
    exposed: float
    hidden: float
    data: float
    idle: float


@dataclass(frozen=True, kw_only=True)
class RankTrace:
    """The steps of one rank."""

    rank: int
    world_size: int
    host: str | None
    backend: str | None
    steps: tuple[TraceStep, ...]

    def record(self) -> RankRecord:
        """Phases summed over the steps."""
        phases = {
            COMPUTE: sum(step.compute for step in self.steps),
            EXPOSED: sum(step.exposed for step in self.steps),
            HIDDEN: sum(step.hidden for step in self.steps),
            DATA: sum(step.data for step in self.steps),
            IDLE: sum(step.idle for step in self.steps),
        }
        times = tuple(step.seconds for step in self.steps)
        return RankRecord(rank=self.rank, seconds=sum(times), host=self.host, steps=times, phases=phases)


def read_trace(path: Path) -> RankTrace:
    """One rank's trace (.json or .json.gz)."""
    data = _parsed(path)
    events = _complete_events(data, path)
    info = data.get("distributedInfo") or {}
    windows = sorted((int(m[1]), e) for e in events if (m := _STEP.search(str(e["name"]))))
    host_windows = {number: (e["ts"], e["ts"] + e["dur"]) for number, e in windows if e.get("cat") not in _DEVICE}
    if not host_windows:
        hint = "profile with a schedule and call prof.step(), so that steps are marked"
        raise FormatError(Fault("the trace marks no steps (ProfilerStep#n)", remedy=hint), subject=str(path))
    spans = _Spans.of(events)
    return RankTrace(
        rank=_rank(info, path),
        world_size=int(info.get("world_size", 1)),
        host=data.get("host_name"),
        backend=info.get("backend"),
        steps=tuple(spans.step(number, *window) for number, window in sorted(host_windows.items())),
    )


def _parsed(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (OSError, EOFError) as problem:
        raise FormatError(f"cannot be read: {problem}", subject=str(path)) from None
    if len(raw) > MAX_BYTES:
        raise FormatError(Fault("the trace is too large", remedy="profile fewer steps"), subject=str(path))
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as problem:
        raise FormatError(
            Fault(f"not JSON: {problem}", remedy="the file may be truncated"), subject=str(path)
        ) from None
    if not isinstance(data, dict) or not isinstance(data.get("traceEvents"), list):
        raise FormatError(Fault("not a Chrome trace", remedy="export it with export_chrome_trace"), subject=str(path))
    return data


def _complete_events(data: Mapping[str, Any], path: Path) -> list[dict[str, Any]]:
    found = [
        event
        for event in data["traceEvents"]
        if isinstance(event, dict) and event.get("ph") == "X" and _timed(event) and "name" in event
    ]
    if not found:
        raise FormatError(Fault("the trace has no timed events", remedy="let the profiler finish"), subject=str(path))
    return found


def _timed(event: Mapping[str, Any]) -> bool:
    return all(isinstance(event.get(name), int | float) for name in ("ts", "dur")) and event["dur"] >= 0


def _rank(info: Mapping[str, Any], path: Path) -> int:
    if "rank" in info:
        return int(info["rank"])
    match = _RANK_IN_NAME.search(path.name)
    return int(match[1]) if match else 0


@dataclass(frozen=True, eq=False)
class _Spans:
    """Unions of intervals by kind, each an array of disjoint rising (begin, end)."""

    compute: FloatArray
    communication: FloatArray
    data: FloatArray

    @classmethod
    def of(cls, events: Sequence[Mapping[str, Any]]) -> _Spans:
        device = [event for event in events if event.get("cat") in _DEVICE]
        if device:
            communication = _union(event for event in device if _NCCL.search(event["name"]))
            compute = _union(event for event in device if not _NCCL.search(event["name"]))
        else:
            calls = _union(event for event in events if _ENQUEUE.search(event["name"]))
            transfers = _union(event for event in events if _TRANSFER.search(event["name"]))
            communication = _joined(calls, transfers)
            compute = _without(_union(event for event in events if _is_operator(event)), calls)
        return cls(compute, communication, _union(event for event in events if _LOADER.search(event["name"])))

    def step(self, number: int, begin: float, end: float) -> TraceStep:
        compute, communication = _within(self.compute, begin, end), _within(self.communication, begin, end)
        busy = _joined(compute, communication)
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


def _is_operator(event: Mapping[str, Any]) -> bool:
    name = str(event["name"])
    return event.get("cat") == "cpu_op" and not _ENQUEUE.search(name) and not _TRANSFER.search(name)


def _union(events: Iterable[Mapping[str, Any]]) -> FloatArray:
    return _merged(np.array([(e["ts"], e["ts"] + e["dur"]) for e in events], dtype=np.float64).reshape(-1, 2))


def _joined(first: FloatArray, second: FloatArray) -> FloatArray:
    return _merged(np.concatenate([first, second]))


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
    kept = np.array(parts, dtype=np.float64).reshape(-1, 2)
    cut: FloatArray = kept[kept[:, 1] > kept[:, 0]]
    return cut


def _length(spans: FloatArray) -> float:
    return float((spans[:, 1] - spans[:, 0]).sum()) if len(spans) else 0.0


def runs_from_traces(paths: Sequence[Path]) -> tuple[Run, ...]:
    """One run for each folder and world size; every rank of it must be there."""
    grouped: dict[tuple[Path, int], list[RankTrace]] = {}
    for path in sorted(paths):
        trace = read_trace(path)
        grouped.setdefault((path.parent, trace.world_size), []).append(trace)
    faults = [
        Fault(f"{size} ranks took part, but {len(traces)} traces are here", where=str(folder))
        for (folder, size), traces in grouped.items()
        if {trace.rank for trace in traces} != set(range(size))
    ]
    if faults:
        raise FormatError(faults, subject="traces")
    return tuple(_run(size, traces) for (_, size), traces in sorted(grouped.items(), key=lambda item: item[0][1]))


def _run(size: int, traces: Sequence[RankTrace]) -> Run:
    """T is the mean step of the slowest rank: a step is over when all are."""
    ordered = sorted(traces, key=lambda trace: trace.rank)
    mean_steps = [np.mean([step.seconds for step in trace.steps]) for trace in ordered]
    return Run(k=size, value=float(max(mean_steps)), ranks=tuple(trace.record() for trace in ordered))


def study_from_traces(paths: Sequence[Path], *, regime: str | None, name: str = "traces", **more: Any) -> Study:
    """A study of the mean step time, with the phases of every rank."""
    runs = runs_from_traces(paths)
    return Study(
        regime=as_regime(regime),
        runs=runs,
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        workload=Workload(name=name, work_unit="step"),
        provenance=Provenance(source=name, tool="PyTorch profiler", timing="profiler steps"),
        **{key: value for key, value in more.items() if value is not None},
    )


def trace_files(source: str | Path) -> list[Path]:
    """The traces in a folder and its subfolders; none where it is no folder of traces."""
    folder = Path(source)
    if str(source) == "-" or not folder.is_dir():
        return []
    found = [path for pattern in ("*.json", "*.json.gz") for path in sorted(folder.rglob(pattern))]
    return [path for path in found if _looks_like_trace(path)]


def _looks_like_trace(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(4096)
    head = (
        head if head[:2] != b"\x1f\x8b" else b'"traceEvents"' if ".trace" in path.name or "rank" in path.name else b""
    )
    return any(mark in head for mark in (b'"traceEvents"', b'"distributedInfo"', b'"deviceProperties"'))
