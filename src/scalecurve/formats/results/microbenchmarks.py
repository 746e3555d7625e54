"""Micro-benchmarks of other languages: `go test -bench`, JMH, criterion.rs, BenchmarkDotNet.

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
)
from scalecurve.formats.reading import SAME_PROCESS, FormatNote, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Quantity, Treatment

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
