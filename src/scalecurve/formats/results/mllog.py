"""MLPerf training logs: lines `:::MLLOG {...}`, alone or after other text; one log is one run.

Time to train is run_start to run_stop; init_start to init_stop is set-up and not part of it.  A run counts only when
run_stop says success.  The global batch size and the samples trained are compared over K: a batch that grows with the
machine is another optimisation problem, and more samples another amount of work.
"""

from __future__ import annotations

import json
from typing import Any

from scalecurve.formats.columns import as_count, as_dict, as_float, as_text, counts_in
from scalecurve.formats.reading import Point, Reader, Reading, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, RunStatus, Treatment, Workload

MARK = ":::MLLOG"
MILLI = 1e-3
OF_WORKERS = ("number_of_nodes", "accelerators_per_node", "num_gpus", "world_size", "num_nodes")


def recognise(source: Source) -> str | None:
    return "lines marked :::MLLOG" if MARK in source.head_text else None


def read(source: Source, options: ReadOptions) -> Reading:
    events: list[dict[str, Any]] = []
    for line in source.text.splitlines():
        _, mark, rest = line.partition(MARK)
        try:
            event = json.JSONDecoder().raw_decode(rest.strip())[0] if mark else None
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            events.append(event)
    values = {key: e["value"] for e in events if (key := as_text(e.get("key"))) and e.get("value") is not None}
    batch = as_float(values.get("global_batch_size"))
    fields = counts_in(values, OF_WORKERS)
    nodes, per_node = fields.get("number_of_nodes"), fields.get("accelerators_per_node")
    if nodes and per_node and as_count(nodes * per_node):
        fields["gpus"] = nodes * per_node
    start, stop = _time(events, "run_start"), _time(events, "run_stop")
    seconds = (stop - start) * MILLI if start is not None and stop is not None and stop > start else None
    outcomes = [as_dict(event.get("metadata")).get("status") for event in events if event.get("key") == "run_stop"]
    succeeded = seconds is not None and outcomes[0] == "success"
    begin, end = _time(events, "init_start"), _time(events, "init_stop") or start
    observed: dict[str, Any] = {"global_batch_size": batch} if batch is not None else {}
    quality = _last_number(events, "eval_accuracy")
    if quality is not None:
        observed["eval_accuracy"] = quality
    details: dict[str, Any] = {
        "observed": observed,
        "setup_seconds": (end - begin) * MILLI if begin is not None and end is not None else None,
        "work": _last_number(events, "train_samples"),
    }
    if not succeeded:
        details["error"] = "run_stop does not say success" if seconds is not None else "no run_start and run_stop"
    benchmark = as_text(values.get("submission_benchmark")) or ""
    point = Point(
        values=(seconds,) if seconds is not None else (),
        series=benchmark,
        name=source.name,
        fields=fields,
        status=RunStatus.OK if succeeded else RunStatus.FAILED,
        details=details,
    )
    return Reading(
        points=(point,),
        workload=Workload(name=benchmark or None, description="time to train"),
        warmup=Treatment.INCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="mllog", timing="run_start to run_stop"),
        assumed=("time to train from run_start to run_stop, init excluded",),
        missing=() if batch is not None else ("the global batch size",),
    )


def _time(events: list[dict[str, Any]], key: str) -> float | None:
    """The first event of that name, in milliseconds since 1970; only differences are turned into seconds."""
    stamps = (as_float(event.get("time_ms")) for event in events if event.get("key") == key)
    return next((stamp for stamp in stamps if stamp is not None), None)


def _last_number(events: list[dict[str, Any]], key: str) -> float | None:
    numbers = [as_float(event.get("value")) for event in events if event.get("key") == key]
    return numbers[-1] if numbers else None


READER = Reader("mllog", "MLPerf log", recognise, read)
