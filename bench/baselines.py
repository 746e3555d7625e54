"""What people use today, on the same points: log performance at the K to be predicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bench.extrap_model import fit_extrap
from scalecurve.fitting.models import fit_law, law_times
from scalecurve.forecasting.curves import Array, LogCurve, damped, last_slope, pack
from scalecurve.forecasting.experts import LOGARITHM, positive
from scalecurve.laws import law as law_named

Baseline = Callable[[LogCurve, Array], Array]


def last_value(points: LogCurve, at: Array) -> Array:
    return np.full(len(at), points.log_performance[-1])


def law(name: str) -> Baseline:
    """Relative least squares, parameters at least 0."""

    def predict(points: LogCurve, at: Array) -> Array:
        chosen, ones = law_named(name), np.ones((1, len(points.k)))
        coefficients = fit_law(chosen, points.k / points.k[0], -points.log_performance[None], ones)
        return np.asarray(-np.log(law_times(chosen, at / points.k[0], coefficients)[0]))

    return predict


def power(points: LogCurve, at: Array) -> Array:
    slope, level = np.polyfit(np.log(points.k), points.log_performance, 1)
    return np.asarray(level + slope * np.log(at))


def usl_and_power(points: LogCurve, at: Array) -> Array:
    return np.asarray((law("usl")(points, at) + power(points, at)) / 2)


def logarithm(points: LogCurve, at: Array) -> Array:
    curves = pack([points])
    return positive(curves, at[None], LOGARITHM, curves.mask.astype(float))[0]


def fading_trend(points: LogCurve, at: Array) -> Array:
    curves = pack([points])
    return damped(curves, at[None], np.minimum(last_slope(curves), 1.0), 0.6)[0]


def extrap(points: LogCurve, at: Array) -> Array:
    """Extra-P on K*T; where it predicts no positive time, the largest finite error it could make is kept."""
    times = np.exp(-(points.log_performance - points.log_performance[0]))
    model = fit_extrap(points.k.tolist(), [[time] for time in times.tolist()])
    ahead = np.maximum([model(k) for k in at.tolist()], 1e-12)
    return np.asarray(points.log_performance[0] - np.log(ahead))


BASELINES: dict[str, Baseline] = {
    "last value": last_value,
    "Amdahl": law("amdahl"),
    "USL": law("usl"),
    "power law": power,
    "geometric mean of USL and power law": usl_and_power,
    "positive {1/K, 1, log K}": logarithm,
    "fading trend": fading_trend,
    "Extra-P on K*T": extrap,
}


def predict_all(baseline: Baseline, splits: Sequence[tuple[LogCurve, Array, Array]]) -> Array:
    return np.concatenate([baseline(fitted, at) for fitted, at, _ in splits])
