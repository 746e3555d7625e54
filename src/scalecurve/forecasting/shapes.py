"""A library of broken power laws with a prior learned from published curves.

    ln p = level + a u - (d/m) ln(1 + (x/x0)^m),   u = ln x,  x = K/K_1

The slope on log-log axes is a at small K and a - d at large K; the change happens at x0, sharply where m is large.
Amdahl (a = d = m = 1), plateaus (d = a, large m), passed peaks (d > a) and superlinear starts (a > 1) are all members.
For a curve each shape gets a Student-like likelihood (unknown noise, level free); the forecast is the median of the
posterior over shapes.  The prior is a table of weights learned by a few steps of expectation-maximisation
(calibration.json); few steps keep it wide, which predicts unseen sources better than the fully converged prior.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalecurve.forecasting.curves import Array, Curves, LogCurve, pack

DEGREES, SCALE = 2.0, 0.03  # of the Student likelihood: the noise level is not assumed known
FORGETTING = 0.6
ANCHOR = 0.5  # each shape is moved this share of the way to the last measured point
SHAPES_KEPT = 600
STEPS = 2  # of expectation-maximisation: more of them fit these sources better and others worse
_BLOCK = 1_500_000  # numbers held at once

START_SLOPES = (0.0, 0.15, 0.3, 0.5, 0.65, 0.8, 0.9, 0.97, 1.05, 1.2)
END_SLOPES = (-1.0, -0.5, -0.25, -0.1, -0.03, 0.0, 0.05, 0.12, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0)
BREAKS = tuple(2.0 ** (0.9 * i - 0.5) for i in range(12))
SHARPNESS = (1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Shapes:
    """J shapes as columns start slope a, drop d, ln x0, sharpness m, with their prior weights."""

    parameters: Array
    prior: Array

    def __len__(self) -> int:
        return len(self.prior)


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


def log_shape(parameters: Array, u: Array) -> Array:
    """The shapes at u = ln(K/K_1), zero at K_1; a new last axis runs over shapes.

    Studies share their K grids (1, 2, 4 ...), so each distinct u is computed once.
    """
    a, drop, u0, m = parameters.T
    distinct, place = np.unique(u, return_inverse=True)
    bend = np.logaddexp(0.0, m * (distinct[:, None] - u0)) - np.logaddexp(0.0, -m * u0)
    return np.asarray((a * distinct[:, None] - drop / m * bend)[place.reshape(u.shape)])


def posterior(curves: Curves, shapes: Shapes, forgetting: float = FORGETTING) -> tuple[Array, Array]:
    """Weights (N x J, rows sum to one) and levels (N x J) of the shapes for each curve."""
    likelihood, level = log_likelihood(curves, shapes.parameters, forgetting)
    weight = np.exp(likelihood - likelihood.max(axis=1, keepdims=True)) * shapes.prior
    return weight / weight.sum(axis=1, keepdims=True), level


def log_likelihood(curves: Curves, parameters: Array, forgetting: float) -> tuple[Array, Array]:
    """Student-like marginal likelihood of each shape, the level replaced by its weighted mean.

    Curves at the same K share their shapes, so a thousand studies on one grid cost one product of matrices.
    """
    weights = curves.weights(forgetting)
    _, first, member = np.unique(np.c_[curves.k, weights], axis=0, return_index=True, return_inverse=True)
    likelihood = np.empty((len(curves), len(parameters)))
    level = np.empty_like(likelihood)
    for group, row in enumerate(first.tolist()):
        own = np.flatnonzero(member.ravel() == group)
        weight, total = weights[row], weights[row].sum()
        shape = log_shape(parameters, np.log(curves.k[row] / curves.k[row, 0]))
        shape_mean, mean = weight @ shape / total, curves.y[own] @ weight / total
        shape, y = shape - shape_mean, curves.y[own] - mean[:, None]
        squares = (weight * y**2).sum(axis=1)[:, None] - 2 * (weight * y) @ shape + weight @ shape**2
        spread = np.log1p(np.maximum(squares, 0.0) / (DEGREES * SCALE**2))
        likelihood[own] = -(total - 1 + DEGREES) / 2 * spread
        level[own] = mean[:, None] - shape_mean
    return likelihood, level


def shape_quantiles(curves: Curves, at: Array, shapes: Shapes, levels: Sequence[float]) -> Array:
    """Posterior quantiles of log performance, N x Q x levels, in blocks of curves so that memory stays bounded."""
    step = max(1, _BLOCK // (len(shapes) * (curves.k.shape[1] + at.shape[1])))
    blocks = []
    for start in range(0, len(curves), step):
        own, ahead = curves.rows(slice(start, start + step)), at[start : start + step]
        weight, level = posterior(own, shapes)
        end = log_shape(shapes.parameters, np.log(own.k[:, -1] / own.k[:, 0])) + level
        offset = level + ANCHOR * (own.last - end)
        logs = log_shape(shapes.parameters, np.log(ahead / own.k[:, :1])) + offset[:, None, :]
        order = np.argsort(logs.astype(np.float32), axis=-1)  # half the width sorts faster; ties hardly matter
        spread_out = np.broadcast_to(weight[:, None, :], logs.shape)
        cumulative = np.cumsum(np.take_along_axis(spread_out, order, axis=-1), axis=-1)
        places = [np.argmax(cumulative >= share * cumulative[..., -1:], axis=-1)[..., None] for share in levels]
        chosen = np.take_along_axis(order, np.concatenate(places, axis=-1), axis=-1)
        blocks.append(np.take_along_axis(logs, chosen, axis=-1))
    return np.concatenate(blocks)


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
