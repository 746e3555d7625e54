"""Forecast times for pricing, at the highest level the forecast's intervals were calibrated for."""

from __future__ import annotations

from collections.abc import Sequence

from scalecurve.forecasting.calibration import shipped
from scalecurve.forecasting.forecast import forecast
from scalecurve.forecasting.row import ForecastRow
from scalecurve.study import Study


def forecast_rows(study: Study, workers: Sequence[int], level: float) -> tuple[float, tuple[ForecastRow, ...]]:
    """The rows at these K, and the level of their intervals."""
    calibration = shipped()
    highest = min(width.highest_level for width in calibration.widths.values())
    used = min(level, highest)
    return used, forecast(study, workers, level=used, calibration=calibration).rows
