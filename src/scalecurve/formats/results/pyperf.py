"""pyperf JSON (format 1.0): each run is a fresh process; values are per loop; calibration runs have no values.

One observation is the mean of one process: the values inside a process resemble one another more than two launches do.
"""

from __future__ import annotations

from typing import Any

from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import as_dict, as_dicts, as_floats, as_list, as_text, facts, split_name
from scalecurve.formats.reading import Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Treatment

MACHINE = ("hostname", "cpu_model_name", "cpu_count", "cpu_config", "cpu_affinity", "platform")
SOFTWARE = ("python_version", "python_implementation", "python_compiler", "timer")
BUSY_LOAD = 2.0


def recognise(source: Source) -> str | None:
    if not {"benchmarks", "version"} <= source.keys:
        return None
    first = (as_dicts(source.json["benchmarks"]) or [{}])[0]
    return "JSON with benchmarks, each a list of runs" if "runs" in first else None


def read(source: Source, options: ReadOptions) -> Reading:
    shared = as_dict(source.json.get("metadata"))
    points: list[Point] = []
    metadata: list[dict[str, Any]] = []
    loads: list[float] = []
    warmed = []
    for benchmark in as_dicts(source.json["benchmarks"]):
        about = {**shared, **as_dict(benchmark.get("metadata"))}
        if about.get("unit", "second") != "second":
            continue
        metadata.append(about)
        name = as_text(about.get("name"), 500) or ""
        series, fields = split_name(name)
        for run in as_dicts(benchmark.get("runs")):
            about_run = as_dict(run.get("metadata"))
            loads += as_floats([about_run.get("load_avg_1min")])
            values = as_floats(run.get("values"))
            if not values:
                continue
            warmed.append(bool(as_list(run.get("warmups"))))
            observed = {"values": list(values), **facts(about_run, "load_avg_1min", "mem_max_rss", "runnable_threads")}
            details = {"observed": observed, "started": as_text(about_run.get("date"))}
            mean = sum(values) / len(values)
            points.append(Point(values=(mean,), series=series, name=name, fields=fields, details=details))
    first = metadata[0] if metadata else {}
    findings: tuple[Finding, ...] = ()
    if max(loads, default=0.0) >= BUSY_LOAD:
        text = f"the load average rose to {max(loads):g} while measuring"
        findings = (warning("busy-machine", text, load=max(loads), remedy="measure on an idle machine"),)
    return Reading(
        points=bounded(points),
        warmup=Treatment.EXCLUDED if warmed and all(warmed) else Treatment.UNKNOWN,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(
            tool="pyperf",
            tool_version=as_text(first.get("perf_version")),
            machine=facts(first, *MACHINE),
            software=facts(first, *SOFTWARE),
        ),
        assumed=("one observation is the mean of one process",),
        findings=findings,
    )


READER = Reader("pyperf", "pyperf", recognise, read)
