"""Cilkscale CSV: `tag,work (seconds),span (seconds),parallelism,...,1c time (seconds),2c time (seconds),...`.

The empty tag is the whole program.  Work and span come from an instrumented run and bound the speedup.
"""

from __future__ import annotations

import re

from scalecurve.errors import FormatError
from scalecurve.findings import info
from scalecurve.formats.columns import as_count, as_float, csv_rows
from scalecurve.formats.reading import Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Treatment

WHOLE = "whole program"
BOUNDS = ("work", "span", "parallelism", "burdened_span", "burdened_parallelism")
HEADER = re.compile(r"^(?:tag,)?\s*work \((?P<unit>[^)]{1,20})\),", re.MULTILINE)
TIMED = re.compile(r"\s*(\d{1,9})c time \(seconds\)\s*$")


def recognise(source: Source) -> str | None:
    has_header = "span (" in source.head_text and HEADER.search(source.head_text)
    return "a CSV header with work and span" if has_header else None


def read(source: Source, options: ReadOptions) -> Reading:
    match = HEADER.search(source.text)
    if match is None:
        raise FormatError("the header is damaged")
    lines = source.text[match.start() :].splitlines()
    header, *rows = list(csv_rows(line[:100_000] for line in lines)) or [[]]
    timed = {i: k for i, name in enumerate(header) if (m := TIMED.match(name)) and (k := as_count(m[1]))}
    points = [
        Point(values=(seconds,), series=row[0].strip() or WHOLE, name=row[0], k=timed[i], metric="wall time")
        for row in rows
        if row
        for i in timed
        if i < len(row) and (seconds := as_float(row[i])) is not None
    ]
    whole = [point for point in points if point.series == WHOLE] if options.series is None else []
    program = next((row for row in rows if row and not row[0].strip()), rows[0] if rows else [])
    columns = {name.partition(" (")[0].strip(): as_float(cell) for name, cell in zip(header, program, strict=False)}
    remedy = "run Cilkscale's benchmark mode"
    untimed = info("work-span-only", "the file has work and span but no times", remedy=remedy)
    return Reading(
        points=bounded(whole or points),
        k_origin="the columns `Nc time`",
        k_unit="cores",
        setup=Treatment.INCLUDED,
        provenance=Provenance(
            tool="Cilkscale", settings={name: value for name in BOUNDS if (value := columns.get(name)) is not None}
        ),
        assumed=("the row without a tag, the whole program",) if len(whole) < len(points) and whole else (),
        findings=() if timed else (untimed,),
    )


READER = Reader("cilkscale", "Cilkscale", recognise, read)
