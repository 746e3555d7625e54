"""How the errors of steps hang together: by the doubts about a source, and by how alike two jobs are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalecurve.training.inputs.layout import RECOMPUTE, Layout
from scalecurve.training.inputs.transformer import Array, Transformer

APART = {  # what a doubling, or the next mode, adds to the distance of two jobs; errors of e^-distance are alike
    "tp": 0.5, "cp": 0.5, "tokens": 0.4, "precision": 0.25, "interleave": 0.15, "hidden": 0.15, "layers": 0.07,
    "pp": 0.07, "accumulation": 0.07, "dp": 0.07, "ep": 0.1, "seq": 0.1, "zero": 0.07, "recompute": 0.07,
    "sequence_parallel": 0.07,
}  # fmt: skip
MODES = {"bf16": 0.0, "fp16": 0.0, "fp8": 1.0, "nvfp4": 2.0}


@dataclass(frozen=True)
class StepTraits:
    """Steps, a row each: `slopes` of their logarithm by the doubts, their `places` among jobs, and their `kinds`."""

    slopes: Array
    places: Array
    kinds: npt.NDArray[np.str_]  # model and precision


def job_place(model: Transformer, layout: Layout, seq: int, precision: str) -> tuple[float, ...]:
    """Where a job stands among jobs: coordinates whose differences add up to the distance of two."""
    doubled = {name: getattr(layout, name) for name in ("tp", "cp", "interleave", "pp", "accumulation", "dp", "ep")}
    doubled |= {"tokens": layout.micro * seq, "hidden": model.hidden, "layers": model.layers, "seq": seq}
    modes = {"precision": MODES[precision], "zero": layout.zero, "sequence_parallel": layout.sequence_parallel,
             "recompute": min(RECOMPUTE[layout.recompute], 2)}  # fmt: skip
    steps = {name: math.log2(value) for name, value in doubled.items()} | modes
    return tuple(APART[name] * float(steps[name]) for name in APART)


@dataclass(frozen=True)
class ErrorSpreads:
    """Standard deviations of the logarithm of a step: by the `doubts` about its source, by what is `own` to a layout
    and those like it, by what the `same` model has in common in one precision, and by what no other run tells."""

    doubts: tuple[float, ...]
    own: float
    same: float
    within: float

    def alike(self, one: StepTraits, other: StepTraits) -> Array:
        """The covariance of each step of one with each of the other, whatever the source."""
        apart = np.abs(one.places[:, None] - other.places[None]).sum(axis=-1)
        result: Array = self.own**2 * np.exp(-apart) + self.same**2 * (one.kinds[:, None] == other.kinds[None])
        return result

    def shared(self, one: StepTraits, other: StepTraits) -> Array:
        """The same of one source."""
        result: Array = self.alike(one, other) + (one.slopes * np.square(self.doubts)) @ other.slopes.T
        return result


@dataclass(frozen=True)
class OwnRuns:
    """Runs of one's own: their traits, the inverse of their covariance, and its product with what they are off by."""

    traits: StepTraits
    inverse: Array
    weights: Array


def left_between(spreads: ErrorSpreads, runs: OwnRuns | None, steps: StepTraits) -> Array:
    """The covariance of these steps that is left after the runs, without `within`."""
    before = spreads.shared(steps, steps)
    if runs is None:
        return before
    towards = spreads.shared(steps, runs.traits)
    result: Array = before - towards @ runs.inverse @ towards.T
    return result


def one_of(traits: Sequence[StepTraits]) -> StepTraits:
    """Several sets of steps as one."""
    return StepTraits(
        *(np.concatenate([getattr(each, name) for each in traits]) for name in ("slopes", "places", "kinds"))
    )
