"""What a metric's name and unit say: a time in some unit, a rate, or nothing certain."""

from __future__ import annotations

import re

from scalecurve.formats.headers import TIME_UNITS, ValueColumn, value_meaning
from scalecurve.study import Quantity

_RATE = re.compile(r".{1,60}?(?:/s|/sec|/second|ps|\s?s\^?-1|Hz)$", re.IGNORECASE)


def meaning_of(metric: str, unit: str | None = None) -> ValueColumn | None:
    """By the unit first, then by the name."""
    plain = (unit or "").strip().strip("()[]").lower()
    if plain in TIME_UNITS:
        return ValueColumn(Quantity.SECONDS, TIME_UNITS[plain], "s")
    if plain and _RATE.fullmatch(plain):
        return ValueColumn(Quantity.THROUGHPUT, unit=unit)
    return value_meaning(metric) if not plain else None
