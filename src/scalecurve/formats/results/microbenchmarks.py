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
from collections.abc import Generator, Iterable, Iterator
from pathlib import PurePath
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import warning
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
from scalecurve.formats.reading import SAME_PROCESS, Point, ReadOptions
from scalecurve.formats.rows import Yielded
from scalecurve.formats.source import Source
from scalecurve.study import Quantity

WALL_SINCE = (1, 9, 1)
MEANS = "the mean over repetitions in one process is one observation"
# Parameters of the measurement, not of the job: they do not name another curve.
HOUSEKEEPING = ("repeats", "iterations", "min_time", "min_warmup_time")
NANO = 1e-9
_HEADER = re.compile(r"^name,iterations,real_time,cpu_time,time_unit.*$", re.MULTILINE)
_AGGREGATE = re.compile(r"_(mean|median|stddev|cv)$")
_CONSOLE_UNIT = re.compile(r"^Benchmark\s+Time\((?P<unit>\w+)\)", re.MULTILINE)
_CONSOLE_ROW = re.compile(
    r"^(?P<name>\S+)\s+(?P<time>[\d.]+(?:e[-+]?\d+)?)\s*(?P<unit>ns|us|ms|s)?\s+[\d.]+(?:e[-+]?\d+)?\s*(?:ns|us|ms|s)?"
    r"\s+\d+(?P<rest>.*)$",
    re.MULTILINE,
)
_CONSOLE_RATE = re.compile(r"(items_per_second)=([\d.]+)([kMGT]?)/s")
_PREFIX = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_GO_LINE = re.compile(r"^\s*(Benchmark\S*)\s+(\d+)\s+(.*\S)\s*$", re.MULTILINE)
_GO_SUFFIX = re.compile(r"(.+?)-(\d{1,5})")
_GO_FACT = re.compile(r"^(goos|goarch|pkg|cpu): (.+)$", re.MULTILINE)
_JMH_UNIT = re.compile(r"(?P<time>\w+)/op|ops/(?P<rate>\w+)")


def google(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    context = as_dict(source.json["context"])
    # The version has been in the file since 1.8.4; without it the library is older.
    version = re.findall(r"\d{1,4}", as_text(context.get("library_version")) or "")[:3]
    divided = tuple(int(number) for number in version) < WALL_SINCE
    points = yield from _google_points(as_dicts(source.json["benchmarks"]), divided=divided)
    times = "real_time is the wall time of one iteration"
    if divided and any((point.k or 1) > 1 for point in points):
        times = "real_time times threads is the wall time of one iteration, as in every version before 1.9.1"
    yield {"assumed": (times,)}
    if context.get("library_build_type") == "debug":
        yield warning("debug-build", "the benchmark library is a debug build", remedy="build it for release")
    if context.get("cpu_scaling_enabled") is True:
        text = "the clock frequency could change while measuring"
        yield warning("frequency-scaling", text, remedy="set the governor to performance")


def google_console(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    """The table on the console; its times are as they are printed, as the version of the library is not known."""
    shared = _CONSOLE_UNIT.search(source.text)
    rows: list[dict[str, Any]] = []
    for match in _CONSOLE_ROW.finditer(source.text):
        unit = match["unit"] or (shared["unit"] if shared else None)
        rates = {key: float(n) * _PREFIX[prefix] for key, n, prefix in _CONSOLE_RATE.findall(match["rest"])}
        if unit is not None:
            rows.append({"name": match["name"], "real_time": float(match["time"]), "time_unit": unit, **rates})
    yield from _google_points([_named_row(row) for row in rows], divided=False)
    if any("threads:" in row["name"] for row in rows):
        yield {"k_origin": "`threads`"}


def google_csv(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    """The CSV has neither threads nor the version: threads are in the name, and wall time may be divided by them."""
    header = _HEADER.search(source.text)
    rows = csv.DictReader(source.text[header.start() if header else 0 :].splitlines())
    points = yield from _google_points([_named_row(row) for row in rows], divided=False)
    threaded = any((point.k or 1) > 1 and point.main for point in points)
    if threaded and options.value_column not in ("items_per_second", "time"):
        remedy = "give the JSON (--benchmark_out), which says its version, or say --value-column 'items_per_second'"
        text = "before version 1.9.1 the real_time of K threads is divided by K, and a CSV does not say its version"
        raise FormatError(Fault(text, remedy=f"{remedy}, or --value-column 'time' where it is 1.9.1 or newer"))


def _named_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row in the words of the JSON, of what its name says: an aggregate, and the number of threads."""
    name = row.get("name") or ""
    aggregate = _AGGREGATE.search(name)
    plain = _AGGREGATE.sub("", name)
    kind = {"run_type": "aggregate", "aggregate_name": aggregate[1]} if aggregate else {}
    return {**row, **kind, "run_name": plain, "threads": split_name(plain)[1].get("threads", "1")}


def _google_points(rows: list[dict[str, Any]], *, divided: bool) -> Generator[Yielded, None, list[Point]]:
    """The measurements, or the means where only aggregates are there; the points are also given back."""
    good = [row for row in rows if row.get("error_occurred") not in (True, "true")]
    measured = [row for row in good if row.get("run_type", "iteration") == "iteration"]
    points: list[Point] = []
    for row in measured or [row for row in good if row.get("aggregate_name") == "mean"]:
        real, threads = as_float(row.get("real_time")), as_count(row.get("threads", 1))
        if real is None or threads is None:
            continue
        name = as_text(row.get("run_name"), 500) or as_text(row.get("name"), 500) or ""
        seconds = real * TIME_UNITS.get(str(row.get("time_unit", "ns")), NANO) * (threads if divided else 1)
        series, parameters = split_name(name)
        fields = {key: value for key, value in parameters.items() if key not in HOUSEKEEPING} | {"threads": threads}
        common: dict[str, Any] = {"series": series, "name": name, "k": threads, "fields": fields}
        points.append(Point(values=(seconds,), main=True, **common))
        for metric in ("items_per_second", "bytes_per_second"):
            rate = as_float(row.get(metric))
            if rate is not None:
                unit: dict[str, Any] = {"quantity": Quantity.THROUGHPUT, "unit": metric.replace("_per_second", "/s")}
                points.append(Point(values=(rate,), metric=metric, **unit, **common))
    yield from points
    yield {"assumed": (SAME_PROCESS if measured or not points else MEANS,)}
    return points


def go(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    lines = [(match[1], match[3].split()) for match in _GO_LINE.finditer(source.text)]
    names = {name for name, _ in lines}
    longer = {prefix for name in names if (match := _GO_SUFFIX.fullmatch(name)) and (prefix := match[1])}
    for name, words in lines:
        # `BenchmarkX/size-10` is a name and no K where `BenchmarkX/size-10-4` is there as well.
        suffix = None if name in longer else _GO_SUFFIX.fullmatch(name)
        series, k = (suffix[1], as_count(suffix[2])) if suffix else (name, 1)
        for value, unit in zip(words[::2], words[1::2], strict=False):
            number = as_float(value)
            if number is not None and unit == "ns/op":
                yield Point(values=(number * NANO,), series=series, name=name, metric=unit, k=k, main=True)
            elif number is not None and unit.endswith("/s"):
                rate = {"quantity": Quantity.THROUGHPUT, "unit": unit}
                yield Point(values=(number,), series=series, name=name, metric=unit, k=k, **rate)
    stated = dict(_GO_FACT.findall(source.text))
    yield {"provenance": {"machine": facts(stated, "cpu"), "software": facts(stated, "goos", "goarch")}}


def jmh(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    points = [point for row in (as_dicts(source.json) or _jmh_csv(source)) for point in _jmh_points(row)]
    yield from points
    if any(point.quantity is Quantity.SECONDS and (point.k or 1) > 1 for point in points):
        yield {"assumed": ("times of JMH are of one thread: divided by `threads` they are the time of one operation",)}


def _jmh_csv(source: Source) -> Iterator[dict[str, Any]]:
    for row in csv.DictReader(source.text.splitlines()):
        yield {
            "benchmark": row.get("Benchmark"),
            "mode": row.get("Mode"),
            "threads": row.get("Threads"),
            "params": {key.removeprefix("Param: "): row[key] for key in row if key and key.startswith("Param: ")},
            "primaryMetric": {"score": row.get("Score"), "scoreUnit": row.get("Unit")},
        }


def _jmh_points(row: dict[str, Any]) -> Iterator[Point]:
    """The point of a benchmark, where its unit is a time of one operation or operations in a time."""
    metric, threads = as_dict(row.get("primaryMetric")), as_count(row.get("threads"))
    unit = _JMH_UNIT.fullmatch(as_text(metric.get("scoreUnit")) or "")
    factor = TIME_UNITS.get(unit["time"] or unit["rate"]) if unit else None
    values = _jmh_values(metric)
    if unit is None or factor is None or threads is None or not values:
        return
    name = as_text(row.get("benchmark"), 500) or ""
    is_time = bool(unit["time"])
    kind: dict[str, Any] = {"unit": "s"} if is_time else {"quantity": Quantity.THROUGHPUT, "unit": "ops/s"}
    yield Point(
        values=tuple(value * factor / threads if is_time else value / factor for value in values),
        series=name,
        name=name,
        metric=f"{row.get('mode')} {'s/op' if is_time else 'ops/s'}",
        k=threads,
        fields={key: value for key, value in as_dict(row.get("params")).items() if isinstance(value, str)},
        **kind,
    )


def _jmh_values(metric: dict[str, Any]) -> tuple[float, ...]:
    """The means of the forks, or the iterations of a single fork, or the score."""
    forks = [fork for raw in as_list(metric.get("rawData")) if (fork := as_floats(raw))]
    values = tuple(sum(fork) / len(fork) for fork in forks) if len(forks) > 1 else (forks or [()])[0]
    return values or as_floats([metric.get("score")])


def criterion(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    """Nanoseconds of each sample over its iterations; `base` is the run before, which is another series."""
    if {"iters", "times"} <= source.keys:
        path = PurePath(source.name)
        earlier = " (base)" if path.parent.name == "base" else ""
        yield _criterion_point(source.json["times"], source.json["iters"], "/".join(path.parts[:-2]), earlier)
    for row in source.json_lines or []:
        if row.get("reason") == "benchmark-complete":
            name = as_text(row.get("id"), 500) or ""
            yield _criterion_point(row.get("measured_values"), row.get("iteration_count"), name, "")


def _criterion_point(times: Any, counts: Any, name: str, earlier: str) -> Point:
    pairs: Iterable[tuple[float, float]] = zip(as_floats(times), as_floats(counts), strict=False)
    values = tuple(nanoseconds * NANO / count for nanoseconds, count in pairs if count > 0)
    group, _, last = name.rpartition("/")
    numbered = as_count(last) is not None
    fields = {"parameter": last} if numbered else {}
    return Point(values=values, series=(group if numbered else name) + earlier, name=name, fields=fields)


def dotnet(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    for row in as_dicts(source.json["Benchmarks"]):
        statistics = as_dict(row.get("Statistics"))
        values = as_floats(statistics.get("OriginalValues")) or as_floats([statistics.get("Mean")])
        parts = re.split(r"[&,]\s*", str(row.get("Parameters") or ""))
        parameters = dict(part.split("=", 1) for part in parts if "=" in part)
        name = ".".join(filter(None, (as_text(row.get("Type")), as_text(row.get("Method")))))
        yield metric_point(values, "time", "ns", series=name, name=name, fields=parameters)
