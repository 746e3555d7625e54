"""The laws that can be fitted, each a positive combination of terms, and the exact non-negative fit of such terms.

    time of the work that the regime holds fixed:  t(K) = t1 * (first term + sum_j parameter_j * term_j(K))

Strong scaling (and throughput X = 1/t):
    linear    1/K
    amdahl    1/K + serial (1 - 1/K)
    logcomm   1/K + serial (1 - 1/K) + comm log2 K
    usl       1/K + contention (1 - 1/K) + coherency (K - 1)
    root      1/K + serial (1 - 1/K) + comm (K^1/2 - 1)
Weak scaling (time of one worker's share of the work, where a serial share cancels):
    constant  1          logcomm   1 + comm log2 K          linear-cost   1 + coherency (K - 1)

Sources: Amdahl 1967; Gunther 2007 (USL); the log term is a tree of messages, the root term a grid of ranks.

The fit, for many curves in one call:

    T(K) = sum_j c_j f_j(K),  c_j >= 0,  minimising  sum_i w_i (1 - T(K_i)/T_i)^2

With at most four terms every active set can be tried, so the non-negative least squares problem is solved exactly and
without iterating: the best feasible subset is the solution (it satisfies the Karush-Kuhn-Tucker conditions).

Source: the basis {1, 1/K, log K, K} with non-negative weights is that of Ernest (Venkataraman et al., NSDI 2016).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError
from scalecurve.study import Regime

Array = npt.NDArray[np.float64]

TERMS: dict[str, Callable[[Array], Array]] = {
    "1/K": lambda k: 1.0 / k,
    "1": np.ones_like,
    "log K": np.log2,
    "K^1/3": np.cbrt,
    "K^1/2": np.sqrt,
    "K": lambda k: k,
    "1 - 1/K": lambda k: 1.0 - 1.0 / k,
    "K - 1": lambda k: k - 1.0,
    "K^1/2 - 1": lambda k: np.sqrt(k) - 1.0,
    "K log K": lambda k: k * np.log2(k),
}

_RIDGE = 1e-12  # relative; keeps the solve finite where two terms coincide on the measured K


@dataclass(frozen=True)
class PositiveFit:
    """Coefficients of one set of terms for N curves; K is relative to each curve's `base`, T to its `level`."""

    terms: tuple[str, ...]
    coefficients: Array
    base: Array
    level: Array

    def log_time(self, k: Array) -> Array:
        """The log of T at `k`, an array of N rows."""
        time = np.einsum("nqj,nj->nq", design(self.terms, k / self.base[:, None]), self.coefficients)
        return np.asarray(np.log(np.maximum(time, np.finfo(float).tiny)) + self.level[:, None])


def design(terms: Sequence[str], x: Array) -> Array:
    """The terms' values at x, in a new last axis."""
    return np.stack([TERMS[term](x) for term in terms], axis=-1)


def fit_positive(terms: Sequence[str], k: Array, log_time: Array, weights: Array) -> PositiveFit:
    """Fit rows of (k, log time) with non-negative weights; a weight of zero leaves the point out."""
    base, level = k[:, 0], log_time[:, -1]
    scaled = design(terms, k / base[:, None]) / np.exp(log_time - level[:, None])[..., None]
    return PositiveFit(tuple(terms), solve_positive(scaled, weights), base, level)


def solve_positive(matrix: Array, weights: Array) -> Array:
    """The argmin over c >= 0 of sum_i w_i (1 - (M c)_i)^2 for each of N problems; M is N x P x J."""
    scale = np.sqrt(np.einsum("npj,np->nj", matrix**2, weights) / weights.sum(axis=1, keepdims=True))
    scale = np.where(scale > 0, scale, 1.0)
    unit = matrix / scale[:, None, :]
    gram = np.einsum("npj,np,npk->njk", unit, weights, unit)
    moment = np.einsum("npj,np->nj", unit, weights)
    best = np.full(len(matrix), -np.inf)
    chosen = np.zeros(moment.shape)
    ridge = _RIDGE * weights.sum(axis=1)[:, None, None]
    count = matrix.shape[2]
    for active in (list(own) for size in range(1, count + 1) for own in combinations(range(count), size)):
        small = gram[:, active][:, :, active] + ridge * np.eye(len(active))
        part = np.linalg.solve(small, moment[:, active][..., None])[..., 0]
        gain = np.sum(moment[:, active] * part, axis=1)
        better = np.all(part >= 0, axis=1) & (gain > best * (1 + 1e-9))
        best = np.where(better, gain, best)
        full = np.zeros(moment.shape)
        full[:, active] = part
        chosen = np.where(better[:, None], full, chosen)
    return np.asarray(chosen / scale)


@dataclass(frozen=True)
class Model:
    """A law to fit, by names of `TERMS`: at K = 1 the base is 1, and the term of every parameter is 0."""

    name: str
    formula: str
    base: str
    terms: tuple[tuple[str, str], ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)

    @property
    def size(self) -> int:
        """Free numbers: the parameters and the time at one worker."""
        return 1 + len(self.terms)

    def design(self, k: Array) -> Array:
        """The values of the base and of every term at K, in a new last axis."""
        return design((self.base, *(term for _, term in self.terms)), k)


_SERIAL, _TREE, _GRID = ("serial", "1 - 1/K"), ("comm", "log K"), ("comm", "K^1/2 - 1")
_CONTENTION, _COHERENCY = ("contention", "1 - 1/K"), ("coherency", "K - 1")

STRONG_MODELS = (
    Model("linear", "T = T1/K", "1/K", ()),
    Model("amdahl", "T = T1 (1/K + serial (1 - 1/K))", "1/K", (_SERIAL,)),
    Model("logcomm", "T = T1 (1/K + serial (1 - 1/K) + comm log2 K)", "1/K", (_SERIAL, _TREE)),
    Model("usl", "T = T1 (1/K + contention (1 - 1/K) + coherency (K - 1))", "1/K", (_CONTENTION, _COHERENCY)),
    Model("root", "T = T1 (1/K + serial (1 - 1/K) + comm (sqrt K - 1))", "1/K", (_SERIAL, _GRID)),
)
WEAK_MODELS = (
    Model("constant", "T = T1", "1", ()),
    Model("logcomm", "T = T1 (1 + comm log2 K)", "1", (_TREE,)),
    Model("root", "T = T1 (1 + comm (sqrt K - 1))", "1", (_GRID,)),
    Model("linear-cost", "T = T1 (1 + coherency (K - 1))", "1", (_COHERENCY,)),
)


def models_for(regime: Regime, names: Sequence[str] | None = None) -> tuple[Model, ...]:
    """The laws of a regime, or those named."""
    models = {model.name: model for model in (STRONG_MODELS if regime is Regime.STRONG else WEAK_MODELS)}
    unknown = [name for name in names or () if name not in models]
    if unknown:
        remedy = f"for {regime} scaling use one of {', '.join(models)}"
        raise InputError([Fault("no such law to fit", value=name, remedy=remedy) for name in unknown])
    return tuple(models[name] for name in names) if names else tuple(models.values())
