"""Constants from measured steps: a robust fit of a few achieved shares around their priors.

Minimised over z (each constant = prior + z * spread):  sum rho(log(predicted / measured)) + (tolerance * weight)^2 z^2,
rho being the pseudo-Huber loss.  Priors keep a constant that the runs say nothing about where physics puts it.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.hardware.accelerators import Accelerator
from scalecurve.training.answers.evaluation import JobColumns, TrainingJob, columns_of_jobs, read_job
from scalecurve.training.answers.measurements import has_schema, measurement
from scalecurve.training.inputs.cluster import ClusterLike, read_cluster
from scalecurve.training.inputs.stack import (
    DEFAULT_CEILING,
    HOSTED,
    SCALED,
    Constants,
    Stack,
    StackCalibration,
    calibration_of,
    read_stack,
)
from scalecurve.training.inputs.transformer import Array, ModelLike
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
TIME_COLUMNS = ("step_seconds", "seconds", "step_s", "step_time", "iteration_s")
LEAST_WIDTH = 0.03


@dataclass(frozen=True, kw_only=True)
class MeasuredStep:
    """A job and the seconds its step took."""

    job: TrainingJob
    seconds: float
    weight: float = 1.0


def on_chip(constants: Constants, accelerator: Accelerator, reference: float | None) -> Constants:
    """Constants that were given for a ceiling of `reference`, moved to this accelerator's."""
    if reference is None:
        return constants
    factors = dict.fromkeys(SCALED, (accelerator.ceiling or DEFAULT_CEILING) / reference)
    factors |= dict.fromkeys(HOSTED, accelerator.host)
    return replace(constants, **{name: getattr(constants, name) * factor for name, factor in factors.items()})


def predicted_seconds(columns: JobColumns, constants: Constants, reference: float | None = None) -> Array:
    """Seconds of each job's step with these constants."""
    device = columns.device(on_chip(constants, columns.jobs[0].cluster.accelerator, reference))
    return np.broadcast_to(step_time(device, columns.shape, columns.grid).total, (len(columns.jobs),))


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

    def at(z: Array) -> Constants:
        values = np.clip(middle + z * width, low, high)
        return replace(prior, **dict(zip(names, map(float, values), strict=True)))

    def residuals(z: Array) -> Array:
        constants = at(z)
        parts = [
            share * pseudo_huber(np.log(predicted_seconds(columns, constants, reference) / seconds), tolerance)
            for columns, seconds, share in zip(groups, measured, weights, strict=True)
        ]
        return np.concatenate([*parts, weight * tolerance * z])

    edges = (np.minimum((low - middle) / width, -1e-3), np.maximum((high - middle) / width, 1e-3))
    solution = least_squares(
        residuals, np.zeros(len(names)), diff_step=[1e-3] * len(names), bounds=edges, ftol=1e-5, xtol=1e-4
    )
    return at(solution.x)


def calibrate(
    rows: Sequence[Mapping[str, Any]],
    *,
    model: ModelLike,
    cluster: ClusterLike,
    stack: str | Stack | None,
    precision: str | None = None,
) -> StackCalibration:
    """Constants moved by measured steps: with one or two runs a common factor on the rates, with more the stack's own
    constants; the interval shrinks from the prior's towards the scatter of the runs."""
    steps = (
        schema_steps(rows, cluster, stack)
        if has_schema(rows[0])
        else [
            read_step(row, f"run {place}", model=model, cluster=cluster, stack=stack, precision=precision)
            for place, row in enumerate(rows, start=1)
        ]
    )
    job, many = steps[0].job, len(steps)
    prior = calibration_of(job.cluster.accelerator, job.stack)
    names = ("matmul", "memory") if many < 3 else ("matmul", "memory", "attention", "inner", "outer")
    wide = {name: 4.0 * width for name, width in SPREAD.items()}
    constants = fit_constants(steps, names, prior.constants, tolerance=0.02, weight=0.25, spread=wide)
    left = float(np.sqrt(np.mean(log_errors(steps, constants) ** 2)))
    width = max(LEAST_WIDTH, 1.645 * left * (1.0 + 1.0 / many), prior.half_width / (1.0 + many) ** 0.5)
    source = f"{many} measured run{'s' if many > 1 else ''} on top of {prior.source}"
    return replace(
        prior,
        constants=constants,
        evidence="measured here",
        source=source,
        half_width=width,
        rows=many,
        fitted=names,
        moe_width=prior.moe_width / (1.0 + many) ** 0.5,
    )


def schema_steps(
    rows: Sequence[Mapping[str, Any]], cluster: ClusterLike, stack: str | Stack | None
) -> list[MeasuredStep]:
    """The rows of the common schema that ran on this accelerator under this stack; blanks at their first plausible
    value."""
    machine = read_cluster(cluster)
    chip = machine.accelerator
    software = read_stack(stack or machine.stack, chip)
    texts = [{key: str(value or "").strip() for key, value in row.items() if key} for row in rows]
    runs = [measurement(text, "measured") for text in texts]
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


def read_runs(path: Path) -> list[dict[str, str]]:
    """A CSV with a layout column (or tp, pp, ... columns), a batch or gpus column and a step time in seconds, or one in
    the common schema of measured steps."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as problem:
        raise FormatError(Fault("cannot read measured runs", str(path), str(problem))) from None
    if not rows:
        raise FormatError(Fault("no measured runs in the file", str(path)))
    return rows


def read_step(
    row: Mapping[str, Any],
    where: str,
    *,
    model: ModelLike,
    cluster: ClusterLike,
    stack: str | Stack | None,
    precision: str | None,
) -> MeasuredStep:
    """One row of measured runs; `where` names it in errors."""
    values = {key.strip().lower(): value for key, value in row.items() if key and value not in ("", None)}
    column = next((name for name in TIME_COLUMNS if name in values), None)
    if column is None:
        hint = f"one of the columns {', '.join(TIME_COLUMNS)}"
        raise InputError(Fault("no step time", where, ", ".join(values), hint))
    try:
        seconds = float(values.pop(column))
    except ValueError:
        raise InputError(Fault("not a number of seconds", where, str(row[column]))) from None
    if not (seconds > 0 and np.isfinite(seconds)):
        raise InputError(Fault("a step takes more than 0 seconds", where, str(seconds)))
    batch = values.pop("batch", values.pop("global_batch", None))
    texts = {"seq": values.pop("seq", None), "gpus": values.pop("gpus", values.pop("p", None))}
    counts: dict[str, int | None] = {}
    for name, text in texts.items():
        try:
            counts[name] = None if text is None else int(str(text))
        except ValueError:
            raise InputError(Fault("not a whole number", f"{where}, {name}", str(text))) from None
    layout = values.pop("layout", None) or values
    job = read_job(model, cluster, layout, batch=batch, stack=stack, precision=precision, **counts)
    return MeasuredStep(job=job, seconds=seconds)
