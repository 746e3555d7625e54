"""Plain rows as JSON: one object per line, or a list of objects, each with a worker count and a time or a rate."""

from __future__ import annotations

from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.reading import Reader, Reading, ReadOptions
from scalecurve.formats.results.plain_table import k_of_name
from scalecurve.formats.source import Source
from scalecurve.formats.tables.curves import read_table
from scalecurve.formats.tables.dialects import CellGrid

MOST_FIELDS = 200


def recognise(source: Source) -> str | None:
    rows = _rows(source)
    scalars = [key for key, value in rows[0].items() if isinstance(value, int | float | str)] if rows else []
    return f"{len(rows)} JSON objects with {', '.join(scalars[:4])}" if len(scalars) > 1 else None


def read(source: Source, options: ReadOptions) -> Reading:
    """The rows as a plain table, whose columns are the fields; nested values are left out."""
    rows = _rows(source)
    headers = tuple(
        dict.fromkeys(key for row in rows for key, value in row.items() if not isinstance(value, dict | list))
    )
    if len(headers) > MOST_FIELDS:
        remedy = "keep the field of K and the field of the time"
        raise FormatError(
            Fault(f"more than {MOST_FIELDS} different fields", value=", ".join(headers[:5]), remedy=remedy)
        )
    columns = tuple([_text(row.get(name)) for row in rows] for name in headers)
    return read_table(
        CellGrid(headers, columns, range(1, len(rows) + 1), "row"), options, source.name, k_of_name(source, options)
    )


def _text(value: Any) -> str:
    """A value as the cell of a table; null is an empty one."""
    return "" if value is None or isinstance(value, dict | list) else value if isinstance(value, str) else repr(value)


def _rows(source: Source) -> list[dict[str, Any]]:
    if isinstance(source.json, list):
        return source.json if all(isinstance(row, dict) for row in source.json) else []
    return source.json_lines or []


READER = Reader("json-rows", "JSON rows", recognise, read)
