"""Plain tables in text, and data frames: delimited, Markdown, LaTeX, bars or blanks; long or wide.

A table of two columns of plain numbers is handed to numpy whole, so that ten million rows stay cheap; every other
table is read cell by cell, with a role for each column.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np

from scalecurve.errors import InputError
from scalecurve.formats.curve_choice import matched_count
from scalecurve.formats.reading import Reader, Reading, ReadOptions
from scalecurve.formats.source import Source
from scalecurve.formats.tables.cells import Cells, DecimalMark
from scalecurve.formats.tables.choice import Chooser
from scalecurve.formats.tables.curves import read_table
from scalecurve.formats.tables.dialects import CellGrid, TableLayout, find_layout, read_grid
from scalecurve.study.samples import LARGEST_VALUE, MAX_K, SMALLEST_VALUE

CHECKED_ROWS = 200


def recognise(source: Source) -> str | None:
    is_json = source.looks_like_json or source.name.endswith(".json")
    return None if is_json or b"\x00" in source.head[:4096] else "text without the marks of another format"


def read(source: Source, options: ReadOptions) -> Reading:
    """The curves, in seconds, or in the table's own unit where they are rates."""
    layout = find_layout(source)
    grid = _two_columns(source, layout, options) or read_grid(source, layout)
    return read_table(grid, options, source.name, k_of_name(source, options))


def k_of_name(source: Source, options: ReadOptions) -> int | None:
    """The worker count that `k_from` finds in a file's name; None without a pattern or a match."""
    return None if options.k_from is None else matched_count(options.k_from, source.name)


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


def _two_columns(source: Source, layout: TableLayout, options: ReadOptions) -> CellGrid | None:
    """Two columns of plain numbers by numpy; None where the table has any other form."""
    if len(layout.headers) != 2 or layout.delimiter in ("|", "&"):
        return None
    with source.open_text() as file:
        rows = itertools.islice((line for n, line in enumerate(file, 1) if n > layout.first), CHECKED_ROWS)
        lines = [line.split("#")[0] for line in rows]
    cells = [layout.split(line.strip()) for line in lines if line.strip()]
    if not cells or any(len(row) != 2 for row in cells):
        return None
    try:
        sample = CellGrid(layout.headers, tuple(zip(*cells, strict=True)), range(len(cells)))
        chosen = Chooser(sample, options, DecimalMark.POINT, None).choose()
        if chosen.k is None:
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
    return CellGrid(layout.headers, (data[:, 0], data[:, 1]), range(1, len(data) + 1))


READER = Reader("plain-table", "plain table", recognise, read)
