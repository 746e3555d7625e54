"""ReFrame run reports (JSON): passed test cases, K is `num_tasks`, one metric per performance variable.

`perfvalues` maps "system:partition:metric" to [value, reference, low, high, unit, ...] since 4.0; before that,
`perfvars` is a list of {name, value, unit}.
"""

from __future__ import annotations

from typing import Any

from scalecurve.formats.columns import as_dict, as_dicts, as_float, as_list, as_text, counts_in, facts, metric_point
from scalecurve.formats.reading import Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, RunStatus, Treatment

COUNTS = ("num_tasks", "num_nodes", "num_cpus_per_task", "num_gpus")


def recognise(source: Source) -> str | None:
    return "JSON with session_info and runs" if {"session_info", "runs"} <= source.keys else None


def read(source: Source, options: ReadOptions) -> Reading:
    session = as_dict(source.json["session_info"])
    points: list[Point] = []
    for case in (case for run in as_dicts(source.json["runs"]) for case in as_dicts(run.get("testcases"))):
        name = as_text(case.get("display_name"), 500) or as_text(case.get("name"), 500) or ""
        fields = counts_in(case, COUNTS)
        nodes = as_list(case.get("job_nodelist")) or as_list(case.get("nodelist"))
        if nodes:
            fields.setdefault("num_nodes", len(nodes))
        common: dict[str, Any] = {"name": name, "series": name.partition(" ")[0], "fields": fields}
        if case.get("result") not in ("pass", "success"):
            reason = as_text(case.get("fail_reason")) or "the test did not pass"
            points.append(Point(values=(), status=RunStatus.FAILED, details={"error": reason}, **common))
            continue
        metrics: list[tuple[str, Any, Any]] = [
            (key.rpartition(":")[2], cells[0], cells[4] if len(cells) > 4 else None)
            for key, row in as_dict(case.get("perfvalues")).items()
            if (cells := as_list(row))
        ]
        metrics += [
            (as_text(v.get("name")) or "", v.get("value"), v.get("unit")) for v in as_dicts(case.get("perfvars"))
        ]
        for metric, number, unit_text in metrics:
            value, unit = as_float(number), as_text(unit_text)
            if value is not None and metric:
                points.append(metric_point([value], metric, unit, **common))
    return Reading(
        points=bounded(points),
        setup=Treatment.UNKNOWN,
        provenance=Provenance(
            tool="ReFrame",
            tool_version=as_text(session.get("version")),
            created=as_text(session.get("time_start")),
            machine=facts(session, "hostname"),
        ),
    )


READER = Reader("reframe", "ReFrame report", recognise, read)
