"""What is known of efficiency at some K: a number, an interval, or only a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding
from scalecurve.study import Regime


@dataclass(frozen=True, kw_only=True)
class Ranged:
    """A number somebody stated or measured, its range where it has one, and who says so."""

    value: float
    low: float | None = None
    high: float | None = None
    source: str = "stated"


@dataclass(frozen=True, kw_only=True)
class Known:
    """Efficiency at K relative to K0; `value` None where only `low` or `high` was stated."""

    k: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    kind: str = "stated"
    seconds: Estimate | None = None

    @property
    def at_least(self) -> float | None:
        """The efficiency it surely has: the value, or the stated bound."""
        return self.value if self.value is not None else self.low

    @property
    def at_most(self) -> float | None:
        return self.value if self.value is not None else self.high

    def reaches(self, floor: float) -> bool | None:
        """Whether E >= floor; None where what is known does not decide it."""
        if self.at_least is not None and self.at_least >= floor:
            return True
        if self.at_most is not None and (self.at_most < floor or (self.value is None and self.at_most <= floor)):
            return False
        return None

    def unsure(self, floor: float) -> bool:
        """The value decides, but its interval contains the floor."""
        return None not in (self.value, self.low, self.high) and (self.low or 0) < floor <= (self.high or 0)

    def scaled(self, factor: float) -> Known:
        def times(value: float | None) -> float | None:
            return None if value is None else value * factor

        return replace(self, value=times(self.value), low=times(self.low), high=times(self.high))

    def to_dict(self) -> dict[str, Any]:
        seconds = None if self.seconds is None else self.seconds.to_dict()
        return {
            "k": self.k,
            "efficiency": self.value,
            "low": self.low,
            "high": self.high,
            "kind": self.kind,
            "seconds": seconds,
        }


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Efficiency over K in one regime, from one source.

    `beyond` answers for K that are not among the points (an interpolation, a forecast, a model), or returns None.
    `serial` is the serial share fitted to the same data, where there is one.
    """

    regime: Regime
    baseline_k: int
    points: tuple[Known, ...]
    source: str
    beyond: Callable[[int], Known | None] | None = None
    serial: Ranged | None = None
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.points, key=lambda point: point.k))
        object.__setattr__(self, "points", ordered)
        repeated = [a.k for a, b in pairwise(ordered) if a.k == b.k]
        if repeated:
            listed = ", ".join(map(str, repeated))
            raise InputError(Fault("a K is stated twice", where=f"{self.regime}.points", seen=listed))

    def at(self, k: int) -> Known | None:
        for point in self.points:
            if point.k == k:
                return point
        return None if self.beyond is None else self.beyond(k)

    def scaled_at(self, k: int, factor: float) -> Evidence:
        """The same evidence with another efficiency at K: to see how much a verdict hangs on it."""
        known = self.at(k)
        if known is None:
            return self
        others = tuple(point for point in self.points if point.k != k)
        return replace(self, points=(*others, known.scaled(factor)))

    def bend(self, threshold: float) -> tuple[int, int | None] | None:
        """The first known K with E below the threshold, and the largest K before it that reaches it."""
        reached: int | None = None
        for point in self.points:
            decided = point.reaches(threshold)
            if decided is False:
                return point.k, reached
            reached = point.k if decided else reached
        return None

    def largest_reaching(self, floor: float, *, most: int | None = None) -> Known | None:
        """The largest known K with E >= floor, before the first that falls below it."""
        best = None
        for point in self.points:
            if point.reaches(floor) is False:
                break
            if point.reaches(floor) and (most is None or point.k <= most):
                best = point
        return best
