"""asv results (`results/<machine>/<commit>-<env>.json`, version 2): the median, and the samples where recorded.

The names of the parameters are in `benchmarks.json` two folders up, which is read where it is there.
"""

from __future__ import annotations

import itertools
from typing import Any

from scalecurve.errors import ScalecurveError
from scalecurve.formats.coercion import as_dict, as_float, as_floats, as_list, as_text, facts
from scalecurve.formats.reading import SAME_PROCESS, Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, Treatment

MOST_COMBINATIONS = 10_000


def look(source: Source) -> str | None:
    if {"commit_hash", "result_columns", "results"} <= source.keys:
        return "JSON with commit_hash and result_columns"
    return None


def read(source: Source, wishes: Wishes) -> Reading:
    data = source.json
    columns = [str(column) for column in as_list(data["result_columns"])]
    names = _parameter_names(source)
    points = [
        point
        for benchmark, row in as_dict(data["results"]).items()
        if benchmark.rpartition(".")[2].startswith("time")
        for point in _points(benchmark, dict(zip(columns, as_list(row), strict=False)), names.get(benchmark, []))
    ]
    sampled = any(len(point.values) > 1 for point in points)
    return Reading(
        points=bounded(points, source.name),
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(
            tool="asv",
            machine=facts(as_dict(data.get("params")), "machine", "cpu", "num_cpu", "os", "ram", "arch"),
            software={"commit": as_text(data.get("commit_hash"))} | facts(as_dict(data.get("requirements"))),
        ),
        assumed=(SAME_PROCESS,) if sampled else ("only the median of each benchmark is in the file",),
        missing=() if sampled else ("samples (asv run --record-samples)",),
    )


def _points(benchmark: str, row: dict[str, Any], names: list[Any]) -> list[Point]:
    lists = [as_list(values) for values in as_list(row.get("params"))]
    combinations = list(itertools.islice(itertools.product(*lists), MOST_COMBINATIONS))
    results, samples = as_list(row.get("result")), as_list(row.get("samples"))
    points = []
    for i, combination in enumerate(combinations):
        median = as_float(results[i]) if i < len(results) else None
        if median is None:
            continue
        values = as_floats(samples[i]) if i < len(samples) else ()
        labels = [str(names[j]) if j < len(names) else f"parameter {j + 1}" for j in range(len(combination))]
        fields = {label: str(value) for label, value in zip(labels, combination, strict=True)}
        points.append(Point(values=values or (median,), series=benchmark, name=benchmark, fields=fields))
    return points


def _parameter_names(source: Source) -> dict[str, list[Any]]:
    if source.path is None:
        return {}
    beside = Source("benchmarks.json", path=source.path.parent.parent / "benchmarks.json")
    try:
        listed = as_dict(beside.json)
    except ScalecurveError:
        return {}
    return {name: as_list(as_dict(each).get("param_names")) for name, each in listed.items()}


READER = Reader("asv", "asv", look, read)
