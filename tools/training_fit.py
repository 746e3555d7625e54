"""Constants from measured steps: a robust fit of a few achieved shares around their priors.

Minimised over z (each constant = prior + z * spread):  sum rho(log(predicted / measured)) + (tolerance * weight)^2 z^2,
rho being the pseudo-Huber loss.  Priors keep a constant that the runs say nothing about where physics puts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from scalecurve.hardware.accelerators import Accelerator
from scalecurve.training.answers.evaluation import JobColumns, TrainingJob, columns_of_jobs
from scalecurve.training.inputs.stack import DEFAULT_CEILING, HOSTED, SCALED, Constants, Stack, host_factor
from scalecurve.training.inputs.transformer import Array
from scalecurve.training.physics.steptime import step_time

BOUNDS = {
    "matmul": (0.2, 1.0), "ramp": (0.0, 800.0), "tail": (0.0, 6.0), "memory": (0.3, 1.0), "inner": (0.3, 1.05),
    "outer": (0.2, 1.05), "attention": (0.05, 0.9), "contention": (0.0, 1.0), "imbalance": (1.0, 3.0),
    "launch": (1e-5, 4e-3), "expert_launch": (1e-4, 1e-2), "low_precision": (0.3, 1.0), "grouped": (0.2, 1.0),
    "step": (0.0, 2.0), "micro": (0.0, 0.5),
}  # fmt: skip
SPREAD = {
    "matmul": 0.05, "ramp": 80.0, "tail": 0.6, "memory": 0.08, "inner": 0.1, "outer": 0.08, "attention": 0.15,
    "contention": 0.15, "imbalance": 0.15, "launch": 2e-4, "expert_launch": 1e-3, "low_precision": 0.12,
    "grouped": 0.15, "step": 0.05, "micro": 5e-3,
}  # fmt: skip
SLOPE_STEP = 1e-3  # of a constant's spread


@dataclass(frozen=True, kw_only=True)
class WeighedStep:
    """A job, the seconds its step took, and how much it counts."""

    job: TrainingJob
    seconds: float
    weight: float = 1.0


def on_chip(constants: Constants, accelerator: Accelerator, stack: Stack, reference: float | None) -> Constants:
    """Constants that were given for a ceiling of `reference`, moved to this accelerator's and its host's."""
    if reference is None:
        return constants
    factors = dict.fromkeys(SCALED, (accelerator.ceiling or DEFAULT_CEILING) / reference)
    factors |= dict.fromkeys(HOSTED, host_factor(accelerator, stack))
    return replace(constants, **{name: getattr(constants, name) * factor for name, factor in factors.items()})


def predicted_seconds(columns: JobColumns, constants: Constants, reference: float | None = None) -> Array:
    """Seconds of each job's step with these constants; a row for each value where they are columns of values."""
    first = columns.jobs[0]
    device = columns.device(on_chip(constants, first.cluster.accelerator, first.stack, reference))
    seconds = step_time(device, columns.shape, columns.grid).total
    return np.broadcast_to(seconds, np.broadcast_shapes(np.shape(seconds), (len(columns.jobs),)))


def log_errors(steps: Sequence[WeighedStep], constants: Constants, *, reference: float | None = None) -> Array:
    """log(predicted / measured), in the order given."""
    errors = np.empty(len(steps))
    for columns in columns_of_jobs([step.job for step in steps]):
        measured = np.array([steps[place].seconds for place in columns.places])
        errors[list(columns.places)] = np.log(predicted_seconds(columns, constants, reference) / measured)
    return errors


def pseudo_huber(errors: Array, tolerance: float) -> Array:
    """Residuals whose squares are the pseudo-Huber loss: linear beyond `tolerance`."""
    result: Array = np.sign(errors) * tolerance * np.sqrt(2.0 * (np.sqrt(1.0 + (errors / tolerance) ** 2) - 1.0))
    return result


def fit_constants(
    steps: Sequence[WeighedStep],
    names: Sequence[str],
    prior: Constants,
    *,
    tolerance: float = 0.03,
    weight: float = 1.0,
    spread: Mapping[str, float] = SPREAD,
    reference: float | None = None,
) -> Constants:
    """The named constants that explain the measured steps; the rest stay at their priors."""

    if not steps or not names:
        return prior
    middle = np.array([getattr(prior, name) for name in names])
    width = np.array([spread[name] for name in names])
    low, high = (np.array([BOUNDS[name][end] for name in names]) for end in (0, 1))
    groups = columns_of_jobs([step.job for step in steps])
    measured = [np.array([steps[place].seconds for place in columns.places]) for columns in groups]
    weights = [np.array([steps[place].weight for place in columns.places]) for columns in groups]
    edges = (np.minimum((low - middle) / width, -1e-3), np.maximum((high - middle) / width, 1e-3))

    def losses(points: Array) -> Array:
        """A row of residuals for each point, all in one call of the physics: constants are columns of values."""
        values = np.clip(middle + points * width, low, high)
        constants = replace(prior, **{name: values[:, place, None] for place, name in enumerate(names)})
        parts = []
        for columns, seconds, share in zip(groups, measured, weights, strict=True):
            errors = np.log(predicted_seconds(columns, constants, reference) / seconds)
            parts.append(np.broadcast_to(share * pseudo_huber(errors, tolerance), (len(points), len(seconds))))
        return np.hstack([*parts, weight * tolerance * points])

    def slopes(point: Array) -> Array:
        apart = np.where(point + SLOPE_STEP < edges[1], SLOPE_STEP, -SLOPE_STEP)
        here, *there = losses(np.vstack([point, point + np.diag(apart)]))
        result: Array = np.column_stack([(other - here) / step for other, step in zip(there, apart, strict=True)])
        return result

    def residuals(point: Array) -> Array:
        [row] = losses(point[None, :])
        return np.asarray(row)

    solution = least_squares(residuals, np.zeros(len(names)), jac=slopes, bounds=edges, ftol=1e-5, xtol=1e-4)
    best = np.clip(middle + solution.x * width, low, high)
    return replace(prior, **dict(zip(names, map(float, best), strict=True)))
