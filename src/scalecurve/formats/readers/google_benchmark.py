"""Google Benchmark --benchmark_out (JSON).

Only `run_type == "iteration"` is a measurement, K is `threads`.  Traps: before 1.9.1 the reported real_time of a
multi-threaded benchmark is the wall time divided by the number of threads (google/benchmark pull request 1836), so that
it is multiplied here; cpu_time is of all threads together; a debug build of the library warns in the context.
"""

from __future__ import annotations

import re
from typing import Any

from scalecurve.findings import Finding, warning
from scalecurve.formats.coercion import as_count, as_dict, as_float, as_list, as_text, facts
from scalecurve.formats.headers import TIME_UNITS
from scalecurve.formats.names import split_name
from scalecurve.formats.reading import SAME_PROCESS, Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, Treatment

WALL_SINCE = (1, 9, 1)
# Parameters of the measurement, not of the job: they name no other curve.
HOUSEKEEPING = ("repeats", "iterations", "min_time", "min_warmup_time")


def look(source: Source) -> str | None:
    if not {"benchmarks", "context"} <= source.keys:
        return None
    first = as_dict(next(iter(as_list(source.json["benchmarks"])), None))
    return "JSON with context and benchmarks with real_time" if {"real_time", "cpu_time"} <= first.keys() else None


def read(source: Source, wishes: Wishes) -> Reading:
    context = as_dict(source.json["context"])
    divided = _version(context) < WALL_SINCE
    rows = [as_dict(row) for row in as_list(source.json["benchmarks"])]
    rows = [row for row in rows if row.get("run_type", "iteration") == "iteration" and not row.get("error_occurred")]
    return Reading(
        points=bounded((point for row in rows if (point := _point(row, divided)) is not None), source.name),
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
        assumed=_assumed(divided, rows),
        findings=_findings(context),
    )


def _version(context: dict[str, Any]) -> tuple[int, ...]:
    """The version has been in the file since 1.8.4; without it the library is older."""
    numbers = re.findall(r"\d{1,4}", as_text(context.get("library_version")) or "")[:3]
    return tuple(int(number) for number in numbers)


def _point(row: dict[str, Any], divided: bool) -> Point | None:
    real = as_float(row.get("real_time"))
    threads = as_count(row.get("threads", 1))
    if real is None or threads is None:
        return None
    name = as_text(row.get("run_name"), 500) or as_text(row.get("name"), 500) or ""
    seconds = real * TIME_UNITS.get(str(row.get("time_unit", "ns")), 1e-9) * (threads if divided else 1)
    series, fields = split_name(name)
    kept = {key: value for key, value in fields.items() if key not in HOUSEKEEPING} | {"threads": threads}
    return Point(values=(seconds,), series=series, name=name, k=threads, fields=kept)


def _assumed(divided: bool, rows: list[dict[str, Any]]) -> tuple[str, ...]:
    threaded = any((as_count(row.get("threads")) or 1) > 1 for row in rows)
    times = "real_time is the wall time of one iteration"
    if divided and threaded:
        times = "real_time times threads is the wall time of one iteration, as in every version before 1.9.1"
    return (times, SAME_PROCESS)


def _findings(context: dict[str, Any]) -> tuple[Finding, ...]:
    found = []
    if context.get("library_build_type") == "debug":
        found.append(warning("debug-build", "the benchmark library is a debug build", remedy="build it for release"))
    if context.get("cpu_scaling_enabled") is True:
        text = "the clock frequency was free to change while measuring"
        found.append(warning("frequency-scaling", text, remedy="set the governor to performance"))
    return tuple(found)


READER = Reader("google-benchmark", "Google Benchmark", look, read)
