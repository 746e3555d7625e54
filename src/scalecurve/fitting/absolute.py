"""Unweighted least squares on the values themselves, as spreadsheets and R's usl do it: for comparison with them.

Minimises sum_i (v_i - f(K_i))^2 of the study's own quantity, which lets the largest values decide; relative errors are
the default elsewhere because noise grows with the value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.fitting.observations import Observations
from scalecurve.fitting.positive import Array
from scalecurve.fitting.scoring import Solution
from scalecurve.study import Quantity

LINEARISED = "linearised least squares, Student's t"


@dataclass(frozen=True)
class AbsoluteFit:
    """Level and parameters with their covariance on the scale they are reported in."""

    parameters: Array
    covariance: Array
    freedom: int


def refit(solution: Solution, seen: Observations, quantity: Quantity) -> AbsoluteFit:
    """Start from the relative fit and minimise absolute errors; parameters stay at least 0."""
    from scipy.optimize import least_squares

    sign = 1.0 if quantity is Quantity.SECONDS else -1.0
    level = float(np.exp(sign * np.log(solution.level)))
    start = np.r_[1.0, np.maximum(solution.ratios, 1e-9)]
    size = np.where(start > 1e-8, start, 1.0)
    design, values = solution.model.design(seen.k), np.exp(sign * seen.log_time)

    def miss(scaled: Array) -> Array:
        ratio = design @ np.r_[1.0, scaled[1:] * size[1:]]
        return np.asarray((values - level * scaled[0] * ratio**sign) / level)

    made = least_squares(miss, start / size, bounds=(0.0, np.inf), x_scale="jac", xtol=1e-14, ftol=1e-14, gtol=1e-14)
    freedom = max(len(seen) - len(start), 1)
    variance = 2 * made.cost / freedom
    slope: Array = np.asarray(made.jac)
    covariance: Array = np.asarray(variance * np.linalg.pinv(slope.T @ slope), dtype=np.float64)
    back = size * np.r_[level, np.ones(len(start) - 1)]
    return AbsoluteFit(made.x * back, covariance * np.outer(back, back), freedom)
