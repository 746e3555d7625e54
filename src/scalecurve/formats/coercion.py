"""Foreign values made safe: a number, a count, a list or a mapping, or None where they are not."""

from __future__ import annotations

import math
from typing import Any

from scalecurve.study.samples import MAX_K

MOST_DIGITS = 40


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


def as_count(value: Any) -> int | None:
    """A worker count: a whole number from 1 that a Study accepts."""
    number = as_float(value)
    if number is None or number != int(number) or not 1 <= number <= MAX_K:
        return None
    return int(number)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_text(value: Any, most: int = 200) -> str | None:
    return value[:most] if isinstance(value, str) and value else None


def as_floats(values: Any) -> tuple[float, ...]:
    """Every finite number of a list; what is none is left out."""
    items = as_list(values)
    if all(type(item) is float for item in items):  # the usual case, and much faster to ask once
        return tuple(item for item in items if math.isfinite(item))
    return tuple(number for value in items if (number := as_float(value)) is not None)


def facts(source: dict[str, Any], *names: str) -> dict[str, Any]:
    """The named scalar facts that are there: an allow-list, so that nothing else of a foreign file is carried on."""
    kept = {name: source.get(name) for name in names}
    return {
        name: value[:300] if isinstance(value, str) else value
        for name, value in kept.items()
        if isinstance(value, str | bool) or as_float(value) is not None
    }
