"""Latencies: histograms, samples or stated percentiles of load tests, from other tools or a plain column."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.formats.columns import as_float
from scalecurve.formats.detection import FileKind, detect
from scalecurve.formats.reading import Reader, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.study import Provenance
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.study.run import LARGEST_VALUE, SMALLEST_VALUE, FloatArray

Records = tuple[LatencyRecord, ...]

UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0}
_NAMED = re.compile(
    r"(?:latency|latencies|response[_ -]?time|duration|time|elapsed|rt|request_time)?"
    r"[_ \[(]*(?P<unit>ns|us|µs|ms|s|sec|seconds)?[\])]*$"
)


def read_latencies(path: Path, *, unit: float | None = None, rate: float | None = None) -> Records:
    """HdrHistogram logs, wrk, wrk2, hey, oha, k6, access logs, or a column of latencies; one record for each tag.

    `unit` is seconds per unit where the file does not say; `rate` is the intended rate in requests per second.
    """
    options = ReadOptions(unit=unit, rate=rate)
    reports = detect(Source.at(path), FileKind.LATENCIES).reports()
    return tuple(record for report in reports for record in report.read(options))


def read_numbers(path: Path) -> list[float]:
    """Bare numbers, one a line or in the first column of a CSV with a header; any unit, since only ratios are used."""
    source = Source.at(path)
    first = _first_line(source).split(",")[0]
    values = _column(source, 0, skip=0 if as_float(first) is not None else 1)
    bad = values[~((values >= SMALLEST_VALUE) & (values <= LARGEST_VALUE))]
    if len(bad):
        raise FormatError(
            Fault("a time is a positive number (1e-100 to 1e100)", value=f"{bad[0]:g}"), subject=str(path)
        )
    numbers: list[float] = values.tolist()
    return numbers


def recognise_column(source: Source) -> str | None:
    return "text without the marks of another format"


def read_column(source: Source, options: ReadOptions) -> Records:
    """The first column that is named after a latency; the unit must be in its name or stated."""
    header = _first_line(source)
    names = [name.strip().strip('"').lower() for name in header.split(",")]
    bare = len(names) == 1 and as_float(names[0]) is not None
    matches = [(i, match) for i, name in enumerate(names) if name and (match := _NAMED.match(name))]
    if not bare and not matches:
        remedy = "name the column latency_ms, duration_s ... or give one number a line"
        raise FormatError(Fault("no column of latencies", value=", ".join(names)[:80], remedy=remedy))
    place, factor = (0, None) if bare else (matches[0][0], UNITS.get(matches[0][1]["unit"] or ""))
    scale = options.unit or factor
    if scale is None:
        remedy = "name the column latency_ms, or say --unit ms"
        raise FormatError(Fault("the unit of the latencies is not stated", value=header, remedy=remedy))
    values = _column(source, place, skip=0 if bare else 1) * scale
    provenance = Provenance(source=source.file_name, tool="csv")
    try:
        return (LatencyRecord(name=source.stem, histogram=Histogram.of(values), provenance=provenance),)
    except InputError as problem:
        raise FormatError(problem.faults) from None


def _first_line(source: Source) -> str:
    try:
        with source.open_text() as file:
            return file.readline().strip()
    except UnicodeDecodeError:
        raise FormatError("not text in UTF-8") from None


def _column(source: Source, place: int, *, skip: int) -> FloatArray:
    try:
        with source.open_text() as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a file without rows is said by Histogram
            return np.loadtxt(file, delimiter=",", usecols=place, skiprows=skip, ndmin=1, comments="#")
    except (ValueError, IndexError) as problem:
        raise FormatError(f"a row has no number: {problem}") from None


COLUMN = Reader("latency-column", "a column of latencies", recognise_column, read_column)
