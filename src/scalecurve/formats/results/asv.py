"""asv results (`results/<machine>/<commit>-<env>.json`, version 2): the median, and the samples where recorded.

The names of the parameters are in `benchmarks.json` two folders up, if that file exists.
"""

from __future__ import annotations

import itertools
from typing import Any

from scalecurve.errors import ScalecurveError
from scalecurve.formats.columns import as_dict, as_float, as_floats, as_list, as_text, facts
from scalecurve.formats.reading import SAME_PROCESS, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Treatment

MOST_COMBINATIONS = 10_000


def recognise(source: Source) -> str | None:
    if {"commit_hash", "result_columns", "results"} <= source.keys:
        return "JSON with commit_hash and result_columns"
    return None


def read(source: Source, options: ReadOptions) -> Reading:
    data = source.json
    columns = [str(column) for column in as_list(data["result_columns"])]
    described: dict[str, Any] = {}
    if source.path is not None:
        try:
            described = as_dict(Source.at(source.path.parent.parent / "benchmarks.json").json)
        except ScalecurveError:
            described = {}
    points: list[Point] = []
    for benchmark, cells in as_dict(data["results"]).items():
        if not benchmark.rpartition(".")[2].startswith("time"):
            continue
        row = dict(zip(columns, as_list(cells), strict=False))
        names = as_list(as_dict(described.get(benchmark)).get("param_names"))
        results, samples = as_list(row.get("result")), as_list(row.get("samples"))
        combinations = itertools.product(*(as_list(values) for values in as_list(row.get("params"))))
        for i, combination in enumerate(itertools.islice(combinations, MOST_COMBINATIONS)):
            median = as_float(results[i]) if i < len(results) else None
            if median is not None:
                values = as_floats(samples[i]) if i < len(samples) else ()
                labels = [str(names[j]) if j < len(names) else f"parameter {j + 1}" for j in range(len(combination))]
                fields = {label: str(value) for label, value in zip(labels, combination, strict=True)}
                points.append(Point(values=values or (median,), series=benchmark, name=benchmark, fields=fields))
    sampled = any(len(point.values) > 1 for point in points)
    return Reading(
        points=bounded(points),
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(
            tool="asv",
            machine=facts(as_dict(data.get("params")), "machine", "cpu", "num_cpu", "os", "ram", "arch"),
            software={"commit": as_text(data.get("commit_hash"))},
        ),
        assumed=(SAME_PROCESS,) if sampled else ("only the median of each benchmark is in the file",),
        missing=() if sampled else ("samples (asv run --record-samples)",),
    )


READER = Reader("asv", "asv", recognise, read)
