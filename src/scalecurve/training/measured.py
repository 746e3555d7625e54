"""Runs of one's own: they move the constants and narrow the intervals."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.training.calibration import Calibration, Observation, calibration_of, fit_constants, log_errors
from scalecurve.training.evaluate import read_job
from scalecurve.training.stack import Stack

TIME_COLUMNS = ("step_seconds", "seconds", "step_s", "step_time", "iteration_s")
LEAST_WIDTH = 0.03


def calibrate(
    rows: Sequence[Mapping[str, Any]], *, model: Any, cluster: Any, stack: str | Stack | None, precision: str = "bf16"
) -> Calibration:
    """Constants moved by measured steps: with one or two runs a common factor on the rates, with more the stack's own
    constants; the interval shrinks from the prior's towards the scatter of the runs."""
    observations = [_observation(row, place, model, cluster, stack, precision) for place, row in enumerate(rows)]
    job = observations[0].job
    prior = calibration_of(job.cluster.accelerator, job.stack)
    names = ("matmul", "memory") if len(observations) < 3 else ("matmul", "memory", "attention", "inner", "outer")
    wide = {name: 4.0 * width for name, width in _spread().items()}
    constants = fit_constants(observations, names, prior.constants, tolerance=0.02, weight=0.25, spread=wide)
    left = float(np.sqrt(np.mean(log_errors(observations, constants) ** 2)))
    many = len(observations)
    width = max(LEAST_WIDTH, 1.645 * left * (1.0 + 1.0 / many), prior.half_width / (1.0 + many) ** 0.5)
    source = f"{many} measured run{'s' if many > 1 else ''} on top of {prior.source}"
    return replace(prior, constants=constants, evidence="measured here", source=source, half_width=width, rows=many)


def _spread() -> Mapping[str, float]:
    from scalecurve.training.calibration import SPREAD

    return SPREAD


def read_runs(path: Path) -> list[dict[str, str]]:
    """A CSV with a layout column (or tp, pp, ... columns), a batch or gpus column and a step time in seconds."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as problem:
        raise FormatError(Fault("cannot read measured runs", str(path), str(problem))) from None
    if not rows:
        raise FormatError(Fault("no measured runs in the file", str(path)))
    return rows


def _observation(
    row: Mapping[str, Any], place: int, model: Any, cluster: Any, stack: str | Stack | None, precision: str
) -> Observation:
    values = {key.strip().lower(): value for key, value in row.items() if key and value not in ("", None)}
    column = next((name for name in TIME_COLUMNS if name in values), None)
    if column is None:
        hint = f"one of the columns {', '.join(TIME_COLUMNS)}"
        raise InputError(Fault("no step time", f"run {place + 1}", ", ".join(values), hint))
    try:
        seconds = float(values.pop(column))
    except ValueError:
        raise InputError(Fault("not a number of seconds", f"run {place + 1}", str(row[column]))) from None
    if not (seconds > 0 and np.isfinite(seconds)):
        raise InputError(Fault("a step takes more than 0 seconds", f"run {place + 1}", str(seconds)))
    gpus = values.pop("gpus", values.pop("p", None))
    batch, seq = values.pop("batch", values.pop("global_batch", None)), values.pop("seq", None)
    layout = values.pop("layout", None) or values
    job = read_job(
        model=model, cluster=cluster, layout=layout, batch=batch, stack=stack, precision=precision,
        seq=_whole(seq, "seq", place), gpus=_whole(gpus, "gpus", place),
    )  # fmt: skip
    return Observation(job=job, seconds=seconds)


def _whole(value: Any, name: str, place: int) -> int | None:
    if value is None:
        return None
    try:
        return int(str(value))
    except ValueError:
        raise InputError(Fault("not a whole number", f"run {place + 1}, {name}", str(value))) from None
