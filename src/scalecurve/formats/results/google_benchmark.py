"""Google Benchmark --benchmark_out (JSON).

Only `run_type == "iteration"` is a measurement, K is `threads`.  Traps: before 1.9.1 the reported real_time of a
multi-threaded benchmark is the wall time divided by the number of threads (google/benchmark pull request 1836), so that
it is multiplied here; cpu_time is of all threads together; a debug build of the library warns in the context.
"""

from __future__ import annotations

import re

from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import TIME_UNITS, as_count, as_dict, as_dicts, as_float, as_text, facts, split_name
from scalecurve.formats.reading import SAME_PROCESS, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Treatment

WALL_SINCE = (1, 9, 1)
# Parameters of the measurement, not of the job: they do not name another curve.
HOUSEKEEPING = ("repeats", "iterations", "min_time", "min_warmup_time")


def recognise(source: Source) -> str | None:
    if not {"benchmarks", "context"} <= source.keys:
        return None
    first = (as_dicts(source.json["benchmarks"]) or [{}])[0]
    return "JSON with context and benchmarks with real_time" if {"real_time", "cpu_time"} <= first.keys() else None


def read(source: Source, options: ReadOptions) -> Reading:
    context = as_dict(source.json["context"])
    # The version has been in the file since 1.8.4; without it the library is older.
    version = re.findall(r"\d{1,4}", as_text(context.get("library_version")) or "")[:3]
    divided = tuple(int(number) for number in version) < WALL_SINCE
    points: list[Point] = []
    for row in as_dicts(source.json["benchmarks"]):
        real, threads = as_float(row.get("real_time")), as_count(row.get("threads", 1))
        measured = row.get("run_type", "iteration") == "iteration" and not row.get("error_occurred")
        if real is None or threads is None or not measured:
            continue
        name = as_text(row.get("run_name"), 500) or as_text(row.get("name"), 500) or ""
        seconds = real * TIME_UNITS.get(str(row.get("time_unit", "ns")), 1e-9) * (threads if divided else 1)
        series, parameters = split_name(name)
        fields = {key: value for key, value in parameters.items() if key not in HOUSEKEEPING} | {"threads": threads}
        points.append(Point(values=(seconds,), series=series, name=name, k=threads, fields=fields))
    times = "real_time is the wall time of one iteration"
    if divided and any((point.k or 1) > 1 for point in points):
        times = "real_time times threads is the wall time of one iteration, as in every version before 1.9.1"
    findings: list[Finding] = []
    if context.get("library_build_type") == "debug":
        findings.append(warning("debug-build", "the benchmark library is a debug build", remedy="build it for release"))
    if context.get("cpu_scaling_enabled") is True:
        text = "the clock frequency could change while measuring"
        findings.append(warning("frequency-scaling", text, remedy="set the governor to performance"))
    return Reading(
        points=bounded(points),
        k_origin="`threads`",
        k_unit="threads",
        setup=Treatment.EXCLUDED,
        provenance=Provenance(
            tool="google-benchmark",
            tool_version=as_text(context.get("library_version")),
            created=as_text(context.get("date")),
            machine=facts(context, "host_name", "num_cpus", "mhz_per_cpu", "cpu_scaling_enabled"),
            software=facts(context, "library_build_type", "library_version"),
        ),
        assumed=(times, SAME_PROCESS),
        findings=tuple(findings),
    )


READER = Reader("google-benchmark", "Google Benchmark", recognise, read)
