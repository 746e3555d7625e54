"""The shapes T(K) takes under each cause, and how likely their sizes are beforehand.

With T(1) = 1, parallel work p = 1 - s, and P(K) = 1/K under strong scaling or 1 under weak scaling:

    T(K) = s + p P(K) * imbalance(K) * contention(K) * E[slowest of K draws] + c g(K)

    serial         s                                                   (cancels under weak scaling: not seen there)
    communication  g = log2 K (trees), K - 1 (linear), 2 (K-1)/K (ring, bandwidth)
    imbalance      1 + x for K > 1, or 1 + x log2(K)/6 where it grows with the number of shards
    contention     1 + x (K - 1) (Gunther's sigma), or 1 + x log2 K
    straggler      E[max of K] of lognormal draws of log-spread x; a sample's spread falls with sqrt(barriers)

Serial, ring and Gunther's contention have one and the same shape under strong scaling: from T alone only what is
known of the machine can part them.  Sizes are log-uniform over ranges a little wider than those met in practice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from scalecurve.diagnosis.causes import CAUSES, COMMUNICATION, CONTENTION, IMBALANCE, SERIAL, STRAGGLER
from scalecurve.study import Regime
from scalecurve.study.samples import FloatArray

IndexArray = npt.NDArray[np.int64]

SLOTS = 2
SINGLE_WEIGHT = 1.0
PAIR_WEIGHT = 0.2
APART_CONTENTION = 0.1  # workers on machines of their own share no memory: contention is an unlikely story there


@dataclass(frozen=True)
class Term:
    """One cause in one form: g(K), the range of its size, and its weight among the forms of its cause."""

    cause: str
    form: str
    growth: Callable[[FloatArray], FloatArray]
    low: float
    high: float
    weight: float


def _ring(k: FloatArray) -> FloatArray:
    return 2.0 * (k - 1.0) / k


def _beyond_one(k: FloatArray) -> FloatArray:
    return (k > 1).astype(np.float64)


def _doublings(k: FloatArray) -> FloatArray:
    doublings: FloatArray = np.log2(k)
    return doublings


TERMS = (
    Term(SERIAL, "serial", lambda k: k - 1.0, 0.005, 0.4, 1.0),
    Term(COMMUNICATION, "log", _doublings, 0.001, 0.08, 1 / 3),
    Term(COMMUNICATION, "linear", lambda k: k - 1.0, 0.0003, 0.08, 1 / 3),
    Term(COMMUNICATION, "ring", _ring, 0.001, 0.08, 1 / 3),
    Term(IMBALANCE, "constant", _beyond_one, 0.05, 1.3, 0.7),
    Term(IMBALANCE, "growing", lambda k: np.log2(k) / 6.0, 0.05, 1.3, 0.3),
    Term(CONTENTION, "linear", lambda k: k - 1.0, 0.005, 0.5, 0.5),
    Term(CONTENTION, "log", _doublings, 0.01, 0.5, 0.5),
    Term(STRAGGLER, "lognormal", _beyond_one, 0.05, 0.8, 1.0),
)


@dataclass(frozen=True)
class Model:
    """A set of terms that act together; `weight` is its chance beforehand, up to a common factor."""

    terms: tuple[Term, ...]
    weight: float

    @property
    def has_straggler(self) -> bool:
        return any(term.cause == STRAGGLER for term in self.terms)


def models(regime: Regime, *, shared_machine: bool | None, allowed: frozenset[str]) -> tuple[Model, ...]:
    """No cause, each cause alone, and each pair of causes."""
    terms = [term for term in TERMS if term.cause in allowed and not (regime is Regime.WEAK and term.cause == SERIAL)]
    chance = {term: term.weight * (APART_CONTENTION if _unlikely(term, shared_machine) else 1.0) for term in terms}
    return (Model((), SINGLE_WEIGHT), *_alone(terms, chance), *_paired(terms, chance))


def _unlikely(term: Term, shared_machine: bool | None) -> bool:
    return term.cause == CONTENTION and shared_machine is False


def _alone(terms: list[Term], chance: dict[Term, float]) -> Iterator[Model]:
    return (Model((term,), SINGLE_WEIGHT * chance[term]) for term in terms)


def _paired(terms: list[Term], chance: dict[Term, float]) -> Iterator[Model]:
    for first, second in combinations(terms, 2):
        if first.cause != second.cause:
            yield Model((first, second), PAIR_WEIGHT * chance[first] * chance[second])


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
class Curves:
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

    models: tuple[Model, ...]
    k: FloatArray
    weak: bool
    maxima: Maxima
    growth: FloatArray
    flags: dict[str, FloatArray]
    bounds: FloatArray

    @classmethod
    def of(cls, chosen: tuple[Model, ...], k: FloatArray, weak: bool) -> Family:
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

    def curves(self, sizes: FloatArray, barriers: FloatArray) -> Curves:
        """T(K)/T(1) for sizes (axes: model, draw, slot), and what each cause adds to K T(K)."""
        serial = self._size(SERIAL, sizes)
        added = self._grown(COMMUNICATION, sizes)
        imbalance, contention = self._grown(IMBALANCE, sizes), self._grown(CONTENTION, sizes)
        slowest, spread = self._slowest(sizes, barriers)
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
        return Curves(times, spread * parallel / times, lost)

    def _size(self, cause: str, sizes: FloatArray) -> FloatArray:
        found: FloatArray = np.einsum("ms,mns->mn", self.flags[cause], sizes)[:, :, None]
        return found

    def _grown(self, cause: str, sizes: FloatArray) -> FloatArray:
        found: FloatArray = np.einsum("ms,mns,msk->mnk", self.flags[cause], sizes, self.growth)
        return found

    def _slowest(self, sizes: FloatArray, barriers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Expected slowest of K and its relative spread; 1 and 0 for models without stragglers."""
        mean = np.ones((*sizes.shape[:2], len(self.k)))
        spread = np.zeros_like(mean)
        has = np.flatnonzero(self.flags[STRAGGLER].any(axis=1))
        if len(has):
            sigma = self._size(STRAGGLER, sizes)[has, :, 0]
            mean[has], raw = self.maxima.at(sigma)
            spread[has] = raw / np.sqrt(barriers[has])[:, :, None]
        return mean, spread
