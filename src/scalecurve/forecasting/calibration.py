"""What published curves taught: shapes, the stack, the widths of intervals, percentiles; and how it is learned.

`calibration.json` is rebuilt by `tools/calibrate_forecast.py DATA`; it holds derived numbers and their provenance.
The learning functions are used by that tool and, cross-validated, by bench/forecast.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.forecasting.curves import Array
from scalecurve.forecasting.shapes import Shapes
from scalecurve.forecasting.stack import ExpertStack

FORMAT = 3
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)


@dataclass(frozen=True)
class Width:
    """How wide intervals are: log scale = coefficients . features, times the quantile of the level asked for."""

    coefficients: Array
    levels: Array
    quantiles: Array

    @property
    def highest_level(self) -> float:
        return float(self.levels[-1])

    def quantile(self, level: float) -> float:
        """Of |residual| / scale; levels below the first are interpolated from zero."""
        return float(np.interp(level, np.r_[0.0, self.levels], np.r_[0.0, self.quantiles]))


@dataclass(frozen=True)
class Calibration:
    """Everything learned; `standing` maps domain -> multiple of the base K -> percentiles of efficiency.

    `library` names the published curves that taught, each with the number of the shape that fits it best.
    """

    shapes: Shapes
    stack: ExpertStack
    widths: Mapping[str, Width]
    standing: Mapping[str, Any]
    provenance: Mapping[str, Any]
    library: Mapping[str, Any]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Calibration:
        table = np.array(data["shapes"]["rows"], dtype=np.float64)
        prior = table[:, 4] / table[:, 4].sum()
        widths = {
            name: Width(np.array(w["coefficients"]), np.array(w["levels"]), np.array(w["quantiles"]))
            for name, w in data["widths"].items()
        }
        stack = ExpertStack.from_dict(data["stack"])
        return cls(Shapes(table[:, :4], prior), stack, widths, data["standing"], data["provenance"], data["library"])


@cache
def shipped() -> Calibration:
    """The calibration that comes with the package."""
    text = files("scalecurve.forecasting").joinpath("calibration.json").read_text(encoding="utf-8")
    return Calibration.from_dict(json.loads(text))


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


def learn_width(residuals: Residuals, sources: int) -> Width:
    """Coefficients by the Laplace likelihood, then conformal quantiles of |error| / scale.

    The finite-sample correction level * (1 + 1/n) counts independent sources, not points: siblings err together.
    """
    from scipy.optimize import minimize

    features, size, weight = residuals.features, np.abs(residuals.error), residuals.weight

    def loss(b: Array) -> tuple[float, Array]:
        log_scale = features @ b
        ratio = size * np.exp(-log_scale)
        return float((weight * (ratio + log_scale)).sum()), (weight * (1 - ratio)) @ features

    start = np.zeros(features.shape[1])
    start[0] = np.log(np.average(size, weights=weight))
    coefficients = np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)
    standard = size * np.exp(-features @ coefficients)
    corrected = [min(level * (1 + 1 / sources), 1.0) for level in LEVELS]
    quantiles = np.array([weighted_quantile(standard, weight, level) for level in corrected])
    return Width(coefficients, np.array(LEVELS), np.maximum.accumulate(quantiles))


def weighted_quantile(values: Array, weight: Array, level: float) -> float:
    """The smallest value with at least `level` of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weight[order])
    place = np.searchsorted(cumulative, level * cumulative[-1] * (1 - 1e-12))
    return float(values[order][min(int(place), len(values) - 1)])
