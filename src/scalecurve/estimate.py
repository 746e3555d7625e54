"""A number with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MATTERS = 1.2  # a smaller ratio changes no decision
HOPELESS = 100.0  # of high over low


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

    def is_above(self, limit: float) -> bool | None:
        """Whether the value lies above a limit; None where its interval reaches to both sides.

        Every decision about one number asks this: where the answer is None, it says that it cannot tell.
        """
        low, high = self.ends or (self.value, self.value)
        return True if low > limit else False if high <= limit else None

    @property
    def says_something(self) -> bool:
        """Whether the interval of a positive value narrows it to less than a hundredfold."""
        low, high = self.ends or (self.value, self.value)
        return high < HOPELESS * low

    def over(self, other: Estimate) -> Estimate:
        """The ratio of this positive value to an independent one; exact where neither has an interval."""
        low, high = self.ends or (self.value, self.value)
        other_low, other_high = other.ends or (other.value, other.value)
        ratio = self.value / other.value
        fall = math.hypot(math.log(self.value / low), math.log(other_high / other.value))
        rise = math.hypot(math.log(high / self.value), math.log(other.value / other_low))
        return Estimate(ratio, ratio * math.exp(-fall), ratio * math.exp(rise), self.level, self.method)

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
