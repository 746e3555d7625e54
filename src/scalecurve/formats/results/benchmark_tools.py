"""Tools that time whole commands and functions: hyperfine, pyperf, pytest-benchmark and asv.

hyperfine --export-json: `{"results": [{"command", "times": [s], "exit_codes": [...], "parameters": {"n": "1"}}]}`.

Every time is a fresh launch; parameters are strings; --warmup leaves no trace in the file.

pyperf JSON (format 1.0): each run is a fresh process; values are per loop; calibration runs have no values.

One observation is the mean of one process: the values inside a process resemble one another more than two launches do.

pytest-benchmark --benchmark-json: seconds per iteration in `stats.data`, parameters in `params`.

asv results (`results/<machine>/<commit>-<env>.json`, version 2): the median, and the samples where recorded.

The names of the parameters are in `benchmarks.json` two folders up, if that file exists.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from scalecurve.errors import ScalecurveError
from scalecurve.findings import warning
from scalecurve.formats.columns import as_dict, as_dicts, as_float, as_floats, as_list, as_text, facts, split_name
from scalecurve.formats.reading import SAME_PROCESS, Point, ReadOptions
from scalecurve.formats.rows import Yielded
from scalecurve.formats.source import Source
from scalecurve.study import RunStatus, Treatment

MOST_FAILED = 100
NOWHERE = "(?!)"  # a pattern without a match
MOST_COMPARISONS = 5_000
MOST_OCCURRENCES = 50
MOST_COMBINATIONS = 10_000
BUSY_LOAD = 2.0
ONLY_MEDIANS = "only the median of each benchmark is in the file"
MACHINE = ("hostname", "cpu_model_name", "cpu_count", "cpu_config", "cpu_affinity", "platform")
SOFTWARE = ("python_version", "python_implementation", "python_compiler", "timer")


def hyperfine(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    templates = Templates()
    results = as_dicts(source.json["results"])
    for result in results:
        command = as_text(result.get("command"), 500) or ""
        parameters = {
            name: value for name, value in as_dict(result.get("parameters")).items() if isinstance(value, str | int)
        }
        name, fields = split_name(command)
        series = templates.series_of(command, parameters) if parameters else name
        common: dict[str, Any] = {"series": series, "name": command, "fields": parameters or fields}
        times, codes = as_list(result.get("times")) or [result.get("mean")], as_list(result.get("exit_codes"))
        launches = [
            (seconds, code)
            for time, code in itertools.zip_longest(times, codes[: len(times)], fillvalue=0)
            if (seconds := as_float(time)) is not None
        ]
        good = tuple(seconds for seconds, code in launches if code == 0)
        if good:
            yield Point(values=good, **common)
        details = {"error": "the command ended with a code other than 0"}
        for seconds in [seconds for seconds, code in launches if code != 0][:MOST_FAILED]:
            yield Point(values=(seconds,), status=RunStatus.FAILED, details=details, **common)
    if any("times" not in result for result in results):
        yield {"assumed": ("only the means are in the file",)}


@dataclass
class Templates:
    """Which commands are one command with other parameters: hyperfine writes only the commands it ran."""

    first: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    comparisons: int = 0

    def series_of(self, command: str, parameters: Mapping[str, Any]) -> str:
        """The first command that differs from this one only where a parameter is replaced by its other value."""
        values = {name: str(value) for name, value in parameters.items()}
        for template, before in self.first[: MOST_COMPARISONS - self.comparisons]:
            self.comparisons += 1
            if before.keys() != values.keys():
                continue
            names = {value: name for name, value in before.items() if value}
            longest_first = map(re.escape, sorted(names, key=len, reverse=True))
            split = "(" + ("|".join(longest_first) or NOWHERE) + ")"
            parts = re.split(split, template, maxsplit=MOST_OCCURRENCES)
            choices = [
                re.escape(part) if i % 2 == 0 else f"(?:{re.escape(part)}|{re.escape(values[names[part]])})"
                for i, part in enumerate(parts)
            ]
            if re.fullmatch("".join(choices), command) is not None:
                return template
        self.first.append((command, values))
        return command


def pyperf(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    shared = as_dict(source.json.get("metadata"))
    about: dict[str, Any] = {}
    loads: list[float] = []
    warmed: list[bool] = []
    for benchmark in as_dicts(source.json["benchmarks"]):
        own = {**shared, **as_dict(benchmark.get("metadata"))}
        if own.get("unit", "second") != "second":
            continue
        about = about or own
        name = as_text(own.get("name"), 500) or ""
        series, fields = split_name(name)
        for run in as_dicts(benchmark.get("runs")):
            of_run, values = as_dict(run.get("metadata")), as_floats(run.get("values"))
            loads += as_floats([of_run.get("load_avg_1min")])
            if not values:
                continue
            warmed.append(bool(as_list(run.get("warmups"))))
            observed = {"values": list(values), **facts(of_run, "load_avg_1min", "mem_max_rss", "runnable_threads")}
            details = {"observed": observed, "started": as_text(of_run.get("date"))}
            yield Point(values=(sum(values) / len(values),), series=series, name=name, fields=fields, details=details)
    if max(loads, default=0.0) >= BUSY_LOAD:
        text = f"the load average rose to {max(loads):g} while measuring"
        yield warning("busy-machine", text, load=max(loads), remedy="measure on an idle machine")
    if warmed and all(warmed):
        yield {"warmup": Treatment.EXCLUDED}
    version = as_text(about.get("perf_version"))
    yield {
        "provenance": {"tool_version": version, "machine": facts(about, *MACHINE), "software": facts(about, *SOFTWARE)}
    }


def pytest(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    means = 0
    for benchmark in as_dicts(source.json["benchmarks"]):
        name = as_text(benchmark.get("fullname"), 500) or as_text(benchmark.get("name"), 500) or ""
        stats = as_dict(benchmark.get("stats"))
        rounds = as_floats(stats.get("data"))
        means += not rounds
        fields = {**as_dict(benchmark.get("extra_info")), **as_dict(benchmark.get("params"))}
        scalars = {key: value for key, value in fields.items() if isinstance(value, str | int | float)}
        values = rounds or as_floats([stats.get("mean")])
        yield Point(values=values, series=name.partition("[")[0], name=name, fields=scalars)
    if means:
        yield {"assumed": ("only means are in the file for some benchmarks",)}


def asv(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    columns = [str(column) for column in as_list(source.json["result_columns"])]
    described: dict[str, Any] = {}
    if source.path is not None:
        with suppress(ScalecurveError):
            described = as_dict(Source.at(source.path.parent.parent / "benchmarks.json").json)
    sampled = False
    for benchmark, cells in as_dict(source.json["results"]).items():
        if not benchmark.rpartition(".")[2].startswith("time"):
            continue
        row = dict(zip(columns, as_list(cells), strict=False))
        names = as_list(as_dict(described.get(benchmark)).get("param_names"))
        combinations = itertools.product(*(as_list(values) for values in as_list(row.get("params"))))
        combined = itertools.islice(combinations, MOST_COMBINATIONS)
        samples = itertools.chain(as_list(row.get("samples")), itertools.repeat(None))
        for combination, result, repeats in zip(combined, as_list(row.get("result")), samples, strict=False):
            median, values = as_float(result), as_floats(repeats)
            if median is not None:
                labels = [*map(str, names), *(f"parameter {j + 1}" for j in range(len(names), len(combination)))]
                fields = dict(zip(labels, map(str, combination), strict=False))
                sampled = sampled or len(values) > 1
                yield Point(values=values or (median,), series=benchmark, name=benchmark, fields=fields)
    missing = () if sampled else ("samples (asv run --record-samples)",)
    yield {"assumed": (SAME_PROCESS if sampled else ONLY_MEDIANS,), "missing": missing}
