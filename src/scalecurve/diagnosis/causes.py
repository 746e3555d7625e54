"""The few causes behind most bends: what each is, what is worth trying, and the shape that T(K) takes under it.

With T(1) = 1, parallel work p = 1 - s, and P(K) = 1/K under strong scaling or 1 under weak scaling:

    T(K) = s + p P(K) * imbalance(K) * contention(K) * E[slowest of K draws] + c g(K)

    serial         s                                                   (cancels under weak scaling)
    communication  g = log2 K (trees), K - 1 (linear), 2 (K-1)/K (ring, bandwidth)
    imbalance      1 + x for K > 1, or 1 + x log2(K)/6 where it grows with the number of shards
    contention     1 + x (K - 1) (Gunther's sigma), or 1 + x log2 K
    straggler      E[max of K] of lognormal draws of log-spread x; a sample's spread falls with sqrt(barriers)

Serial, ring and Gunther's contention have the same shape under strong scaling: from T alone only facts about the
machine can separate them.  Sizes are log-uniform over ranges a little wider than those met in practice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from scalecurve.study import Regime
from scalecurve.study.samples import FloatArray

IndexArray = npt.NDArray[np.int64]

COMMUNICATION = "communication"
STRAGGLER = "straggler"
IMBALANCE = "imbalance"
CONTENTION = "contention"
SERIAL = "serial"
NONE = "none"
UNDETERMINED = "undetermined"

CAUSES = (COMMUNICATION, STRAGGLER, IMBALANCE, CONTENTION, SERIAL)

REMEDIES = {
    COMMUNICATION: "send less or overlap it with compute: larger local batches, gradient buckets and compression, "
    "hierarchical collectives, a faster link; measure the network alone with `scalecurve collective`",
    STRAGGLER: "find the slow host or the source of jitter (throttling, neighbours, background jobs), put fewer "
    "barriers in the job, or allow backup workers; `scalecurve straggler` shows their cost",
    IMBALANCE: "cut the work by cost, not by count: sort or bucket by length, more and smaller shards, dynamic "
    "scheduling; more repeats will not help",
    CONTENTION: "the workers share memory bandwidth, cache or clock: pin them, spread them over sockets and nodes, "
    "use fewer per node, or block for cache; `scalecurve roofline` shows the ceiling",
    SERIAL: "shorten or hide the part that one worker does alone (input, checkpoint, reduction on rank 0, logging), "
    "or grow the problem with the machine",
    NONE: "nothing to fix in the measured range; measure larger K",
    UNDETERMINED: "record where each worker's time goes (scalecurve.probe phases, or profiler traces): T(K) alone "
    "cannot tell these causes apart",
}

MEANINGS = {
    COMMUNICATION: "time in collectives and messages",
    STRAGGLER: "waiting for a worker that is slow now and then, or for one slow host",
    IMBALANCE: "waiting for workers that were given more work",
    CONTENTION: "the compute itself slows as workers share a machine",
    SERIAL: "one worker works, the others wait",
    NONE: "no loss beyond the noise",
}

SLOTS = 2
SINGLE_WEIGHT = 1.0
PAIR_WEIGHT = 0.2
APART_CONTENTION = 0.1  # workers on machines of their own share no memory: contention is unlikely there


@dataclass(frozen=True)
class CauseTerm:
    """One cause in one form: g(K), the range of its size, and its weight among the forms of its cause."""

    cause: str
    form: str
    growth: Callable[[FloatArray], FloatArray]
    low: float
    high: float
    weight: float


def _beyond_one(k: FloatArray) -> FloatArray:
    return (k > 1).astype(np.float64)


TERMS = (
    CauseTerm(SERIAL, "serial", lambda k: k - 1.0, 0.005, 0.4, 1.0),
    CauseTerm(COMMUNICATION, "log", np.log2, 0.001, 0.08, 1 / 3),
    CauseTerm(COMMUNICATION, "linear", lambda k: k - 1.0, 0.0003, 0.08, 1 / 3),
    CauseTerm(COMMUNICATION, "ring", lambda k: 2.0 * (k - 1.0) / k, 0.001, 0.08, 1 / 3),
    CauseTerm(IMBALANCE, "constant", _beyond_one, 0.05, 1.3, 0.7),
    CauseTerm(IMBALANCE, "growing", lambda k: np.log2(k) / 6.0, 0.05, 1.3, 0.3),
    CauseTerm(CONTENTION, "linear", lambda k: k - 1.0, 0.005, 0.5, 0.5),
    CauseTerm(CONTENTION, "log", np.log2, 0.01, 0.5, 0.5),
    CauseTerm(STRAGGLER, "lognormal", _beyond_one, 0.05, 0.8, 1.0),
)


@dataclass(frozen=True)
class CauseModel:
    """A set of terms that act together; `weight` is its chance beforehand, up to a common factor."""

    terms: tuple[CauseTerm, ...]
    weight: float

    @property
    def has_straggler(self) -> bool:
        return any(term.cause == STRAGGLER for term in self.terms)


def cause_models(regime: Regime, *, shared_machine: bool | None, allowed: frozenset[str]) -> tuple[CauseModel, ...]:
    """No cause, each cause alone, and each pair of causes, with their chances beforehand."""
    terms = [term for term in TERMS if term.cause in allowed and not (regime is Regime.WEAK and term.cause == SERIAL)]
    apart = {CONTENTION: APART_CONTENTION} if shared_machine is False else {}
    chance = {term: term.weight * apart.get(term.cause, 1.0) for term in terms}
    alone = [CauseModel((term,), SINGLE_WEIGHT * chance[term]) for term in terms]
    paired = [
        CauseModel((first, second), PAIR_WEIGHT * chance[first] * chance[second])
        for first, second in combinations(terms, 2)
        if first.cause != second.cause
    ]
    return (CauseModel((), SINGLE_WEIGHT), *alone, *paired)


@dataclass(frozen=True, eq=False)
class Maxima:
    """Mean and relative spread of the largest of K lognormal draws of mean 1, for the K of a study and any log-spread.

    By quadrature of z^j K phi(z) Phi(z)^(K-1) on a grid of log-spreads; between them, straight lines.
    """

    sigmas: FloatArray
    means: FloatArray
    spreads: FloatArray

    @classmethod
    def of(cls, k: FloatArray, *, top: float = 0.9, points: int = 46) -> Maxima:
        from scipy.special import log_ndtr, roots_legendre

        z, weights = roots_legendre(240)
        z, weights = 9.0 * z + 1.0, 9.0 * weights  # -8 to 10: beyond, the density is below 1e-14
        log_density = np.log(k)[:, None] - z**2 / 2 - math.log(2 * math.pi) / 2 + (k[:, None] - 1) * log_ndtr(z)
        mass = np.exp(log_density) * weights
        sigmas = np.linspace(0.0, top, points)
        draws = np.exp(sigmas[:, None] * z - sigmas[:, None] ** 2 / 2)
        first, second = draws @ mass.T, draws**2 @ mass.T
        return cls(sigmas, first, np.sqrt(np.maximum(second - first**2, 0.0)) / first)

    def at(self, sigma: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means and relative spreads, with K as a further, last axis."""
        place = np.clip(np.searchsorted(self.sigmas, sigma) - 1, 0, len(self.sigmas) - 2)
        share = ((sigma - self.sigmas[place]) / (self.sigmas[1] - self.sigmas[0]))[..., None]
        return (
            self.means[place] * (1 - share) + self.means[place + 1] * share,
            self.spreads[place] * (1 - share) + self.spreads[place + 1] * share,
        )


@dataclass(frozen=True, eq=False)
class CauseCurves:
    """Curves of many models and draws (axes: model, draw, K): T over T(1), the spread that stragglers add to it, and
    the worker-seconds each cause loses (a further axis in front, in the order of CAUSES)."""

    times: FloatArray
    straggler_spread: FloatArray
    losses: FloatArray


@dataclass(frozen=True, eq=False)
class Family:
    """Models side by side as arrays, so that all their draws are computed at once.

    `flags[cause]` marks which of a model's two slots is that cause, `growth` holds g(K) of each slot.
    """

    models: tuple[CauseModel, ...]
    k: FloatArray
    weak: bool
    maxima: Maxima
    growth: FloatArray
    flags: dict[str, FloatArray]
    bounds: FloatArray

    @classmethod
    def of(cls, chosen: tuple[CauseModel, ...], k: FloatArray, weak: bool) -> Family:
        growth = np.zeros((len(chosen), SLOTS, len(k)))
        flags = {cause: np.zeros((len(chosen), SLOTS)) for cause in CAUSES}
        bounds = np.tile(np.log([0.5, 1.0]), (len(chosen), SLOTS, 1))  # an empty slot multiplies nothing
        for i, model in enumerate(chosen):
            for slot, term in enumerate(model.terms):
                growth[i, slot] = term.growth(k)
                flags[term.cause][i, slot] = 1.0
                bounds[i, slot] = np.log([term.low, term.high])
        return cls(chosen, k, weak, Maxima.of(k), growth, flags, bounds)

    def some(self, places: IndexArray) -> Family:
        chosen = tuple(self.models[i] for i in places)
        flags = {cause: flag[places] for cause, flag in self.flags.items()}
        return Family(chosen, self.k, self.weak, self.maxima, self.growth[places], flags, self.bounds[places])

    def curves(self, sizes: FloatArray, barriers: FloatArray) -> CauseCurves:
        """T(K)/T(1) for sizes (axes: model, draw, slot), and what each cause adds to K T(K)."""
        serial = self._size(SERIAL, sizes)
        added, imbalance, contention = (
            np.einsum("ms,mns,msk->mnk", self.flags[cause], sizes, self.growth)
            for cause in (COMMUNICATION, IMBALANCE, CONTENTION)
        )
        slowest = np.ones((*sizes.shape[:2], len(self.k)))  # expected slowest of K, and its relative spread
        spread = np.zeros_like(slowest)
        has = np.flatnonzero(self.flags[STRAGGLER].any(axis=1))
        if len(has):
            slowest[has], raw = self.maxima.at(self._size(STRAGGLER, sizes)[has, :, 0])
            spread[has] = raw / np.sqrt(barriers[has])[:, :, None]
        useful = np.ones_like(self.k) if self.weak else 1.0 / self.k
        parallel = (1.0 - serial) * (1.0 + imbalance) * (1.0 + contention) * slowest * useful
        times = serial + parallel + added
        alone = useful * self.k
        losses = {
            COMMUNICATION: added * self.k,
            STRAGGLER: (slowest - 1.0) * alone,
            IMBALANCE: imbalance * alone,
            CONTENTION: contention * alone,
            SERIAL: serial * (self.k - 1.0),
        }
        lost = np.stack([np.broadcast_to(losses[cause], times.shape) for cause in CAUSES])
        return CauseCurves(times, spread * parallel / times, lost)

    def _size(self, cause: str, sizes: FloatArray) -> FloatArray:
        size: FloatArray = np.einsum("ms,mns->mn", self.flags[cause], sizes)[:, :, None]
        return size
