"""Plain rows as JSON: one object per line, or a list of objects, each with a worker count and a time or a rate."""

from __future__ import annotations

from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.columns import as_count, as_float, choose_columns
from scalecurve.formats.reading import MOST_FAULTS, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source


def recognise(source: Source) -> str | None:
    rows = _rows(source)
    scalars = [key for key, value in rows[0].items() if isinstance(value, int | float | str)] if rows else []
    return f"{len(rows)} JSON objects with {', '.join(scalars[:4])}" if len(scalars) > 1 else None


def read(source: Source, options: ReadOptions) -> Reading:
    rows = _rows(source)
    headers = list(dict.fromkeys(key for row in rows for key in row))
    columns = choose_columns(headers, options)
    k_name, value_name, meaning = headers[columns.k], headers[columns.value], columns.meaning
    by_k: dict[int, list[float]] = {}
    faults: list[Fault] = []
    for number, row in enumerate(rows, 1):
        k, value = as_count(row.get(k_name)), as_float(row.get(value_name))
        if k is not None and value is not None:
            by_k.setdefault(k, []).append(value * meaning.factor)
        elif len(faults) <= MOST_FAULTS:
            name = k_name if k is None else value_name
            faults.append(Fault(f"{name} is not a usable number", where=f"row {number}", value=str(row.get(name))[:80]))
    if faults:
        raise FormatError(faults)
    points = [
        Point(
            values=tuple(values),
            k=k,
            fields={k_name: k},
            metric=value_name,
            quantity=meaning.quantity,
            unit=meaning.unit,
        )
        for k, values in by_k.items()
    ]
    return Reading(points=bounded(points), k_origin=f"`{k_name}`", k_unit=columns.k_unit)


def _rows(source: Source) -> list[dict[str, Any]]:
    if isinstance(source.json, list):
        return source.json if all(isinstance(row, dict) for row in source.json) else []
    return source.json_lines or []


READER = Reader("json-rows", "JSON rows", recognise, read)
