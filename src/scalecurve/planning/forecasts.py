"""Forecast times for pricing: rows on demand, or a forecast that was already made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scalecurve.forecasting.calibration import shipped
from scalecurve.forecasting.forecast import Forecast, ForecastRow, forecast
from scalecurve.planning.curve import TimeCurve
from scalecurve.planning.curve_sources import curve_of_study, predicted_point, seconds_per_result
from scalecurve.study import Study


def forecast_rows(study: Study, workers: Sequence[int], level: float) -> tuple[float, tuple[ForecastRow, ...]]:
    """The rows at these K, and the level of their intervals: the one asked for, or the highest calibrated."""
    calibration = shipped()
    highest = min(width.highest_level for width in calibration.widths.values())
    used = min(level, highest)
    return used, forecast(study, workers, level=used, calibration=calibration).rows


def curve_of_forecast(made: Forecast, *, work_per_job: float | None = None) -> TimeCurve:
    """The measured K of the study behind a forecast, and the forecast's rows beyond them, as they were made."""
    study = made.view.study
    measured = curve_of_study(study, at=study.all_k, work_per_job=work_per_job, level=made.level)
    per_result = seconds_per_result(study, work_per_job)
    rows = [row for row in made.rows if not row.refused and row.value is not None and row.k not in study.all_k]
    ahead = tuple(predicted_point(row, made.level, per_result) for row in rows)
    return replace(measured, points=(*measured.points, *ahead))
