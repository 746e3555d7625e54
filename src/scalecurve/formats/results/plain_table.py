"""Plain tables: CSV, TSV, semicolons or blanks, one header line, one observation per row; and data frames.

The fast path hands the whole file to numpy; only when that fails is it read line by line, to say where and why.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.formats.columns import Columns, choose_columns, csv_rows
from scalecurve.formats.reading import Reader, Reading, ReadOptions, capped
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Samples, Workload
from scalecurve.study.samples import LARGEST_VALUE, MAX_K, SMALLEST_VALUE, FloatArray

ENOUGH_FAULTS = 10_000
HEADER_LINES = 1000
MOST_COLUMNS = 10_000
CHECKED_ROWS = 1000
EXPECTED = "expected a header line and rows, such as: K,seconds"


def recognise(source: Source) -> str | None:
    is_json = source.looks_like_json or source.name.endswith(".json")
    return None if is_json or b"\x00" in source.head[:4096] else "text without the marks of another format"


def read(source: Source, options: ReadOptions) -> Reading:
    """The samples in seconds, or in the table's own unit where they are rates."""
    table = _find_header(source)
    columns = choose_columns(table.headers, options)
    k, values = _load(source, table, columns)
    if not len(k):
        raise FormatError(Fault("there are no rows below the header", remedy="one observation per row"))
    try:
        samples = Samples.of(k, values if columns.meaning.factor == 1 else values * columns.meaning.factor)
    except InputError:
        _load_slowly(source, table, columns)  # to name the lines
        raise
    return _reading(samples, columns, table.headers, source.name)


def read_frame(frame: Any, options: ReadOptions) -> Reading:
    """The samples of a pandas or polars frame, by the same rules as a plain table."""
    headers = [str(name) for name in frame.columns]
    columns = choose_columns(headers, options)
    names = list(frame.columns)
    k, values = (
        np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column.to_list())
        for column in (frame[names[columns.k]], frame[names[columns.value]])
    )
    try:
        samples = Samples.of(k, values.astype(np.float64) * columns.meaning.factor)
    except (TypeError, ValueError) as problem:
        text = f"the column {headers[columns.value]} is not all numbers: {problem}"
        raise InputError(text) from None
    return _reading(samples, columns, headers, "data frame")


def _reading(samples: Samples, columns: Columns, headers: list[str], name: str) -> Reading:
    source = Source(name)
    k_name, value_name = headers[columns.k].strip(), headers[columns.value].strip()
    return Reading(
        samples=samples,
        quantity=columns.meaning.quantity,
        unit=columns.meaning.unit,
        k_unit=columns.k_unit,
        k_origin=f"column `{k_name}`",
        value_origin=f"column `{value_name}`",
        workload=Workload(name=source.stem),
        provenance=Provenance(
            source=source.file_name, tool="plain table", notes=(f"columns {k_name} and {value_name}",)
        ),
    )


@dataclass(frozen=True)
class TableHeader:
    """The column names, the line they are on, and what separates columns (None: blanks)."""

    delimiter: str | None
    headers: list[str]
    line: int


def _find_header(source: Source) -> TableHeader:
    """The first line that is no comment, or the last comment before it where that line already holds numbers."""
    header: tuple[int, str] | None = None
    with source.open_text() as file:
        for number, line in zip(range(1, HEADER_LINES), file, strict=False):
            text = line.strip().lstrip("#").strip()
            if text and line.strip().startswith("#"):
                header = (number, text)
            elif text:
                has_numbers = any(_number(field) is not None for field in _split(text, _delimiter(text)))
                header = header if header is not None and has_numbers else (number, text)
                break
    if header is None:
        raise FormatError(Fault("the file is empty", remedy=EXPECTED))
    number, text = header
    fields = _split(text, _delimiter(text))
    if len(fields) > MOST_COLUMNS:
        raise FormatError(Fault("too many columns for a table", value=f"{len(fields)} columns", remedy=EXPECTED))
    return TableHeader(_delimiter(text), fields, number)


def _delimiter(header: str) -> str | None:
    return next((candidate for candidate in ("\t", ",", ";") if candidate in header), None)


def _split(line: str, delimiter: str | None) -> list[str]:
    return line.split() if delimiter is None else next(csv_rows([line], delimiter=delimiter), [])


def _load(source: Source, table: TableHeader, columns: Columns) -> tuple[FloatArray, FloatArray]:
    # numpy accepts rows with more fields than the header, the sign of a decimal comma; the first rows show it.
    first = itertools.islice(_rows(source, table), CHECKED_ROWS)
    if any(len(fields) > len(table.headers) for _, fields in first):
        return _load_slowly(source, table, columns)
    try:
        with source.open_text() as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of a table without rows; the caller raises for it
            data = np.loadtxt(
                file,
                delimiter=table.delimiter,
                skiprows=table.line,
                usecols=(columns.k, columns.value),
                ndmin=2,
                comments="#",
                quotechar='"',
            )
        return data[:, 0], data[:, 1]
    except UnicodeDecodeError:
        raise
    except (ValueError, IndexError):
        return _load_slowly(source, table, columns)


def _load_slowly(source: Source, table: TableHeader, columns: Columns) -> tuple[FloatArray, FloatArray]:
    """Line by line: every fault with its line number, or the numbers where only numpy was too strict."""
    rows: list[tuple[float, float]] = []
    faults: list[Fault] = []
    width = len(table.headers)
    for line, fields in _rows(source, table):
        where = f"line {line}"
        if len(fields) > width or max(columns.k, columns.value) >= len(fields):
            decimal_comma = len(fields) > width and table.delimiter == ","
            remedy = "write decimals with a point, or separate the columns by semicolons or tabs"
            text = f"the row has {len(fields)} fields where the header has {width}"
            faults.append(Fault(text, where=where, remedy=remedy if decimal_comma else None))
            continue
        k, value = _number(fields[columns.k]), _number(fields[columns.value])
        good_k = k is not None and 1 <= k <= MAX_K and k == int(k)
        good_value = value is not None and SMALLEST_VALUE <= value <= LARGEST_VALUE
        if not good_k:
            text = f"{table.headers[columns.k].strip()} is not a whole number of workers from 1"
            faults.append(Fault(text, where=where, value=fields[columns.k].strip()))
        if not good_value:
            text = f"{table.headers[columns.value].strip()} is not a positive finite number"
            faults.append(Fault(text, where=where, value=fields[columns.value].strip()))
        if k is not None and value is not None and good_k and good_value:
            rows.append((k, value))
        if len(faults) > ENOUGH_FAULTS:
            break  # this is no table: counting two million faults would take minutes
    if faults:
        raise FormatError(capped(faults, counted_all=len(faults) <= ENOUGH_FAULTS))
    data = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return data[:, 0], data[:, 1]


def _rows(source: Source, table: TableHeader) -> Iterator[tuple[int, list[str]]]:
    with source.open_text() as file:
        for number, line in enumerate(file, 1):
            text = line.partition("#")[0].strip()
            if number > table.line and text:
                yield number, _split(text, table.delimiter)


def _number(text: str) -> float | None:
    try:
        return float(text) if re.search(r"\d|nan|inf", text.lower()) and "_" not in text else None
    except ValueError:
        return None


READER = Reader("plain-table", "plain table", recognise, read)
