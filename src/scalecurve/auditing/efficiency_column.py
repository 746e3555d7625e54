"""What the figures of an efficiency column are: shares, percent, a mixture of both, or speedups in the wrong column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from scalecurve.auditing.figures import FigureRange, cost_of, figure, span_of

if TYPE_CHECKING:
    from scalecurve.auditing.claim import ClaimPoint

SHARE, PERCENT, SPEEDUP = "share", "percent", "speedup"
MOST_SHARE = 1.5  # a share above this is none
LEAST_PERCENT = 15.0  # a column of percent reaches this somewhere
FACTORS = {SHARE: 1.0, PERCENT: 0.01}


def settle_units(points: Sequence[ClaimPoint], baseline_k: int, regime: str | None) -> list[str]:
    """The unit of each point's efficiency figure, from the other columns where they decide it, else from the column."""
    column = [(point, point.efficiency) for point in points if point.efficiency is not None]
    column.sort(key=lambda pair: pair[0].k)
    if not column:
        return [SHARE for _ in points]
    expected = {point.k: _expected(point, points, baseline_k, regime) for point, _ in column}
    if _is_speedup(column, expected, baseline_k):
        return [SPEEDUP for _ in points]
    units = {}
    values = [value for _, value in column]
    in_percent = max(values) > LEAST_PERCENT or any(point.efficiency_unit == PERCENT for point, _ in column)
    shares = in_percent and max(values) <= MOST_SHARE  # headed percent, written as shares
    for place, (point, value) in enumerate(column):
        fits = [unit for unit in FACTORS if _agrees(value, point, unit, expected[point.k])]
        if point.percent_sign:
            units[point.k] = PERCENT
        elif len(fits) == 1:
            units[point.k] = fits[0]
        elif not in_percent or shares:
            units[point.k] = SHARE
        elif value > MOST_SHARE:
            units[point.k] = PERCENT
        else:
            units[point.k] = _nearer(value, values, place)
    return [units.get(point.k, SHARE) for point in points]


def _expected(
    point: ClaimPoint, points: Sequence[ClaimPoint], baseline_k: int, regime: str | None
) -> tuple[FigureRange, ...]:
    """What E could be by the speedup and by the times."""
    if point.k == baseline_k:
        return (FigureRange(1.0, 1.0),)
    spans = []
    if (speedup := figure(point, "speedup")) is not None:
        spans += [speedup.over(float(point.k)), speedup.times(baseline_k / point.k)]
    base = next((other for other in points if other.k == baseline_k), None)
    for weak in (False, True):
        own, first = cost_of(point, weak=weak), None if base is None else cost_of(base, weak=weak)
        if own is not None and first is not None and (regime != "strong" or not weak):
            spans.append(first.over(own))
    return tuple(spans)


def _agrees(value: float, point: ClaimPoint, unit: str, expected: tuple[FigureRange, ...]) -> bool:
    own = span_of(value, point.last_digit.get("efficiency")).times(FACTORS[unit])
    return any(own.agrees(span) for span in expected)


def _is_speedup(
    column: list[tuple[ClaimPoint, float]], expected: dict[int, tuple[FigureRange, ...]], baseline_k: int
) -> bool:
    """Figures that rise from 1 with K, beyond what a share can be, and that K can explain."""
    beyond = [(point, value) for point, value in column if point.k > baseline_k]
    if not beyond or any(point.percent_sign for point, _ in column):
        return False
    other = [(point, value) for point, value in beyond if expected[point.k]]
    matches = [
        any(span_of(v, p.last_digit.get("efficiency")).over(float(p.k)).times(c).agrees(e) for e in expected[p.k])
        for p, v in other
        for c in (1.0, float(baseline_k))
    ]
    plain = [_agrees(value, point, unit, expected[point.k]) for point, value in other for unit in FACTORS]
    if other and sum(matches) >= len(other) and not any(plain):
        return True
    values = [value for _, value in column]
    rising = all(later > earlier for earlier, later in pairwise(values))
    starts = 0.5 <= values[0] / (column[0][0].k / baseline_k) <= MOST_SHARE or values[0] == 1
    within = all(value <= 1.1 * point.k for point, value in column)
    return len(values) > 1 and rising and starts and within and max(values) > MOST_SHARE and not any(plain)


def _nearer(value: float, values: list[float], place: int) -> str:
    """For a small figure among percent: the unit that brings it nearer to its neighbours."""
    neighbours = [
        other / 100 if other > MOST_SHARE else other
        for other in values[max(0, place - 1) : place] + values[place + 1 : place + 2]
    ]
    if value == 0 or not neighbours:
        return PERCENT

    def distance(share: float) -> float:
        return min((abs(math.log(share / other)) for other in neighbours if other > 0), default=0.0)

    return SHARE if distance(value) < distance(value / 100) else PERCENT
