"""pyperf JSON (format 1.0): each run is a fresh process; values are per loop; calibration runs have no values.

One observation is the mean of one process: the values inside a process resemble one another more than two launches do.
"""

from __future__ import annotations

from typing import Any

from scalecurve.findings import Finding, warning
from scalecurve.formats.coercion import as_dict, as_floats, as_list, as_text, facts
from scalecurve.formats.names import split_name
from scalecurve.formats.reading import Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, Treatment

MACHINE = ("hostname", "cpu_model_name", "cpu_count", "cpu_config", "cpu_affinity", "platform")
SOFTWARE = ("python_version", "python_implementation", "python_compiler", "timer")


def look(source: Source) -> str | None:
    if not {"benchmarks", "version"} <= source.keys:
        return None
    first = as_dict(next(iter(as_list(source.json["benchmarks"])), None))
    return "JSON with benchmarks, each a list of runs" if "runs" in first else None


def read(source: Source, wishes: Wishes) -> Reading:
    shared = as_dict(source.json.get("metadata"))
    benchmarks = [as_dict(benchmark) for benchmark in as_list(source.json["benchmarks"])]
    timed = [benchmark for benchmark in benchmarks if _metadata(benchmark, shared).get("unit", "second") == "second"]
    runs = [as_dict(run) for benchmark in timed for run in as_list(benchmark.get("runs"))]
    measured = [run for run in runs if as_floats(run.get("values"))]
    warmed = bool(measured) and all(as_list(run.get("warmups")) for run in measured)
    first = _metadata(timed[0], shared) if timed else {}
    return Reading(
        points=bounded((point for benchmark in timed for point in _points(benchmark, shared)), source.name),
        warmup=Treatment.EXCLUDED if warmed else Treatment.UNKNOWN,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(
            tool="pyperf",
            tool_version=as_text(first.get("perf_version")),
            machine=facts(first, *MACHINE),
            software=facts(first, *SOFTWARE),
        ),
        assumed=("one observation is the mean of one process",),
        findings=_load(runs),
    )


def _metadata(benchmark: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    return {**shared, **as_dict(benchmark.get("metadata"))}


def _points(benchmark: dict[str, Any], shared: dict[str, Any]) -> list[Point]:
    name = as_text(_metadata(benchmark, shared).get("name"), 500) or ""
    series, fields = split_name(name)
    points = []
    for run in map(as_dict, as_list(benchmark.get("runs"))):
        values = as_floats(run.get("values"))
        if not values:
            continue
        facts_of_run = as_dict(run.get("metadata"))
        observed = {"values": list(values), **facts(facts_of_run, "load_avg_1min", "mem_max_rss", "runnable_threads")}
        details = {"observed": observed, "started": as_text(facts_of_run.get("date"))}
        mean = sum(values) / len(values)
        points.append(Point(values=(mean,), series=series, name=name, fields=fields, details=details))
    return points


def _load(runs: list[dict[str, Any]]) -> tuple[Finding, ...]:
    """Pyperf notes the machine's load: other work beside a scaling run takes the very cores it wants."""
    loads = [as_floats([as_dict(run.get("metadata")).get("load_avg_1min")]) for run in runs]
    most = max((load[0] for load in loads if load), default=0.0)
    if most < 2.0:
        return ()
    return (
        warning(
            "busy-machine",
            f"the load average rose to {most:g} while measuring",
            load=most,
            remedy="measure on an idle machine",
        ),
    )


READER = Reader("pyperf", "pyperf", look, read)
