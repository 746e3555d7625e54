"""Harnesses of small functions: Google Benchmark, go test -bench, JMH, criterion.rs and BenchmarkDotNet.

Google Benchmark: --benchmark_out as JSON or CSV, also with aggregates only.

Only `run_type == "iteration"` is a measurement, K is `threads`; where a file has aggregates only, the mean of each
benchmark is one observation.  items_per_second and bytes_per_second are metrics beside the time.  Traps: before 1.9.1
the reported real_time of a multi-threaded benchmark is the wall time divided by the number of threads
(google/benchmark pull request 1836), so that it is multiplied here; cpu_time is of all threads together; a debug build
of the library warns in the context.

Micro-benchmarks of other languages: `go test -bench`, JMH, criterion.rs, BenchmarkDotNet.

go      K is GOMAXPROCS, which go writes behind the last dash of a name, and 1 where there is none (-cpu 1,2,4)
JMH     K is `threads`; avgt and sample are times of one thread, so that the time of one operation among K threads is
        the score divided by K; thrpt is of all threads together
criterion  new/sample.json of a benchmark; K is in its path (--k-from) or in its parameter
BenchmarkDotNet  K is a parameter such as Threads=4
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import (
    TIME_UNITS,
    as_count,
    as_dict,
    as_dicts,
    as_float,
    as_floats,
    as_list,
    as_text,
    facts,
    metric_point,
    split_name,
)
from scalecurve.formats.reading import SAME_PROCESS, FormatNote, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Quantity, Treatment

WALL_SINCE = (1, 9, 1)
# Parameters of the measurement, not of the job: they do not name another curve.
MEANS = "the mean over repetitions in one process is one observation"
_HEADER = re.compile(r"^name,iterations,real_time,cpu_time,time_unit.*$", re.MULTILINE)
_AGGREGATE = re.compile(r"_(mean|median|stddev|cv)$")
_CONSOLE_HEAD = re.compile(r"^Benchmark\s+Time\s+CPU\s+Iterations", re.MULTILINE)
_CONSOLE_ROW = re.compile(
    r"^(?P<name>\S+)\s+(?P<time>[\d.]+(?:e[-+]?\d+)?)\s*(?P<unit>ns|us|ms|s)\s+[\d.]+(?:e[-+]?\d+)?\s*(?:ns|us|ms|s)\s+\d+",
    re.MULTILINE,
)
HOUSEKEEPING = ("repeats", "iterations", "min_time", "min_warmup_time")


def recognise_google(source: Source) -> str | None:
    if not {"benchmarks", "context"} <= source.keys:
        return None
    first = (as_dicts(source.json["benchmarks"]) or [{}])[0]
    return "JSON with context and benchmarks with real_time" if {"real_time", "cpu_time"} <= first.keys() else None


def read_google(source: Source, options: ReadOptions) -> Reading:
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


def recognise_google_text(source: Source) -> str | None:
    return "the table that Google Benchmark prints" if _CONSOLE_HEAD.search(source.head_text) else None


def read_google_text(source: Source, options: ReadOptions) -> Reading:
    """The table on the console; its times are as they are printed, as the version of the library is not known."""
    rows: list[dict[str, Any]] = []
    for match in _CONSOLE_ROW.finditer(source.text):
        threads = re.search(r"threads:(\d+)", match["name"])
        aggregate = _AGGREGATE.search(match["name"])
        kind = {"run_type": "aggregate", "aggregate_name": aggregate[1]} if aggregate else {"run_type": "iteration"}
        name = _AGGREGATE.sub("", match["name"])
        row = {"name": name, "real_time": float(match["time"]), "time_unit": match["unit"], **kind}
        rows.append(row | {"threads": int(threads[1]) if threads else 1})
    points, aggregated = _points(rows, divided=False)
    return Reading(
        points=bounded(points),
        k_origin="`threads`" if any("threads:" in row["name"] for row in rows) else None,
        k_unit="threads",
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="google-benchmark"),
        assumed=("Time is the wall time of one iteration", MEANS if aggregated else SAME_PROCESS),
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


def recognise_google_csv(source: Source) -> str | None:
    return "the header of --benchmark_format=csv" if _HEADER.search(source.head_text) else None


def read_google_csv(source: Source, options: ReadOptions) -> Reading:
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


GOOGLE_NOTE = FormatNote(
    tried="1.7.1 (Debian), JSON and CSV; 1.9.1 not run, a 1.7.1 file with its version edited",
    real=True,
    k="threads",
    value="wall time of one iteration, or items_per_second",
    keeps="host, build type",
)
GOOGLE = Reader("google-benchmark", "Google Benchmark", recognise_google, read_google, GOOGLE_NOTE)
GOOGLE_TEXT = Reader(
    "google-benchmark-console",
    "Google Benchmark console",
    recognise_google_text,
    read_google_text,
    FormatNote(tried="1.6 to 1.9 as people paste it", real=True, k="threads: in the name", value="Time"),
)
GOOGLE_CSV = Reader("google-benchmark-csv", "Google Benchmark CSV", recognise_google_csv, read_google_csv, GOOGLE_NOTE)


NANO = 1e-9
_GO_LINE = re.compile(r"^(Benchmark\S*)\s+(\d+)\s+(.*\S)\s*$", re.MULTILINE)
_GO_SUFFIX = re.compile(r"(.+?)-(\d{1,5})")
_GO_FACT = re.compile(r"^(goos|goarch|pkg|cpu): (.+)$", re.MULTILINE)
_PER_OPERATION = re.compile(r"(?P<unit>\w+)/op")
_OPERATIONS_PER = re.compile(r"ops/(?P<unit>\w+)")


def recognise_go(source: Source) -> str | None:
    return (
        "lines of go test -bench" if re.search(r"^Benchmark\S*\s+\d+\s+[\d.]+ ns/op", source.head_text, re.M) else None
    )


def read_go(source: Source, options: ReadOptions) -> Reading:
    lines = [(match[1], match[3].split()) for match in _GO_LINE.finditer(source.text)]
    names = {name for name, _ in lines}
    points: list[Point] = []
    for name, words in lines:
        suffix = _GO_SUFFIX.fullmatch(name)
        # `BenchmarkX/size-10` is a name and no K where `BenchmarkX/size-10-4` is there as well.
        if suffix is not None and any(other.startswith(f"{name}-") and _GO_SUFFIX.fullmatch(other) for other in names):
            suffix = None
        series, k = (suffix[1], as_count(suffix[2])) if suffix else (name, 1)
        for value, unit in zip(words[::2], words[1::2], strict=False):
            number = as_float(value)
            if number is None or unit in ("B/op", "allocs/op"):
                continue
            if unit == "ns/op":
                points.append(Point(values=(number * NANO,), series=series, name=name, metric=unit, k=k, main=True))
            elif unit.endswith("/s"):
                rate = {"quantity": Quantity.THROUGHPUT, "unit": unit}
                points.append(Point(values=(number,), series=series, name=name, metric=unit, k=k, **rate))
    stated = dict(_GO_FACT.findall(source.text))
    return Reading(
        points=bounded(points),
        k_origin="GOMAXPROCS behind the last dash of the name, 1 without",
        k_unit="threads",
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(
            tool="go test -bench", machine=facts(stated, "cpu"), software=facts(stated, "goos", "goarch")
        ),
        assumed=("ns/op is the wall time of the loop over its operations", SAME_PROCESS),
    )


def recognise_jmh(source: Source) -> str | None:
    first = as_dicts(source.json)[0] if isinstance(source.json, list) and source.json else {}
    if {"benchmark", "mode", "primaryMetric"} <= first.keys():
        return "JSON with benchmark, mode and primaryMetric"
    return "the header of JMH's CSV" if source.head_text.startswith('"Benchmark","Mode","Threads"') else None


def read_jmh(source: Source, options: ReadOptions) -> Reading:
    rows = as_dicts(source.json) if source.looks_like_json else list(_jmh_csv(source))
    points = [point for row in rows if (point := _jmh_point(row)) is not None]
    first = rows[0] if rows else {}
    return Reading(
        points=bounded(points),
        k_origin="`threads`",
        k_unit="threads",
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(
            tool="JMH",
            tool_version=as_text(first.get("jmhVersion")),
            software=facts(first, "jdkVersion", "vmName", "vmVersion"),
        ),
        assumed=("times of JMH are of one thread: divided by `threads` they are the time of one operation",)
        if any(point.quantity is Quantity.SECONDS and (point.k or 1) > 1 for point in points)
        else (),
    )


def _jmh_csv(source: Source) -> Iterator[dict[str, Any]]:
    for row in csv.DictReader(source.text.splitlines()):
        parameters = {key[len("Param: ") :]: value for key, value in row.items() if key and key.startswith("Param: ")}
        metric = {"score": as_float(row.get("Score")), "scoreUnit": row.get("Unit")}
        yield {
            "benchmark": row.get("Benchmark"),
            "mode": row.get("Mode"),
            "threads": as_float(row.get("Threads")),
            "params": parameters,
            "primaryMetric": metric,
        }


def _jmh_point(row: dict[str, Any]) -> Point | None:
    metric, threads = as_dict(row.get("primaryMetric")), as_count(row.get("threads"))
    unit = as_text(metric.get("scoreUnit")) or ""
    forks = [as_floats(fork) for fork in as_list(metric.get("rawData"))]
    means = [sum(fork) / len(fork) for fork in forks if fork]
    score = as_float(metric.get("score"))
    values = tuple(means) if len(means) > 1 else forks[0] if len(forks) == 1 and forks[0] else ()
    values = values or (() if score is None else (score,))
    time, rate = _PER_OPERATION.fullmatch(unit), _OPERATIONS_PER.fullmatch(unit)
    if threads is None or not values or not (time or rate):
        return None
    factor = TIME_UNITS.get((time or rate)["unit"] if (time or rate) else "", 0.0)  # type: ignore[index]
    if not factor:
        return None
    name = as_text(row.get("benchmark"), 500) or ""
    parameters = {key: value for key, value in as_dict(row.get("params")).items() if isinstance(value, str)}
    return Point(
        values=tuple(value * factor / threads if time else value / factor for value in values),
        series=name,
        name=name,
        metric=f"{row.get('mode')} {'s/op' if time else 'ops/s'}",
        quantity=Quantity.SECONDS if time else Quantity.THROUGHPUT,
        unit="s" if time else "ops/s",
        k=threads,
        fields=parameters,
    )


def recognise_criterion(source: Source) -> str | None:
    if {"sampling_mode", "iters", "times"} <= source.keys:
        return "a criterion sample with iters and times"
    lines = '"reason":"benchmark-complete"' in source.head_text.replace(" ", "")
    return "the messages of cargo criterion" if lines and source.json_lines else None


def read_criterion(source: Source, options: ReadOptions) -> Reading:
    """Nanoseconds of each sample over its iterations; `base` is the run before, which is another series."""
    points: list[Point] = []
    if {"iters", "times"} <= source.keys:
        parts = PurePath(source.name).parts[:-2]
        earlier = PurePath(source.name).parent.name == "base"
        pairs = zip(as_floats(source.json["times"]), as_floats(source.json["iters"]), strict=False)
        points.append(_criterion_point(pairs, "/".join(parts), " (base)" if earlier else ""))
    for row in source.json_lines or []:
        if row.get("reason") == "benchmark-complete":
            pairs = zip(as_floats(row.get("measured_values")), as_floats(row.get("iteration_count")), strict=False)
            points.append(_criterion_point(pairs, as_text(row.get("id"), 500) or "", ""))
    return Reading(
        points=bounded(points),
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="criterion"),
        assumed=(SAME_PROCESS,),
    )


def _criterion_point(pairs: Iterator[tuple[float, float]], name: str, earlier: str) -> Point:
    values = tuple(nanoseconds * NANO / count for nanoseconds, count in pairs if count > 0)
    group, _, last = name.rpartition("/")
    numbered = as_count(last) is not None
    fields = {"parameter": last} if numbered else {}
    return Point(values=values, series=(group if numbered else name) + earlier, name=name, fields=fields)


def recognise_dotnet(source: Source) -> str | None:
    return (
        "JSON with HostEnvironmentInfo and Benchmarks" if {"HostEnvironmentInfo", "Benchmarks"} <= source.keys else None
    )


def read_dotnet(source: Source, options: ReadOptions) -> Reading:
    host = as_dict(source.json["HostEnvironmentInfo"])
    points: list[Point] = []
    for row in as_dicts(source.json["Benchmarks"]):
        statistics = as_dict(row.get("Statistics"))
        values = as_floats(statistics.get("OriginalValues")) or as_floats([statistics.get("Mean")])
        parameters = dict(
            part.split("=", 1) for part in re.split(r"[&,]\s*", str(row.get("Parameters") or "")) if "=" in part
        )
        name = ".".join(filter(None, (as_text(row.get("Type")), as_text(row.get("Method")))))
        points.append(metric_point(values, "time", "ns", series=name, name=name, fields=parameters))
    return Reading(
        points=bounded(points),
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(
            tool="BenchmarkDotNet",
            tool_version=as_text(host.get("BenchmarkDotNetVersion")),
            machine=facts(host, "ProcessorName", "LogicalCoreCount", "PhysicalCoreCount"),
            software=facts(host, "RuntimeVersion", "OsVersion"),
        ),
        assumed=(SAME_PROCESS,),
    )


GO = Reader(
    "go-bench",
    "go test -bench",
    recognise_go,
    read_go,
    FormatNote(
        tried="1.19.8 (Debian), -cpu 1,2 -count 3",
        real=True,
        k="GOMAXPROCS behind the name",
        value="ns/op, or a rate",
        keeps="cpu, goos, goarch",
    ),
)
JMH = Reader(
    "jmh",
    "JMH",
    recognise_jmh,
    read_jmh,
    FormatNote(
        tried="no version run; written from the documented -rf json and csv",
        real=False,
        k="threads",
        value="time of one operation (score / threads), or ops/s",
        keeps="forks, JDK",
    ),
)
CRITERION = Reader(
    "criterion",
    "criterion.rs",
    recognise_criterion,
    read_criterion,
    FormatNote(
        tried="no version run; written from the documented sample.json and cargo criterion messages",
        real=False,
        k="the path's number, or --k-from",
        value="time of one iteration",
        keeps="every sample",
    ),
)
DOTNET = Reader(
    "benchmarkdotnet",
    "BenchmarkDotNet",
    recognise_dotnet,
    read_dotnet,
    FormatNote(
        tried="no version run; written from the documented JSON exporter",
        real=False,
        k="a parameter such as Threads",
        value="time of one operation",
        keeps="processor, runtime",
    ),
)
