"""Profilers that measure a whole run: TALP, Caliper (or Thicket) and Cilkscale.

TALP JSON of DLB 3.6: regions with elapsed, useful and MPI time in nanoseconds.

Efficiencies are printed with two decimals and are recomputed from the times:
PE = sum(useful)/(elapsed P) = CommE LB, CommE = max(useful)/elapsed, LB = sum(useful)/(max(useful) P), as in
DLB's perf_metrics.c.

CSV of Caliper and Thicket: one row per region and profile, metrics such as `Avg time/rank`, metadata as columns.

The number of ranks is `mpi.world.size` or `jobsize`; the regions (`name`) are series.

Cilkscale CSV: `tag,work (seconds),span (seconds),parallelism,...,1c time (seconds),2c time (seconds),...`.

The empty tag is the whole program.  Work and span come from an instrumented run and bound the speedup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scalecurve.errors import FormatError
from scalecurve.findings import info
from scalecurve.formats.columns import as_count, as_dict, as_float, as_text, counts_in, metric_meaning
from scalecurve.formats.reading import Point, ReadOptions
from scalecurve.formats.rows import Yielded
from scalecurve.formats.source import Source, csv_rows
from scalecurve.study import Quantity, RankRecord

NANO = 1e-9
MOST_RANKS = 4096
COUNTS_TALP = ("numMpiRanks", "numCpus", "numNodes", "numGpus")


def talp(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    data = source.required_json()
    resources = as_dict(data.get("resources"))
    regions = {name: as_dict(region) for name, region in as_dict(data["Application"]).items()}
    processes = [process for process in as_dict(data.get("Process")).values() if isinstance(process, dict)]
    chosen = {"Global": regions["Global"]} if "Global" in regions and options.series is None else regions
    if len(chosen) < len(regions):
        yield {"assumed": ("the region Global is the job",)}
    for name, region in chosen.items():
        elapsed = as_float(region.get("elapsedTime"))
        if elapsed is None:
            continue
        counts = {key: value for key, value in region.items() if key.startswith("num")}
        fields = counts_in({**resources, **counts}, COUNTS_TALP)
        observed: dict[str, Any] = {
            key: region[key]
            for key in ("instructions", "cycles", "usefulTime")
            if as_float(region.get(key)) is not None
        }
        useful, cpus = as_float(region.get("usefulTime")), fields.get("numCpus")
        if useful is not None and cpus and elapsed > 0:
            observed["parallel_efficiency"] = useful / (elapsed * cpus)
        ranks = tuple(_rank(i, as_dict(process.get(name))) for i, process in enumerate(processes[:MOST_RANKS]))
        details = {"ranks": ranks, "observed": observed, "started": as_text(data.get("timestamp"))}
        seconds = (elapsed * NANO,)
        yield Point(values=seconds, series=name, name=name, metric="elapsedTime", fields=fields, details=details)


def _rank(number: int, own: dict[str, Any]) -> RankRecord:
    """The time of one rank, and its parts."""
    seconds = as_float(own.get("elapsedTime"))
    parts = {phase: as_float(own.get(key)) for phase, key in (("compute", "usefulTime"), ("communication", "mpiTime"))}
    return RankRecord(
        rank=number,
        seconds=None if seconds is None else seconds * NANO,
        host=as_text(own.get("hostname")),
        phases={phase: value * NANO for phase, value in parts.items() if value is not None},
    )


COUNTS_CALIPER = ("mpi.world.size", "jobsize", "numhosts", "omp.num.threads", "mpi_world_size", "num_nodes")
REGION = ("name", "path", "node", "function", "region")
TIMES = ("time/rank", "total time", "time (inc)", "time (exc)", "sum#sum#time.duration", "sum#time.duration")
MOST_LINE = 20_000


def _seconds_of(column: str) -> float | None:
    """The seconds of the column's unit; None where it holds no times."""
    if any(word in column.lower() for word in TIMES):
        return 1.0
    meaning = metric_meaning(column)
    return meaning.factor if meaning is not None and meaning.quantity is Quantity.SECONDS else None


def caliper(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    lines = [line[:MOST_LINE] for line in source.text.splitlines() if line.strip()]
    header, *rows = list(csv_rows(lines))
    header = [name.strip() for name in header]
    region = next(name for name in REGION if name in header)
    factors = {column: factor for column in header if (factor := _seconds_of(column)) is not None}
    for cells in rows:
        row = dict(zip(header, cells, strict=False))
        fields, name = counts_in(row, COUNTS_CALIPER), (row.get(region) or "").strip()
        for metric, factor in factors.items():
            value = as_float(row.get(metric))
            if value is not None:
                yield Point(values=(value * factor,), series=name, name=name, metric=metric, fields=fields)


WHOLE = "whole program"
BOUNDS = ("work", "span", "parallelism", "burdened_span", "burdened_parallelism")
HEADER = re.compile(r"^(?:tag,)?\s*work \((?P<unit>[^)]{1,20})\),", re.MULTILINE)
TIMED = re.compile(r"\s*(\d{1,9})c time \(seconds\)\s*$")


def cilkscale(source: Source, options: ReadOptions) -> Iterator[Yielded]:
    match = HEADER.search(source.text)
    if match is None:
        raise FormatError("the header is damaged")
    lines = source.text[match.start() :].splitlines()
    header, *rows = list(csv_rows(line[:100_000] for line in lines)) or [[]]
    timed = {i: k for i, name in enumerate(header) if (m := TIMED.match(name)) and (k := as_count(m[1]))}
    points = list(_cilkscale_points([row for row in rows if row], timed))
    whole = [point for point in points if point.series == WHOLE] if options.series is None else []
    yield from whole or points
    yield {"provenance": {"settings": _bounds(header, rows)}}
    if whole and len(whole) < len(points):
        yield {"assumed": ("the row without a tag, the whole program",)}
    if not timed:
        remedy = "run Cilkscale's benchmark mode"
        yield info("work-span-only", "the file has work and span but no times", remedy=remedy)


def _bounds(header: list[str], rows: list[list[str]]) -> dict[str, float]:
    """Work, span and parallelism of the whole program."""
    program = next((row for row in rows if row and not row[0].strip()), rows[0] if rows else [])
    columns = {name.partition(" (")[0].strip(): as_float(cell) for name, cell in zip(header, program, strict=False)}
    return {name: value for name in BOUNDS if (value := columns.get(name)) is not None}


def _cilkscale_points(rows: list[list[str]], timed: dict[int, int]) -> Iterator[Point]:
    """The time of each tag at each K."""
    for row in rows:
        for i, k in timed.items():
            seconds = as_float(row[i]) if i < len(row) else None
            if seconds is not None:
                series = row[0].strip() or WHOLE
                yield Point(values=(seconds,), series=series, name=row[0], k=k, metric="wall time")
