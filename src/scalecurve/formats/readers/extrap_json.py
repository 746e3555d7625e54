"""Extra-P JSON, new (`{"parameters": ["p"], "measurements": {region: {metric: [{"point", "values"}]}}}`) and its zip.

An `.extra-p` file is a zip whose member `experiment.json` has the same shape; only that member is read, bounded.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.coercion import as_dict, as_floats, as_list
from scalecurve.formats.meaning import meaning_of
from scalecurve.formats.reading import Point, Reader, Reading, bounded
from scalecurve.formats.source import MAX_UNPACKED, Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, Regime

ZIP = b"PK\x03\x04"
MEMBER = "experiment.json"


def look(source: Source) -> str | None:
    if source.head.startswith(ZIP):
        return "a zip with experiment.json" if MEMBER.encode() in source.content else None
    if {"parameters", "measurements"} <= source.keys and "callpaths" not in source.keys:
        return "JSON with parameters and measurements"
    return None


def read(source: Source, wishes: Wishes) -> Reading:
    data = _member(source) if source.head.startswith(ZIP) else source.json
    names = [str(name.get("name") if isinstance(name, dict) else name) for name in as_list(data.get("parameters"))]
    scaling = data.get("scaling")
    return Reading(
        points=bounded(_points(as_dict(data.get("measurements")), names), source.name),
        regime=Regime(scaling) if isinstance(scaling, str) and scaling in set(Regime) else None,
        provenance=Provenance(tool="Extra-P"),
        assumed=("the mean of each point is one observation",) if source.head.startswith(ZIP) else (),
    )


def _points(measurements: dict[str, Any], names: list[str]) -> Iterator[Point]:
    for region, metrics in measurements.items():
        for metric, rows in as_dict(metrics).items():
            meaning = meaning_of(metric)
            for row in map(as_dict, as_list(rows)):
                fields = dict(zip(names, as_list(row.get("point") or row.get("coordinate")), strict=False))
                values = _values(row)
                yield Point(
                    values=tuple(value * (meaning.factor if meaning else 1.0) for value in values),
                    series=region,
                    name=region,
                    metric=metric,
                    quantity=meaning.quantity if meaning else None,
                    unit=meaning.unit if meaning else None,
                    fields={key: value for key, value in fields.items() if isinstance(value, int | float | str)},
                )


def _values(row: dict[str, Any]) -> tuple[float, ...]:
    """In a saved experiment `values` are places in another member of the zip, and only the mean stands here."""
    return as_floats([row.get("mean")]) if "coordinate" in row else as_floats(row.get("values"))


def _member(source: Source) -> dict[str, Any]:
    """The one member that is wanted, refused where it would unpack to too much."""
    try:
        with zipfile.ZipFile(io.BytesIO(source.content)) as archive, archive.open(MEMBER) as member:
            raw = member.read(MAX_UNPACKED + 1)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, OSError, EOFError, ValueError) as problem:
        raise FormatError(f"the zip cannot be read: {problem}", subject=source.name) from None
    except Exception as problem:  # zlib, lzma and bz2 raise errors of their own for damaged members
        raise FormatError(f"the zip is damaged: {problem}", subject=source.name) from None
    if len(raw) > MAX_UNPACKED:
        raise FormatError(
            Fault(f"{MEMBER} unpacks to too much", remedy=f"the limit is {MAX_UNPACKED} bytes"), subject=source.name
        )
    try:
        return as_dict(json.loads(raw, parse_constant=lambda _: None))
    except (ValueError, RecursionError) as problem:
        raise FormatError(f"{MEMBER} is not JSON: {problem}", subject=source.name) from None


READER = Reader("extra-p-json", "Extra-P JSON", look, read)
