"""The shapes of published curves: the grid of all that are considered, and the prior learned from whole curves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scalecurve.forecasting.curves import Array, LogCurve, pack
from scalecurve.forecasting.experts import Shapes, log_likelihood

SHAPES_KEPT = 600
STEPS = 2  # of expectation-maximisation: more of them fit these sources better and others worse
START_SLOPES = (0.0, 0.15, 0.3, 0.5, 0.65, 0.8, 0.9, 0.97, 1.05, 1.2)
END_SLOPES = (-1.0, -0.5, -0.25, -0.1, -0.03, 0.0, 0.05, 0.12, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0)
BREAKS = tuple(2.0 ** (0.9 * i - 0.5) for i in range(12))
SHARPNESS = (1.0, 2.0, 4.0)


def grid() -> Array:
    """Every shape considered before the prior is learned."""
    bent = [
        (a, a - end, math.log(x0), m)
        for a in START_SLOPES
        for end in END_SLOPES
        if end < a - 1e-9
        for x0 in BREAKS
        for m in SHARPNESS
    ]
    return np.array(bent + [(a, 0.0, 0.0, 1.0) for a in START_SLOPES])


def shape_evidence(curves: Sequence[LogCurve], block: int = 40) -> Array:
    """How well every shape of the grid fits each whole curve: curves x shapes, the best shape of a curve at 1."""
    parameters, parts = grid(), []
    for start in range(0, len(curves), block):
        likelihood, _ = log_likelihood(pack(curves[start : start + block]), parameters, forgetting=1.0)
        parts.append(np.exp(likelihood - likelihood.max(axis=1, keepdims=True)))
    return np.concatenate(parts)


def learn_shapes(evidence: Array, curve_weight: Array) -> Shapes:
    """The prior by a few steps of expectation-maximisation; the likeliest shapes are kept, so that it stays small."""
    prior = np.full(evidence.shape[1], 1.0 / evidence.shape[1])
    for _ in range(STEPS):
        share = evidence * prior
        prior = curve_weight @ (share / share.sum(axis=1, keepdims=True))
        prior /= prior.sum()
    kept = np.sort(np.argsort(-prior, kind="stable")[:SHAPES_KEPT])
    return Shapes(grid()[kept], prior[kept] / prior[kept].sum())
