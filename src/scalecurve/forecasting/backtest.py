"""The forecast tried on the user's own data: fit the smaller K, predict the larger, compare."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.forecasting.calibration import Calibration
from scalecurve.forecasting.curves import Curve
from scalecurve.forecasting.engine import predict
from scalecurve.forecasting.view import View

FEWEST = 4
SHARE = 0.6


@dataclass(frozen=True)
class BacktestRow:
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
        own = {"k": self.k, "predicted": self.predicted, "measured": self.measured, "low": self.low, "high": self.high}
        return own | {"error": self.error, "inside": self.inside}


@dataclass(frozen=True)
class Backtest:
    """`fitted_to` is the largest K the backtest was allowed to see."""

    fitted_to: int
    rows: tuple[BacktestRow, ...]

    @property
    def median_error(self) -> float:
        return float(np.median([abs(row.error) for row in self.rows]))

    @property
    def covered(self) -> float:
        return float(np.mean([row.inside for row in self.rows]))

    def to_dict(self) -> dict[str, Any]:
        return {
            "fitted_to": self.fitted_to,
            "median_error": self.median_error,
            "covered": self.covered,
            "rows": [row.to_dict() for row in self.rows],
        }


def backtest(view: View, level: float, calibration: Calibration) -> Backtest | None:
    """None with fewer than four K: nothing could be left out and still leave three."""
    points = view.fitted
    if len(points.k) < FEWEST:
        return None
    n = max(3, math.ceil(SHARE * len(points.k)))
    error = None if points.error is None else points.error[:n]
    seen = Curve(points.k[:n], points.log_performance[:n], error, points.believed)
    made = predict([seen], [view.path], [points.k[n:]], calibration)[0]
    half = np.minimum(calibration.widths[view.path].quantile(level) * made.scale, 30.0)
    predicted = view.value(points.k[n:], made.ahead)
    measured = view.value(points.k[n:], points.log_performance[n:])
    columns = (points.k[n:].astype(int), predicted, measured, predicted * np.exp(-half), predicted * np.exp(half))
    rows = tuple(BacktestRow(*numbers) for numbers in zip(*(c.tolist() for c in columns), strict=True))
    return Backtest(int(seen.k[-1]), rows)
