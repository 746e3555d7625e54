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
from collections.abc import Iterator
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
    metric_point,
)
from scalecurve.formats.reading import Point, ReadOptions
from scalecurve.formats.rows import Yielded
from scalecurve.formats.source import Source
from scalecurve.study import RunStatus

COUNTS_REFRAME = ("num_tasks", "num_nodes", "num_cpus_per_task", "num_gpus")


def reframe(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    for case in (case for run in as_dicts(source.json["runs"]) for case in as_dicts(run.get("testcases"))):
        name = as_text(case.get("display_name"), 500) or as_text(case.get("name"), 500) or ""
        fields = counts_in(case, COUNTS_REFRAME)
        nodes = as_list(case.get("job_nodelist")) or as_list(case.get("nodelist"))
        if nodes:
            fields.setdefault("num_nodes", len(nodes))
        common: dict[str, Any] = {"name": name, "series": name.partition(" ")[0], "fields": fields}
        if case.get("result") not in ("pass", "success"):
            reason = as_text(case.get("fail_reason")) or "the test did not pass"
            yield Point(values=(), status=RunStatus.FAILED, details={"error": reason}, **common)
            continue
        for metric, value, unit in _performance(case):
            yield metric_point([value], metric, unit, **common)


def _performance(case: dict[str, Any]) -> Iterator[tuple[str, float, str | None]]:
    """Name, value and unit of what a test of ReFrame measured: since 4.0 in `perfvalues`, before that in `perfvars`."""
    columns = ("value", "reference", "lower", "upper", "unit")
    figures = as_dict(case.get("perfvalues")).items()
    rows = [{"name": key.rpartition(":")[2], **dict(zip(columns, as_list(row), strict=False))} for key, row in figures]
    for row in [*rows, *as_dicts(case.get("perfvars"))]:
        metric, value = as_text(row.get("name")), as_float(row.get("value"))
        if metric and value is not None:
            yield metric, value, as_text(row.get("unit"))


def perflog(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    """One line for each test: columns NAME_value and NAME_unit since 4.0, before that `key=value` parted by bars."""
    header: list[str] = []
    for line in filter(str.strip, source.text.splitlines()):
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
            yield Point(values=(), status=RunStatus.FAILED, details={"error": "the test failed"}, **common)
            continue
        for key, number in row.items():
            metric, value = key.removesuffix("_value"), as_float(number)
            if metric != key and value is not None:
                yield metric_point([value], metric, row.get(f"{metric}_unit"), **common)


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


COUNTS_RAMBLE = ("n_ranks", "n_nodes", "n_threads", "n_gpus", "n_threads_per_proc")
BY_RAMBLE = re.compile(r"summary::|^n_(?:total|successful)_repeats$")


def ramble(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    for experiment in as_dicts(source.json["experiments"]):
        if as_count(experiment.get("N_REPEATS")):
            continue
        name = as_text(experiment.get("name"), 500) or ""
        fields = counts_in({**experiment, **as_dict(experiment.get("RAMBLE_VARIABLES"))}, COUNTS_RAMBLE)
        # The series is application.workload of `application.workload.experiment`, whose last part holds parameters.
        common: dict[str, Any] = {"name": name, "series": ".".join(name.split(".")[:2]), "fields": fields}
        if experiment.get("RAMBLE_STATUS") != "SUCCESS":
            details = {"error": f"RAMBLE_STATUS {as_text(experiment.get('RAMBLE_STATUS'))}"}
            yield Point(values=(), status=RunStatus.FAILED, details=details, **common)
            continue
        contexts = [
            (as_text(own.get("name")), as_dicts(own.get("foms"))) for own in as_dicts(experiment.get("CONTEXTS"))
        ]
        for where, merit in ((where, merit) for where, merits in contexts for merit in merits):
            metric, value = as_text(merit.get("name")), as_float(merit.get("value"))
            if metric is None or value is None or BY_RAMBLE.search(str(merit.get("origin_type", "")) + metric):
                continue
            point = metric_point([value], metric, as_text(merit.get("units")), **common)
            yield point if where in (None, "null") else replace(point, metric=f"{metric} ({where})")
