"""Plain tables in text, JSON rows, spreadsheets, Arrow columns and data frames: one reader of cells for all of them.

Text is delimited, Markdown, LaTeX, bars or blanks; Parquet, Feather, Excel (.xlsx) and OpenDocument (.ods) need an
optional package each.  A table of plain numbers is handed to numpy whole, so that ten million rows stay cheap.  Our own
Parquet export states its regime, its unit of K and its name.
"""

from __future__ import annotations

import io
import itertools
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError, MissingExtra
from scalecurve.formats.curve_choice import matched_count
from scalecurve.formats.headers import parse_header
from scalecurve.formats.reading import Reader, Reading, ReadOptions
from scalecurve.formats.source import Source, unpacked_limit
from scalecurve.formats.tables.cells import Cells, DecimalMark, labels_of
from scalecurve.formats.tables.choice import Chooser, Chosen
from scalecurve.formats.tables.curves import read_table
from scalecurve.formats.tables.dialects import CellGrid, TableLayout, find_layout, grid_of_rows, read_grid
from scalecurve.formats.tables.layout import lengthen
from scalecurve.study import Regime
from scalecurve.study.run import LARGEST_VALUE, MAX_K, SMALLEST_VALUE

CHECKED_ROWS = 200
MOST_FIELDS = 200
MOST_ROWS = 1_000_000
ARROW, PARQUET, ZIP = b"ARROW1", b"PAR1", b"PK\x03\x04"
_SHEETS = {"xl/workbook.xml": "an Excel workbook", "content.xml": "an OpenDocument spreadsheet"}


def recognise_text(source: Source) -> str | None:
    is_json = source.looks_like_json or source.name.endswith(".json")
    return None if is_json or b"\x00" in source.head[:4096] else "text without the marks of another format"


def recognise_rows(source: Source) -> str | None:
    rows = _json_rows(source)
    scalars = [key for key, value in rows[0].items() if isinstance(value, int | float | str)] if rows else []
    return f"{len(rows)} JSON objects with {', '.join(scalars[:4])}" if len(scalars) > 1 else None


def recognise_binary(source: Source) -> str | None:
    if source.head.startswith(PARQUET):
        return "the mark PAR1 of Parquet"
    if source.head.startswith(ARROW):
        return "the mark ARROW1 of Feather"
    return next((what for name, what in _SHEETS.items() if name in _members(source)), None)


def read(source: Source, options: ReadOptions) -> Reading:
    """The curves, in seconds, or in the table's own unit where they are rates."""
    grid, facts = _grid_and_facts(source, options)
    k = None if options.k_from is None else matched_count(options.k_from, source.name)
    reading = read_table(grid, options, source.name, k)
    if "scalecurve.regime" not in facts:
        return reading
    return replace(
        reading,
        regime=Regime(facts["scalecurve.regime"]),
        k_unit=facts.get("scalecurve.k_unit") or reading.k_unit,
        workload=replace(reading.workload, name=facts.get("scalecurve.name") or reading.workload.name),
    )


def grid_of(source: Source) -> CellGrid:
    """The cells of a table in any of these forms, all as text where it is text."""
    return (
        read_grid(source, find_layout(source)) if recognise_text(source) else _grid_and_facts(source, ReadOptions())[0]
    )


def read_frame(frame: Any, options: ReadOptions) -> Reading:
    """The curves of a pandas or polars frame, by the same rules as a plain table."""
    return read_table(grid_of_frame(frame), options, "data frame")


def grid_of_frame(frame: Any) -> CellGrid:
    """A frame as a Grid: numbers stay numbers, anything else becomes text."""
    columns: list[Cells] = []
    for name in frame.columns:
        column = frame[name]
        array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column.to_list())
        if array.dtype.kind == "m":
            array = array / np.timedelta64(1, "s")
            columns.append([f"{value!r} s" for value in array.tolist()])
        else:
            columns.append(
                array if array.dtype.kind in "iuf" else ["" if cell is None else str(cell) for cell in array.tolist()]
            )
    headers = tuple(str(name) for name in frame.columns)
    if not columns or not len(columns[0]):
        raise InputError("the frame has no rows")
    return CellGrid(headers, tuple(columns), range(1, len(columns[0]) + 1), "row")


def _grid_and_facts(source: Source, options: ReadOptions) -> tuple[CellGrid, Mapping[str, str]]:
    """The cells, and what the metadata of an Arrow table states."""
    if source.head.startswith((PARQUET, ARROW)):
        return _arrow_grid(source)
    if source.head.startswith(ZIP):
        return _sheet_grid(source), {}
    if source.looks_like_json:
        return _json_grid(source), {}
    layout = find_layout(source)
    return _all_numbers(source, layout, options) or read_grid(source, layout), {}


def _all_numbers(source: Source, layout: TableLayout, options: ReadOptions) -> CellGrid | None:
    """A long table of plain numbers by numpy; None where the table has any other form, or a number is out of range."""
    width = len(layout.headers)
    if width < 2 or layout.delimiter in ("|", "&"):
        return None
    with source.open_text() as file:
        rows = itertools.islice((line for n, line in enumerate(file, 1) if n > layout.first), CHECKED_ROWS)
        lines = [line.split("#")[0] for line in rows]
    cells = [layout.split(line.strip()) for line in lines if line.strip()]
    if not cells or any(len(row) != width for row in cells):
        return None
    try:
        sample = CellGrid(layout.headers, tuple(zip(*cells, strict=True)), range(len(cells)))
        chosen = Chooser(sample, options, DecimalMark.POINT, None).choose()
        if chosen.k is None or lengthen(sample, options).grid is not sample or _has_labels(sample, chosen):
            return None
        with source.open_text() as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            delimiter = None if layout.delimiter == "  " else layout.delimiter
            data = np.loadtxt(file, delimiter=delimiter, skiprows=layout.first, ndmin=2, comments="#", quotechar='"')
    except UnicodeDecodeError:
        raise
    except (ValueError, IndexError, InputError):
        return None
    k, value = data[:, chosen.k], data[:, chosen.value] * chosen.meaning.factor
    good_k = bool(((k >= 1) & (k <= MAX_K) & (k == np.floor(k))).all())
    if not good_k or not bool(((value >= SMALLEST_VALUE) & (value <= LARGEST_VALUE)).all()):
        return None
    return CellGrid(layout.headers, tuple(np.ascontiguousarray(column) for column in data.T), range(1, len(data) + 1))


def _has_labels(sample: CellGrid, chosen: Chosen) -> bool:
    """Whether a column beside K and the observations may hold names that look like numbers: versions such as 1.10."""
    for i, header in enumerate(sample.headers):
        head = parse_header(header)
        measured = head.unit is not None or head.other_unit is not None or head.is_derived
        if i not in (chosen.k, chosen.value) and not measured and not head.is_repeat:
            cells = sample.columns[i]
            if chosen.unit_column == i or any(
                label != cell for label, cell in zip(labels_of(np.array(list(map(float, cells)))), cells, strict=True)
            ):
                return True
    return False


def _json_grid(source: Source) -> CellGrid:
    """The rows as a table whose columns are the fields; nested values are left out."""
    rows = _json_rows(source)
    headers = tuple(
        dict.fromkeys(key for row in rows for key, value in row.items() if not isinstance(value, dict | list))
    )
    if len(headers) > MOST_FIELDS:
        remedy = "keep the field of K and the field of the time"
        raise FormatError(
            Fault(f"more than {MOST_FIELDS} different fields", value=", ".join(headers[:5]), remedy=remedy)
        )

    def text(value: Any) -> str:
        nothing = value is None or isinstance(value, dict | list)
        return "" if nothing else value if isinstance(value, str) else repr(value)

    columns = tuple([text(row.get(name)) for row in rows] for name in headers)
    return CellGrid(headers, columns, range(1, len(rows) + 1), "row")


def _json_rows(source: Source) -> list[dict[str, Any]]:
    if isinstance(source.json, list):
        return source.json if all(isinstance(row, dict) for row in source.json) else []
    return source.json_lines or []


class _ArrowFrame:
    """The part of a frame that is read, of an Arrow table."""

    def __init__(self, table: Any) -> None:
        self.table, self.columns = table, list(table.column_names)

    def __getitem__(self, name: str) -> Any:
        return self.table.column(name)


def _arrow_grid(source: Source) -> tuple[CellGrid, Mapping[str, str]]:
    try:
        from pyarrow import feather, parquet
    except ImportError:
        raise MissingExtra("reading Parquet and Feather", "parquet") from None
    load: Callable[[Any], Any] = parquet.read_table if source.head.startswith(PARQUET) else feather.read_table
    try:
        table = load(io.BytesIO(source.content))
    except (OSError, ValueError) as problem:
        raise FormatError(f"the file is damaged: {str(problem)[:200]}") from None
    facts = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    return grid_of_frame(_ArrowFrame(table)), facts


def _sheet_grid(source: Source) -> CellGrid:
    """The rows of the only sheet that has any; a workbook with several is asked about."""
    sheets = _excel_sheets(source) if "xl/workbook.xml" in _members(source) else _open_document_sheets(source)
    texts = {
        name: [["" if cell is None else _text(cell) for cell in row] for row in rows] for name, rows in sheets.items()
    }
    filled = {name: kept for name, rows in texts.items() if len(kept := [row for row in rows if any(row)]) > 1}
    if len(filled) != 1:
        names = ", ".join(filled) or "none"
        remedy = "save the sheet that is meant as CSV, or leave it alone in the file"
        raise FormatError(Fault(f"there are {len(filled)} sheets with rows", value=names, remedy=remedy))
    return grid_of_rows(next(iter(filled.values())))


def _members(source: Source) -> frozenset[str]:
    if not source.head.startswith(ZIP):
        return frozenset()
    try:
        with zipfile.ZipFile(io.BytesIO(source.content)) as archive:
            size = sum(item.file_size for item in archive.infolist())
            return frozenset(archive.namelist()) if size <= unpacked_limit(len(source.content)) else frozenset()
    except (zipfile.BadZipFile, OSError, ValueError):
        return frozenset()


def _excel_sheets(source: Source) -> dict[str, list[Any]]:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra("reading an Excel workbook", "sheets") from None
    try:
        book = openpyxl.load_workbook(io.BytesIO(source.content), read_only=True, data_only=True)
        return {sheet.title: list(sheet.iter_rows(values_only=True, max_row=MOST_ROWS)) for sheet in book.worksheets}
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as problem:
        raise FormatError(f"the workbook is damaged: {str(problem)[:200]}") from None


def _open_document_sheets(source: Source) -> dict[str, list[Any]]:
    try:
        from odf.opendocument import load
        from odf.table import Table, TableCell, TableRow
        from odf.teletype import extractText
    except ImportError:
        raise MissingExtra("reading an OpenDocument spreadsheet", "sheets") from None
    sheets = {}
    for sheet in load(io.BytesIO(source.content)).spreadsheet.getElementsByType(Table):
        rows = []
        for row in sheet.getElementsByType(TableRow):
            cells: list[Any] = []
            for cell in row.getElementsByType(TableCell):
                stated = cell.getAttribute("value")
                repeated = min(int(cell.getAttribute("numbercolumnsrepeated") or 1), 100)
                cells += [stated if stated is not None else extractText(cell)] * repeated
            rows.append(cells)
        sheets[str(sheet.getAttribute("name"))] = rows
    return sheets


def _text(cell: Any) -> str:
    return f"{cell:.0f}" if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15 else str(cell)


READER = Reader("plain-table", "plain table", recognise_text, read)
ROWS = Reader("json-rows", "JSON rows", recognise_rows, read)
BINARY = Reader("binary-table", "plain table", recognise_binary, read)
