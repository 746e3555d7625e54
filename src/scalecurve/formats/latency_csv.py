"""Latencies in a plain column: a CSV with the unit in the header, or one number a line."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.study.latency_record import Histogram, LatencyRecord
from scalecurve.study.provenance import Provenance

UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0}
_NAMED = re.compile(
    r"(?:latency|latencies|response[_ -]?time|duration|time|elapsed|rt|request_time)?"
    r"[_ \[(]*(?P<unit>ns|us|µs|ms|s|sec|seconds)?[\])]*$"
)


def read_latency_csv(path: Path, *, unit: float | None = None) -> LatencyRecord:
    """The first column that is named after a latency; the unit must be in its name or stated."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            header = file.readline().strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise FormatError(f"cannot be read: {problem}", subject=str(path)) from None
    names = [name.strip().strip('"').lower() for name in header.split(",")]
    bare = _is_number(names[0]) and len(names) == 1
    column, factor = (0, None) if bare else _column(names, path)
    scale = unit or factor
    if scale is None:
        hint = "name the column latency_ms, or say --unit ms"
        raise FormatError(Fault("the unit of the latencies is not stated", seen=header, remedy=hint), subject=str(path))
    values = _load(path, column, 0 if bare else 1) * scale
    provenance = Provenance(source=path.name, tool="csv")
    try:
        return LatencyRecord(name=path.stem, histogram=Histogram.of(values), provenance=provenance)
    except InputError as problem:
        raise FormatError(problem.faults, subject=str(path)) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _column(names: list[str], path: Path) -> tuple[int, float | None]:
    for place, name in enumerate(names):
        match = _NAMED.match(name)
        if match and name:
            return place, UNITS.get(match["unit"] or "")
    hint = "name the column latency_ms, duration_s ... or give one number a line"
    raise FormatError(Fault("no column of latencies", seen=", ".join(names)[:80], remedy=hint), subject=str(path))


def _load(path: Path, column: int, skip: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    try:
        return np.loadtxt(path, delimiter=",", usecols=column, skiprows=skip, ndmin=1, comments="#")
    except (ValueError, IndexError) as problem:
        raise FormatError(Fault(f"a row has no number: {problem}"), subject=str(path)) from None


def read_numbers(path: Path) -> list[float]:
    """Bare numbers, one a line or in the first column of a CSV with a header; any unit, since only ratios are used."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = file.readline().strip().split(",")[0]
    except (OSError, UnicodeDecodeError) as problem:
        raise FormatError(f"cannot be read: {problem}", subject=str(path)) from None
    values: list[float] = _load(path, 0, 0 if _is_number(first) else 1).tolist()
    return values
