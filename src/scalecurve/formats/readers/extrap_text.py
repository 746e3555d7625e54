"""Extra-P text: PARAMETER, POINTS, REGION, METRIC, and one DATA line (the repeats) for every point.

A comment `# scalecurve {...}` is what our own writer adds, so that a study comes back whole; Extra-P skips comments.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.coercion import as_dict, as_float
from scalecurve.formats.meaning import meaning_of
from scalecurve.formats.readers.extrap_study import stated_facts
from scalecurve.formats.reading import MOST_POINTS, Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance

KEYWORDS = ("PARAMETER", "POINTS", "REGION", "METRIC", "DATA")
OURS = "# scalecurve "
MOST_FAULTS = 20


@dataclass
class _State:
    """Where the reading is: the file's own order gives its lines their meaning."""

    parameters: list[str] = field(default_factory=list)
    coordinates: list[list[str]] = field(default_factory=list)
    region: str = ""
    metric: str = "time"
    index: int = 0
    points: list[Point] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    ours: dict[str, Any] = field(default_factory=dict)


def look(source: Source) -> str | None:
    words = {line.split(" ")[0].split("\t")[0] for line in source.head_text.splitlines()[:2000]}
    return "lines PARAMETER, POINTS and DATA" if {"PARAMETER", "POINTS"} <= words else None


def read(source: Source, wishes: Wishes) -> Reading:
    state = _State()
    for number, line in enumerate(source.text.splitlines(), 1):
        if line.startswith(OURS):
            state.ours = state.ours or _ours(line)
        elif line.strip() and not line.startswith("#"):
            _take(state, number, line)
    if state.faults:
        more = len(state.faults) - MOST_FAULTS
        shown = [*state.faults[:MOST_FAULTS], *([Fault(f"... and {more} more faults")] if more > 0 else [])]
        raise FormatError(shown, subject=source.name)
    facts = stated_facts(state.ours)
    return Reading(
        points=bounded((facts.restated(point) for point in state.points), source.name),
        regime=facts.regime,
        k_unit=facts.k_unit,
        workload=facts.workload,
        warmup=facts.warmup,
        setup=facts.setup,
        provenance=Provenance(tool="Extra-P"),
    )


def _ours(line: str) -> dict[str, Any]:
    try:
        return as_dict(json.loads(line.removeprefix(OURS)))
    except (ValueError, RecursionError):
        return {}


def _take(state: _State, number: int, line: str) -> None:
    keyword, rest = (*line.split(None, 1), "")[:2]
    rest = rest.strip()
    match keyword:
        case "PARAMETER":
            state.parameters += rest.split(" ")
        case "POINTS":
            state.coordinates += _coordinates(rest)
            if len(state.coordinates) > MOST_POINTS:
                raise FormatError(f"more than {MOST_POINTS} POINTS")
        case "REGION":
            state.region, state.index = rest, 0
        case "METRIC":
            state.metric, state.index = rest, 0
        case "DATA":
            _data(state, number, rest)
        case _:
            hint = f"a line begins with one of {', '.join(KEYWORDS)}"
            state.faults.append(Fault("unknown keyword", where=f"line {number}", seen=keyword, remedy=hint))


def _coordinates(text: str) -> list[list[str]]:
    if "(" in text:
        return [part[1].split() for part in islice(re.finditer(r"\(([^()]*)\)", text), MOST_POINTS + 1)]
    return [[value] for value in text.split()]


def _numbers(words: list[str]) -> list[float] | None:
    """All of them, or None where one is no finite number."""
    try:
        values = list(map(float, words))
    except ValueError:
        return None
    return values if all(map(math.isfinite, values)) else None


def _data(state: _State, number: int, text: str) -> None:
    where = f"line {number}"
    if state.index >= len(state.coordinates):
        state.faults.append(Fault("more DATA lines than POINTS", where=where, seen=f"{len(state.coordinates)} points"))
        return
    coordinate = state.coordinates[state.index]
    state.index += 1
    words = text.split()
    values = None if "_" in text else _numbers(words)
    bad = [] if values is not None else [word for word in words if as_float(word) is None]
    if values is None or not values or len(coordinate) != len(state.parameters):
        seen = bad[0] if bad else f"{len(coordinate)} coordinates for {len(state.parameters)} parameters"
        state.faults.append(Fault("not numbers for one point", where=where, seen=seen))
        return
    meaning = meaning_of(state.metric)
    state.points.append(
        Point(
            values=tuple(values)
            if meaning is None or meaning.factor == 1
            else tuple(v * meaning.factor for v in values),
            series=state.region,
            name=state.region,
            metric=state.metric,
            quantity=meaning.quantity if meaning else None,
            unit=meaning.unit if meaning else None,
            fields=dict(zip(state.parameters, coordinate, strict=True)),
        )
    )


READER = Reader("extra-p-text", "Extra-P text", look, read)
