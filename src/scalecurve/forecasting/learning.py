"""How the calibration is learned: used by tools/calibrate_forecast.py and, cross-validated, by bench/forecast.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalecurve.forecasting.calibration import Width
from scalecurve.forecasting.curves import Array, Curve, pack
from scalecurve.forecasting.shapes import Shapes, grid, learn_prior

SHAPES_KEPT = 600
STEPS = 2  # of expectation-maximisation: more of them fit these sources better and others worse
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)

Labels = npt.NDArray[np.str_]


@dataclass(frozen=True)
class Residuals:
    """Cross-validated errors of log performance, one row per predicted point, with the features of its width."""

    error: Array
    features: Array
    weight: Array

    def rows(self, chosen: npt.NDArray[np.bool_]) -> Residuals:
        return Residuals(self.error[chosen], self.features[chosen], self.weight[chosen])


def balance(labels: Sequence[str], power: float = 0.5) -> Array:
    """Weights that keep a study with many curves from speaking for all: n_label^-power."""
    counts = {label: labels.count(label) for label in set(labels)}
    return np.array([counts[label] ** -power for label in labels])


def learn_shapes(curves: Sequence[Curve], weight: Array) -> Shapes:
    """The prior over shapes from whole curves; only the likeliest shapes are kept, so that it stays small and fast."""
    parameters = grid()
    prior = learn_prior(pack(curves), parameters, weight, STEPS)
    kept = np.sort(np.argsort(-prior, kind="stable")[:SHAPES_KEPT])
    return Shapes(parameters[kept], prior[kept] / prior[kept].sum())


def learn_width(residuals: Residuals, sources: int, borrowed: Array | None = None) -> Width:
    """Coefficients by the Laplace likelihood, then conformal quantiles of |error| / scale.

    The finite-sample correction level * (1 + 1/n) counts independent sources, not points: siblings err together.
    Where curves are few, all coefficients but the first are `borrowed` from the strong curves.
    """
    if borrowed is None:
        coefficients = _laplace(residuals.features, residuals.error, residuals.weight)
    else:
        rest = np.abs(residuals.error) * np.exp(-residuals.features[:, 1:] @ borrowed[1:])
        coefficients = np.r_[np.log(np.average(rest, weights=residuals.weight)), borrowed[1:]]
    standard = np.abs(residuals.error) * np.exp(-residuals.features @ coefficients)
    corrected = [min(level * (1 + 1 / sources), 1.0) for level in LEVELS]
    quantiles = np.array([weighted_quantile(standard, residuals.weight, level) for level in corrected])
    return Width(coefficients, np.array(LEVELS), np.maximum.accumulate(quantiles))


def _laplace(features: Array, error: Array, weight: Array) -> Array:
    from scipy.optimize import minimize

    def loss(b: Array) -> tuple[float, Array]:
        log_scale = features @ b
        ratio = np.abs(error) * np.exp(-log_scale)
        return float((weight * (ratio + log_scale)).sum()), (weight * (1 - ratio)) @ features

    start = np.zeros(features.shape[1])
    start[0] = np.log(np.average(np.abs(error), weights=weight))
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)


def weighted_quantile(values: Array, weight: Array, level: float) -> float:
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weight[order])
    place = np.searchsorted(cumulative, level * cumulative[-1] * (1 - 1e-12))
    return float(values[order][min(int(place), len(values) - 1)])


def percentiles(values: Array, weight: Array, at: Sequence[float]) -> list[float]:
    return [weighted_quantile(values, weight, level) for level in at]
