"""Extra-P JSON Lines: `{"params": {"p": 4}, "metric": "time", "callpath": "main", "value": 1.2}`."""

from __future__ import annotations

from typing import Any

from scalecurve.formats.coercion import as_dict, as_float, as_floats, as_text
from scalecurve.formats.meaning import meaning_of
from scalecurve.formats.readers.extrap_study import StatedFacts, stated_facts
from scalecurve.formats.reading import Point, Reader, Reading, bounded
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance


def look(source: Source) -> str | None:
    first = source.head_text.lstrip().partition("\n")[0]
    if '"params"' not in first or '"value"' not in first or not source.json_lines:
        return None
    return "JSON lines with params and value"


def read(source: Source, wishes: Wishes) -> Reading:
    rows = source.json_lines or []
    facts = stated_facts(as_dict(rows[0].get("scalecurve")))
    points = [point for row in rows if (point := _point(row, facts)) is not None]
    return Reading(
        points=bounded(points, source.name),
        regime=facts.regime,
        k_unit=facts.k_unit,
        workload=facts.workload,
        warmup=facts.warmup,
        setup=facts.setup,
        provenance=Provenance(tool="Extra-P"),
    )


def _point(row: dict[str, Any], facts: StatedFacts) -> Point | None:
    value = row.get("value")
    single = as_float(value)
    values = as_floats(value) if isinstance(value, list) else (single,) if single is not None else ()
    if not values:
        return None
    metric, region = as_text(row.get("metric")) or "time", as_text(row.get("callpath"), 500) or ""
    meaning = meaning_of(metric)
    scaled = tuple(number * (meaning.factor if meaning else 1.0) for number in values)
    fields = {
        key: number for key, number in as_dict(row.get("params")).items() if isinstance(number, int | float | str)
    }
    quantity, unit = (meaning.quantity, meaning.unit) if meaning else (None, None)
    return facts.restated(
        Point(values=scaled, series=region, name=region, metric=metric, quantity=quantity, unit=unit, fields=fields)
    )


READER = Reader("extra-p-lines", "Extra-P JSON Lines", look, read)
