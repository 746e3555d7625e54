"""Printed figures: what a number on paper may have been before it was rounded.

A figure such as `3.5` stands for anything from 3.45 to 3.55; tables that cut digits off mean up to 3.6.  The audit
compares such spans, so that rounding is never called an error.
The figures of an efficiency column may be shares, percent, a mixture of both, or speedups in the wrong column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scalecurve.auditing.claim import Claim, ClaimPoint

MOST_UNIT = 0.05  # of a value whose printed digits are not known
SLACK = 0.002  # of the value, for figures that were made from figures rounded before
SHARE, PERCENT, SPEEDUP = "share", "percent", "speedup"
MOST_SHARE = 1.5  # a share above this is none
LEAST_PERCENT = 15.0  # a column of percent reaches this somewhere
FACTORS = {SHARE: 1.0, PERCENT: 0.01}


@dataclass(frozen=True)
class FigureRange:
    """The numbers that a printed figure, or a formula of printed figures, may stand for.

    `printed` is what the figures give as they stand on the paper.
    """

    low: float
    high: float
    printed: float

    def times(self, other: FigureRange | float) -> FigureRange:
        """The product, of positive numbers."""
        by = other if isinstance(other, FigureRange) else exactly(other)
        return FigureRange(self.low * by.low, self.high * by.high, self.printed * by.printed)

    def over(self, other: FigureRange | float) -> FigureRange:
        """The quotient, of positive numbers; unbounded where the divisor may be 0."""
        by = other if isinstance(other, FigureRange) else exactly(other)
        high, printed = (
            value / of if of > 0 else math.inf for value, of in ((self.high, by.low), (self.printed, by.printed))
        )
        return FigureRange(self.low / by.high, high, printed)

    def contains(self, value: float) -> bool:
        return self.low * (1 - SLACK) <= value <= self.high * (1 + SLACK)

    def agrees(self, other: FigureRange) -> bool:
        """Whether both may be one and the same number."""
        return self.low * (1 - SLACK) <= other.high and other.low * (1 - SLACK) <= self.high


def exactly(value: float) -> FigureRange:
    """A number that is not rounded."""
    return FigureRange(value, value, value)


def span_of(value: float, unit: float | None = None) -> FigureRange:
    """What `value` stands for; `unit` is that of its last printed digit.

    Without it the digits of the shortest form count, but `5` may have been written as `5.00`: at most 5 % then.
    """
    if unit is not None:
        return FigureRange(max(0.0, value - unit / 2), value + unit, value)
    half = min(10.0 ** -len(f"{value:.10g}".partition("e")[0].partition(".")[2]), MOST_UNIT * value) / 2
    return FigureRange(value - half, value + half, value)


def figure(point: ClaimPoint, name: str) -> FigureRange | None:
    """The span of one figure of a point; None where it is not printed, or is 0 and divides."""
    value = getattr(point, name)
    if value is None or (value == 0 and name not in ("speedup", "efficiency")):
        return None
    return span_of(value, point.last_digit.get(name))


def cost_of(point: ClaimPoint, *, weak: bool) -> FigureRange | None:
    """What E(K) divides by, up to a constant: K T (strong), T (weak), K/rate, or 1/(rate per worker)."""
    if (seconds := figure(point, "seconds")) is not None:
        return seconds if weak else seconds.times(float(point.k))
    if (rate := figure(point, "rate")) is not None:
        return exactly(point.k).over(rate)
    if (own := figure(point, "rate_per_worker")) is not None:
        return exactly(1.0).over(own)
    return None


Row = tuple["ClaimPoint", FigureRange]


@dataclass(frozen=True)
class Agreement:
    """One way to read two columns: the rows that contradict it, and the constant that the others agree on."""

    name: str
    constant: FigureRange | None
    apart: tuple[Row, ...]
    rows: int


def agreement(name: str, rows: list[Row], anchor: FigureRange | None) -> Agreement:
    """Rows whose value should be one constant: `anchor` where the table says it, else what most rows agree on."""
    constant = anchor
    if constant is None and rows:
        constant = max(
            (span for _, span in rows),
            key=lambda span: (sum(span.agrees(other) for _, other in rows), span.low - span.high),
        )
    apart = tuple(row for row in rows if constant is not None and not row[1].agrees(constant))
    return Agreement(name, constant, apart, len(rows))


def best(candidates: list[Agreement]) -> Agreement | None:
    """The reading with the fewest rows against it, the first among equals; None where nothing can be compared."""
    comparable = [one for one in candidates if one.rows]
    return min(comparable, key=lambda one: len(one.apart), default=None)


def rows_of(claim: Claim, value: Callable[[ClaimPoint], FigureRange | None]) -> list[Row]:
    """Every point for which the value can be formed, K rising."""
    points = sorted(claim.points, key=lambda point: point.k)
    return [(point, span) for point in points if (span := value(point)) is not None]


def times_rows(claim: Claim, column: str, *, weak: bool) -> list[Row]:
    """A column times what it should be inversely proportional to: K T E (or T E), or T S."""

    def product(point: ClaimPoint) -> FigureRange | None:
        own, cost = figure(point, column), cost_of(point, weak=weak)
        if own is None or cost is None:
            return None
        return own.times(cost) if column == "efficiency" else own.times(cost).over(float(point.k))

    return rows_of(claim, product)


def anchored(claim: Claim, column: str) -> bool:
    """Whether the table itself holds the point that the column is relative to (its figure there is 1, or K0)."""
    base = claim.at(claim.baseline_k)
    if base is None:
        return False
    own = figure(base, column)
    ends = (1.0,) if column == "efficiency" else (1.0, float(base.k))
    if own is not None:
        return any(own.contains(end) for end in ends)
    return base.timed and (claim.baseline.k is not None or base.k == 1)


def settle_units(points: Sequence[ClaimPoint], baseline_k: int, regime: str | None) -> list[str]:
    """The unit of each point's efficiency figure, from the other columns where they decide it, else from the column."""
    column = [(point, point.efficiency) for point in points if point.efficiency is not None]
    column.sort(key=lambda pair: pair[0].k)
    if not column:
        return [SHARE] * len(points)
    expected = {point.k: _expected(point, points, baseline_k, regime) for point, _ in column}
    if _is_speedup(column, expected, baseline_k):
        return [SPEEDUP] * len(points)
    values = [value for _, value in column]
    in_percent = max(values) > LEAST_PERCENT or any(point.efficiency_unit == PERCENT for point, _ in column)
    in_percent = in_percent and max(values) > MOST_SHARE  # else headed percent, but written as shares
    units = {}
    for place, (point, value) in enumerate(column):
        by_others = _unit_by_others(point, value, expected[point.k])
        by_column = _nearer(value, values, place) if in_percent else SHARE
        units[point.k] = by_others or by_column
    return [units.get(point.k, SHARE) for point in points]


def _unit_by_others(point: ClaimPoint, value: float, expected: tuple[FigureRange, ...]) -> str | None:
    """The unit that a sign or the other columns say; None where they leave both open."""
    if point.percent_sign:
        return PERCENT
    fits = [unit for unit in FACTORS if _agrees(value, point, unit, expected)]
    return fits[0] if len(fits) == 1 else None


def _expected(
    point: ClaimPoint, points: Sequence[ClaimPoint], baseline_k: int, regime: str | None
) -> tuple[FigureRange, ...]:
    """What E could be by the speedup and by the times."""
    if point.k == baseline_k:
        return (exactly(1.0),)
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
    if other and sum(matches) >= len(other) and not any(plain) and column[-1][1] > column[0][1]:
        return True  # figures that fall may be speedups too, but are those of weak scaling under another name
    return not any(plain) and _rises_as_a_speedup(column, baseline_k)


def _rises_as_a_speedup(column: list[tuple[ClaimPoint, float]], baseline_k: int) -> bool:
    """Whether the figures start at 1 (or K/K0), rise, stay below K and go beyond any share."""
    values = [value for _, value in column]
    rising = all(later > earlier for earlier, later in pairwise(values))
    starts = 0.5 <= values[0] / (column[0][0].k / baseline_k) <= MOST_SHARE or values[0] == 1
    within = all(value <= 1.1 * point.k for point, value in column)
    return len(values) > 1 and rising and starts and within and max(values) > MOST_SHARE


def _nearer(value: float, values: list[float], place: int) -> str:
    """For a small figure among percent: the unit that brings it nearer to its neighbours."""
    neighbours = [
        other / 100 if other > MOST_SHARE else other
        for other in values[max(0, place - 1) : place] + values[place + 1 : place + 2]
    ]
    if value == 0 or value > MOST_SHARE or not neighbours:
        return PERCENT

    def distance(share: float) -> float:
        return min((abs(math.log(share / other)) for other in neighbours if other > 0), default=0.0)

    return SHARE if distance(value) < distance(value / 100) else PERCENT
