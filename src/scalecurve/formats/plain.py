"""Plain tables: CSV, TSV, semicolons or blanks, one header line, one observation per row.

The fast path hands the whole file to numpy; only when that fails is it read line by line, to say where and why.
"""

from __future__ import annotations

import io
import itertools
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.formats.csv_rows import csv_rows
from scalecurve.formats.headers import Columns, choose_columns
from scalecurve.study import Quantity, Samples
from scalecurve.study.samples import LARGEST_VALUE, MAX_K, SMALLEST_VALUE, FloatArray

MAX_BYTES = 4 * 1024**3
MOST_FAULTS = 20
ENOUGH_FAULTS = 10_000
HEADER_LINES = 1000
MOST_COLUMNS = 10_000
CHECKED_ROWS = 1000


@dataclass(frozen=True)
class PlainTable:
    """The samples of a plain table, in seconds where they are times, and what its columns were taken to mean."""

    samples: Samples
    columns: Columns
    headers: tuple[str, ...]


@dataclass(frozen=True)
class _Layout:
    delimiter: str | None
    headers: list[str]
    header_line: int


def read_plain(
    source: Path | bytes,
    *,
    subject: str,
    k_column: str | None = None,
    value_column: str | None = None,
    quantity: Quantity | None = None,
) -> PlainTable:
    """The samples of a table in a file or in memory."""
    with _open(source, subject) as file:
        layout = _find_layout(file, subject)
    columns = choose_columns(
        layout.headers, k_column=k_column, value_column=value_column, quantity=quantity, subject=subject
    )
    k, values = _load(source, layout, columns, subject)
    return PlainTable(_samples(source, layout, columns, subject, k, values), columns, tuple(layout.headers))


def _open(source: Path | bytes, subject: str) -> TextIO:
    if isinstance(source, bytes):
        return io.TextIOWrapper(io.BytesIO(source), encoding="utf-8-sig", newline="")
    try:
        size = source.stat().st_size
        if size > MAX_BYTES:
            raise FormatError(
                Fault("the file is too large", seen=f"{size} bytes", remedy=f"limit {MAX_BYTES}"), subject=subject
            )
        return source.open(encoding="utf-8-sig", newline="")
    except OSError as problem:
        raise FormatError(f"cannot be read: {problem.strerror}", subject=subject) from None


def _find_layout(file: TextIO, subject: str) -> _Layout:
    """The header: the first line that is no comment, or the last comment before it where that line is already data."""
    header: tuple[int, str] | None = None
    try:
        for number, line in zip(range(1, HEADER_LINES), file, strict=False):
            text = line.strip()
            plain = text.lstrip("#").strip()
            if plain and text.startswith("#"):
                header = (number, plain)
            elif plain:
                return _layout(header if header is not None and _is_data(plain) else (number, plain))
    except UnicodeDecodeError:
        raise FormatError("not text in UTF-8", subject=subject) from None
    if header is not None:
        return _layout(header)
    hint = "expected a header line and rows, such as: K,seconds"
    raise FormatError(Fault("the file is empty", remedy=hint), subject=subject)


def _layout(header: tuple[int, str]) -> _Layout:
    number, text = header
    delimiter = _delimiter(text)
    fields = _split(text, delimiter)
    if len(fields) > MOST_COLUMNS:
        hint = "expected a header line and rows, such as: K,seconds"
        raise FormatError(Fault("too many columns for a table", seen=f"{len(fields)} columns", remedy=hint))
    return _Layout(delimiter, fields, number)


def _is_data(line: str) -> bool:
    return any(_number(field) is not None for field in _split(line, _delimiter(line)))


def _delimiter(header: str) -> str | None:
    for candidate in ("\t", ",", ";"):
        if candidate in header:
            return candidate
    return None


def _split(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    return next(csv_rows([line], delimiter=delimiter), [])


def _load(source: Path | bytes, layout: _Layout, columns: Columns, subject: str) -> tuple[FloatArray, FloatArray]:
    if _has_longer_rows(source, layout, subject):
        return _load_slowly(source, layout, columns, subject)
    try:
        with _open(source, subject) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy says on standard error that there are no rows; we say it better
            table = np.loadtxt(
                file,
                delimiter=layout.delimiter,
                skiprows=layout.header_line,
                usecols=(columns.k, columns.value),
                ndmin=2,
                comments="#",
                quotechar='"',
            )
        return table[:, 0], table[:, 1]
    except (ValueError, IndexError):
        return _load_slowly(source, layout, columns, subject)


def _has_longer_rows(source: Path | bytes, layout: _Layout, subject: str) -> bool:
    """Numpy does not mind fields beyond the header, the mark of a decimal comma; the first rows show it."""
    try:
        first = itertools.islice(_rows(source, layout, subject), CHECKED_ROWS)
        return any(len(fields) > len(layout.headers) for _, fields in first)
    except UnicodeDecodeError:
        raise FormatError("not text in UTF-8", subject=subject) from None


def _samples(
    source: Path | bytes, layout: _Layout, columns: Columns, subject: str, k: FloatArray, values: FloatArray
) -> Samples:
    if not len(k):
        raise FormatError(
            Fault("there are no rows below the header", remedy="one observation per row"), subject=subject
        )
    try:
        return Samples.of(k, values if columns.meaning.factor == 1 else values * columns.meaning.factor)
    except InputError:
        _load_slowly(source, layout, columns, subject)
        raise


def _load_slowly(
    source: Path | bytes, layout: _Layout, columns: Columns, subject: str
) -> tuple[FloatArray, FloatArray]:
    """Line by line: every fault with its line number, or the numbers where only numpy was too strict."""
    rows: list[tuple[float, float]] = []
    faults: list[Fault] = []
    try:
        for number, fields in _rows(source, layout, subject):
            row = _row_faults(number, fields, layout, columns, faults)
            if row is not None:
                rows.append(row)
            if len(faults) > ENOUGH_FAULTS:
                break  # this is no table: counting two million faults would take minutes
    except UnicodeDecodeError:
        raise FormatError("not text in UTF-8", subject=subject) from None
    if faults:
        raise FormatError(_capped(faults), subject=subject)
    table = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _rows(source: Path | bytes, layout: _Layout, subject: str) -> Iterator[tuple[int, list[str]]]:
    with _open(source, subject) as file:
        for number, line in enumerate(file, 1):
            text = line.partition("#")[0].strip()
            if number > layout.header_line and text:
                yield number, _split(text, layout.delimiter)


def _row_faults(
    number: int, fields: list[str], layout: _Layout, columns: Columns, faults: list[Fault]
) -> tuple[float, float] | None:
    where = f"line {number}"
    if len(fields) > len(layout.headers) or max(columns.k, columns.value) >= len(fields):
        faults.append(_length_fault(where, fields, layout))
        return None
    k, value = _number(fields[columns.k]), _number(fields[columns.value])
    bad_k = k is None or not 1 <= k <= MAX_K or k != int(k)
    bad_value = value is None or not SMALLEST_VALUE <= value <= LARGEST_VALUE
    if bad_k:
        message = f"{layout.headers[columns.k].strip()} is not a whole number of workers from 1"
        faults.append(Fault(message, where=where, seen=fields[columns.k].strip()))
    if bad_value:
        message = f"{layout.headers[columns.value].strip()} is not a positive finite number"
        faults.append(Fault(message, where=where, seen=fields[columns.value].strip()))
    return None if bad_k or bad_value or k is None or value is None else (k, value)


def _length_fault(where: str, fields: list[str], layout: _Layout) -> Fault:
    message = f"the row has {len(fields)} fields where the header has {len(layout.headers)}"
    decimal_comma = len(fields) > len(layout.headers) and layout.delimiter == ","
    hint = "write decimals with a point, or part the columns by semicolons or tabs" if decimal_comma else None
    return Fault(message, where=where, remedy=hint)


def _number(text: str) -> float | None:
    try:
        return float(text) if re.search(r"\d|nan|inf", text.lower()) and "_" not in text else None
    except ValueError:
        return None


def _capped(faults: list[Fault]) -> list[Fault]:
    if len(faults) <= MOST_FAULTS:
        return faults
    least = "at least " if len(faults) > ENOUGH_FAULTS else ""
    return [*faults[:MOST_FAULTS], Fault(f"... and {least}{len(faults) - MOST_FAULTS} more faults")]
