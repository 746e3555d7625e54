"""Extra-P: its text format, its JSON, its JSON Lines, and the experiment it saves (a zip).

    text      PARAMETER, POINTS, REGION, METRIC, and one DATA line (the repeats) for every point: fewer are refused
    JSON      {"parameters": ["p"], "measurements": {region: {metric: [{"point", "values"}]}}}
    lines     {"params": {"p": 4}, "metric": "time", "callpath": "main", "value": 1.2}
    .extra-p  a zip whose member `experiment.json` has the same shape as the JSON; only that member is read, bounded

Our own writers add a comment `# scalecurve {...}` or a field `scalecurve`, so that an exported study comes back whole.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from itertools import islice
from typing import Any, TypeVar

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import warning
from scalecurve.formats.columns import as_count, as_dict, as_dicts, as_float, as_floats, as_list, as_text, metric_point
from scalecurve.formats.reading import MOST_POINTS, Point, Reader, Reading, ReadOptions, bounded, capped
from scalecurve.formats.source import Source
from scalecurve.study import Provenance, Quantity, Regime, Treatment, Workload
from scalecurve.study.file import unpacked_limit

ZIP = b"PK\x03\x04"
MEMBER = "experiment.json"
KEYWORDS = ("PARAMETER", "POINTS", "REGION", "METRIC", "DATA")
OURS = "# scalecurve "
OLDER_KEYS = {"parameters", "measurements", "coordinates", "callpaths"}

Word = TypeVar("Word", bound=StrEnum)


def recognise_json(source: Source) -> str | None:
    if source.head.startswith(ZIP):
        return f"a zip with {MEMBER}" if MEMBER.encode() in source.content else None
    if source.keys >= OLDER_KEYS:
        return "JSON with parameters, coordinates, callpaths and measurements, as Extra-P 3 reads it"
    return "JSON with parameters and measurements" if {"parameters", "measurements"} <= source.keys else None


def read_json(source: Source, options: ReadOptions) -> Reading:
    zipped = source.head.startswith(ZIP)
    data = _member(source) if zipped else source.json
    if data.keys() >= OLDER_KEYS:
        return Reading(points=_older_points(data), provenance=Provenance(tool="Extra-P"))
    names = [str(name.get("name") if isinstance(name, dict) else name) for name in as_list(data.get("parameters"))]
    points: list[Point] = []
    for region, metrics in as_dict(data.get("measurements")).items():
        for metric, rows in as_dict(metrics).items():
            for row in as_dicts(rows):
                coordinates = as_list(row.get("point") or row.get("coordinate"))
                # In a saved experiment `values` are places in another member of the zip; only the mean stands here.
                values = as_floats([row.get("mean")]) if "coordinate" in row else as_floats(row.get("values"))
                points.append(_point(values, region, metric, dict(zip(names, coordinates, strict=False)), {}))
    return Reading(
        points=bounded(points),
        regime=_word(Regime, data.get("scaling")),
        provenance=Provenance(tool="Extra-P"),
        assumed=("the mean of each point is one observation",) if zipped else (),
    )


def _older_points(data: dict[str, Any]) -> tuple[Point, ...]:
    """The layout of Extra-P 3: every value names its coordinate, callpath and metric by number."""

    def names(key: str) -> dict[str, str]:
        return {str(item.get("id")): as_text(item.get("name"), 500) or "" for item in as_dicts(data.get(key))}

    parameters, metrics, regions = names("parameters"), names("metrics"), names("callpaths")
    coordinates: dict[str, dict[str, Any]] = {}
    for item in as_dicts(data.get("coordinates")):
        pairs = as_dicts(item.get("parameter_value_pairs"))
        by_name = {parameters.get(str(pair.get("parameter_id")), ""): pair.get("parameter_value") for pair in pairs}
        coordinates[str(item.get("id"))] = {name: as_float(value) for name, value in by_name.items() if name}
    values: dict[tuple[str, str, str], list[float]] = {}
    faults: list[Fault] = []
    for i, item in enumerate(as_dicts(data.get("measurements"))):
        key = (str(item.get("callpath_id")), str(item.get("metric_id")), str(item.get("coordinate_id")))
        value = as_float(item.get("value"))
        if value is None or key[0] not in regions or key[1] not in metrics or key[2] not in coordinates:
            faults.append(Fault("a value without its callpath, metric or coordinate", where=f"measurements[{i}]"))
        else:
            values.setdefault(key, []).append(value)
    if faults:
        raise FormatError(capped(faults))
    return bounded(
        _point(numbers, regions[region], metrics[metric], coordinates[coordinate], {})
        for (region, metric, coordinate), numbers in values.items()
    )


def recognise_lines(source: Source) -> str | None:
    first = source.head_text.lstrip().partition("\n")[0]
    if '"params"' not in first or '"value"' not in first or not source.json_lines:
        return None
    return "JSON lines with params and value"


def read_lines(source: Source, options: ReadOptions) -> Reading:
    rows = source.json_lines or []
    ours = as_dict(rows[0].get("scalecurve"))
    points: list[Point] = []
    for row in rows:
        value = row.get("value")
        values = as_floats(value if isinstance(value, list) else [value])
        if values:
            metric, region = as_text(row.get("metric")) or "time", as_text(row.get("callpath"), 500) or ""
            points.append(_point(values, region, metric, as_dict(row.get("params")), ours))
    return _reading(points, ours, source)


def recognise_text(source: Source) -> str | None:
    words = {line.split(" ")[0].split("\t")[0] for line in source.head_text.splitlines()[:2000]}
    return "lines PARAMETER, POINTS and DATA" if {"PARAMETER", "POINTS"} <= words else None


def read_text(source: Source, options: ReadOptions) -> Reading:
    parameters: list[str] = []
    coordinates: list[list[str]] = []
    names, place = {"REGION": "", "METRIC": "time"}, 0
    points: list[Point] = []
    faults: list[Fault] = []
    ours: dict[str, Any] = {}
    for number, line in enumerate(source.text.splitlines(), 1):
        if line.startswith(OURS) and not ours:
            with suppress(ValueError, RecursionError):
                ours = as_dict(json.loads(line.removeprefix(OURS)))
        if not line.strip() or line.startswith("#"):
            continue
        keyword, text = (*line.split(None, 1), "")[:2]
        text = text.strip()
        match keyword:
            case "PARAMETER":
                parameters += text.split(" ")
            case "POINTS":
                groups = islice(re.finditer(r"\(([^()]*)\)", text), MOST_POINTS + 1)
                coordinates += [group[1].split() for group in groups] if "(" in text else [[v] for v in text.split()]
                if len(coordinates) > MOST_POINTS:
                    raise FormatError(f"more than {MOST_POINTS} POINTS")
            case "REGION" | "METRIC":
                faults += _incomplete(names, place, len(coordinates) if place else 0)
                names[keyword], place = text, 0
            case "DATA":
                values = _data(text, coordinates[place : place + 1], len(parameters), f"line {number}", faults)
                if values is not None:
                    fields = dict(zip(parameters, coordinates[place], strict=True))
                    points.append(_point(values, names["REGION"], names["METRIC"], fields, ours))
                place += 1
            case _:
                remedy = f"a line begins with one of {', '.join(KEYWORDS)}"
                faults.append(Fault("unknown keyword", where=f"line {number}", value=keyword, remedy=remedy))
    faults += _incomplete(names, place, len(coordinates))
    if faults:
        raise FormatError(capped(faults))
    text = "the file does not end with a line break: its last number may be cut short"
    remedy = "compare its last line with the tool"
    open_end = () if source.text[-1:] in "\r\n" else (warning("last-line-open", text, remedy=remedy),)
    return replace(_reading(points, ours, source), findings=open_end)


def _incomplete(names: dict[str, str], lines: int, points: int) -> list[Fault]:
    """A fault where a block has fewer DATA lines than there are POINTS; Extra-P refuses such a file too."""
    if lines >= points:
        return []
    text = f"{lines} DATA lines for {points} POINTS"
    where = " ".join(word for word in names.values() if word)
    return [Fault(text, where=where, remedy="the file is cut short: write it again, whole")]


def _data(
    text: str, coordinate: list[list[str]], parameters: int, where: str, faults: list[Fault]
) -> tuple[float, ...] | None:
    """The numbers of one DATA line; None, and a fault, where they are not numbers for one point."""
    if not coordinate:
        faults.append(Fault("more DATA lines than POINTS", where=where))
        return None
    words = text.split()
    try:
        values = tuple(map(float, words)) if "_" not in text else ()
    except ValueError:
        values = ()
    if values and all(map(math.isfinite, values)) and len(coordinate[0]) == parameters:
        return values
    bad = next((word for word in words if as_float(word) is None), None)
    text = bad or f"{len(coordinate[0])} coordinates for {parameters} parameters"
    faults.append(Fault("not numbers for one point", where=where, value=text))
    return None


def _point(
    values: Sequence[float], region: str, metric: str, fields: Mapping[str, Any], ours: Mapping[str, Any]
) -> Point:
    """One point; what our own writer says of the numbers goes before what their names suggest."""
    scalars = {key: value for key, value in fields.items() if isinstance(value, int | float | str)}
    point = metric_point(values, metric, series=region, name=region, fields=scalars)
    quantity = _word(Quantity, ours.get("quantity"))
    if quantity is None:
        return point
    k = as_count(next(iter(scalars.values()))) if len(scalars) == 1 else None
    return replace(point, quantity=quantity, unit=as_text(ours.get("unit")), k=k)


def _reading(points: Sequence[Point], ours: Mapping[str, Any], source: Source) -> Reading:
    return Reading(
        points=bounded(points),
        regime=_word(Regime, ours.get("regime")),
        k_unit=as_text(ours.get("k_unit")),
        workload=Workload(name=as_text(ours.get("name"))),
        warmup=_word(Treatment, ours.get("warmup")) or Treatment.UNKNOWN,
        setup=_word(Treatment, ours.get("setup")) or Treatment.UNKNOWN,
        provenance=Provenance(tool="Extra-P"),
    )


def _word(kind: type[Word], value: Any) -> Word | None:
    return kind(value) if isinstance(value, str) and value in set(kind) else None


def _member(source: Source) -> dict[str, Any]:
    """experiment.json of a saved experiment, refused where it would unpack to too much."""
    limit = unpacked_limit(len(source.content))
    try:
        with zipfile.ZipFile(io.BytesIO(source.content)) as archive, archive.open(MEMBER) as member:
            raw = member.read(limit + 1)
    except Exception as problem:  # zipfile, zlib, lzma and bz2 raise errors of their own for damaged members
        raise FormatError(f"the zip is damaged: {problem}") from None
    if len(raw) > limit:
        raise FormatError(Fault(f"{MEMBER} unpacks to too much", remedy=f"the limit is {limit} bytes"))
    try:
        return as_dict(json.loads(raw, parse_constant=lambda _: None))
    except (ValueError, RecursionError) as problem:
        raise FormatError(f"{MEMBER} is not JSON: {problem}") from None


JSON = Reader("extra-p-json", "Extra-P JSON", recognise_json, read_json)
LINES = Reader("extra-p-lines", "Extra-P JSON Lines", recognise_lines, read_lines)
TEXT = Reader("extra-p-text", "Extra-P text", recognise_text, read_text)
