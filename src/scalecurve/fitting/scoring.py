"""How well a law predicts K it has not seen: the log density of each K under a fit to all others.

    score = sum_i ln p(ln T_i | all K but K_i),    p = Student t around the fit, scale^2 = s^2 + s_fit^2

Leave-one-out predictive density needs no penalty for parameters and no large sample; R^2 and AICc are not used: the
first is invalid for nonlinear laws, the second infinite for as many parameters as points less one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.fitting.models import Model
from scalecurve.fitting.observations import Observations
from scalecurve.fitting.positive import Array, solve_positive

FLOOR = 0.002  # no mean is taken to be known better than 0.2 %


@dataclass(frozen=True)
class Solution:
    """Coefficients (T1, T1*parameter ...), residuals of log time and their scale with its degrees of freedom."""

    model: Model
    coefficients: Array
    residuals: Array
    scale: float
    freedom: float

    @property
    def level(self) -> float:
        return float(self.coefficients[0])

    @property
    def ratios(self) -> Array:
        return np.asarray(self.coefficients[1:] / self.coefficients[0])

    def log_time(self, k: Array) -> Array:
        return np.asarray(np.log(self.model.design(np.asarray(k, dtype=np.float64)) @ self.coefficients))


def solve(model: Model, seen: Observations) -> Solution:
    """Relative least squares with every parameter at least 0, weighted by the runs behind each mean."""
    coefficients = solve_many(model, seen.k, seen.log_time[None], seen.runs[None])[0]
    residuals = seen.log_time - np.log(model.design(seen.k) @ coefficients)
    scale, freedom = _scale(model, seen, residuals)
    return Solution(model, coefficients, residuals, scale, freedom)


def solve_many(model: Model, k: Array, log_time: Array, weights: Array) -> Array:
    """Fits of many curves over the same K; rows of coefficients, the first always positive."""
    shift = log_time.mean(axis=1, keepdims=True)
    matrix = model.design(k)[None] / np.exp(log_time - shift)[..., None]
    coefficients: Array = solve_positive(matrix, weights) * np.exp(shift)
    tiny = 1e-9 * coefficients.sum(axis=1)
    coefficients[:, 0] = np.maximum(coefficients[:, 0], tiny)
    return coefficients


def _scale(model: Model, seen: Observations, residuals: Array) -> tuple[float, float]:
    """Standard deviation of a mean around the law: from the residuals, never below what repeats say."""
    free = max(len(seen) - model.size, 1)
    misfit = float(np.sum(seen.runs * residuals**2) / seen.runs.mean() / free)
    known = float(np.mean(seen.error**2)) if seen.error is not None else 0.0
    freedom = free + (seen.freedom if known >= misfit else 0.0)
    return float(np.sqrt(max(misfit, known, FLOOR**2))), float(freedom)


def pointwise_density(model: Model, seen: Observations, scale: float, freedom: float) -> Array:
    """The log density of each K, predicted from the others; one scale for all laws, so that a poor fit costs."""
    from scipy.stats import t as student

    count = len(seen)
    left_out = np.eye(count, dtype=bool)
    weights = np.where(left_out, 0.0, seen.runs)
    coefficients = solve_many(model, seen.k, np.tile(seen.log_time, (count, 1)), weights)
    predicted = np.log(np.einsum("ij,ij->i", model.design(seen.k), coefficients))
    spread = scale * np.sqrt(1.0 + _leverage(model, seen, weights))
    return np.asarray(student.logpdf((seen.log_time - predicted) / spread, freedom) - np.log(spread))


def _leverage(model: Model, seen: Observations, weights: Array) -> Array:
    """Leverage x' (X'WX)^-1 x of the left-out point, in relative units: what the fit itself adds to the doubt."""
    relative = model.design(seen.k) / np.exp(seen.log_time)[:, None]
    relative = relative / np.sqrt(np.mean(relative**2, axis=0))
    gram = np.einsum("ip,pj,pk->ijk", weights / seen.runs.mean(), relative, relative)
    gram = gram + 1e-6 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(model.size)
    solved = np.linalg.solve(gram, relative[..., None])[..., 0]
    return np.asarray(np.clip(np.einsum("ij,ij->i", relative, solved), 0.0, 1e4))
