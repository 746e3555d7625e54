"""Printed figures: what a number on paper may have been before it was rounded.

A figure such as `3.5` stands for anything from 3.45 to 3.55; tables that cut digits off mean up to 3.6.  The audit
compares such spans, so that rounding is never called an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scalecurve.auditing.claim import Claim, ClaimPoint

MOST_UNIT = 0.05  # of a value whose printed digits are not known
SLACK = 0.002  # of the value, for figures that were made from figures rounded before


@dataclass(frozen=True)
class FigureRange:
    """The numbers that a printed figure, or a formula of printed figures, may stand for."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def times(self, other: FigureRange | float) -> FigureRange:
        """The product, of positive numbers."""
        if isinstance(other, FigureRange):
            return FigureRange(self.low * other.low, self.high * other.high)
        return FigureRange(self.low * other, self.high * other)

    def over(self, other: FigureRange | float) -> FigureRange:
        """The quotient, of positive numbers; unbounded where the divisor may be 0."""
        if not isinstance(other, FigureRange):
            return FigureRange(self.low / other, self.high / other)
        return FigureRange(self.low / other.high, self.high / other.low if other.low > 0 else float("inf"))

    def contains(self, value: float) -> bool:
        return self.low * (1 - SLACK) <= value <= self.high * (1 + SLACK)

    def agrees(self, other: FigureRange) -> bool:
        """Whether both may be one and the same number."""
        return self.low * (1 - SLACK) <= other.high and other.low * (1 - SLACK) <= self.high


def span_of(value: float, unit: float | None = None) -> FigureRange:
    """What `value` stands for; `unit` is that of its last printed digit.

    Without it the digits of the shortest form count, but `5` may have been written as `5.00`: at most 5 % then.
    """
    if unit is not None:
        return FigureRange(max(0.0, value - unit / 2), value + unit)
    half = min(10.0 ** -len(f"{value:.10g}".partition("e")[0].partition(".")[2]), MOST_UNIT * value) / 2
    return FigureRange(value - half, value + half)


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
        return FigureRange(point.k, point.k).over(rate)
    if (own := figure(point, "rate_per_worker")) is not None:
        return FigureRange(1.0, 1.0).over(own)
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
