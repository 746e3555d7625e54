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

from collections.abc import Sequence
from dataclasses import dataclass

from scalecurve.errors import Fault, InputError
from scalecurve.fitting.positive import Array, design
from scalecurve.study import Regime


@dataclass(frozen=True)
class Model:
    """A law to fit, by names of `positive.TERMS`: at K = 1 the base is 1, and the term of every parameter is 0."""

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
