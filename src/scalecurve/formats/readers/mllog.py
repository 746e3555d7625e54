"""MLPerf training logs: lines `:::MLLOG {...}`, alone or after other text; one log is one run.

Time to train is run_start to run_stop; init_start to init_stop is set-up and not part of it.  A run counts only when
run_stop says success.  The global batch size and the samples trained are compared over K: a batch that grows with the
machine is another optimisation problem, and more samples another amount of work.
"""

from __future__ import annotations

import json
from typing import Any

from scalecurve.formats.coercion import as_count, as_dict, as_float, as_text
from scalecurve.formats.reading import Point, Reader, Reading
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, RunStatus, Treatment, Workload

MARK = ":::MLLOG"
MILLI = 1e-3
OF_WORKERS = ("number_of_nodes", "accelerators_per_node", "num_gpus", "world_size", "num_nodes")


def look(source: Source) -> str | None:
    return "lines marked :::MLLOG" if MARK in source.head_text else None


def read(source: Source, wishes: Wishes) -> Reading:
    events = _events(source.text)
    known = {
        key: event["value"] for event in events if (key := as_text(event.get("key"))) and event.get("value") is not None
    }
    batch = as_float(known.get("global_batch_size"))
    fields = {name: known[name] for name in OF_WORKERS if as_count(known.get(name))}
    fields |= {"gpus": _accelerators(fields)} if _accelerators(fields) else {}
    benchmark = as_text(known.get("submission_benchmark")) or ""
    details = _details(events, batch)
    status, seconds = _outcome(events)
    if status is not RunStatus.OK:
        details["error"] = "run_stop does not say success" if seconds is not None else "no run_start and run_stop"
    values = (seconds,) if seconds is not None else ()
    point = Point(values=values, series=benchmark, name=source.name, fields=fields, status=status, details=details)
    return Reading(
        points=(point,),
        workload=Workload(name=benchmark or None, description="time to train"),
        warmup=Treatment.INCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="mllog", timing="run_start to run_stop"),
        assumed=("time to train from run_start to run_stop, init excluded",),
        missing=() if batch is not None else ("the global batch size",),
    )


def _events(text: str) -> list[dict[str, Any]]:
    events = []
    for line in text.splitlines():
        _, mark, rest = line.partition(MARK)
        if not mark:
            continue
        try:
            event, _ = json.JSONDecoder().raw_decode(rest.strip())
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def _time(events: list[dict[str, Any]], key: str) -> float | None:
    """The first event of that name, in milliseconds since 1970; only differences are turned into seconds."""
    for event in events:
        if event.get("key") == key and (stamp := as_float(event.get("time_ms"))) is not None:
            return stamp
    return None


def _outcome(events: list[dict[str, Any]]) -> tuple[RunStatus, float | None]:
    start, stop = _time(events, "run_start"), _time(events, "run_stop")
    if start is None or stop is None or stop <= start:
        return RunStatus.FAILED, None
    statuses = [as_dict(event.get("metadata")).get("status") for event in events if event.get("key") == "run_stop"]
    return (RunStatus.OK if statuses[0] == "success" else RunStatus.FAILED), (stop - start) * MILLI


def _details(events: list[dict[str, Any]], batch: float | None) -> dict[str, Any]:
    init = _time(events, "init_start"), _time(events, "init_stop") or _time(events, "run_start")
    setup = (init[1] - init[0]) * MILLI if init[0] is not None and init[1] is not None else None
    samples = [as_float(event.get("value")) for event in events if event.get("key") == "train_samples"]
    observed: dict[str, Any] = {"global_batch_size": batch} if batch is not None else {}
    quality = [as_float(event.get("value")) for event in events if event.get("key") == "eval_accuracy"]
    if quality and quality[-1] is not None:
        observed["eval_accuracy"] = quality[-1]
    return {"observed": observed, "setup_seconds": setup, "work": samples[-1] if samples else None}


def _accelerators(fields: dict[str, Any]) -> int | None:
    nodes, each = as_count(fields.get("number_of_nodes")), as_count(fields.get("accelerators_per_node"))
    return nodes * each if nodes and each else None


READER = Reader("mllog", "MLPerf log", look, read)
