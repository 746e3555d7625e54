"""Logs of programs, benchmarks, training and serving that are read by their rows of readers.toml.

OpenFOAM's ClockTime is wall time in whole seconds; its ExecutionTime is the CPU time of the first rank, with decimals.
MLPerf training logs have lines `:::MLLOG {...}`, alone or after other text; one log is one run.  Time to train is
run_start to run_stop; init_start to init_stop is set-up and not part of it.  A run counts only when run_stop says
success.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from scalecurve.findings import warning
from scalecurve.formats.columns import as_count, as_dict, as_float, as_text, counts_in
from scalecurve.formats.reading import Point, ReadOptions
from scalecurve.formats.rows import Yielded, log_points
from scalecurve.formats.source import Source
from scalecurve.study import RunStatus, Workload

MILLI = 1e-3
COARSE_CLOCK = 20.0  # seconds below which a clock of whole seconds is too coarse
MARK = ":::MLLOG"
OF_WORKERS = ("number_of_nodes", "accelerators_per_node", "num_gpus", "world_size", "num_nodes")


def openfoam(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    items = list(log_points("openfoam", source, options))
    points = {item.metric: item for item in items if isinstance(item, Point)}
    wall = points["ClockTime"].values[0] if "ClockTime" in points else 0.0
    coarse = wall < COARSE_CLOCK
    if coarse:
        message = f"ClockTime is {wall:g} s in whole seconds: the CPU time of the first rank is taken instead"
        yield warning("clock-resolution", message, remedy="run longer; waiting may be missing in CPU time")
    yield {"assumed": ("the CPU time of the first rank" if coarse else "ClockTime, wall time in whole seconds",)}
    steps = len(re.findall(r"^ExecutionTime = ", source.text, re.MULTILINE))
    main = "ExecutionTime" if coarse else "ClockTime"
    for item in items:
        if isinstance(item, Point):
            item = replace(item, main=item.metric == main, fields={"steps": steps})
        yield item


def mllog(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    events = list(_events(source))
    values = {key: e["value"] for e in events if (key := as_text(e.get("key"))) and e.get("value") is not None}
    fields = counts_in(values, OF_WORKERS)
    nodes, per_node = fields.get("number_of_nodes"), fields.get("accelerators_per_node")
    if nodes and per_node and as_count(nodes * per_node):
        fields["gpus"] = nodes * per_node
    start = _time(events, "run_start")
    seconds = _between(start, _time(events, "run_stop")) or None
    numbers = {name: as_float(values.get(name)) for name in ("global_batch_size", "eval_accuracy")}
    error = _why_failed(events, seconds)
    benchmark = as_text(values.get("submission_benchmark")) or ""
    yield Point(
        values=(seconds,) if seconds is not None else (),
        series=benchmark,
        name=source.name,
        fields=fields,
        status=RunStatus.FAILED if error else RunStatus.OK,
        details={
            "observed": {name: number for name, number in numbers.items() if number is not None},
            "setup_seconds": _between(_time(events, "init_start"), _time(events, "init_stop") or start),
            "work": as_float(values.get("train_samples")),
            **({"error": error} if error else {}),
        },
    )
    yield {"workload": Workload(name=benchmark or None, description="time to train")}
    if numbers["global_batch_size"] is None:
        yield {"missing": ("the global batch size",)}


def _between(begin: float | None, end: float | None) -> float | None:
    """Seconds between two times in milliseconds; None where one is missing or they are in the wrong order."""
    return (end - begin) * MILLI if begin is not None and end is not None and end >= begin else None


def _why_failed(events: list[dict[str, Any]], seconds: float | None) -> str | None:
    """Why the run does not count; None where run_stop says success."""
    if seconds is None:
        return "no run_start and run_stop"
    stop = next((event for event in events if event.get("key") == "run_stop"), {})
    return None if as_dict(stop.get("metadata")).get("status") == "success" else "run_stop does not say success"


def _events(source: Source) -> Iterator[dict[str, Any]]:
    for line in source.text.splitlines():
        _, mark, rest = line.partition(MARK)
        try:
            event = json.JSONDecoder().raw_decode(rest.strip())[0] if mark else None
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


def _time(events: list[dict[str, Any]], key: str) -> float | None:
    """The first event of that name, in milliseconds since 1970; only differences are turned into seconds."""
    stamps = (as_float(event.get("time_ms")) for event in events if event.get("key") == key)
    return next((stamp for stamp in stamps if stamp is not None), None)
