"""Google Benchmark: --benchmark_out as JSON or CSV, also with aggregates only.

Only `run_type == "iteration"` is a measurement, K is `threads`; where a file has aggregates only, the mean of each
benchmark is one observation.  items_per_second and bytes_per_second are metrics beside the time.  Traps: before 1.9.1
the reported real_time of a multi-threaded benchmark is the wall time divided by the number of threads
(google/benchmark pull request 1836), so that it is multiplied here; cpu_time is of all threads together; a debug build
of the library warns in the context.
"""

from __future__ import annotations

import csv
import re
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import TIME_UNITS, as_count, as_dict, as_dicts, as_float, as_text, facts, split_name
from scalecurve.formats.reading import SAME_PROCESS, FormatNote, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Quantity, Treatment

WALL_SINCE = (1, 9, 1)
# Parameters of the measurement, not of the job: they do not name another curve.
MEANS = "the mean over repetitions in one process is one observation"
_HEADER = re.compile(r"^name,iterations,real_time,cpu_time,time_unit.*$", re.MULTILINE)
_AGGREGATE = re.compile(r"_(mean|median|stddev|cv)$")
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
    points, aggregated = _points(as_dicts(source.json["benchmarks"]), divided=divided)
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
        assumed=(times, MEANS if aggregated else SAME_PROCESS),
        findings=tuple(findings),
    )


def _points(rows: list[dict[str, Any]], *, divided: bool) -> tuple[list[Point], bool]:
    """The measurements, and whether only aggregates are there, of which the means are then taken."""
    good = [row for row in rows if row.get("error_occurred") not in (True, "true")]
    measured = [row for row in good if row.get("run_type", "iteration") == "iteration"]
    chosen = measured or [row for row in good if row.get("aggregate_name") == "mean"]
    points: list[Point] = []
    for row in chosen:
        real, threads = as_float(row.get("real_time")), as_count(row.get("threads", 1))
        if real is None or threads is None:
            continue
        name = as_text(row.get("run_name"), 500) or as_text(row.get("name"), 500) or ""
        seconds = real * TIME_UNITS.get(str(row.get("time_unit", "ns")), 1e-9) * (threads if divided else 1)
        series, parameters = split_name(name)
        fields = {key: value for key, value in parameters.items() if key not in HOUSEKEEPING} | {"threads": threads}
        common: dict[str, Any] = {"series": series, "name": name, "k": threads, "fields": fields}
        points.append(Point(values=(seconds,), main=True, **common))
        for metric in ("items_per_second", "bytes_per_second"):
            rate = as_float(row.get(metric))
            if rate is not None:
                unit: dict[str, Any] = {"quantity": Quantity.THROUGHPUT, "unit": metric.replace("_per_second", "/s")}
                points.append(Point(values=(rate,), metric=metric, **unit, **common))
    return points, bool(points) and not measured


def recognise_csv(source: Source) -> str | None:
    return "the header of --benchmark_format=csv" if _HEADER.search(source.head_text) else None


def read_csv(source: Source, options: ReadOptions) -> Reading:
    """The CSV has neither threads nor the version: threads are in the name, and wall time may be divided by them."""
    text = source.text
    header = _HEADER.search(text)
    rows: list[dict[str, Any]] = []
    for cells in csv.DictReader(text[header.start() if header else 0 :].splitlines()):
        name = cells.get("name") or ""
        aggregate = _AGGREGATE.search(name)
        row: dict[str, Any] = {**cells, "run_name": _AGGREGATE.sub("", name)}
        row |= {"run_type": "aggregate", "aggregate_name": aggregate[1]} if aggregate else {}
        row["threads"] = split_name(row["run_name"])[1].get("threads", "1")
        rows.append(row)
    points, aggregated = _points(rows, divided=False)
    if any((point.k or 1) > 1 and point.main for point in points) and options.value_column != "items_per_second":
        remedy = "give the JSON (--benchmark_out), which says its version, or say --value-column items_per_second"
        text = "before version 1.9.1 the real_time of K threads is divided by K, and a CSV does not say its version"
        if options.value_column != "time":
            raise FormatError(Fault(text, remedy=f"{remedy}, or --value-column time where it is 1.9.1 or newer"))
    return Reading(
        points=bounded(points),
        k_origin="`threads` of the name",
        k_unit="threads",
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="google-benchmark"),
        assumed=("real_time is the wall time of one iteration", MEANS if aggregated else SAME_PROCESS),
    )


NOTE = FormatNote(
    tried="1.7.1 (Debian), JSON and CSV; 1.9.1 not run, a 1.7.1 file with its version edited",
    real=True,
    k="threads",
    value="wall time of one iteration, or items_per_second",
    keeps="host, build type",
)
READER = Reader("google-benchmark", "Google Benchmark", recognise, read, NOTE)
CSV = Reader("google-benchmark-csv", "Google Benchmark CSV", recognise_csv, read_csv, NOTE)
