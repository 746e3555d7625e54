"""What an audit looks at: a claim, however little of it is known.

A paper's table, a vendor's slide, a bare "180x on 256" and a full study all become a Claim; what was not said is None.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scalecurve.study import Treatment


@dataclass(frozen=True, kw_only=True)
class Point:
    """One K as it was reported; `speedup` and `efficiency` are the published ones, not ours."""

    k: int
    seconds: float | None = None
    rate: float | None = None
    rate_per_worker: float | None = None
    std: float | None = None
    n: int | None = None
    speedup: float | None = None
    efficiency: float | None = None
    work: float | None = None
    batch: float | None = None
    iterations: float | None = None
    target: str | None = None
    machine: str | None = None
    threads: int | None = None
    answers: tuple[str | float, ...] = ()
    oversubscribed: bool = False
    extrapolated: bool = False

    @property
    def size(self) -> float | None:
        """The total work as far as it was said: counted work, or the global batch."""
        return self.work if self.work is not None else self.batch


@dataclass(frozen=True, kw_only=True)
class ClaimedBaseline:
    """What the K = 1 (or K0) run was."""

    k: int | None = None
    description: str | None = None
    distributed: bool | None = None
    fastest: bool | None = None
    options: tuple[str, ...] = ()
    precision: str | None = None
    hardware: str | None = None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Numbers with what was said about them."""

    name: str
    kind: str = "claim"
    statement: str | None = None
    source: str | None = None
    regime: str | None = None
    k_unit: str = "workers"
    points: tuple[Point, ...] = ()
    baseline: ClaimedBaseline = field(default_factory=ClaimedBaseline)
    precision: str | None = None
    workload: str | None = None
    workload_fixed: bool | None = None
    warmup: Treatment = Treatment.UNKNOWN
    setup: Treatment = Treatment.UNKNOWN
    repeats: int | None = None
    fresh_launches: bool | None = None
    spread_reported: bool | None = None
    hardware: str | None = None
    software: str | None = None
    clusters: int | None = None
    ideal_line: bool | None = None
    strong_also: bool | None = None
    communication_free: bool = False

    @property
    def baseline_k(self) -> int:
        if self.baseline.k is not None:
            return self.baseline.k
        timed = [point.k for point in self.points if point.seconds or point.rate or point.rate_per_worker]
        if len(timed) > 1:
            return min(timed)
        ones = [point.k for point in self.points if point.speedup == 1]
        return min(ones) if len(self.points) > 1 and ones and min(ones) == min(p.k for p in self.points) else 1

    def at(self, k: int) -> Point | None:
        return next((point for point in self.points if point.k == k), None)

    def efficiency_of(self, point: Point) -> float | None:
        """E recomputed: from times or rates where both ends are known, else as published."""
        return _from_times(self, point) or _from_speedup(self, point) or point.efficiency

    def efficiencies(self) -> Iterator[tuple[Point, float]]:
        """Every point beyond the baseline with its E, K rising."""
        for point in sorted(self.points, key=lambda each: each.k):
            found = self.efficiency_of(point)
            if found is not None and point.k != self.baseline_k:
                yield point, found


def _from_times(claim: Claim, point: Point) -> float | None:
    base = claim.at(claim.baseline_k)
    if base is None or base is point:
        return None
    if base.seconds and point.seconds:
        ratio = base.seconds / point.seconds
        return ratio if claim.regime == "weak" else ratio * base.k / point.k
    if base.rate and point.rate:
        return (point.rate / point.k) / (base.rate / base.k)
    if base.rate_per_worker and point.rate_per_worker:
        return point.rate_per_worker / base.rate_per_worker
    return None


def _from_speedup(claim: Claim, point: Point) -> float | None:
    """A speedup over K0 workers is spread over K/K0."""
    return None if point.speedup is None else point.speedup * claim.baseline_k / point.k
