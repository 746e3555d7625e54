"""Chrome traces of torch.profiler (Kineto): one file per rank, steps are the annotations `ProfilerStep#N`.

World size and rank are under `distributedInfo`; the traces of one job in one folder become one run, whose time is the
mean step of its slowest rank.  Warm-up is excluded by the profiler's own schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scalecurve.errors import FormatError
from scalecurve.formats.chrome_trace import read_trace
from scalecurve.formats.coercion import as_count, as_dict, as_float, as_list, as_text
from scalecurve.formats.reading import Point, Reader, Reading
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, RankRecord, Treatment

STEP = "ProfilerStep#"
MOST_STEPS = 1000  # a schedule records tens of steps; thousands are not accounted for one by one
MICRO = 1e-6


def look(source: Source) -> str | None:
    if "traceEvents" not in source.keys:
        return None
    kineto = {"schemaVersion", "deviceProperties", "distributedInfo", "trace_id"} & source.keys
    return f"JSON with traceEvents and Kineto's {', '.join(sorted(kineto))}" if kineto else "JSON with traceEvents"


def read(source: Source, wishes: Wishes) -> Reading:
    data = source.json
    job = as_dict(data.get("distributedInfo"))
    rank = int(as_float(job.get("rank")) or 0)
    steps = _steps(as_list(data["traceEvents"]))
    size = as_count(job.get("world_size"))
    host = as_text(data.get("host_name"))
    record = RankRecord(rank=rank, seconds=sum(steps), host=host, steps=steps, phases=_phases(source, len(steps)))
    points: tuple[Point, ...] = ()
    if steps:
        details = {"ranks": (record,)}
        points = (
            Point(
                values=(sum(steps) / len(steps),),
                name=source.name,
                metric="mean ProfilerStep",
                k=size,
                fields={"world_size": size} if size else {},
                details=details,
                launch="job",
            ),
        )
    return Reading(
        points=points,
        k_origin="`world_size` of distributedInfo",
        k_unit="ranks",
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="torch.profiler", timing="ProfilerStep annotations, mean of the slowest rank"),
        assumed=("one step is the unit of work", "profiling slows the steps alike at every K"),
        missing=("several launches of each K",),
    )


def _phases(source: Source, steps: int) -> Mapping[str, float]:
    """Where the steps' time went, as `chrome_trace` accounts for it; nothing where a damaged trace defies it."""
    if source.path is None or steps > MOST_STEPS:
        return {}
    try:
        return read_trace(source.path).record().phases
    except (FormatError, TypeError, ValueError, OverflowError, AttributeError, KeyError):
        return {}


def _steps(events: list[Any]) -> tuple[float, ...]:
    """Seconds of each step in its order; the GPU's copy of the annotation is not counted again."""
    found: dict[str, tuple[float, float]] = {}
    for event in events:
        if not isinstance(event, dict) or event.get("ph") != "X" or event.get("cat") == "gpu_user_annotation":
            continue
        name = event.get("name")
        if isinstance(name, str) and name.startswith(STEP):
            begin, length = as_float(event.get("ts")), as_float(event.get("dur"))
            if begin is not None and length is not None and length > 0:
                found.setdefault(name, (begin, length * MICRO))
    return tuple(length for _, length in sorted(found.values()))


READER = Reader("kineto", "PyTorch trace", look, read)
