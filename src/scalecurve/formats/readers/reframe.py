"""ReFrame run reports (JSON): passed test cases, K is `num_tasks`, one metric per performance variable.

`perfvalues` maps "system:partition:metric" to [value, reference, low, high, unit, ...] since 4.0; before that,
`perfvars` is a list of {name, value, unit}.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scalecurve.formats.coercion import as_count, as_dict, as_float, as_list, as_text, facts
from scalecurve.formats.meaning import meaning_of
from scalecurve.formats.reading import Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, RunStatus, Treatment

COUNTS = ("num_tasks", "num_nodes", "num_cpus_per_task", "num_gpus")


def look(source: Source) -> str | None:
    return "JSON with session_info and runs" if {"session_info", "runs"} <= source.keys else None


def read(source: Source, wishes: Wishes) -> Reading:
    session = as_dict(source.json["session_info"])
    cases = [as_dict(case) for run in as_list(source.json["runs"]) for case in as_list(as_dict(run).get("testcases"))]
    return Reading(
        points=bounded((point for case in cases for point in _points(case)), source.name),
        setup=Treatment.UNKNOWN,
        provenance=Provenance(
            tool="ReFrame",
            tool_version=as_text(session.get("version")),
            created=as_text(session.get("time_start")),
            machine=facts(session, "hostname"),
        ),
    )


def _points(case: dict[str, Any]) -> Iterator[Point]:
    name = as_text(case.get("display_name"), 500) or as_text(case.get("name"), 500) or ""
    fields = {name: count for name in COUNTS if (count := as_count(case.get(name)))}
    nodes = as_list(case.get("job_nodelist")) or as_list(case.get("nodelist"))
    if nodes and "num_nodes" not in fields:
        fields["num_nodes"] = len(nodes)
    passed = case.get("result") in ("pass", "success")
    common: dict[str, Any] = {"name": name, "series": name.partition(" ")[0], "fields": fields}
    if not passed:
        reason = as_text(case.get("fail_reason")) or "the test did not pass"
        yield Point(values=(), status=RunStatus.FAILED, details={"error": reason}, **common)
        return
    for metric, value, unit in _metrics(case):
        meaning = meaning_of(metric, unit)
        factor = meaning.factor if meaning else 1.0
        yield Point(
            values=(value * factor,),
            metric=metric,
            quantity=meaning.quantity if meaning else None,
            unit=(meaning.unit if meaning else None) or unit,
            **common,
        )


def _metrics(case: dict[str, Any]) -> Iterator[tuple[str, float, str | None]]:
    for key, row in as_dict(case.get("perfvalues")).items():
        cells = as_list(row)
        value = as_float(cells[0]) if cells else None
        if value is not None:
            yield key.rpartition(":")[2], value, as_text(cells[4]) if len(cells) > 4 else None
    for each in map(as_dict, as_list(case.get("perfvars"))):
        value, name = as_float(each.get("value")), as_text(each.get("name"))
        if value is not None and name:
            yield name, value, as_text(each.get("unit"))


READER = Reader("reframe", "ReFrame report", look, read)
