"""The shapes that T(K) takes under each cause.

With P(K) = 1/K under strong scaling and 1 under weak scaling, T(K) = a P(K) + sum of sizes times shapes:

    serial         1: a part that one worker does alone, or a fixed cost of every launch (cancels under weak scaling)
    communication  log2 K (trees), K - 1 (linear), (K-1)/K (ring), K^-2/3 and K^-1/2 (surfaces of blocks and squares),
                   a step or log2(K/n) beyond a node of n
    straggler      H_K (exponential noise of each worker at each barrier), the expected largest of K normal draws,
                   1 - (1-p)^K (rare delays), all in seconds or as a share of the compute; one slow host beyond some K
    imbalance      P for K > 1 or beyond some K (one heavy share), P log2 K, P (H_K - 1) and P E[max] (new shares
                   each step)
    contention     P (K-1) (Gunther), P log2 K, P K^1/3, P K^1/2, P K(K-1), and bandwidth that
                   saturates at some K, P max(0, K/Ks - 1), up to the size of a node or without one

Several causes have one and the same shape, and then times alone cannot tell them apart.  H_K: the expected largest of K
exponential draws; A. Renyi, 1953.  Surfaces: volume to surface of a domain cut into K parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scalecurve.diagnosis.causes import COMMUNICATION, CONTENTION, IMBALANCE, SERIAL, STRAGGLER
from scalecurve.study.samples import FloatArray

RARE = (0.3, 1.0, 3.0)  # expected delays of a step at the largest K
MOST_ONSETS = 6
APART = 0.1


@dataclass(frozen=True, eq=False)
class CauseShape:
    """One form of a cause: what it adds to T at each K for size 1, and its chance among the forms of its cause.

    `passing` says that it comes from slowness that changes from step to step, which may differ between repeats.
    """

    cause: str
    form: str
    seconds: FloatArray
    weight: float
    passing: bool = False


def expected_largest(k: FloatArray) -> FloatArray:
    """E[max] of K standard normal draws, by Blom's formula (within 1 %)."""
    from scipy.special import ndtri

    largest: FloatArray = np.where(k > 1, ndtri((k - 0.375) / (k + 0.25)), 0.0)
    return largest


def harmonic(k: FloatArray) -> FloatArray:
    """H_K, the expected largest of K exponential draws of mean 1."""
    from scipy.special import digamma

    number: FloatArray = digamma(k + 1.0) + np.euler_gamma
    return number


def shapes(k: FloatArray, *, weak: bool, node_size: int | None, shared_machine: bool | None) -> tuple[CauseShape, ...]:
    """Every shape at the K of a study that is not the ideal one; weights add up to at most 1 for each cause.

    Forms with an onset appear once for each K where it could be.  Workers that share no machine hardly contend.
    """
    ideal = np.ones_like(k) if weak else 1.0 / k
    inner = k[1:-1]
    if len(inner) > MOST_ONSETS:
        inner = inner[np.unique(np.linspace(0, len(inner) - 1, MOST_ONSETS).round().astype(int))]
    sizes = [float(node_size)] if node_size else inner.tolist()
    every = [
        *_communication(k, weak, sizes),
        *_waiting(k, ideal, inner),
        *_contention(k, ideal, inner, sizes, APART if shared_machine is False else 1.0),
    ]
    if not weak:
        every.append(CauseShape(SERIAL, "constant", np.ones_like(k), 1.0))
    return tuple(shape for shape in every if np.ptp(shape.seconds / ideal) > 1e-9)


def _communication(k: FloatArray, weak: bool, sizes: list[float]) -> Iterator[CauseShape]:
    several = k > 1
    forms = {"trees, log2 K": np.log2(k), "linear in K": k - 1.0, "ring, (K-1)/K": (k - 1.0) / k}
    if not weak:
        forms |= {"surface, K^-2/3": several * k ** (-2 / 3), "surface, K^-1/2": several * k**-0.5}
    for form, seconds in forms.items():
        yield CauseShape(COMMUNICATION, form, seconds, 0.8 / len(forms))
    for size in sizes:
        weight = 0.1 / len(sizes)
        yield CauseShape(COMMUNICATION, f"beyond a node of {size:g}", (k > size).astype(np.float64), weight)
        yield CauseShape(COMMUNICATION, f"log2 K beyond a node of {size:g}", np.log2(np.maximum(k / size, 1.0)), weight)


def _waiting(k: FloatArray, ideal: FloatArray, inner: FloatArray) -> Iterator[CauseShape]:
    yield CauseShape(STRAGGLER, "exponential noise at barriers, H_K", harmonic(k), 0.2, passing=True)
    yield CauseShape(STRAGGLER, "normal noise at barriers", expected_largest(k), 0.1, passing=True)
    for delays in RARE:
        chance = delays / max(float(k[-1]), delays + 1.0)
        yield CauseShape(STRAGGLER, "rare delays", 1.0 - (1.0 - chance) ** k, 0.2 / len(RARE), passing=True)
    for cause, name in ((STRAGGLER, "slowness"), (IMBALANCE, "new shares each step")):
        yield CauseShape(cause, f"exponential {name}", ideal * (harmonic(k) - 1.0), 0.15, passing=True)
        yield CauseShape(cause, f"normal {name}", ideal * expected_largest(k), 0.15, passing=True)
    yield CauseShape(IMBALANCE, "growing with log2 K", ideal * np.log2(k), 0.2)
    onsets = [1.0, *inner]
    for size in onsets:
        yield CauseShape(IMBALANCE, f"one heavy share beyond K = {size:g}", ideal * (k > size), 0.5 / len(onsets))
        yield CauseShape(STRAGGLER, f"one slow host beyond K = {size:g}", ideal * (k > size), 0.2 / len(onsets))
    if ideal[-1] < ideal[0]:  # a fixed job: its longest task, or fewer tasks than workers, draws a plateau too
        starts = [float(k[0]), *inner]
        for start in starts:
            added = ideal * np.maximum(k / start - 1.0, 0.0)
            yield CauseShape(IMBALANCE, f"tasks too few or too long beyond K = {start:g}", added, 0.22 / len(starts))


def _contention(
    k: FloatArray, ideal: FloatArray, inner: FloatArray, sizes: list[float], chance: float
) -> Iterator[CauseShape]:
    yield CauseShape(CONTENTION, "linear, Gunther's sigma", ideal * (k - 1.0), 0.22 * chance)
    yield CauseShape(CONTENTION, "log2 K", ideal * np.log2(k), 0.1 * chance)
    for power, name in ((1 / 3, "K^1/3"), (1 / 2, "K^1/2")):
        yield CauseShape(CONTENTION, f"gradual, {name}", ideal * (k**power - 1.0), 0.08 * chance)
    yield CauseShape(CONTENTION, "quadratic, Gunther's kappa", ideal * (k - 1.0) * k, 0.1 * chance)
    starts = [float(k[0]), *inner]
    for start in starts:
        added = ideal * np.maximum(k / start - 1.0, 0.0)
        yield CauseShape(CONTENTION, f"bandwidth saturated at K = {start:g}", added, 0.22 * chance / len(starts))
    pairs = [(size, start) for size in sizes for start in starts if start < size]
    for size, start in pairs:
        added = ideal * np.maximum(np.minimum(k, size) / start - 1.0, 0.0)
        form = f"bandwidth of a node of {size:g} saturated at K = {start:g}"
        yield CauseShape(CONTENTION, form, added, 0.2 * chance / len(pairs))
