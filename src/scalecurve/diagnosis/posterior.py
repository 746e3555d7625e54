"""How well each model of `causes` explains samples of T(K): marginal likelihoods by tempered particles.

Logarithms of the samples are taken as normal around log T1 + log T(K)/T(1) with one relative noise for all K, the
spread that stragglers add, and a small deviation of each K that no repeat shows (`DRIFT`).  T1 is integrated out
exactly.

A run that is slow now and then moves the mean and the band of a K, not its median.  So slow runs are found against the
spread of all K together and set apart: they cost every model without stragglers the density of a rare slow run, and do
not move its curve.

Particles start in the prior and follow the likelihood raised to a power that rises from 0 to 1: reweight, resample,
move by Metropolis steps.  The product of the mean weights is the evidence.  All models run side by side as arrays;
one that cannot catch up any more is dropped.
Source: P. Del Moral, A. Doucet, A. Jasra, Sequential Monte Carlo samplers, J. R. Stat. Soc. B 68(3), 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from scalecurve.diagnosis.causes import SLOTS, CauseCurves, Family, IndexArray
from scalecurve.findings import Finding, warning
from scalecurve.study.samples import FloatArray

SLOW_SCORE = 4.0
LEAST_RELATIVE = 0.02
LEAST_REPEATS = 4
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

    @property
    def pooled(self) -> float:
        """The pooled relative standard deviation of a run; 0 without repeats."""
        freedom = float(np.sum(self.n - 1))
        return float(np.sqrt(self.squares.sum() / freedom)) if freedom > 0 else 0.0


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
    curves: CauseCurves


@dataclass(frozen=True)
class SlowRuns:
    """Samples far above the rest of their K: where, how many, and how much wider they make the band."""

    k: tuple[int, ...]
    count: int
    of: int
    worst: float
    spread_with: float
    spread_without: float

    @property
    def findings(self) -> tuple[Finding, ...]:
        if not self.count:
            return ()
        message = (
            f"{self.count} of {self.of} runs are slow now and then (up to {self.worst:.0%} above the median of their "
            f"K): the spread is {self.spread_with:.1%} with them and {self.spread_without:.1%} without. Stragglers "
            "widen the band; they do not cause the bend where the medians stay smooth"
        )
        remedy = "look for neighbours, throttling or background jobs; more repeats narrow the band, not the bend"
        figures = {"count": self.count, "worst": self.worst, "spread_with": self.spread_with}
        evidence = {"k": list(self.k), **figures, "spread_without": self.spread_without}
        return (warning("straggler-noise", message, remedy=remedy, **evidence),)


def observe(times: Mapping[int, FloatArray]) -> tuple[Observed, SlowRuns]:
    """The samples of each K as the posterior needs them, and the slow runs set apart."""
    logs = {k: np.log(values) for k, values in times.items()}
    # Deviations from their own median are small for few samples: 1.4826 holds for many, so sqrt(n/(n-1)) widens them.
    apart = [
        np.abs(v - np.median(v)) * np.sqrt(len(v) / (len(v) - 1)) for v in logs.values() if len(v) >= LEAST_REPEATS
    ]
    limit = np.inf
    if apart:
        limit = SLOW_SCORE * max(1.4826 * float(np.median(np.concatenate(apart))), LEAST_RELATIVE / SLOW_SCORE)
    kept = {k: values[values <= np.median(values) + limit] for k, values in logs.items()}
    slow = {k: values.max() - np.median(values) for k, values in logs.items() if len(kept[k]) < len(values)}
    count = sum(len(logs[k]) - len(kept[k]) for k in logs)
    every, steady = _moments(logs), _moments(kept)
    points = Observed(np.array(list(logs), dtype=np.float64), steady, every, count)
    worst = float(np.expm1(max(slow.values()))) if slow else 0.0
    return points, SlowRuns(tuple(slow), count, int(every.n.sum()), worst, every.pooled, steady.pooled)


def _moments(logs: Mapping[int, FloatArray]) -> Moments:
    n = np.array([len(values) for values in logs.values()], dtype=np.float64)
    mean = np.array([values.mean() for values in logs.values()])
    squares = np.array([((values - values.mean()) ** 2).sum() for values in logs.values()])
    return Moments(n, mean, squares)


def explain(family: Family, points: Observed, rng: np.random.Generator) -> Posterior:
    """Evidence and posterior curves of every model of a family."""
    count = len(family.models)
    evidence = np.full(count, -np.inf)
    final = rng.uniform(size=(count, PARTICLES, DIMENSIONS))
    start, zeros = _likelihood(family, points, final), np.zeros(count)
    cloud = _Cloud(family, points, rng, np.arange(count), final, start, zeros, zeros)
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
    data: Observed
    rng: np.random.Generator
    places: IndexArray
    points: FloatArray
    likelihood: FloatArray
    heat: FloatArray
    log_evidence: FloatArray

    def only(self, keep: npt.NDArray[np.bool_]) -> _Cloud:
        chosen = np.flatnonzero(keep)
        names = ("places", "points", "likelihood", "heat", "log_evidence")
        parts = {name: getattr(self, name)[chosen] for name in names}
        return replace(self, family=self.family.some(chosen), **parts)

    def cooled(self) -> _Cloud:
        """One round: raise the power as far as enough particles survive, resample systematically, move."""
        heat = _next_heat(self.likelihood, self.heat)
        gain = (heat - self.heat)[:, None] * self.likelihood
        top = gain.max(axis=1, keepdims=True)
        raw = np.exp(gain - top)
        evidence = self.log_evidence + top[:, 0] + np.log(raw.mean(axis=1))
        count = raw.shape[1]
        edges = np.cumsum(raw, axis=1) / raw.sum(axis=1, keepdims=True)
        marks = (np.arange(count) + self.rng.uniform(size=(len(raw), 1))) / count
        rows = zip(edges, marks, strict=True)
        chosen = np.stack([np.searchsorted(edge, mark).clip(max=count - 1) for edge, mark in rows])
        points = np.take_along_axis(self.points, chosen[:, :, None], axis=1)
        likelihood = np.take_along_axis(self.likelihood, chosen, axis=1)
        # Metropolis steps along the particles' covariance; what leaves the unit cube is mirrored back into it.
        apart = points - points.mean(axis=1, keepdims=True)
        covariance = np.einsum("mni,mnj->mij", apart, apart) / count
        root = np.linalg.cholesky(covariance + 1e-7 * np.eye(points.shape[2]))
        for scale in np.geomspace(1.2, 0.25, MOVES):
            step = np.einsum("mij,mnj->mni", root, self.rng.standard_normal(points.shape))
            proposal = 1.0 - np.abs(1.0 - np.mod(points + scale * step, 2.0))
            there = _likelihood(self.family, self.data, proposal)
            odds = np.exp(np.minimum(heat[:, None] * (there - likelihood), 0.0))
            accept = self.rng.uniform(size=odds.shape) < odds
            points = np.where(accept[:, :, None], proposal, points)
            likelihood = np.where(accept, there, likelihood)
        return replace(self, points=points, likelihood=likelihood, heat=heat, log_evidence=evidence)


def _decode(family: Family, points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sizes of the terms, barriers and noise from the unit cube (all log-uniform)."""
    low, high = family.bounds[:, None, :, 0], family.bounds[:, None, :, 1]
    sizes = np.exp(low + points[:, :, :SLOTS] * (high - low))
    noise = np.exp(NOISE[0] + points[:, :, SLOTS] * (NOISE[1] - NOISE[0]))
    barriers = np.exp(BARRIERS[0] + points[:, :, SLOTS + 1] * (BARRIERS[1] - BARRIERS[0]))
    return sizes, barriers, noise


def _likelihood(family: Family, data: Observed, points: FloatArray) -> FloatArray:
    """Log density of the samples at each particle, T1 integrated out.  E[log T] = log E[T] - variance/2."""
    sizes, barriers, noise = _decode(family, points)
    curve = family.curves(sizes, barriers)
    spread = noise[:, :, None] ** 2 + curve.straggler_spread**2
    density = np.empty(points.shape[:2])
    explains = np.array([model.has_straggler for model in family.models])
    for chosen, own, cost in (
        (np.flatnonzero(explains), data.every, 0.0),
        (np.flatnonzero(~explains), data.kept, data.slow * SLOW_RUN_LOG_DENSITY),
    ):
        variance = spread[chosen]
        within = np.sum((own.n - 1) * np.log(2 * np.pi * variance) + own.squares / variance + np.log(own.n), axis=-1)
        v = variance / own.n + DRIFT**2
        apart = own.mean - (np.log(curve.times[chosen]) - variance / 2)
        total = np.sum(1 / v, axis=-1)
        centre = np.sum(apart / v, axis=-1) / total
        between = np.sum((apart - centre[..., None]) ** 2 / v + np.log(2 * np.pi * v), axis=-1) + np.log(total)
        density[chosen] = cost - 0.5 * (within + between)
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
