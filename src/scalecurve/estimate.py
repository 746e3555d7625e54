"""A number with its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """A value with an interval at `level`, and the method behind the interval.

    `low` and `high` are None where the data gives no interval (a single sample, an exact number): absent, never 0.
    """

    value: float
    low: float | None = None
    high: float | None = None
    level: float | None = None
    method: str = "point"

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends of the interval; None without one."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def span(self, text: Callable[[float], str], between: str = " to ") -> str | None:
        """The interval as people read it, its ends written by `text`; None without one."""
        return None if self.ends is None else between.join(map(text, self.ends))

    def scaled(self, factor: float) -> Estimate:
        """The same estimate in another unit (factor > 0)."""
        low = None if self.low is None else self.low * factor
        high = None if self.high is None else self.high * factor
        return Estimate(self.value * factor, low, high, self.level, self.method)

    def to_dict(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "method": self.method,
        }


def exact(value: float) -> Estimate:
    """A number that is exact by definition, such as the speedup at the baseline; it has no interval."""
    return Estimate(value, method="exact")
