"""The laws that can be fitted: each is a positive combination of terms, so that fits are exact and never negative.

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
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.fitting.positive import Array
from scalecurve.study import Regime

Term = Callable[[Array], Array]


def _shared(k: Array) -> Array:
    return 1.0 / k


def _serial(k: Array) -> Array:
    return 1.0 - 1.0 / k


def _excess(k: Array) -> Array:
    return k - 1.0


def _root(k: Array) -> Array:
    return np.sqrt(k) - 1.0


@dataclass(frozen=True)
class Model:
    """A law to fit: `base` at K = 1 is 1, and each parameter multiplies its term, which is 0 at K = 1."""

    name: str
    formula: str
    base: Term
    terms: tuple[tuple[str, Term], ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)

    @property
    def size(self) -> int:
        """Free numbers: the parameters and the time at one worker."""
        return 1 + len(self.terms)

    def design(self, k: Array) -> Array:
        return np.stack([self.base(k), *(term(k) for _, term in self.terms)], axis=-1)


_SERIAL, _TREE, _GRID = ("serial", _serial), ("comm", np.log2), ("comm", _root)
_CONTENTION, _COHERENCY = ("contention", _serial), ("coherency", _excess)

STRONG_MODELS = (
    Model("linear", "T = T1/K", _shared, ()),
    Model("amdahl", "T = T1 (1/K + serial (1 - 1/K))", _shared, (_SERIAL,)),
    Model("logcomm", "T = T1 (1/K + serial (1 - 1/K) + comm log2 K)", _shared, (_SERIAL, _TREE)),
    Model("usl", "T = T1 (1/K + contention (1 - 1/K) + coherency (K - 1))", _shared, (_CONTENTION, _COHERENCY)),
    Model("root", "T = T1 (1/K + serial (1 - 1/K) + comm (sqrt K - 1))", _shared, (_SERIAL, _GRID)),
)
WEAK_MODELS = (
    Model("constant", "T = T1", np.ones_like, ()),
    Model("logcomm", "T = T1 (1 + comm log2 K)", np.ones_like, (_TREE,)),
    Model("root", "T = T1 (1 + comm (sqrt K - 1))", np.ones_like, (_GRID,)),
    Model("linear-cost", "T = T1 (1 + coherency (K - 1))", np.ones_like, (_COHERENCY,)),
)


def models_for(regime: Regime, names: Sequence[str] | None = None) -> tuple[Model, ...]:
    """The laws of a regime, or those named."""
    models = {model.name: model for model in (STRONG_MODELS if regime is Regime.STRONG else WEAK_MODELS)}
    unknown = [name for name in names or () if name not in models]
    if unknown:
        remedy = f"for {regime} scaling use one of {', '.join(models)}"
        raise InputError([Fault("no such law to fit", seen=name, remedy=remedy) for name in unknown])
    return tuple(models[name] for name in names) if names else tuple(models.values())
