"""The panel that forecasts a curve: families of simple extrapolations, and smooth laws where the curve follows one.

Every family takes curves and the K asked for and returns log performance.  The panel's verdict is the median over its
families, drawn towards the last value by noise and towards a smooth law by fit.

Smooth laws: serial + shared + one overhead of the table of terms (log K, K^1/3, K^1/2, K), each fitted to all points
alike and averaged with weights rss^(-n/2), the profile likelihood.  `trust` goes from 1 (residuals well below `ENOUGH`)
to 0.

Published shapes: a library of broken power laws with a prior learned from published curves,

    ln p = level + a u - (d/m) ln(1 + (x/x0)^m),   u = ln x,  x = K/K_1

The slope on log-log axes is a at small K and a - d at large K; the change happens at x0, sharply where m is large.
Amdahl (a = d = m = 1), plateaus (d = a, large m), passed peaks (d > a) and superlinear starts (a > 1) are all members.
For a curve each shape gets a Student-like likelihood (unknown noise, level free); the forecast is the median of the
posterior over shapes.  The prior is a table of weights learned by a few steps of expectation-maximisation
(calibration.json); few steps keep it wide, which predicts unseen sources better than the fully converged prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scalecurve.fitting.models import fit_positive
from scalecurve.forecasting.curves import (
    Array,
    Curves,
    damped,
    last_slope,
    repeat_error,
    roughness,
    weighted_slope,
)
from scalecurve.laws.terms import OVERHEADS

Family = Callable[[Curves, Array], Array]

PARAMETERS = 3
ENOUGH = 0.015  # relative misfit at which laws and panel count alike
NOISE_SCALE = 0.8  # roughness at which half of the predicted change is believed
WEAK_NOISE_SCALE = 0.1  # the same of weak scaling, whose changes are small beside the noise
LAW_SHARE = 0.5  # of the smooth laws in the panel's verdict, at full trust
SLOWER = 5.0  # a network beside the memory of a node: four times, and a quarter more for what a law misses
_FLOOR = 0.002  # no curve is known better than this
_PRIOR = np.array(list(OVERHEADS.values()))[:, None]

LOGARITHM = ("1/K", "1", "log2(K)")
AMDAHL = ("1/K", "1")
GROWING = ("1", "log2(K)", "K")
STEEPEST = -1.6  # d ln(1/T) / d ln K of a collective that is believed to go on
IN_THE_LONG_RUN = -1.1  # the same where every rank's data passes every rank: K, and a little contention
TREE, TO_ALL = 0.3, 0.9  # slopes of ln T at which a collective counts as a tree and as sending to all


def positive(curves: Curves, at: Array, terms: tuple[str, ...], weights: Array) -> Array:
    """A positive combination of terms of the time, as log performance."""
    return -fit_positive(terms, curves.k, -curves.y, weights).log_time(at)


def logarithm(curves: Curves, at: Array) -> Array:
    """Serial part, shared part and a tree of messages; the late points, or all but the first."""
    near = positive(curves, at, LOGARITHM, curves.weights())
    return np.asarray((near + positive(curves, at, LOGARITHM, curves.without_first())) / 2)


def amdahl(curves: Curves, at: Array) -> Array:
    """Serial and shared part, moved a quarter of the way to the last point."""
    fit = fit_positive(AMDAHL, curves.k, -curves.y, curves.weights())
    miss = curves.last + fit.log_time(curves.k[:, -1:])
    return np.asarray(-fit.log_time(at) + miss / 4)


def root(curves: Curves, at: Array) -> Array:
    """Overheads that grow as the cube or square root of K, as surfaces and grids of ranks do."""
    cube = positive(curves, at, ("1/K", "1", "K**(1/3)"), curves.weights())
    return np.asarray((cube + positive(curves, at, ("1/K", "1", "K**(1/2)"), curves.weights())) / 2)


def plateau(curves: Curves, at: Array) -> Array:
    """Nothing more is gained: between the last value and the best."""
    best = np.where(curves.mask, curves.y, -np.inf).max(axis=1)[:, None]
    return np.asarray(np.broadcast_to((curves.last + best) / 2, at.shape))


def trend(curves: Curves, at: Array) -> Array:
    """The slope at the end goes on and fades; never steeper than linear."""
    last, all_points = last_slope(curves), weighted_slope(curves)
    short = damped(curves, at, np.minimum(last, 1.0), 0.5)
    long = damped(curves, at, np.minimum(np.minimum(last, all_points), 1.0), 0.8)
    return np.asarray((short + long) / 2)


STRONG_FAMILIES: dict[str, Family] = {
    "serial + shared + log K": logarithm,
    "serial + shared (Amdahl)": amdahl,
    "overhead as a root of K": root,
    "plateau": plateau,
    "fading trend": trend,
}


def growing(curves: Curves, at: Array) -> Array:
    """Weak scaling: a constant, a tree of messages and a linear cost; the late points, or all but the first."""
    near = positive(curves, at, GROWING, curves.weights())
    return np.asarray((near + positive(curves, at, GROWING, curves.without_first())) / 2)


def growing_late(curves: Curves, at: Array) -> Array:
    """Weak scaling: the same terms, fitted to the late points alone."""
    return positive(curves, at, GROWING, curves.weights())


def falling_power(curves: Curves, at: Array) -> Array:
    """Weak scaling: the slope of all points goes on; efficiency never rises."""
    return damped(curves, at, np.minimum(weighted_slope(curves), 0.0), 0.999)


WEAK_PANEL: dict[str, Family] = {
    "constant + log K + K": growing,
    "constant + log K + K, late points": growing_late,
    "power of K": falling_power,
}


def rising_slope(curves: Curves, at: Array) -> Array:
    """The time of a collective goes on rising with its last slope, never faster than K^1.6."""
    return damped(curves, at, np.clip(last_slope(curves), STEEPEST, 0.0), 0.999)


def algorithm_slope(curves: Curves, at: Array) -> Array:
    """The time of a collective rises as that of its algorithm does in the long run.

    Where it rises nearly as K (all-gather, all-to-all, rings) that is K^1.1: steeper slopes are a first step into the
    network, flatter ones a latency that is being left behind.  A tree keeps its last slope; between is a mixture.
    """
    last = last_slope(curves)
    own, sends_to_all = np.clip(last, STEEPEST, 0.0), np.clip((-last - TREE) / (TO_ALL - TREE), 0.0, 1.0)
    return damped(curves, at, own + sends_to_all * (IN_THE_LONG_RUN - own), 0.999)


COLLECTIVE_PANEL: dict[str, Family] = {
    "last slope": rising_slope,
    "slope of the algorithm": algorithm_slope,
}


@dataclass(frozen=True)
class SmoothLaws:
    """The averaged laws' forecast of log performance, their spread, the misfit of the best and the trust in them.

    `slower` is their forecast if all time beside the shared work cost `SLOWER` times as much from here on.
    """

    ahead: Array
    slower: Array
    spread: Array
    misfit: Array
    trust: Array


def smooth_laws(curves: Curves, at: Array) -> SmoothLaws:
    """The smooth laws averaged for each curve.

    Misfit that repeats explain is no evidence against a law, but at most two thirds of it is forgiven.
    """
    weights = curves.mask.astype(np.float64)
    fits = [fit_positive(("1/K", "1", overhead), curves.k, -curves.y, weights) for overhead in OVERHEADS]
    residuals = np.stack([np.where(curves.mask, curves.y + fit.log_time(curves.k), 0.0) for fit in fits])
    squares = (residuals**2).sum(axis=2)
    log_weight = -curves.count / 2 * np.log(squares + curves.count * _FLOOR**2)
    share = np.exp(log_weight - log_weight.max(axis=0)) * _PRIOR
    share = share / share.sum(axis=0)
    ahead = np.stack([-fit.log_time(at) for fit in fits])
    shared = np.stack([fit.coefficients[:, :1] * fit.base[:, None] / at * np.exp(fit.level)[:, None] for fit in fits])
    slower = -np.log(np.maximum(SLOWER * np.exp(-ahead) - (SLOWER - 1) * shared, np.finfo(float).tiny))
    mean = np.einsum("ln,lnq->nq", share, ahead)
    spread = np.sqrt(np.einsum("ln,lnq->nq", share, (ahead - mean) ** 2))
    free = curves.count - PARAMETERS
    misfit = np.sqrt(squares.min(axis=0) / np.maximum(free, 1))
    beyond = np.maximum(misfit**2 - repeat_error(curves) ** 2, misfit**2 / 9)
    trust = np.where(free >= 1, 1.0 / (1.0 + (beyond / ENOUGH**2) ** 2), 0.0)
    return SmoothLaws(mean, np.einsum("ln,lnq->nq", share, slower), spread, misfit, trust)


@dataclass(frozen=True)
class Verdict:
    """Log performance at the K asked for (N x Q), and what the interval's width depends on.

    `families` is F x N x Q in the order of the panel, the published shapes last; `spread` is their disagreement, `laws`
    the smooth laws where they were asked, `trust` their share in the verdict.
    """

    ahead: Array
    families: Array
    spread: Array
    noise: Array
    trust: Array
    laws: SmoothLaws | None = None


def consult(curves: Curves, at: Array, panel: Mapping[str, Family], *, shapes: Array | None = None) -> Verdict:
    """The verdict of a panel.

    Noise draws it to the last value, but for collectives.  With `shapes` (the median of the published shapes, N x Q)
    they join the panel, and smooth laws that fit count for at most `LAW_SHARE`: clean data are no proof that a law
    goes on.
    """
    families = np.stack([family(curves, at) for family in panel.values()] + ([] if shapes is None else [shapes]))
    families = np.clip(families, curves.last - 60.0, curves.last + 60.0)
    rough = roughness(curves)
    middle = np.median(families, axis=0)
    spread, noise = families.std(axis=0), np.hypot(rough, repeat_error(curves))
    scale = {id(COLLECTIVE_PANEL): math.inf, id(WEAK_PANEL): WEAK_NOISE_SCALE}.get(id(panel), NOISE_SCALE)
    believed = curves.believed if shapes is not None else 1.0
    settled = curves.last + (middle - curves.last) * (believed / (1.0 + (rough / scale) ** 2))[:, None]
    if shapes is None:
        return Verdict(settled, families, spread, noise, np.zeros(len(curves)))
    laws = smooth_laws(curves, at)
    share = np.where(curves.believed == 1, LAW_SHARE * laws.trust, 0.0)
    ahead = settled + share[:, None] * (laws.ahead - settled)
    return Verdict(ahead, families, spread, np.hypot(noise, np.minimum(laws.misfit, 1.0)), share, laws)


DEGREES, SCALE = 2.0, 0.03  # of the Student likelihood: the noise level is not assumed known
FORGETTING = 0.6
ANCHOR = 0.5  # each shape is moved this share of the way to the last measured point
_BLOCK = 1_500_000  # numbers held at once


@dataclass(frozen=True)
class Shapes:
    """J shapes as columns start slope a, drop d, ln x0, sharpness m, with their prior weights."""

    parameters: Array
    prior: Array

    def __len__(self) -> int:
        return len(self.prior)


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
