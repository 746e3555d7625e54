"""What a forecast tells: rows (a value with its interval, an interval alone, or a refusal), a backtest, the bend.

The backtest predicts the study's own larger K from its smaller ones; the bend is where the curve is expected to turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalecurve.document import JsonRecord
from scalecurve.findings import Finding, warning
from scalecurve.forecasting.curves import LN2, CurveKind, View
from scalecurve.forecasting.prediction import FEWEST, WIDEST, Prediction, predict_views
from scalecurve.forecasting.published import Calibration
from scalecurve.study import Quantity

GREY, REFUSED = 4.0, 16.0  # times the largest measured K
NO_ANSWER = 30.0  # high over low: nothing can be decided by it
VAGUE, VAGUE_LEVEL = 10.0, 0.9  # high/low at up to 4 times: wider published intervals missed by 32 % in the median
LEAVES = "leaves-the-node"
INTERVAL_ONLY = "interval-only"
WIDENING = 1.5  # of the interval towards worse, for each boundary crossed that was never measured across
BACKTEST_FEWEST, BACKTEST_SHARE = 4, 0.6  # at least so many K, so large a share of them fitted
FAILED_ERROR = 0.5
HORIZON = 16.0
KNEE, EFFICIENCY = "knee (dlnS/dlnK passes 1/2)", "efficiency below 0.7"
WEAK_THRESHOLD = 0.7


@dataclass(frozen=True, kw_only=True)
class ForecastRow:
    """The value expected at K with its interval; all None where the forecast is refused.

    Where too little is known for a value, `value`, `speedup` and `efficiency` are None and the interval stands alone.
    `extrapolation` is K over the largest measured K; up to 1 the row is interpolated between measurements.
    """

    k: int
    quantity: Quantity
    value: float | None = None
    low: float | None = None
    high: float | None = None
    speedup: float | None = None
    efficiency: float | None = None
    extrapolation: float
    refused: bool = False
    findings: tuple[Finding, ...] = ()

    @property
    def seconds(self) -> float | None:
        return self.value if self.quantity is Quantity.SECONDS else None

    @property
    def throughput(self) -> float | None:
        """The rate of all workers together."""
        if self.quantity is Quantity.THROUGHPUT_PER_WORKER:
            return None if self.value is None else self.value * self.k
        return self.value if self.quantity is Quantity.THROUGHPUT else None

    def to_dict(self) -> dict[str, Any]:
        names = ("low", "high", "speedup", "efficiency", "extrapolation", "refused")
        return {"k": self.k, str(self.quantity): self.value} | {name: getattr(self, name) for name in names}


def band(row: ForecastRow) -> dict[str, Any] | None:
    """Speedup and efficiency with the interval of the value carried over; None where the row has no value.

    Both are proportional to 1/T or to the rate, so their ends are the value's ends over the value.
    """
    if row.value is None or row.low is None or row.high is None or row.speedup is None or row.efficiency is None:
        return None
    rising = row.quantity.higher_is_better
    low, high = (row.low / row.value, row.high / row.value) if rising else (row.value / row.high, row.value / row.low)
    shares: dict[str, Any] = {"k": row.k, "extrapolation": row.extrapolation}
    for name, value in (("speedup", row.speedup), ("efficiency", row.efficiency)):
        shares |= {name: value, f"{name}_low": value * low, f"{name}_high": value * high}
    return shares


def _answerable(own: View, level: float, calibration: Calibration) -> int | None:
    """The largest of 2, 4, 8 and 16 times the largest measured K whose interval is narrow enough; None without any."""
    at = np.asarray(own.largest_k * 2.0 ** np.arange(1, 5))
    low, high = predict_views([own], [at], calibration)[0].interval(level)
    narrow = np.flatnonzero(high - low <= math.log(NO_ANSWER) / WIDENING)
    return int(at[narrow[-1]]) if len(narrow) else None


@dataclass(frozen=True)
class _Reading:
    """Log performance at K with its ends; `unsure` where the predictors are too far apart for a value."""

    log: float
    low: float
    high: float
    unsure: bool = False


def rows_of(
    own: View, at: Sequence[int], ahead: Prediction, level: float, extrapolate: bool, calibration: Calibration
) -> Iterator[ForecastRow]:
    """The rows at K: predicted beyond the largest measured K, interpolated within the range."""
    far = np.log2(np.array([k for k in at if k > own.largest_k], dtype=np.float64) / own.largest_k)
    vague = ahead.disagreement(VAGUE_LEVEL) > math.log(VAGUE) * np.maximum(far / 2, 1.0)
    columns = (ahead.ahead, *ahead.interval(level), vague)
    predicted = iter([_Reading(*row) for row in zip(*(column.tolist() for column in columns), strict=True)])
    held = ahead.across is not None  # the boundary of the node, which the interval holds already
    for k in at:
        reading = next(predicted) if k > own.largest_k else _interpolated(own, k, ahead.noise, level)
        crossed = tuple(own.boundaries(k))
        wider = WIDENING ** (len(crossed) - held * any(one.code == LEAVES for one in crossed))
        low = reading.log - min(wider * (reading.log - reading.low), WIDEST)
        low, high = sorted(float(own.value(float(k), end)) for end in (low, reading.high))
        ratio, factor = k / own.largest_k, high / low if low > 0 else math.inf
        row = ForecastRow(k=k, quantity=own.study.quantity, extrapolation=ratio)
        if (ratio > REFUSED or (ratio > 1 and factor > NO_ANSWER)) and not extrapolate:
            refusal = _refusal(k, ratio, factor, _answerable(own, level, calibration))
            yield replace(row, refused=True, findings=(refusal,))
            continue
        doubt = _doubt(own, k, ratio, reading.unsure)
        row = replace(row, low=low, high=high, findings=(*crossed, *doubt))
        if not any(finding.code == INTERVAL_ONLY for finding in doubt):
            value, efficiency = float(own.value(float(k), reading.log)), float(own.efficiency(float(k), reading.log))
            row = replace(row, value=value, speedup=k * efficiency, efficiency=efficiency)
        yield row


def _refusal(k: int, ratio: float, factor: float, known: int | None) -> Finding:
    """Why there is no row at K, and the K that can be answered."""
    message = f"K = {k} is {ratio:.3g} times the largest measured K: a guess, not a forecast"
    if ratio <= REFUSED:
        message = f"K = {k} would be known within a factor of {factor:.0f} only, which is no answer"
    remedy = "measure a larger K, or insist with --extrapolate"
    remedy = f"ask for K = {known}, which can be answered, or {remedy}" if known else remedy
    return warning("forecast-refused", message, remedy=remedy, k=k, extrapolation=ratio)


def _doubt(own: View, k: int, ratio: float, unsure: bool) -> tuple[Finding, ...]:
    """Findings about a row beyond the measured range: only an interval is stated, or the row is far away."""
    points = len(own.fitted.k)
    if ratio > 1 and points < FEWEST:
        message = f"K = {k}: {points} worker counts show a slope but no bend: only the interval is stated"
        remedy = "measure a third K, better five"
        return (warning(INTERVAL_ONLY, message, remedy=remedy, k=k, points=points),)
    if unsure:
        message = f"K = {k}: the predictors are too far apart for a value: only the interval is stated"
        remedy = "measure a K in between, or name siblings with like= (--like)"
        return (warning(INTERVAL_ONLY, message, remedy=remedy, k=k),)
    if ratio > GREY:
        message = f"K = {k} is {ratio:.3g} times the largest measured K; published curves often break within that"
        remedy = "read the interval, not the number; a run in between narrows it most"
        return (warning("far-extrapolation", message, remedy=remedy, k=k, extrapolation=ratio),)
    return ()


def _interpolated(own: View, k: int, noise: float, level: float) -> _Reading:
    """The log-log line between neighbours, 5 % of error per doubling to them.

    Below the smallest K the first slope goes on (at most linear), with 30 % of error per doubling.  The error is taken
    as a Laplace distribution, whose quantile is -ln(1 - level) scales.
    """
    x, y, log_k = np.log(own.points.k), own.points.log_performance, math.log(k)
    gap = float(np.min(np.abs(x - log_k))) / LN2
    below = max(0.0, float(x[0]) - log_k)
    slope = min(max(float((y[1] - y[0]) / (x[1] - x[0])), -1.0), 1.0)
    value = float(np.interp(log_k, x, y)) - slope * below
    half = -math.log(1 - level) * (math.hypot(noise, 0.05 * gap) + 0.005 + 0.3 * below / LN2)
    return _Reading(value, value - half, value + half)


@dataclass(frozen=True)
class BacktestRow(JsonRecord):
    """One K that the backtest predicted, in the study's quantity."""

    k: int
    predicted: float
    measured: float
    low: float
    high: float

    JSON = "k predicted measured low high error inside"

    @property
    def error(self) -> float:
        """The relative error, positive where the forecast was too high."""
        return self.predicted / self.measured - 1

    @property
    def inside(self) -> bool:
        return self.low <= self.measured <= self.high


@dataclass(frozen=True)
class Backtest(JsonRecord):
    """The forecast tried on the study itself: fitted to K up to `fitted_to`, compared with the larger K."""

    fitted_to: int
    rows: tuple[BacktestRow, ...]

    JSON = "fitted_to median_error covered rows"

    @property
    def median_error(self) -> float:
        return float(np.median([abs(row.error) for row in self.rows]))

    @property
    def covered(self) -> float:
        """The share of rows inside their interval."""
        return float(np.mean([row.inside for row in self.rows]))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A warning where the forecast missed this study's own larger K."""
        if self.covered > 0 and self.median_error <= FAILED_ERROR:
            return ()
        missed = "every interval missed" if self.covered == 0 else "not all intervals missed"
        message = (
            f"fitted to K <= {self.fitted_to}, the forecast of this study's own larger K was off by "
            f"{self.median_error:.0%} in the median; {missed}"
        )
        remedy = "do not rely on these rows: check the data for a change of set-up, and measure larger K"
        evidence = {"fitted_to": self.fitted_to, "median_error": self.median_error, "covered": self.covered}
        return (warning("backtest-failed", message, remedy=remedy, **evidence),)


def backtest(view: View, level: float, calibration: Calibration) -> Backtest | None:
    """Fit the smaller 60 % of K and predict the rest; None with fewer than four K, which would leave too few to fit."""
    points = view.fitted
    if len(points.k) < BACKTEST_FEWEST:
        return None
    n = max(3, math.ceil(BACKTEST_SHARE * len(points.k)))
    k = points.k[n:]
    ahead = predict_views([view.up_to(n)], [k], calibration)[0]
    ends = [view.value(k, end) for end in ahead.interval(level)]
    predicted, measured = view.value(k, ahead.ahead), view.value(k, points.log_performance[n:])
    columns = (k.astype(int), predicted, measured, np.minimum(*ends), np.maximum(*ends))
    rows = tuple(BacktestRow(*numbers) for numbers in zip(*(column.tolist() for column in columns), strict=True))
    return Backtest(int(points.k[n - 1]), rows)


@dataclass(frozen=True)
class ExpectedBend(JsonRecord):
    """The K where the curve is expected to bend; None: not within 16 times the largest measured K, or fewer than 3 K.

    Strong scaling: the knee, where d ln S / d ln K passes 1/2, which is the K with the largest S*E.  Weak scaling: the
    first K with an efficiency below 0.7.  `low` and `high` are the bend on the two edges of the interval, `measured`
    says that `k` lies below the largest measured K.
    """

    rule: str
    k: float | None
    low: float | None
    high: float | None
    measured: bool

    def sentence(self, measured_to: float) -> str:
        """Where the bend lies; `measured_to` is the largest measured K, which an end of the interval may pass."""
        beyond = self.high is None or max(self.low or 0.0, self.high) > measured_to or self.low is None
        if self.k is None:
            edges = [end for end in (self.low, self.high) if end is not None]
            earliest = f", but an edge of the interval bends at K = {min(edges):,.0f}" if edges else ""
            return f"No bend expected within {HORIZON:g} times the largest measured K{earliest} ({self.rule})."
        low, high = ("beyond the horizon" if end is None else f"{end:,.0f}" for end in (self.low, self.high))
        where, past = "expected", ""
        if self.measured:
            where = f"{'probably' if beyond else 'already'} within the measured range"
            past = f", past the largest measured K = {measured_to:,.0f}" if beyond else ""
        span = "" if low == high == f"{self.k:,.0f}" else f"from {low} to {high}{past}; "
        return f"The bend is {where}, near K = {self.k:,.0f} ({span}rule: {self.rule})."


def expected_bend(view: View, level: float, calibration: Calibration) -> ExpectedBend:
    """The rule applied to the measured curve continued by half-doublings, and to both edges of its interval."""
    strong = view.kind is CurveKind.STRONG
    grid = np.asarray(view.largest_k * 2.0 ** (np.arange(1, 9) / 2))
    ahead = predict_views([view], [grid], calibration)[0]
    k, bends = np.r_[view.points.k, grid], []
    for edge in (ahead.ahead, *ahead.interval(level)):
        log = np.r_[view.points.log_performance, edge]
        if strong:
            best = int(np.argmax(2 * log - np.log(k)))  # ln of S^2/K up to a constant
            bends.append(None if best == len(k) - 1 else float(k[best]))
        else:
            below = np.flatnonzero(view.efficiency(k, log) < WEAK_THRESHOLD)
            bends.append(float(k[below[0]]) if len(below) else None)
    place, low, high = bends
    if len(view.fitted.k) < FEWEST:
        place = None
    measured = place is not None and place < view.largest_k  # at the last K only the forecast makes it a bend
    return ExpectedBend(KNEE if strong else EFFICIENCY, place, low, high, measured)
