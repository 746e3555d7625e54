"""pytest-benchmark --benchmark-json: seconds per iteration in `stats.data`, parameters in `params`."""

from __future__ import annotations

from typing import Any

from scalecurve.formats.coercion import as_dict, as_floats, as_list, as_text, facts
from scalecurve.formats.reading import SAME_PROCESS, Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, Treatment


def look(source: Source) -> str | None:
    if not {"benchmarks", "machine_info"} <= source.keys:
        return None
    first = as_dict(next(iter(as_list(source.json["benchmarks"])), None))
    return "JSON with machine_info and benchmarks with stats" if "stats" in first else None


def read(source: Source, wishes: Wishes) -> Reading:
    machine = as_dict(source.json.get("machine_info"))
    cpu = as_dict(machine.get("cpu"))
    benchmarks = [as_dict(benchmark) for benchmark in as_list(source.json["benchmarks"])]
    only_means = any(not as_floats(as_dict(each.get("stats")).get("data")) for each in benchmarks)
    assumed = (SAME_PROCESS, *(("only means are in the file for some benchmarks",) if only_means else ()))
    return Reading(
        points=bounded((_point(benchmark) for benchmark in benchmarks), source.name),
        setup=Treatment.EXCLUDED,
        provenance=Provenance(
            tool="pytest-benchmark",
            tool_version=as_text(source.json.get("version")),
            created=as_text(source.json.get("datetime")),
            machine={"hostname": machine.get("node"), **facts(cpu, "brand_raw", "count", "arch")}
            if as_text(machine.get("node"))
            else facts(cpu, "brand_raw", "count", "arch"),
            software=facts(machine, "python_version", "python_implementation", "system", "release"),
        ),
        assumed=assumed,
    )


def _point(benchmark: dict[str, Any]) -> Point:
    name = as_text(benchmark.get("fullname"), 500) or as_text(benchmark.get("name"), 500) or ""
    stats = as_dict(benchmark.get("stats"))
    fields = {**as_dict(benchmark.get("extra_info")), **as_dict(benchmark.get("params"))}
    plain = {key: value for key, value in fields.items() if isinstance(value, str | int | float)}
    values = as_floats(stats.get("data")) or as_floats([stats.get("mean")])
    return Point(values=values, series=name.partition("[")[0], name=name, fields=plain)


READER = Reader("pytest-benchmark", "pytest-benchmark", look, read)
