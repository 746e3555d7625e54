"""pytest-benchmark --benchmark-json: seconds per iteration in `stats.data`, parameters in `params`."""

from __future__ import annotations

from scalecurve.formats.columns import as_dict, as_dicts, as_floats, as_text, facts
from scalecurve.formats.reading import SAME_PROCESS, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Treatment


def recognise(source: Source) -> str | None:
    if not {"benchmarks", "machine_info"} <= source.keys:
        return None
    first = (as_dicts(source.json["benchmarks"]) or [{}])[0]
    return "JSON with machine_info and benchmarks with stats" if "stats" in first else None


def read(source: Source, options: ReadOptions) -> Reading:
    machine = as_dict(source.json.get("machine_info"))
    points: list[Point] = []
    only_means = False
    for benchmark in as_dicts(source.json["benchmarks"]):
        name = as_text(benchmark.get("fullname"), 500) or as_text(benchmark.get("name"), 500) or ""
        stats = as_dict(benchmark.get("stats"))
        rounds = as_floats(stats.get("data"))
        only_means = only_means or not rounds
        fields = {**as_dict(benchmark.get("extra_info")), **as_dict(benchmark.get("params"))}
        scalars = {key: value for key, value in fields.items() if isinstance(value, str | int | float)}
        values = rounds or as_floats([stats.get("mean")])
        points.append(Point(values=values, series=name.partition("[")[0], name=name, fields=scalars))
    host = as_text(machine.get("node"))
    return Reading(
        points=bounded(points),
        setup=Treatment.EXCLUDED,
        provenance=Provenance(
            tool="pytest-benchmark",
            tool_version=as_text(source.json.get("version")),
            created=as_text(source.json.get("datetime")),
            machine=({"hostname": host} if host else {})
            | facts(as_dict(machine.get("cpu")), "brand_raw", "count", "arch"),
            software=facts(machine, "python_version", "python_implementation", "system", "release"),
        ),
        assumed=(SAME_PROCESS, *(("only means are in the file for some benchmarks",) if only_means else ())),
    )


READER = Reader("pytest-benchmark", "pytest-benchmark", recognise, read)
