"""How well each model of `shapes` explains samples of T(K): marginal likelihoods by tempered particles.

Logarithms of the samples are taken as normal around log T1 + log T(K)/T(1) with one relative noise for all K, the
spread that stragglers add, and a small deviation of each K that no repeat shows (`DRIFT`).  T1 is integrated out
exactly.  Samples far above the others of their K are taken as transient (see `noise`): they cost every model without
stragglers the density of a rare slow run, and do not move its curve.

Particles start in the prior and follow the likelihood raised to a power that rises from 0 to 1: reweight, resample,
move by Metropolis steps.  The product of the mean weights is the evidence.  All models run side by side as arrays;
one that cannot catch up any more is dropped.
Source: P. Del Moral, A. Doucet, A. Jasra, Sequential Monte Carlo samplers, J. R. Stat. Soc. B 68(3), 2006.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalecurve.diagnosis.shapes import SLOTS, Curves, Family, IndexArray
from scalecurve.study.samples import FloatArray

PARTICLES = 240
MOVES = 4
MOST_ROUNDS = 60
ALIVE = 0.4  # effective share of the particles each round keeps
DRIFT = 0.004
NOISE = np.log((0.003, 0.08))
BARRIERS = np.log((1.0, 12.0))
DIMENSIONS = SLOTS + 2
HOPELESS = 14.0
SLOW_RUN_LOG_DENSITY = -2.3  # log(0.05 / 0.5): one run in twenty is slow, by up to half


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, mean and sum of squared deviations of the logarithms of the samples of each K."""

    n: FloatArray
    mean: FloatArray
    squares: FloatArray


@dataclass(frozen=True, eq=False)
class Observed:
    """What the samples say: `kept` without the slow runs, `every` with them, for models that explain them."""

    k: FloatArray
    kept: Moments
    every: Moments
    slow: int


@dataclass(frozen=True, eq=False)
class Posterior:
    """Log evidence of each model and equally weighted draws of their curves; -inf where a model was dropped."""

    log_evidence: FloatArray
    curves: Curves


def explain(family: Family, seen: Observed, rng: np.random.Generator) -> Posterior:
    """Evidence and posterior curves of every model of a family."""
    count = len(family.models)
    evidence = np.full(count, -np.inf)
    final = rng.uniform(size=(count, PARTICLES, DIMENSIONS))
    cloud = _Cloud.start(family, seen, final, rng)
    for _ in range(MOST_ROUNDS):
        cloud = cloud.cooled()
        done = cloud.heat >= 1.0
        evidence[cloud.places[done]] = cloud.log_evidence[done]
        final[cloud.places[done]] = cloud.points[done]
        hopeful = ~done & (cloud.likelihood.max(axis=1) + HOPELESS > evidence.max())
        if not hopeful.any():
            break
        cloud = cloud.only(hopeful)
    return Posterior(evidence, family.curves(*_decode(family, final)[:2]))


@dataclass(frozen=True, eq=False)
class _Cloud:
    """Particles of the models still on their way (axes: model, particle, dimension of the unit cube)."""

    family: Family
    seen: Observed
    rng: np.random.Generator
    places: IndexArray
    points: FloatArray
    likelihood: FloatArray
    heat: FloatArray
    log_evidence: FloatArray

    @classmethod
    def start(cls, family: Family, seen: Observed, points: FloatArray, rng: np.random.Generator) -> _Cloud:
        count = len(points)
        likelihood = _likelihood(family, seen, points)
        return cls(family, seen, rng, np.arange(count), points, likelihood, np.zeros(count), np.zeros(count))

    def only(self, keep: npt.NDArray[np.bool_]) -> _Cloud:
        chosen = np.flatnonzero(keep)
        return _Cloud(
            self.family.some(chosen),
            self.seen,
            self.rng,
            self.places[chosen],
            self.points[chosen],
            self.likelihood[chosen],
            self.heat[chosen],
            self.log_evidence[chosen],
        )

    def cooled(self) -> _Cloud:
        """One round: raise the power as far as enough particles survive, resample, move."""
        heat = _next_heat(self.likelihood, self.heat)
        gain = (heat - self.heat)[:, None] * self.likelihood
        top = gain.max(axis=1, keepdims=True)
        raw = np.exp(gain - top)
        evidence = self.log_evidence + top[:, 0] + np.log(raw.mean(axis=1))
        chosen = _resample(raw, self.rng)
        points = np.take_along_axis(self.points, chosen[:, :, None], axis=1)
        likelihood = np.take_along_axis(self.likelihood, chosen, axis=1)
        points, likelihood = self._moved(points, likelihood, heat)
        return _Cloud(self.family, self.seen, self.rng, self.places, points, likelihood, heat, evidence)

    def _moved(self, points: FloatArray, likelihood: FloatArray, heat: FloatArray) -> tuple[FloatArray, FloatArray]:
        root = _spread_root(points)
        for scale in np.geomspace(1.2, 0.25, MOVES):
            step = np.einsum("mij,mnj->mni", root, self.rng.standard_normal(points.shape))
            proposal = _reflected(points + scale * step)
            there = _likelihood(self.family, self.seen, proposal)
            odds = np.exp(np.minimum(heat[:, None] * (there - likelihood), 0.0))
            accept = self.rng.uniform(size=odds.shape) < odds
            points = np.where(accept[:, :, None], proposal, points)
            likelihood = np.where(accept, there, likelihood)
        return points, likelihood


def _decode(family: Family, points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sizes of the terms, barriers and noise from the unit cube (all log-uniform)."""
    low, high = family.bounds[:, None, :, 0], family.bounds[:, None, :, 1]
    sizes = np.exp(low + points[:, :, :SLOTS] * (high - low))
    noise = np.exp(NOISE[0] + points[:, :, SLOTS] * (NOISE[1] - NOISE[0]))
    barriers = np.exp(BARRIERS[0] + points[:, :, SLOTS + 1] * (BARRIERS[1] - BARRIERS[0]))
    return sizes, barriers, noise


def _likelihood(family: Family, seen: Observed, points: FloatArray) -> FloatArray:
    sizes, barriers, noise = _decode(family, points)
    curve = family.curves(sizes, barriers)
    variance = noise[:, :, None] ** 2 + curve.straggler_spread**2
    found = np.empty(points.shape[:2])
    explains = np.array([model.has_straggler for model in family.models])
    for chosen, moments, cost in (
        (np.flatnonzero(explains), seen.every, 0.0),
        (np.flatnonzero(~explains), seen.kept, seen.slow * SLOW_RUN_LOG_DENSITY),
    ):
        if len(chosen):
            found[chosen] = _log_normal(curve.times[chosen], variance[chosen], moments) + cost
    return found


def _log_normal(times: FloatArray, variance: FloatArray, seen: Moments) -> FloatArray:
    """Log density of the samples, T1 integrated out.  E[log T] = log E[T] - variance/2."""
    within = np.sum((seen.n - 1) * np.log(2 * np.pi * variance) + seen.squares / variance + np.log(seen.n), axis=-1)
    v = variance / seen.n + DRIFT**2
    apart = seen.mean - (np.log(times) - variance / 2)
    total = np.sum(1 / v, axis=-1)
    centre = np.sum(apart / v, axis=-1) / total
    between = np.sum((apart - centre[..., None]) ** 2 / v + np.log(2 * np.pi * v), axis=-1) + np.log(total)
    density: FloatArray = -0.5 * (within + between)
    return density


def _next_heat(likelihood: FloatArray, heat: FloatArray) -> FloatArray:
    """For each model the largest power up to 1 that keeps `ALIVE` of the particles effective; by bisection."""
    low, high = heat.copy(), np.ones_like(heat)
    centred = likelihood - likelihood.max(axis=1, keepdims=True)
    trial = high.copy()
    for _ in range(16):
        raw = np.exp((trial - heat)[:, None] * centred)
        effective = raw.sum(axis=1) ** 2 / (raw**2).sum(axis=1) / raw.shape[1]
        low, high = np.where(effective >= ALIVE, trial, low), np.where(effective >= ALIVE, high, trial)
        trial = (low + high) / 2
    return np.where(high - low < 1e-4, high, np.maximum(low, heat + 1e-6)).clip(max=1.0)


def _resample(raw: FloatArray, rng: np.random.Generator) -> IndexArray:
    """Systematic resampling of each row."""
    count = raw.shape[1]
    edges = np.cumsum(raw, axis=1) / raw.sum(axis=1, keepdims=True)
    marks = (np.arange(count) + rng.uniform(size=(len(raw), 1))) / count
    return np.stack([np.searchsorted(edge, mark).clip(max=count - 1) for edge, mark in zip(edges, marks, strict=True)])


def _spread_root(points: FloatArray) -> FloatArray:
    """Cholesky roots of the particles' covariances."""
    apart = points - points.mean(axis=1, keepdims=True)
    covariance = np.einsum("mni,mnj->mij", apart, apart) / points.shape[1]
    root: FloatArray = np.linalg.cholesky(covariance + 1e-7 * np.eye(points.shape[2]))
    return root


def _reflected(points: FloatArray) -> FloatArray:
    """Points that left the unit cube, mirrored back into it: a symmetric step."""
    inside: FloatArray = 1.0 - np.abs(1.0 - np.mod(points, 2.0))
    return inside
