"""Cilkscale CSV: `tag,work (seconds),span (seconds),parallelism,...,1c time (seconds),2c time (seconds),...`.

The empty tag is the whole program.  Work and span come from an instrumented run and bound the speedup.
"""

from __future__ import annotations

import re

from scalecurve.errors import FormatError
from scalecurve.findings import Finding, info
from scalecurve.formats.coercion import as_count, as_float
from scalecurve.formats.csv_rows import csv_rows
from scalecurve.formats.reading import Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, Treatment

WHOLE = "whole program"
HEADER = re.compile(r"^(?:tag,)?\s*work \((?P<unit>[^)]{1,20})\),", re.MULTILINE)
TIMED = re.compile(r"\s*(\d{1,9})c time \(seconds\)\s*$")


def look(source: Source) -> str | None:
    match = HEADER.search(source.head_text)
    return "a CSV header with work and span" if match and "span (" in source.head_text else None


def read(source: Source, wishes: Wishes) -> Reading:
    match = HEADER.search(source.text)
    if match is None:
        raise FormatError("the header is damaged", subject=source.name)
    lines = source.text[match.start() :].splitlines()
    rows = list(csv_rows((line[:100_000] for line in lines), subject=source.name))
    header = rows[0] if rows else []
    timed = {i: k for i, name in enumerate(header) if (m := TIMED.match(name)) and (k := as_count(m[1]))}
    points = [
        Point(values=(seconds,), series=row[0].strip() or WHOLE, name=row[0], k=timed[i], metric="wall time")
        for row in rows[1:]
        if row
        for i in timed
        if i < len(row) and (seconds := as_float(row[i])) is not None
    ]
    whole = [point for point in points if point.series == WHOLE] if wishes.series is None else []
    return Reading(
        points=bounded(whole or points, source.name),
        k_origin="the columns `Nc time`",
        k_unit="cores",
        setup=Treatment.INCLUDED,
        provenance=Provenance(tool="Cilkscale", settings=_bounds(header, rows[1:])),
        assumed=("the row without a tag, the whole program",) if len(whole) < len(points) and whole else (),
        findings=_untimed(bool(timed)),
    )


def _bounds(header: list[str], rows: list[list[str]]) -> dict[str, float]:
    """Work, span and parallelism of the whole program."""
    whole = next((row for row in rows if row and not row[0].strip()), rows[0] if rows else [])
    named = {name.partition(" (")[0].strip(): as_float(value) for name, value in zip(header, whole, strict=False)}
    wanted = ("work", "span", "parallelism", "burdened_span", "burdened_parallelism")
    return {name: value for name in wanted if (value := named.get(name)) is not None}


def _untimed(timed: bool) -> tuple[Finding, ...]:
    if timed:
        return ()
    return (info("work-span-only", "the file has work and span but no times", remedy="run Cilkscale's benchmark mode"),)


READER = Reader("cilkscale", "Cilkscale", look, read)
