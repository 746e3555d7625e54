"""A forecast's interval in the units of the plots."""

from __future__ import annotations

from typing import Any

from scalecurve.forecasting.row import ForecastRow
from scalecurve.study import Quantity


def band(row: ForecastRow) -> dict[str, Any] | None:
    """Speedup and efficiency with the interval of the value carried over; None where the row has no value.

    Both are proportional to 1/T or to the rate, so their ends are the value's ends over the value.
    """
    if row.value is None or row.low is None or row.high is None or row.speedup is None or row.efficiency is None:
        return None
    rising = row.quantity is not Quantity.SECONDS
    low, high = (row.low / row.value, row.high / row.value) if rising else (row.value / row.high, row.value / row.low)
    return {
        "k": row.k,
        "extrapolation": row.extrapolation,
        "speedup": row.speedup,
        "speedup_low": row.speedup * low,
        "speedup_high": row.speedup * high,
        "efficiency": row.efficiency,
        "efficiency_low": row.efficiency * low,
        "efficiency_high": row.efficiency * high,
    }
