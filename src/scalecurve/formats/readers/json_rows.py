"""Plain rows as JSON: one object per line, or a list of objects, each with a worker count and a time or a rate."""

from __future__ import annotations

from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.coercion import as_count, as_float
from scalecurve.formats.headers import choose_columns
from scalecurve.formats.reading import Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes

MOST_FAULTS = 20


def look(source: Source) -> str | None:
    rows = _rows(source)
    if not rows:
        return None
    scalar = [key for key, value in rows[0].items() if isinstance(value, int | float | str)]
    return f"{len(rows)} JSON objects with {', '.join(scalar[:4])}" if len(scalar) > 1 else None


def _rows(source: Source) -> list[dict[str, Any]]:
    if isinstance(source.json, list):
        return source.json if source.json and all(isinstance(row, dict) for row in source.json) else []
    return source.json_lines or []


def read(source: Source, wishes: Wishes) -> Reading:
    rows = _rows(source)
    headers = list(dict.fromkeys(key for row in rows for key in row))
    columns = choose_columns(
        headers,
        k_column=wishes.k_column,
        value_column=wishes.value_column,
        quantity=wishes.quantity,
        subject=source.name,
    )
    k_name, value_name = headers[columns.k], headers[columns.value]
    by_k: dict[int, list[float]] = {}
    faults: list[Fault] = []
    for number, row in enumerate(rows, 1):
        k, value = as_count(row.get(k_name)), as_float(row.get(value_name))
        if k is not None and value is not None:
            by_k.setdefault(k, []).append(value * columns.meaning.factor)
        elif len(faults) <= MOST_FAULTS:
            name = k_name if k is None else value_name
            faults.append(Fault(f"{name} is not a usable number", where=f"row {number}", seen=str(row.get(name))[:80]))
    if faults:
        raise FormatError(faults, subject=source.name)
    what: dict[str, Any] = {"metric": value_name, "quantity": columns.meaning.quantity, "unit": columns.meaning.unit}
    points = [Point(values=tuple(values), k=k, fields={k_name: k}, **what) for k, values in by_k.items()]
    return Reading(points=bounded(points, source.name), k_origin=f"`{k_name}`", k_unit=columns.k_unit)


READER = Reader("json-rows", "JSON rows", look, read)
