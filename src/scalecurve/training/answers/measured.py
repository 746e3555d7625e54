"""Constants from measured steps: a robust fit of a few achieved shares around their priors.

Minimised over z (each constant = prior + z * spread):  sum rho(log(predicted / measured)) + (tolerance * weight)^2 z^2,
rho being the pseudo-Huber loss.  Priors keep a constant that the runs say nothing about where physics puts it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.hardware.accelerators import Accelerator
from scalecurve.training.answers.evaluation import JobColumns, TrainingJob, columns_of_jobs, read_job
from scalecurve.training.answers.measured_layouts import Unread
from scalecurve.training.answers.measurements import measured_seconds, measurement
from scalecurve.training.inputs.cluster import ClusterLike, read_cluster
from scalecurve.training.inputs.measured_table import NEEDED, TIMES, plain_row, whole
from scalecurve.training.inputs.stack import (
    DEFAULT_CEILING,
    HOSTED,
    SCALED,
    Constants,
    Stack,
    StackCalibration,
    calibration_of,
    host_factor,
    read_stack,
)
from scalecurve.training.inputs.transformer import Array, ModelLike
from scalecurve.training.physics.steptime import step_time
from scalecurve.words import percent

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
LAYOUT_COLUMNS = {  # of a table: the field of a layout
    **{name: name for name in ("tp", "pp", "dp", "cp", "ep", "etp", "zero", "sp", "recompute", "schedule", "shard")},
    "micro_batch": "micro", "grad_accum": "accumulation", "vp": "interleave",
}  # fmt: skip
LEAST_WIDTH = 0.03
SLOPE_STEP = 1e-3  # of a constant's spread


@dataclass(frozen=True, kw_only=True)
class MeasuredStep:
    """A job and the seconds its step took."""

    job: TrainingJob
    seconds: float
    weight: float = 1.0

    @property
    def mfu(self) -> float:
        """The share of the accelerators' peak that the model's FLOP took, as measured."""
        job = self.job
        flop = float(job.model.shape(job.seq).flop_per_token) * job.layout.sequences * job.seq
        return flop / (self.seconds * job.layout.gpus * job.cluster.peak(job.precision))


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


def log_errors(steps: Sequence[MeasuredStep], constants: Constants, *, reference: float | None = None) -> Array:
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
    steps: Sequence[MeasuredStep],
    names: Sequence[str],
    prior: Constants,
    *,
    tolerance: float = 0.03,
    weight: float = 1.0,
    spread: Mapping[str, float] = SPREAD,
    reference: float | None = None,
) -> Constants:
    """The named constants that explain the measured steps; the rest stay at their priors."""
    from scipy.optimize import least_squares

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


def calibrate(
    rows: Sequence[Mapping[str, Any]],
    *,
    model: ModelLike,
    cluster: ClusterLike,
    stack: str | Stack | None,
    precision: str | None = None,
) -> StackCalibration:
    """Constants moved by measured steps, one or more, from those of this accelerator and stack."""
    lines = [plain_row(row) for row in rows]
    if all(set(NEEDED) <= set(line) for line in lines):  # rows that name their model and accelerator
        steps = schema_steps(lines, cluster, stack)
    else:
        steps = [
            read_step(line, f"run {place}", model=model, cluster=cluster, stack=stack, precision=precision)
            for place, line in enumerate(lines, start=1)
        ]
    if impossible := [step for step in steps if step.mfu > 1.0]:
        worst = max(impossible, key=lambda step: step.mfu)
        value = f"{worst.seconds:g} s for {worst.job.layout.sequences:,} sequences on {worst.job.layout.gpus:,}"
        hint = "check step_seconds, the batch (sequences, or tokens with a suffix) and the accelerators of that run"
        raise InputError(Fault(f"faster than the peak: {percent(worst.mfu)} MFU", "measured", value, hint))
    job = steps[0].job
    known = anchored(calibration_of(job.cluster.accelerator, job.stack), steps)
    planned, _ = read_cluster(cluster).precision(precision)
    if all(step.job.precision != planned for step in steps):  # what the runs tell of another precision is less
        known = replace(known, half_width=math.hypot(known.half_width, OTHER_PRECISION))
    return known


ANCHORED = (
    "matmul", "memory", "attention", "inner", "outer", "launch", "expert_launch", "grouped", "low_precision",
    "contention",
)  # fmt: skip
USUAL_WIDTH = 0.25  # half width of a prior whose constants have the spreads of SPREAD
TRUST = (1.0, 4.0)  # least and most weight of a prior, by how narrow its interval is
LEARNED = 0.8  # a constant is learned where its spread falls below this share of the prior's
OTHER_PRECISION = 0.15  # of log seconds, between runs in one precision and plans in another


def anchored(prior: StackCalibration, steps: Sequence[MeasuredStep]) -> StackCalibration:
    """The prior moved by own runs: constants that the runs can tell move, the others stay.  What runs of one source
    share shrinks with their number; what is left is how far ratios within a source are off."""
    many = len(steps)
    weight = float(np.clip(2.0 * USUAL_WIDTH / prior.half_width, *TRUST))
    constants = fit_constants(steps, ANCHORED, prior.constants, tolerance=0.03, weight=weight)
    left = float(np.sqrt(np.mean(log_errors(steps, constants) ** 2)))
    within = min(prior.ratio_width, prior.half_width)
    shared = math.sqrt(prior.half_width**2 - within**2) / (1.0 + many)
    moe = [step for step in steps if step.job.model.is_moe]
    learned = told_by(steps, constants, weight)
    moved = ", ".join(
        f"{name} {getattr(prior.constants, name):.3g} -> {getattr(constants, name):.3g}" for name in learned
    )
    used = sorted({f"{100 * step.mfu:.1f}" for step in steps}, key=float)
    mfu = " to ".join(dict.fromkeys((used[0], used[-1])))
    source = f"{many} measured run{'s' if many > 1 else ''} at {mfu} % MFU on top of {prior.source}; "
    return replace(
        prior,
        constants=constants,
        evidence="measured here",
        source=source + (f"they tell {moved}" if moved else "they tell no constant apart from the others"),
        half_width=max(LEAST_WIDTH, math.hypot(within, shared, left / many)),
        rows=many,
        fitted=learned,
        moe_width=prior.moe_width / (1.0 + len(moe)),
    )


def told_by(steps: Sequence[MeasuredStep], constants: Constants, weight: float) -> tuple[str, ...]:
    """The constants whose spread the steps make smaller: by the curvature of the fit around its prior."""
    base = log_errors(steps, constants)
    slopes = np.column_stack([
        log_errors(steps, replace(constants, **{name: getattr(constants, name) + 0.1 * SPREAD[name]})) - base
        for name in ANCHORED
    ])  # fmt: skip
    curvature = (slopes / 0.1 / (0.03 * weight)).T @ (slopes / 0.1 / (0.03 * weight)) + np.eye(len(ANCHORED))
    spreads = np.sqrt(np.diag(np.linalg.inv(curvature)))
    return tuple(name for name, spread in zip(ANCHORED, spreads, strict=True) if spread < LEARNED)


def schema_steps(
    rows: Sequence[Mapping[str, Any]], cluster: ClusterLike, stack: str | Stack | None
) -> list[MeasuredStep]:
    """The rows of the common schema that ran on this accelerator under this stack; blanks at their first plausible
    value."""
    machine = read_cluster(cluster)
    chip = machine.accelerator
    software = read_stack(stack or machine.stack, chip)
    runs = [measurement(row, "measured", machine) for row in rows]
    steps = [
        MeasuredStep(job=replace(one.jobs[0], stack=software), seconds=one.seconds)
        for one in runs
        if one.jobs and one.seconds and one.jobs[0].cluster.accelerator.name == chip.name
        and (stack is None or one.jobs[0].stack.name == software.name)
    ]  # fmt: skip
    if not steps:
        reasons = sorted({one.reason for one in runs if one.reason}) or ["other accelerators or stacks"]
        hint = f"give rows measured on {chip.name} under {software.name}"
        raise InputError(Fault("no row can be calibrated on", "measured", "; ".join(reasons), hint))
    return steps


def read_step(
    row: Mapping[str, str],
    where: str,
    *,
    model: ModelLike,
    cluster: ClusterLike,
    stack: str | Stack | None,
    precision: str | None,
) -> MeasuredStep:
    """One row of runs of this model on this cluster; `where` names it in errors."""
    written = row.get("parallelism") or {ours: row[name] for name, ours in LAYOUT_COLUMNS.items() if row.get(name)}
    job = read_job(
        model, cluster, written, batch=row.get("global_batch_seqs") or None, seq=whole(row, "seq"), stack=stack,
        precision=precision, gpus=whole(row, "accels"),
    )  # fmt: skip
    try:
        seconds, _ = measured_seconds(row, job)
    except Unread:
        hint = f"a column such as {', '.join((*TIMES, 'step_ms'))} with a number above 0"
        raise InputError(Fault("no step time", where, row.get("step_s") or ", ".join(row), hint)) from None
    return MeasuredStep(job=job, seconds=seconds)
