"""Values of foreign files: the meaning of a metric with its unit, parameters in names, and numbers made safe."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from scalecurve.formats.headers import TIME_UNITS as TIME_UNITS
from scalecurve.formats.headers import ValueColumn, value_meaning, worker_unit
from scalecurve.formats.reading import Point
from scalecurve.study import Quantity
from scalecurve.study.run import MAX_K

_RATE_UNIT = re.compile(r".{1,60}?(?:/s|/sec|/second|ps|\s?s\^?-1|Hz)$", re.IGNORECASE)
_PARAMETER = re.compile(r"[\s,/_-]?\b([A-Za-z][A-Za-z_]{0,30})[=:](\d{1,12})\b")
_WORKERS = re.compile(r"(?:(?<=^)|[\s,/_.-])-{0,2}([A-Za-z][A-Za-z-]{0,30})[ =/_-]?(\d{1,9})(?![\w.])")
_CLOCK = re.compile(r"(?:(\d{1,4})-)?(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2}(?:\.\d+)?)")
MOST_NAME = 500
MOST_DIGITS = 40


def metric_meaning(metric: str, unit: str | None = None) -> ValueColumn | None:
    """Time or rate by the unit where one is stated, else by the metric's name; None where neither says."""
    plain = (unit or "").strip().strip("()[]").lower()
    if plain in TIME_UNITS:
        return ValueColumn(Quantity.SECONDS, TIME_UNITS[plain], "s")
    if plain and _RATE_UNIT.fullmatch(plain):
        return ValueColumn(Quantity.THROUGHPUT, unit=unit)
    return value_meaning(metric) if not plain else None


def metric_point(
    values: Iterable[float], metric: str, unit: str | None = None, *, series: str, name: str, fields: Mapping[str, Any]
) -> Point:
    """A point of a metric whose name or unit says what it is; times are converted to seconds."""
    meaning = metric_meaning(metric, unit)
    factor = meaning.factor if meaning else 1.0
    return Point(
        values=tuple(values) if factor == 1 else tuple(value * factor for value in values),
        metric=metric,
        quantity=meaning.quantity if meaning else None,
        unit=(meaning.unit if meaning else None) or unit,
        series=series,
        name=name,
        fields=fields,
    )


def split_name(name: str) -> tuple[str, dict[str, str]]:
    """A benchmark's name without the parameters written into it (`threads=2`, `/threads:2`), and the parameters."""
    name = name[:MOST_NAME]
    fields = {match[1]: match[2] for match in _PARAMETER.finditer(name)}
    plain = _PARAMETER.sub("", name).strip(" ,[]") or name
    if any(map(worker_unit, fields)):
        return plain, fields
    plain, workers = split_command(plain)
    return plain, fields | workers


def split_command(command: str) -> tuple[str, dict[str, str]]:
    """A command or a name without its counts of workers (`-np 4`, `--threads=8`, `threads/8`), and the counts."""
    counts = [match for match in _WORKERS.finditer(command[:MOST_NAME]) if worker_unit(match[1])]
    plain = command[:MOST_NAME]
    for match in reversed(counts):
        plain = plain[: match.start()] + plain[match.end() :]
    return plain.strip() or command, {match[1]: match[2] for match in counts}


def as_float(value: Any) -> float | None:
    """A finite number from a number or a numeral; None for everything else, booleans included."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and (len(value) > MOST_DIGITS or "_" in value):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def clock_seconds(text: str) -> float | None:
    """Seconds of [[DD-]HH:]MM:SS, as batch systems and `time` print them; None for anything else."""
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def as_count(value: Any) -> int | None:
    """A worker count: a whole number from 1 that a Study accepts."""
    number = as_float(value)
    if number is None or number != int(number) or not 1 <= number <= MAX_K:
        return None
    return int(number)


def as_list(value: Any) -> list[Any]:
    """The list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    """The mapping, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_dicts(values: Any) -> list[dict[str, Any]]:
    """The items of a list as mappings, each empty where it is not one."""
    return [as_dict(value) for value in as_list(values)]


def as_text(value: Any, most: int = 200) -> str | None:
    """The text, cut at `most` characters; None for anything else and for empty text."""
    return value[:most] if isinstance(value, str) and value else None


def as_floats(values: Any) -> tuple[float, ...]:
    """Every finite number of a list; the rest is left out."""
    items = as_list(values)
    if all(type(item) is float for item in items):  # the usual case, and much faster to ask once
        return tuple(item for item in items if math.isfinite(item))
    return tuple(number for value in items if (number := as_float(value)) is not None)


def counts_in(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The named fields that hold a worker count."""
    return {name: count for name in names if (count := as_count(values.get(name)))}


def facts(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The named scalar facts: an allow-list, so that nothing else of a foreign file is copied."""
    kept = {name: values.get(name) for name in names}
    return {
        name: value[:300] if isinstance(value, str) else value
        for name, value in kept.items()
        if isinstance(value, str | bool) or as_float(value) is not None
    }
