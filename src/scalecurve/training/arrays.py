"""The number type of the physics: every formula takes arrays that broadcast, so one configuration and a whole search
space run through the same code."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def as_array(value: Any) -> Array:
    return np.asarray(value, dtype=np.float64)


def ceiling_division(number: Array, divisor: Array | float) -> Array:
    """Whole tiles: never fewer than one."""
    result: Array = np.maximum(np.ceil(number / divisor), 1.0)
    return result


def soft_maximum(first: Array, second: Array, share: Array | float) -> Array:
    """max(a, b) + share * min(a, b): two things at once that disturb one another by `share` of the smaller."""
    result: Array = np.maximum(first, second) + share * np.minimum(first, second)
    return result
