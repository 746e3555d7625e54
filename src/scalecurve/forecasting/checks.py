"""Two checks of a forecast: the study's own larger K predicted from its smaller ones, and where the curve will bend."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scalecurve.findings import Finding, warning
from scalecurve.forecasting.calibration import Calibration
from scalecurve.forecasting.siblings import predict_views
from scalecurve.forecasting.view import CurveKind, View

FEWEST, SHARE = 4, 0.6  # of the backtest: at least so many K, so large a share of them fitted
FAILED_ERROR = 0.5
HORIZON = 16.0
KNEE, EFFICIENCY = "knee (dlnS/dlnK passes 1/2)", "efficiency below 0.7"
WEAK_THRESHOLD = 0.7


@dataclass(frozen=True)
class BacktestRow:
    """One K that the backtest predicted, in the study's quantity."""

    k: int
    predicted: float
    measured: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """Relative, positive where the forecast was too high."""
        return self.predicted / self.measured - 1

    @property
    def inside(self) -> bool:
        return self.low <= self.measured <= self.high

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"error": self.error, "inside": self.inside}


@dataclass(frozen=True)
class Backtest:
    """The forecast tried on the study itself: fitted to K up to `fitted_to`, compared with the larger K."""

    fitted_to: int
    rows: tuple[BacktestRow, ...]

    @property
    def median_error(self) -> float:
        return float(np.median([abs(row.error) for row in self.rows]))

    @property
    def covered(self) -> float:
        """The share of rows inside their interval."""
        return float(np.mean([row.inside for row in self.rows]))

    def to_dict(self) -> dict[str, Any]:
        rows = [row.to_dict() for row in self.rows]
        figures = {"median_error": self.median_error, "covered": self.covered}
        return {"fitted_to": self.fitted_to, **figures, "rows": rows}

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
    if len(points.k) < FEWEST:
        return None
    n = max(3, math.ceil(SHARE * len(points.k)))
    k = points.k[n:]
    ahead = predict_views([view.up_to(n)], [k], calibration)[0]
    ends = [view.value(k, end) for end in ahead.interval(level)]
    predicted, measured = view.value(k, ahead.ahead), view.value(k, points.log_performance[n:])
    columns = (k.astype(int), predicted, measured, np.minimum(*ends), np.maximum(*ends))
    rows = tuple(BacktestRow(*numbers) for numbers in zip(*(column.tolist() for column in columns), strict=True))
    return Backtest(int(points.k[n - 1]), rows)


@dataclass(frozen=True)
class ExpectedBend:
    """The K where the curve is expected to bend; None: not within 16 times the largest measured K.

    Strong scaling: the knee, where d ln S / d ln K passes 1/2, which is the K with the largest S*E.  Weak scaling: the
    first K with an efficiency below 0.7.  `low` and `high` are the bend on the two edges of the interval.
    """

    rule: str
    k: float | None
    low: float | None
    high: float | None
    measured: bool

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def sentence(self) -> str:
        if self.k is None:
            return f"No bend expected within {HORIZON:g} times the largest measured K ({self.rule})."
        where = "already within the measured range" if self.measured else "expected"
        ends = " to ".join("beyond the horizon" if end is None else f"{end:.3g}" for end in (self.low, self.high))
        return f"The bend is {where}, near K = {self.k:.3g} (from {ends}; rule: {self.rule})."


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
    measured = place is not None and place < view.largest_k  # at the last K only the forecast makes it a bend
    return ExpectedBend(KNEE if strong else EFFICIENCY, place, low, high, measured)
