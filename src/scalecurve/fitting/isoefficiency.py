"""The N that holds an efficiency E at each K, from a fitted T(N, K).

E(N, K) = K0 T(N, K0) / (K T(N, K)), K0 the smallest measured K.  Its band comes from surfaces that the data could have
come from (isoefficiency: Grama, Gupta, Kumar 1993; `laws.communication` has the textbook answers).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scalecurve.document import JsonRecord
from scalecurve.estimate import Estimate
from scalecurve.fitting.surface import AVERAGED, DRAWS, SEED, Array, Surface

GRID_STEPS, GRID_BEYOND = 160, 64.0  # sizes tried, and how far beyond the measured ones


@dataclass(frozen=True, kw_only=True)
class IsoRow(JsonRecord):
    """The size that holds E = `hold` at `k`; `size` is None where no size tried holds it."""

    hold: float
    k: int
    size: Estimate | None
    measured: bool


def isoefficiency(
    surface: Surface, holds: Sequence[float], level: float
) -> tuple[tuple[IsoRow, ...], dict[float, Estimate]]:
    """The sizes that hold each E at the measured K and at 2 and 4 times the largest, and how fast they grow with K."""
    points = surface.points
    measured = [int(k) for k in np.unique(points.k)]
    base, largest = measured[0], measured[-1]
    workers = [k for k in (*measured, 2 * largest, 4 * largest) if k > base]
    sizes = np.geomspace(points.size.min() / GRID_BEYOND, points.size.max() * GRID_BEYOND, GRID_STEPS)
    if points.size.min() >= 2:
        sizes = sizes[sizes >= 2]
    every_k = np.array([base, *workers], dtype=np.float64)
    draws = surface.draws(
        np.tile(sizes, len(every_k)), np.repeat(every_k, len(sizes)), DRAWS, np.random.default_rng(SEED)
    ).reshape(DRAWS, len(every_k), len(sizes))
    cost = draws + np.log(every_k)[None, :, None]
    efficiency = np.exp(cost[:, :1] - cost[:, 1:])
    rows: list[IsoRow] = []
    growth: dict[float, Estimate] = {}
    for hold in holds:
        held = first_sizes(efficiency, sizes, hold)
        rows += iso_rows(held, workers, hold, level, largest)
        if (rate := growth_of(held, workers, level)) is not None:
            growth[hold] = rate
    return tuple(rows), growth


def iso_rows(held: Array, workers: Sequence[int], hold: float, level: float, largest: int) -> Iterator[IsoRow]:
    """A row for each K from the log sizes of the draws."""
    low, middle, high = np.quantile(held, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=0, method="nearest")
    for i, k in enumerate(workers):
        size: Estimate | None = None
        if math.isfinite(middle[i]):
            least, most = (float(np.exp(own[i])) if math.isfinite(own[i]) else None for own in (low, high))
            size = Estimate(float(np.exp(middle[i])), least, most, level, AVERAGED)
        yield IsoRow(hold=hold, k=k, size=size, measured=k <= largest)


def growth_of(held: Array, workers: Sequence[int], level: float) -> Estimate | None:
    """The exponent with which the size grows in K; None where too few draws have sizes at two K or more."""
    slopes = [
        float(np.polyfit(np.log(np.array(workers, dtype=float)[ok]), own[ok], 1)[0])
        for own in held
        if (ok := np.isfinite(own)).sum() >= 2
    ]
    if len(slopes) < DRAWS * level:
        return None
    low, value, high = np.quantile(slopes, [(1 - level) / 2, 0.5, (1 + level) / 2]).tolist()
    return Estimate(value, low, high, level, AVERAGED)


def first_sizes(efficiency: Array, sizes: Array, hold: float) -> Array:
    """Log of the smallest size at which E is at least `hold`, by draw and K; -inf or inf where it is out of range."""
    above = efficiency >= hold
    place = np.argmax(above, axis=2)
    logs, before = np.log(sizes), np.maximum(place - 1, 0)
    rows, columns = np.indices(place.shape)
    here, there = efficiency[rows, columns, place], efficiency[rows, columns, before]
    share = np.clip((hold - there) / np.where(here > there, here - there, 1.0), 0.0, 1.0)
    between = logs[before] + share * (logs[place] - logs[before])
    return np.where(above.any(axis=2), np.where(place == 0, -np.inf, between), np.inf)
