"""Tables that are no text: JSON, spreadsheets, Arrow columns and data frames, as grids of cells.

Parquet, Feather, Excel (.xlsx) and OpenDocument (.ods) need an optional package each.
"""

from __future__ import annotations

import ast
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError, MissingExtra
from scalecurve.files import MAX_BYTES
from scalecurve.formats.headers import k_unit_of, parse_header, worker_unit
from scalecurve.formats.reading import Reader, Reading, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.formats.tables.cells import CellGrid, Cells
from scalecurve.formats.tables.decision import read, read_table
from scalecurve.formats.tables.structure import NamedTable, grid_of_rows
from scalecurve.study.file import unpacked_limit

MOST_FIELDS = 200
MOST_LINE = 10_000
DEEPEST = 3
_GENERAL = frozenset(("value", "values", "unit", "units", "mean", "median", "min", "max", "std", "stddev", "avg", "n"))
MOST_ROWS = 1_000_000
MOST_OPEN_DOCUMENT = 16 * 1024**2
"""Bytes of XML; odfpy needs about twenty times as much memory."""
MOST_ARROW = 256 * 1024**2
"""Bytes of Arrow columns; their cells as text need several times as much memory."""
ARROW_ROWS = 4096
ARROW, PARQUET, ZIP = b"ARROW1", b"PAR1", b"PK\x03\x04"
_SHEETS = {"xl/workbook.xml": "an Excel workbook", "content.xml": "an OpenDocument spreadsheet"}


def recognise_rows(source: Source) -> str | None:
    """Rows of JSON; below a name or by column only with a field of worker counts, as any JSON holds some list."""
    lists = _named_lists(source.json) if isinstance(source.json, dict) else {}
    if any(k_unit_of(key) for rows in lists.values() for key in rows[0]) and len(lists) > 1:
        return f"JSON lists of objects: {', '.join(list(lists)[:4])}"
    rows = _json_rows(source)
    if rows and isinstance(source.json, dict) and not any(k_unit_of(key) for key in rows[0]):
        return None
    scalars = [key for key, value in rows[0].items() if isinstance(value, int | float | str)] if rows else []
    return f"{len(rows)} JSON objects with {', '.join(scalars[:4])}" if len(scalars) > 1 else None


def recognise_binary(source: Source) -> str | None:
    if source.head.startswith(PARQUET):
        return "the mark PAR1 of Parquet"
    if source.head.startswith(ARROW):
        return "the mark ARROW1 of Feather"
    return next((what for name, what in _SHEETS.items() if name in _members(source)), None)


def read_frame(frame: Any, options: ReadOptions) -> Reading:
    """The curves of a pandas or polars frame, by the same rules as a plain table."""
    return read_table(grid_of_frame(frame), options, "data frame")


def grid_of_frame(frame: Any) -> CellGrid:
    """A frame as a Grid: numbers stay numbers, anything else becomes text; a named index is a column."""
    if any(getattr(getattr(frame, "index", None), "names", ())):
        frame = frame.reset_index()
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


def formed_tables(source: Source) -> tuple[list[NamedTable], Mapping[str, str]]:
    """The tables with their names, and what the metadata of an Arrow table states."""
    if source.head.startswith((PARQUET, ARROW)):
        grid, facts = _arrow_grid(source)
        return [NamedTable("", grid)], facts
    if source.head.startswith(ZIP):
        return _sheets(source), {}
    lists = _named_lists(source.json) if isinstance(source.json, dict) else {}
    if len(lists) > 1:
        return [NamedTable(name, _json_grid(source, [flat(row) for row in rows])) for name, rows in lists.items()], {}
    return [NamedTable("", _json_grid(source, _json_rows(source)))], {}


def _named_lists(data: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The lists of objects below the names of an object that also holds other things: raw_results, summaries."""
    if all(isinstance(own, list) for own in data.values()):
        return {}  # one table: each name is a curve
    return {
        name: own
        for name, own in data.items()
        if isinstance(own, list) and own and all(isinstance(x, dict) for x in own)
    }


def _json_grid(source: Source, rows: Sequence[Mapping[str, Any]]) -> CellGrid:
    """The rows as a table whose columns are the fields; lists inside of them are left out."""
    headers = tuple(dict.fromkeys(key for row in rows for key, value in row.items() if not isinstance(value, list)))
    if len(headers) > MOST_FIELDS:
        remedy = "keep the field of K and the field of the time"
        raise FormatError(
            Fault(f"more than {MOST_FIELDS} different fields", value=", ".join(headers[:5]), remedy=remedy)
        )

    def text(value: Any) -> str:
        nothing = value is None or isinstance(value, list)
        return "" if nothing else value if isinstance(value, str) else repr(value)

    columns = tuple([text(row.get(name)) for row in rows] for name in headers)
    around = source.json.items() if isinstance(source.json, dict) else ()
    caption = "\n".join(f"{key}: {value}" for key, value in around if isinstance(value, str))
    return CellGrid(headers, columns, range(1, len(rows) + 1), "row", caption)


def _json_rows(source: Source) -> list[dict[str, Any]]:
    """The rows of JSON: objects in a list, one a line, below one name, by column or by K; none for other content.

    A field with a list of numbers holds the repeats of its row, where there is one such field.
    """
    rows = [flat(row) for row in _rows_in(source.json) or source.json_lines or _rows_in(_python_rows(source))]
    lists = {key for row in rows[:1] for key, value in row.items() if isinstance(value, list) and value}
    runs = [
        key
        for key in lists
        if "warm" not in key.lower()
        and all(isinstance(own := row.get(key), list) and all(isinstance(x, int | float) for x in own) for row in rows)
    ]
    if len(runs) != 1 or sum(len(row[runs[0]]) for row in rows) > MOST_ROWS:
        return rows
    name = "run" if parse_header(runs[0]).is_count else runs[0]
    return [{**row, name: value} for row in rows for value in row.pop(runs[0])]


def _rows_in(data: Any) -> list[dict[str, Any]]:
    """The rows of JSON in any of the forms that writers of tables use; none for other content."""
    if isinstance(data, list):
        is_square = bool(data) and all(isinstance(row, list) for row in data)
        if is_square and all(isinstance(cell, str) for cell in data[0]):
            return [dict(zip(data[0], row, strict=False)) for row in data[1:]]
        return data if all(isinstance(row, dict) for row in data) else []
    if not isinstance(data, dict) or not data:
        return []
    if len(data) == 1 and isinstance(own := next(iter(data.values())), dict):
        return _rows_in(own)
    for form in (_rows_split, _rows_by_key, _rows_by_series, _rows_by_count, _rows_by_column):
        if rows := form(data):
            return rows
    return []


def _rows_split(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of {"columns": [...], "data": [[...]]}, as pandas writes them."""
    names, cells = data.get("columns"), data.get("data")
    if not (isinstance(names, list) and isinstance(cells, list) and all(isinstance(row, list) for row in cells)):
        return []
    return [dict(zip(map(str, names), row, strict=False)) for row in cells]


def _rows_by_series(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of {curve: [{...}]}."""
    tables = [own and isinstance(own, list) and isinstance(own[0], dict) for own in data.values()]
    rows = ((name, row) for name, own in data.items() for row in _rows_in(own))
    return [{"series": name, **row} for name, row in rows] if len(tables) > 1 and all(tables) else []


def _rows_by_count(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of {K: value} or {K: [values]}."""
    pairs = ((k, own if isinstance(own, list) else [own]) for k, own in data.items())
    return [{"K": k, "value": value} for k, own in pairs for value in own] if all(map(str.isdecimal, data)) else []


def _rows_by_column(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of the only list of objects, or of {column: [cells]}."""
    columns = {key: own for key, own in data.items() if isinstance(own, list)}
    tables = [own for own in columns.values() if own and all(isinstance(row, dict) for row in own)]
    if len(tables) == 1:
        return list(tables[0])
    if len(columns) < 2 or tables or len(set(map(len, columns.values()))) > 1:
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _rows_by_key(data: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of {column: {row: cell}}, {row: {column: cell}}, {K: {column: cell}} or {curve: {column: cells}}."""
    if not all(isinstance(own, dict) for own in data.values()):
        return []
    inner = list(dict.fromkeys(key for own in data.values() for key in own))
    if inner and all(key.isdecimal() for key in inner):
        return [{name: own.get(key) for name, own in data.items()} for key in inner]
    if not all(key.isdecimal() for key in data):
        return [{"series": name, **row} for name, own in data.items() for row in _rows_in(own)]
    named = any(worker_unit(key) for key in inner)
    return [own if named else {"K": key, **own} for key, own in data.items()]


def _python_rows(source: Source) -> list[Any]:
    """The rows of a log with a printed dict on every line; none for any other text."""
    lines = source.text.splitlines() if source.head_text.lstrip()[:2] in ("{'", "[{") else []
    try:
        rows = [ast.literal_eval(line) for line in lines[:MOST_ROWS] if line.strip() and len(line) < MOST_LINE]
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return rows[0] if len(rows) == 1 and isinstance(rows[0], list) else rows


def flat(row: dict[str, Any], above: str = "", depth: int = 0) -> dict[str, Any]:
    """An object with the fields of the objects in it: {"time": {"value": 3, "unit": "ms"}} has `time value`."""
    fields: dict[str, Any] = {}
    for key, value in row.items():
        name = f"{above} {key}" if above and (key in _GENERAL or key in fields) else key
        if isinstance(value, dict) and depth < DEEPEST:
            fields.update((other, own) for other, own in flat(value, key, depth + 1).items() if other not in fields)
        elif not isinstance(value, dict):
            fields[name] = value
    return fields


class _ArrowFrame:
    """The part of a frame that is read, of an Arrow table."""

    def __init__(self, table: Any) -> None:
        self.table, self.columns = table, list(table.column_names)

    def __getitem__(self, name: str) -> Any:
        return self.table.column(name)


def _arrow_grid(source: Source) -> tuple[CellGrid, Mapping[str, str]]:
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        raise MissingExtra("reading Parquet and Feather", "parquet") from None
    content, batches, size = io.BytesIO(source.content), [], 0
    try:
        if source.head.startswith(PARQUET):
            file = parquet.ParquetFile(content)
            schema, parts = file.schema_arrow, file.iter_batches(batch_size=ARROW_ROWS)
        else:
            file = ipc.open_file(content)
            schema, parts = file.schema, (file.get_batch(place) for place in range(file.num_record_batches))
        for batch in parts:  # a small file may unpack to anything, so it is stopped on the way
            batches.append(batch)
            size += batch.nbytes + batch.num_rows
            if size > MOST_ARROW:
                remedy = f"the limit is {MOST_ARROW} bytes; keep the columns of K and of the time"
                raise FormatError(Fault("the columns unpack to too much", value=f"{size} bytes so far", remedy=remedy))
    except (OSError, ValueError) as problem:
        raise FormatError(f"the file is damaged: {str(problem)[:200]}") from None
    facts = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    return grid_of_frame(_ArrowFrame(pyarrow.Table.from_batches(batches, schema))), facts


def _sheets(source: Source) -> list[NamedTable]:
    """The sheets of a workbook."""
    members = _members(source)
    is_excel = "xl/workbook.xml" in members
    limit = min(unpacked_limit(len(source.content)), MAX_BYTES if is_excel else MOST_OPEN_DOCUMENT)
    if sum(members.values()) > limit:
        remedy = f"the limit is {limit} bytes; save the sheet with the runs as CSV"
        raise FormatError(
            Fault("the workbook unpacks to too much", value=f"{sum(members.values())} bytes", remedy=remedy)
        )
    sheets = _excel_sheets(source) if is_excel else _open_document_sheets(source)
    texts = {
        name: [["" if cell is None else _text(cell) for cell in row] for row in rows] for name, rows in sheets.items()
    }
    filled = {name: kept for name, rows in texts.items() if len(kept := [row for row in rows if any(row)]) > 1}
    if not filled:
        raise FormatError(Fault("there are no rows in the workbook", remedy="one observation per row"))
    numerals = {_text(cell) for rows in sheets.values() for row in rows for cell in row if isinstance(cell, float)}
    return [NamedTable(name, _with_numbers(grid_of_rows(rows), numerals)) for name, rows in filled.items()]


def _with_numbers(grid: CellGrid, numerals: set[str]) -> CellGrid:
    """The grid with columns of nothing but these numerals as numbers: the point of a sheet's number parts decimals."""
    columns = [
        np.array(list(map(float, cells))) if numerals.issuperset(cells) else cells for cells in map(list, grid.columns)
    ]
    return replace(grid, columns=tuple(columns))


def _members(source: Source) -> dict[str, int]:
    """The files inside of a workbook, with their bytes when unpacked; none where it is no archive."""
    if not source.head.startswith(ZIP):
        return {}
    try:
        with zipfile.ZipFile(io.BytesIO(source.content)) as archive:
            return {item.filename: item.file_size for item in archive.infolist()}
    except (zipfile.BadZipFile, OSError, ValueError):
        return {}


def _excel_sheets(source: Source) -> dict[str, list[Any]]:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra("reading an Excel workbook", "sheets") from None
    try:
        book = openpyxl.load_workbook(io.BytesIO(source.content), read_only=True, data_only=True)
        return {sheet.title: list(sheet.iter_rows(values_only=True, max_row=MOST_ROWS)) for sheet in book.worksheets}
    except Exception as problem:  # of openpyxl, and of what it unpacks and parses with
        raise FormatError(f"the workbook is damaged: {str(problem).partition(chr(10))[0][:200]}") from None


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
                number = cell.getAttribute("value")
                repeated = min(int(cell.getAttribute("numbercolumnsrepeated") or 1), 100)
                cells += [number if number is not None else extractText(cell)] * repeated
            rows.append(cells)
        sheets[str(sheet.getAttribute("name"))] = rows
    return sheets


def _text(cell: Any) -> str:
    return f"{cell:.0f}" if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15 else str(cell)


ROWS = Reader("json-rows", "JSON rows", recognise_rows, read)
BINARY = Reader("binary-table", "plain table", recognise_binary, read)
