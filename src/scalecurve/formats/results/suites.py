"""Frameworks that run benchmarks on clusters: ReFrame (reports and perflogs) and Ramble.

ReFrame run reports (JSON): passed test cases, K is `num_tasks`, one metric per performance variable.

`perfvalues` maps "system:partition:metric" to [value, reference, low, high, unit, ...] since 4.0; before that,
`perfvars` is a list of {name, value, unit}.

Results of Ramble and Benchpark (`results.*.json`): experiments with variables and figures of merit.

Repeats appear as experiments of their own (`name.1`, `name.2`) and as a summary (`N_REPEATS` above 0), which is left
out.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from scalecurve.formats.columns import (
    as_count,
    as_dict,
    as_dicts,
    as_float,
    as_list,
    as_text,
    counts_in,
    facts,
    metric_point,
)
from scalecurve.formats.reading import FormatNote, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, RunStatus, Treatment

_OLDER_PERFLOG = re.compile(r"\| *\S.* using [^|]*\|.*num_tasks=\d+\|")
COUNTS_REFRAME = ("num_tasks", "num_nodes", "num_cpus_per_task", "num_gpus")


def recognise_reframe(source: Source) -> str | None:
    return "JSON with session_info and runs" if {"session_info", "runs"} <= source.keys else None


def read_reframe(source: Source, options: ReadOptions) -> Reading:
    session = as_dict(source.json["session_info"])
    points: list[Point] = []
    for case in (case for run in as_dicts(source.json["runs"]) for case in as_dicts(run.get("testcases"))):
        name = as_text(case.get("display_name"), 500) or as_text(case.get("name"), 500) or ""
        fields = counts_in(case, COUNTS_REFRAME)
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


def recognise_perflog(source: Source) -> str | None:
    first = source.head_text.partition("\n")[0]
    if "job_completion_time|" in first and "num_tasks" in first:
        return "the header of a ReFrame perflog"
    return "lines of a ReFrame perflog" if _OLDER_PERFLOG.search(first) else None


def read_perflog(source: Source, options: ReadOptions) -> Reading:
    """One line for each test: columns NAME_value and NAME_unit since 4.0, before that `key=value` parted by bars."""
    lines = [line for line in source.text.splitlines() if line.strip()]
    points: list[Point] = []
    header: list[str] = []
    for line in lines:
        cells = line.split("|")
        if "job_completion_time" in cells and "name" in cells:  # a new header where the columns changed
            header = cells
            continue
        row = dict(zip(header, cells, strict=False)) if header else _older_cells(line)
        name = row.get("name") or ""
        common: dict[str, Any] = {
            "name": name,
            "series": name.partition(" ")[0],
            "fields": counts_in(row, COUNTS_REFRAME),
        }
        if row.get("result", "pass") != "pass":
            points.append(Point(values=(), status=RunStatus.FAILED, details={"error": "the test failed"}, **common))
            continue
        metrics = {
            key[: -len("_value")]: row.get(f"{key[: -len('_value')]}_unit") for key in row if key.endswith("_value")
        }
        for metric, unit in metrics.items():
            value = as_float(row.get(f"{metric}_value"))
            if value is not None:
                points.append(metric_point([value], metric, unit, **common))
    return Reading(points=bounded(points), provenance=Provenance(tool="ReFrame"))


def _older_cells(line: str) -> dict[str, str]:
    """`...|Solve on sys:part using env|jobid=1|num_tasks=2|time=8.0|ref=0 (l=null, u=null)|s` as columns."""
    cells = line.split("|")
    pairs = [cell.partition("=") for cell in cells]
    row = {name.strip(): value for name, sign, value in pairs if sign and name.strip() in COUNTS_REFRAME}
    title = next((cell for cell in cells if " using " in cell), "")
    row["name"] = title.partition(" on ")[0].strip()
    place = next((i for i, (name, sign, _) in enumerate(pairs) if sign and name.strip() == "ref"), 0)
    if place:
        metric, _, value = pairs[place - 1]
        row[f"{metric.strip()}_value"] = value
        row[f"{metric.strip()}_unit"] = cells[place + 1].strip() if place + 1 < len(cells) else ""
    return row


REFRAME = Reader(
    "reframe",
    "ReFrame report",
    recognise_reframe,
    read_reframe,
    FormatNote(
        tried="4.10.4 (PyPI)",
        real=True,
        k="num_tasks",
        value="a performance variable",
        keeps="host, failed tests",
    ),
)
PERFLOG = Reader(
    "reframe-perflog",
    "ReFrame perflog",
    recognise_perflog,
    read_perflog,
    FormatNote(
        tried="4.10.4 (PyPI); the 3.x layout not run, from its documented form",
        real=True,
        k="num_tasks",
        value="a performance variable",
        keeps="failed tests",
    ),
)


COUNTS_RAMBLE = ("n_ranks", "n_nodes", "n_threads", "n_gpus", "n_threads_per_proc")
BY_RAMBLE = re.compile(r"summary::|^n_(?:total|successful)_repeats$")


def recognise_ramble(source: Source) -> str | None:
    first = (as_dicts(source.json["experiments"]) or [{}])[0] if "experiments" in source.keys else {}
    return "JSON with experiments and RAMBLE_STATUS" if "RAMBLE_STATUS" in first else None


def read_ramble(source: Source, options: ReadOptions) -> Reading:
    points: list[Point] = []
    for experiment in as_dicts(source.json["experiments"]):
        if as_count(experiment.get("N_REPEATS")):
            continue
        name = as_text(experiment.get("name"), 500) or ""
        fields = counts_in({**experiment, **as_dict(experiment.get("RAMBLE_VARIABLES"))}, COUNTS_RAMBLE)
        # The series is application.workload of `application.workload.experiment`, whose last part holds parameters.
        common: dict[str, Any] = {"name": name, "series": ".".join(name.split(".")[:2]), "fields": fields}
        if experiment.get("RAMBLE_STATUS") != "SUCCESS":
            details = {"error": f"RAMBLE_STATUS {as_text(experiment.get('RAMBLE_STATUS'))}"}
            points.append(Point(values=(), status=RunStatus.FAILED, details=details, **common))
            continue
        for context in as_dicts(experiment.get("CONTEXTS")):
            where = as_text(context.get("name"))
            for merit in as_dicts(context.get("foms")):
                metric, value = as_text(merit.get("name")), as_float(merit.get("value"))
                if metric is None or value is None or BY_RAMBLE.search(str(merit.get("origin_type", "")) + metric):
                    continue
                point = metric_point([value], metric, as_text(merit.get("units")), **common)
                points.append(point if where in (None, "null") else replace(point, metric=f"{metric} ({where})"))
    return Reading(
        points=bounded(points),
        setup=Treatment.UNKNOWN,
        provenance=Provenance(tool="Ramble", created=as_text(source.json.get("date"))),
    )


RAMBLE = Reader("ramble", "Ramble results", recognise_ramble, read_ramble)
