"""The time of one result over K, from whatever knows it: measurements, a forecast, a law or a plan.

A *result* is the job at the baseline K0.  Under weak scaling the job at K holds K/K0 of them, so that the time of one
is T(K) K0/K, and cost(K)/cost(K0) = 1/E(K) holds in both regimes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding


class Kind(StrEnum):
    """How a time is known."""

    MEASURED = "measured"
    INTERPOLATED = "interpolated"
    FORECAST = "forecast"
    LAW = "law"
    PLANNED = "planned"


@dataclass(frozen=True)
class Repeats:
    """How many runs stand behind a measured time, and their standard deviation in seconds per result."""

    n: int
    std: float


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """The time of one result on K workers."""

    k: int
    seconds: Estimate
    kind: Kind
    repeats: Repeats | None = None


@dataclass(frozen=True, kw_only=True)
class TimeCurve:
    """Times over K, rising; `result` says what one result is."""

    name: str
    points: tuple[CurvePoint, ...]
    baseline_k: int
    k_unit: str = "workers"
    result: str = "one job"
    node_size: int | None = None
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        if not self.points:
            raise InputError(Fault("there is no K to price", remedy="give worker counts, such as --workers 1..512"))
        object.__setattr__(self, "points", tuple(sorted(self.points, key=lambda point: point.k)))

    def point(self, k: int) -> CurvePoint:
        for point in self.points:
            if point.k == k:
                return point
        raise InputError(Fault("this K is not on the curve", seen=str(k)))

    def limited(self, most: int) -> TimeCurve:
        """The part of the curve that fits into `most` workers."""
        kept = tuple(point for point in self.points if point.k <= most)
        if not kept:
            smallest = self.points[0].k
            raise InputError(
                Fault(
                    "the fleet is smaller than the smallest K",
                    where="fleet",
                    seen=str(most),
                    remedy=f"at least {smallest}",
                )
            )
        return replace(self, points=kept)


def interpolate(points: Sequence[CurvePoint], k: int) -> CurvePoint:
    """Between two neighbours on a straight line in log T over log K: a power law from one to the next.

    The interval is the neighbours' interpolated in the same way: it holds their noise, not the line's own error.
    """
    below = [point for point in points if point.k < k]
    above = [point for point in points if point.k > k]
    if not below or not above:
        raise InputError(
            Fault("outside the measured range", where="K", seen=str(k), remedy="forecast it, or measure it")
        )
    left, right = below[-1], above[0]
    share = math.log(k / left.k) / math.log(right.k / left.k)
    seconds = _between(left.seconds, right.seconds, share)
    return CurvePoint(k=k, seconds=seconds, kind=Kind.INTERPOLATED)


def _between(left: Estimate, right: Estimate, share: float) -> Estimate:
    method = "log-log interpolation between neighbours"
    value = _power(left.value, right.value, share)
    ends = (left.low, right.low, left.high, right.high)
    if any(end is None or end <= 0 for end in ends):
        return Estimate(value, method=method)
    low, high = _power(left.low or 0.0, right.low or 0.0, share), _power(left.high or 0.0, right.high or 0.0, share)
    return Estimate(value, low, high, left.level, method)


def _power(left: float, right: float, share: float) -> float:
    return math.exp((1.0 - share) * math.log(left) + share * math.log(right))
