"""Tables in binary files: Parquet, Feather (Arrow), Excel (.xlsx) and OpenDocument (.ods); each by an optional package.

They follow the rules of plain tables.  Our own Parquet export states its regime, its unit of K and its name.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from scalecurve.errors import Fault, FormatError, MissingExtra
from scalecurve.formats.reading import Reader, Reading, ReadOptions
from scalecurve.formats.results.plain_table import grid_of_frame, k_of_name
from scalecurve.formats.source import Source, unpacked_limit
from scalecurve.formats.tables.curves import read_table
from scalecurve.formats.tables.dialects import CellGrid
from scalecurve.study import Regime

MOST_ROWS = 1_000_000
ARROW, PARQUET, ZIP = b"ARROW1", b"PAR1", b"PK\x03\x04"
_SHEETS = {"xl/workbook.xml": "an Excel workbook", "content.xml": "an OpenDocument spreadsheet"}


def recognise(source: Source) -> str | None:
    if source.head.startswith(PARQUET):
        return "the mark PAR1 of Parquet"
    if source.head.startswith(ARROW):
        return "the mark ARROW1 of Feather"
    return next((what for name, what in _SHEETS.items() if name in _members(source)), None)


def read(source: Source, options: ReadOptions) -> Reading:
    """The curves of the table; a workbook with several sheets of numbers is asked about."""
    if source.head.startswith((PARQUET, ARROW)):
        return _read_arrow(source, options)
    sheets = _excel_sheets(source) if "xl/workbook.xml" in _members(source) else _open_document_sheets(source)
    filled = {name: rows for name, rows in sheets.items() if len(rows) > 1}
    if len(filled) != 1:
        names = ", ".join(filled) or "none"
        remedy = "save the sheet that is meant as CSV, or leave it alone in the file"
        raise FormatError(Fault(f"there are {len(filled)} sheets with rows", value=names, remedy=remedy))
    return read_table(_grid(next(iter(filled.values()))), options, source.name, k_of_name(source, options))


def _read_arrow(source: Source, options: ReadOptions) -> Reading:
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
    reading = read_table(grid_of_frame(_ArrowFrame(table)), options, source.name, k_of_name(source, options))
    if "scalecurve.regime" not in facts:
        return reading
    return replace(
        reading,
        regime=Regime(facts["scalecurve.regime"]),
        k_unit=facts.get("scalecurve.k_unit") or reading.k_unit,
        workload=replace(reading.workload, name=facts.get("scalecurve.name") or reading.workload.name),
    )


class _ArrowFrame:
    """The part of a frame that is read, of an Arrow table."""

    def __init__(self, table: Any) -> None:
        self.table, self.columns = table, list(table.column_names)

    def __getitem__(self, name: str) -> Any:
        return self.table.column(name)


def _members(source: Source) -> frozenset[str]:
    if not source.head.startswith(ZIP):
        return frozenset()
    try:
        with zipfile.ZipFile(io.BytesIO(source.content)) as archive:
            size = sum(item.file_size for item in archive.infolist())
            return frozenset(archive.namelist()) if size <= unpacked_limit(len(source.content)) else frozenset()
    except (zipfile.BadZipFile, OSError, ValueError):
        return frozenset()


def _excel_sheets(source: Source) -> dict[str, list[list[str]]]:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra("reading an Excel workbook", "sheets") from None
    try:
        book = openpyxl.load_workbook(io.BytesIO(source.content), read_only=True, data_only=True)
        return {sheet.title: _rows(sheet.iter_rows(values_only=True, max_row=MOST_ROWS)) for sheet in book.worksheets}
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as problem:
        raise FormatError(f"the workbook is damaged: {str(problem)[:200]}") from None


def _open_document_sheets(source: Source) -> dict[str, list[list[str]]]:
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
        sheets[str(sheet.getAttribute("name"))] = _rows(rows)
    return sheets


def _rows(rows: Any) -> list[list[str]]:
    """Rows of text without the empty ones; times of day become clock times, whole floats lose their point."""
    texts = [["" if cell is None else _text(cell) for cell in row] for row in rows]
    return [row for row in texts if any(row)]


def _text(cell: Any) -> str:
    return f"{cell:.0f}" if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15 else str(cell)


def _grid(rows: Sequence[Sequence[str]]) -> CellGrid:
    """The rows below the first as a CellGrid; columns without a header are left out where they are empty."""
    width = max(len(row) for row in rows)
    square = [[*row, *[""] * (width - len(row))] for row in rows]
    kept = [i for i in range(width) if any(row[i] for row in square)]
    columns = tuple([row[i] for row in square[1:]] for i in kept)
    return CellGrid(tuple(square[0][i] for i in kept), columns, range(2, len(rows) + 1), "row")


READER = Reader("binary-table", "plain table", recognise, read)
