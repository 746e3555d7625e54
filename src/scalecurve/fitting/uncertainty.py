"""Intervals of parameters by a parametric bootstrap of the fit itself, so that bounds are respected."""

from __future__ import annotations

import numpy as np

from scalecurve.fitting.observations import Observations
from scalecurve.fitting.positive import Array
from scalecurve.fitting.scoring import Solution, solve_many

DRAWS = 400
BOOTSTRAP = "parametric bootstrap, Student-t noise"


def draw(solution: Solution, seen: Observations, rng: np.random.Generator, draws: int = DRAWS) -> Array:
    """Coefficients refitted to curves the fitted law could have given; rows of T1, T1*parameter ..."""
    expected = seen.log_time - solution.residuals
    relative = solution.scale * np.sqrt(seen.runs.mean() / seen.runs)
    noise = rng.standard_t(max(solution.freedom, 1.0), size=(draws, len(seen))) * relative
    noise = np.clip(noise, -5.0, 5.0)
    return solve_many(solution.model, seen.k, expected + noise, np.tile(seen.runs, (draws, 1)))
