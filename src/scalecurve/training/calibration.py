"""Constants from measurements: a robust fit of a few achieved shares around their priors, and the shipped results.

Minimised over z (each constant = prior + z * spread):  sum rho(log(predicted / measured)) + (tolerance * weight)^2 z^2,
rho being the pseudo-Huber loss.  Priors keep a constant that a table says nothing about where physics puts it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from scalecurve.training.arrays import Array
from scalecurve.training.cluster import Accelerator
from scalecurve.training.evaluation import Batch, Job, batches
from scalecurve.training.machines import DEFAULT_CEILING, prior_constants
from scalecurve.training.presets import data_text
from scalecurve.training.stack import CONSTANTS, Constants, Stack

BOUNDS = {
    "matmul": (0.2, 1.0), "ramp": (0.0, 800.0), "tail": (0.0, 6.0), "memory": (0.3, 1.0), "inner": (0.3, 1.05),
    "outer": (0.2, 1.05), "attention": (0.05, 0.9), "contention": (0.0, 1.0), "imbalance": (1.0, 3.0),
    "launch": (1e-5, 4e-3), "expert_launch": (1e-4, 1e-2), "low_precision": (0.3, 1.0), "grouped": (0.2, 1.0),
}  # fmt: skip
SPREAD = {
    "matmul": 0.05, "ramp": 80.0, "tail": 0.6, "memory": 0.08, "inner": 0.1, "outer": 0.08, "attention": 0.15,
    "contention": 0.15, "imbalance": 0.15, "launch": 2e-4, "expert_launch": 1e-3, "low_precision": 0.12,
    "grouped": 0.15,
}  # fmt: skip
SCALED = ("matmul", "attention")  # constants that move with an accelerator's measured ceiling
HOSTED = ("launch", "expert_launch")  # constants that move with its host


@dataclass(frozen=True, kw_only=True)
class Observation:
    """A job and what it took."""

    job: Job
    seconds: float
    weight: float = 1.0


def on_chip(constants: Constants, accelerator: Accelerator, reference: float | None) -> Constants:
    """Constants that were given for a ceiling of `reference`, moved to this accelerator's."""
    if reference is None:
        return constants
    ratio = (accelerator.ceiling or DEFAULT_CEILING) / reference
    moved = {name: getattr(constants, name) * ratio for name in SCALED}
    return constants.with_values(**moved, **{name: getattr(constants, name) * accelerator.host for name in HOSTED})


def log_errors(observations: Sequence[Observation], constants: Constants, *, reference: float | None = None) -> Array:
    """log(predicted / measured), in the order given."""
    errors = np.empty(len(observations))
    for batch in batches([observation.job for observation in observations]):
        measured = np.array([observations[place].seconds for place in batch.places])
        here = on_chip(constants, batch.jobs[0].cluster.accelerator, reference)
        errors[list(batch.places)] = np.log(batch.seconds(here) / measured)
    return errors


def fit_constants(
    observations: Sequence[Observation],
    names: Sequence[str],
    prior: Constants,
    *,
    tolerance: float = 0.03,
    weight: float = 1.0,
    spread: Mapping[str, float] = SPREAD,
    reference: float | None = None,
) -> Constants:
    """The named constants that explain the observations; the rest stay at their priors."""
    from scipy.optimize import least_squares

    if not observations or not names:
        return prior
    middle = np.array([getattr(prior, name) for name in names])
    width = np.array([spread[name] for name in names])
    low, high = (np.array([BOUNDS[name][end] for name in names]) for end in (0, 1))
    groups = batches([observation.job for observation in observations])
    measured = [np.array([observations[place].seconds for place in batch.places]) for batch in groups]
    weights = [np.array([observations[place].weight for place in batch.places]) for batch in groups]

    def at(z: Array) -> Constants:
        values = np.clip(middle + z * width, low, high)
        return prior.with_values(**dict(zip(names, map(float, values), strict=True)))

    def residuals(z: Array) -> Array:
        constants = at(z)
        parts = [
            share * _huber(np.log(_seconds(batch, constants, reference) / seconds), tolerance)
            for batch, seconds, share in zip(groups, measured, weights, strict=True)
        ]
        return np.concatenate([*parts, weight * tolerance * z])

    edges = (np.minimum((low - middle) / width, -1e-3), np.maximum((high - middle) / width, 1e-3))
    found = least_squares(residuals, np.zeros(len(names)), diff_step=[1e-3] * len(names), bounds=edges)
    return at(found.x)


def _seconds(batch: Batch, constants: Constants, reference: float | None) -> Array:
    return batch.seconds(on_chip(constants, batch.jobs[0].cluster.accelerator, reference))


def _huber(errors: Array, tolerance: float) -> Array:
    result: Array = np.sign(errors) * tolerance * np.sqrt(2.0 * (np.sqrt(1.0 + (errors / tolerance) ** 2) - 1.0))
    return result


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Where constants come from, how many rows stand behind them, and how far off predictions were out of sample.

    `half_width` is the half of the 90 % interval of log(measured / predicted).
    """

    constants: Constants
    evidence: str  # calibrated, transferred, assumed or measured here
    source: str
    half_width: float
    rows: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "evidence": self.evidence,
            "source": self.source,
            "rows": self.rows,
            "interval_half_width": self.half_width,
            "constants": self.constants.to_dict(),
        }


@cache
def shipped() -> Mapping[str, Any]:
    """calibration.json: written by tools/calibrate_training.py."""
    found: dict[str, Any] = json.loads(data_text("calibration.json"))
    return found


def calibration_of(accelerator: Accelerator, stack: Stack, record: Mapping[str, Any] | None = None) -> Calibration:
    """This accelerator and stack; else the stack on another accelerator and the accelerator under another stack, by
    ratio to published ceilings; else priors.  `record` takes the place of the shipped calibration."""
    known = shipped() if record is None else record
    base = prior_constants(accelerator, stack)
    entries = known["entries"]
    own = next((e for e in entries if (e["accelerator"], e["stack"]) == (accelerator.name, stack.name)), None)
    if own is None:
        return _transferred(accelerator, stack, base, known)
    source = f"{', '.join(own['tables'])} ({own['rows']} rows)"
    return Calibration(
        constants=base.with_values(**own["constants"]),
        evidence="calibrated",
        source=source,
        half_width=own["half_width"],
        rows=own["rows"],
    )


HARDWARE = ("matmul", "ramp", "tail", "memory", "inner", "outer", "low_precision")
SOFTWARE = ("grouped", "attention", "contention", "imbalance", "launch", "expert_launch")


def _transferred(accelerator: Accelerator, stack: Stack, base: Constants, known: Mapping[str, Any]) -> Calibration:
    chip = next((e for e in known["entries"] if e["accelerator"] in _family(accelerator.name)), None)
    same = next((e for e in known["entries"] if e["stack"] == stack.name), None)
    values = _scaled(same, accelerator, SOFTWARE if chip else (*HARDWARE, *SOFTWARE))
    values |= _scaled(chip, accelerator, HARDWARE)
    widths = known["half_widths"]
    if not values:
        source = "published ceilings and typical shares; nothing fitted"
        return Calibration(constants=base, evidence="assumed", source=source, half_width=widths["assumed"])
    origin = " and ".join(f"{e['stack']} on {e['accelerator']}" for e in (chip, same) if e)
    source = f"transferred from {origin} by ratio to published ceilings"
    constants = base.with_values(**values)
    return Calibration(constants=constants, evidence="transferred", source=source, half_width=widths["transferred"])


def _family(name: str) -> tuple[str, ...]:
    """Accelerators with the same cores: their shares carry over."""
    families = (("a100-80gb", "a100-40gb"), ("h100", "h100-96gb", "h200", "h800"), ("b200", "gb200", "b300"))
    return next((family for family in families if name in family), (name,))


def _scaled(entry: dict[str, Any] | None, accelerator: Accelerator, names: Sequence[str]) -> dict[str, float]:
    if entry is None:
        return {}
    ratio = (accelerator.ceiling or DEFAULT_CEILING) / entry["ceiling"]
    host = accelerator.host / entry["host"]
    return {
        name: value * (ratio if name in SCALED else host if name in HOSTED else 1.0)
        for name, value in entry["constants"].items()
        if name in names and name in CONSTANTS
    }
