"""From what each cause may have cost to an answer: one cause, a set of causes, or "undetermined", with its probability.

Draws are ways in which the loss may have come about, each with its weight.  The chance of a cause is the weight of the
draws in which it costs most at the largest K.  The answer is the smallest set of causes that holds `COVERED` of the
chance.

Chances that come straight from models are too sure of themselves, because the world has more mechanisms than the
models.  They are therefore tempered: raised to a power below 1 and mixed with a little of everything.
Power and mixture were chosen on one part of simulated programs and are reported on another
(`python -m bench.diagnosis`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scalecurve.diagnosis.causes import ANSWERS, CAUSES, NONE, OTHER, UNDETERMINED
from scalecurve.study.samples import FloatArray

NEGLIGIBLE = 0.03  # a loss below 3 % of the worker-seconds at the largest K is no bend
COVERED = 0.95
SURE = 0.9
TAIL = 0.05
NAMES = (*CAUSES, OTHER)
NOTHING: Mapping[str, float] = {**dict.fromkeys(NAMES, 0.0), NONE: 1.0}


@dataclass(frozen=True)
class Temper:
    """How far chances are flattened: to the power `power`, and `floor` of the whole spread evenly."""

    power: float
    floor: float

    def __call__(self, chances: Mapping[str, float]) -> dict[str, float]:
        raised = {name: max(chances.get(name, 0.0), 0.0) ** self.power for name in ANSWERS}
        total = sum(raised.values())
        return {name: (1 - self.floor) * value / total + self.floor / len(ANSWERS) for name, value in raised.items()}


TIMES = Temper(0.7, 0.05)
TOTALS = Temper(0.9, 0.03)
TELLING = Temper(0.9, 0.03)


@dataclass(frozen=True, eq=False)
class Draws:
    """Weighted ways in which the loss may have come about.

    Worker-seconds lost (axes: draw, cause in the order of NAMES, K) and spent (axes: draw, K).
    """

    k: tuple[int, ...]
    weights: FloatArray
    losses: FloatArray
    spent: FloatArray

    @property
    def _parts(self) -> FloatArray:
        """Shares of the loss (axes: draw, cause with none last, K)."""
        total = self.losses.sum(axis=1)
        small = total <= NEGLIGIBLE * self.spent
        part = np.where(small[:, None], 0.0, self.losses / np.where(total > 0, total, 1.0)[:, None])
        parts: FloatArray = np.concatenate([part, small[:, None].astype(np.float64)], axis=1)
        return parts

    def chances(self) -> dict[str, float]:
        """The chance that each cause costs most at the largest K; `none` where nothing is lost."""
        winner = np.argmax(self._parts[:, :, -1], axis=1)
        won = np.bincount(winner, weights=self.weights, minlength=len(NAMES) + 1) / self.weights.sum()
        return dict(zip((*NAMES, NONE), won.tolist(), strict=True))

    def shares(self) -> dict[int, dict[str, float]]:
        """Mean shares of the loss at each K."""
        mean = np.einsum("d,dck->kc", self.weights, self._parts) / self.weights.sum()
        return {k: dict(zip((*NAMES, NONE), row.tolist(), strict=True)) for k, row in zip(self.k, mean, strict=True)}

    def intervals(self) -> dict[str, tuple[float, float]]:
        """The share of each cause at the largest K, from the 5th to the 95th percentile of the draws."""
        last = self._parts[:, :, -1]
        order = np.argsort(last, axis=0)
        heaped = np.cumsum(self.weights[order], axis=0) / self.weights.sum()
        bounds = {}
        for i, name in enumerate((*NAMES, NONE)):
            low, high = np.searchsorted(heaped[:, i], [TAIL, 1 - TAIL]).clip(max=len(last) - 1)
            bounds[name] = (float(last[order[low, i], i]), float(last[order[high, i], i]))
        return bounds


@dataclass(frozen=True)
class CauseAnswer:
    """The cause or "undetermined", the set that holds it, and the chance that it does."""

    cause: str
    probability: float
    candidates: tuple[str, ...]


def answer(chances: Mapping[str, float]) -> CauseAnswer:
    """A single cause from 0.9 on; otherwise the smallest set that covers 0.95, the likeliest first."""
    ordered = sorted(chances, key=lambda name: -chances[name])
    best = ordered[0]
    if chances[best] >= SURE and best != OTHER:
        return CauseAnswer(best, chances[best], (best,))
    candidates: list[str] = []
    covered = 0.0
    for name in ordered:
        candidates.append(name)
        covered += chances[name]
        if covered >= COVERED:
            break
    return CauseAnswer(UNDETERMINED, min(covered, 1.0), tuple(candidates))


def anything() -> dict[str, float]:
    """The chances where nothing can be said: every cause alike."""
    return {**dict.fromkeys(NAMES, 1.0 / len(NAMES)), NONE: 0.0}
