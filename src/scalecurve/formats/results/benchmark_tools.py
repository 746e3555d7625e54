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
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scalecurve.errors import ScalecurveError
from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import as_dict, as_dicts, as_float, as_floats, as_list, as_text, facts, split_name
from scalecurve.formats.reading import SAME_PROCESS, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, RunStatus, Treatment

MOST_FAILED = 100
MOST_COMPARISONS = 5_000
MOST_OCCURRENCES = 50


def recognise_hyperfine(source: Source) -> str | None:
    first = (as_dicts(source.json["results"]) or [{}])[0] if "results" in source.keys else {}
    if "command" in first and ("times" in first or "mean" in first):
        return "JSON with results, each a command and its times"
    return None


def read_hyperfine(source: Source, options: ReadOptions) -> Reading:
    results = as_dicts(source.json["results"])
    templates = Templates()
    points: list[Point] = []
    for result in results:
        command = as_text(result.get("command"), 500) or ""
        parameters = {
            name: value for name, value in as_dict(result.get("parameters")).items() if isinstance(value, str | int)
        }
        name, fields = split_name(command)
        series = templates.series_of(command, parameters) if parameters else name
        common: dict[str, Any] = {"series": series, "name": command, "fields": parameters or fields}
        codes = as_list(result.get("exit_codes"))
        good: list[float] = []
        bad: list[float] = []
        for i, time in enumerate(as_list(result.get("times")) or [result.get("mean")]):
            seconds = as_float(time)
            if seconds is not None:
                (good if i >= len(codes) or codes[i] == 0 else bad).append(seconds)
        if good:
            points.append(Point(values=tuple(good), **common))
        details = {"error": "the command ended with a code other than 0"}
        points += [
            Point(values=(seconds,), status=RunStatus.FAILED, details=details, **common)
            for seconds in bad[:MOST_FAILED]
        ]
    only_means = any("times" not in result for result in results)
    return Reading(
        points=bounded(points),
        setup=Treatment.INCLUDED,
        assumed=("only the means are in the file",) if only_means else (),
        missing=("the machine",),
    )


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
            parts = [template]
            if names:
                longest_first = sorted(names, key=len, reverse=True)
                split = "(" + "|".join(re.escape(value) for value in longest_first) + ")"
                parts = re.split(split, template, maxsplit=MOST_OCCURRENCES)
            choices = [
                re.escape(part) if i % 2 == 0 else f"(?:{re.escape(part)}|{re.escape(values[names[part]])})"
                for i, part in enumerate(parts)
            ]
            if re.fullmatch("".join(choices), command) is not None:
                return template
        self.first.append((command, values))
        return command


HYPERFINE = Reader("hyperfine", "hyperfine", recognise_hyperfine, read_hyperfine)


MACHINE = ("hostname", "cpu_model_name", "cpu_count", "cpu_config", "cpu_affinity", "platform")
SOFTWARE = ("python_version", "python_implementation", "python_compiler", "timer")
BUSY_LOAD = 2.0


def recognise_pyperf(source: Source) -> str | None:
    if not {"benchmarks", "version"} <= source.keys:
        return None
    first = (as_dicts(source.json["benchmarks"]) or [{}])[0]
    return "JSON with benchmarks, each a list of runs" if "runs" in first else None


def read_pyperf(source: Source, options: ReadOptions) -> Reading:
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


PYPERF = Reader("pyperf", "pyperf", recognise_pyperf, read_pyperf)


def recognise_pytest(source: Source) -> str | None:
    if not {"benchmarks", "machine_info"} <= source.keys:
        return None
    first = (as_dicts(source.json["benchmarks"]) or [{}])[0]
    return "JSON with machine_info and benchmarks with stats" if "stats" in first else None


def read_pytest(source: Source, options: ReadOptions) -> Reading:
    machine = as_dict(source.json.get("machine_info"))
    points: list[Point] = []
    only_means = False
    for benchmark in as_dicts(source.json["benchmarks"]):
        name = as_text(benchmark.get("fullname"), 500) or as_text(benchmark.get("name"), 500) or ""
        stats = as_dict(benchmark.get("stats"))
        rounds = as_floats(stats.get("data"))
        only_means = only_means or not rounds
        fields = {**as_dict(benchmark.get("extra_info")), **as_dict(benchmark.get("params"))}
        scalars = {key: value for key, value in fields.items() if isinstance(value, str | int | float)}
        values = rounds or as_floats([stats.get("mean")])
        points.append(Point(values=values, series=name.partition("[")[0], name=name, fields=scalars))
    host = as_text(machine.get("node"))
    return Reading(
        points=bounded(points),
        setup=Treatment.EXCLUDED,
        provenance=Provenance(
            tool="pytest-benchmark",
            tool_version=as_text(source.json.get("version")),
            created=as_text(source.json.get("datetime")),
            machine=({"hostname": host} if host else {})
            | facts(as_dict(machine.get("cpu")), "brand_raw", "count", "arch"),
            software=facts(machine, "python_version", "python_implementation", "system", "release"),
        ),
        assumed=(SAME_PROCESS, *(("only means are in the file for some benchmarks",) if only_means else ())),
    )


PYTEST = Reader("pytest-benchmark", "pytest-benchmark", recognise_pytest, read_pytest)


MOST_COMBINATIONS = 10_000


def recognise_asv(source: Source) -> str | None:
    if {"commit_hash", "result_columns", "results"} <= source.keys:
        return "JSON with commit_hash and result_columns"
    return None


def read_asv(source: Source, options: ReadOptions) -> Reading:
    data = source.json
    columns = [str(column) for column in as_list(data["result_columns"])]
    described: dict[str, Any] = {}
    if source.path is not None:
        try:
            described = as_dict(Source.at(source.path.parent.parent / "benchmarks.json").json)
        except ScalecurveError:
            described = {}
    points: list[Point] = []
    for benchmark, cells in as_dict(data["results"]).items():
        if not benchmark.rpartition(".")[2].startswith("time"):
            continue
        row = dict(zip(columns, as_list(cells), strict=False))
        names = as_list(as_dict(described.get(benchmark)).get("param_names"))
        results, samples = as_list(row.get("result")), as_list(row.get("samples"))
        combinations = itertools.product(*(as_list(values) for values in as_list(row.get("params"))))
        for i, combination in enumerate(itertools.islice(combinations, MOST_COMBINATIONS)):
            median = as_float(results[i]) if i < len(results) else None
            if median is not None:
                values = as_floats(samples[i]) if i < len(samples) else ()
                labels = [str(names[j]) if j < len(names) else f"parameter {j + 1}" for j in range(len(combination))]
                fields = {label: str(value) for label, value in zip(labels, combination, strict=True)}
                points.append(Point(values=values or (median,), series=benchmark, name=benchmark, fields=fields))
    sampled = any(len(point.values) > 1 for point in points)
    return Reading(
        points=bounded(points),
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(
            tool="asv",
            machine=facts(as_dict(data.get("params")), "machine", "cpu", "num_cpu", "os", "ram", "arch"),
            software={"commit": as_text(data.get("commit_hash"))},
        ),
        assumed=(SAME_PROCESS,) if sampled else ("only the median of each benchmark is in the file",),
        missing=() if sampled else ("samples (asv run --record-samples)",),
    )


ASV = Reader("asv", "asv", recognise_asv, read_asv)
