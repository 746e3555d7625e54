"""When enough launches have been made.

The interval of T at one point is Student's t on its fresh launches, mean +- t(n-1) s / sqrt(n); steps within a run
never enter, because runs differ by more than their steps do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

MIN_FOR_INTERVAL = 3


def relative_halfwidth(values: Sequence[float], level: float) -> float | None:
    """Half the interval over the mean; None while there are too few launches to say."""
    n = len(values)
    if n < MIN_FOR_INTERVAL:
        return None
    return _quantile(n, level) * spread_of(values) / math.sqrt(n)


def spread_of(values: Sequence[float]) -> float:
    """Coefficient of variation, s over mean."""
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(variance) / mean


def is_precise(values: Sequence[float], precision: float | None, level: float) -> bool:
    if precision is None:
        return True
    width = relative_halfwidth(values, level)
    return width is not None and width <= precision


def repeats_needed(cv: float, precision: float, level: float, most: int = 100_000) -> int:
    """The least n with t(n-1) cv / sqrt(n) <= precision; `most` when even that is not enough."""
    low, high = MIN_FOR_INTERVAL, most
    while low < high:
        middle = (low + high) // 2
        if _quantile(middle, level) * cv / math.sqrt(middle) <= precision:
            high = middle
        else:
            low = middle + 1
    return low


def _quantile(n: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + level) / 2))
