"""What the times of a curve show, as numbers that can be weighed: its shape, its loss and its noise.

The shape is said in the terms of the fitted laws.  With P(K) = 1/K under strong scaling and 1 under weak scaling every
sum of P, a constant or a step, and one term is fitted to the means by least squares; `loss in TERM` is the part of the
loss at the largest K that the term takes, averaged over the fits by how well they do and drawn to the largest term,
since the main cause is asked for.  A term may have several causes
(log2 K: trees of messages, noise at barriers): the weights of `causes` say how often each, learned from labelled cases.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from scalecurve.findings import Finding, warning
from scalecurve.laws.formula import formula
from scalecurve.laws.terms import TERMS
from scalecurve.study.run import FloatArray

UNSEEN = 0.006  # relative error of a mean that repeats do not show: sessions, placement
UNREPEATED = 0.02
SHRINKAGE = 4.0  # degrees of freedom of the common spread against that of one K
PENALTY = 1.5  # of log likelihood, for each term that is added
LEADING = 3.0  # power of the parts of a loss that counts mostly the largest
NAMES = tuple(term.name for term in TERMS if term.causes)
CONSTANT, STEP = "a constant part", "a step at one K"
OUTCAST, FOLLOWED, LEAST_WITH_OUTCAST = 25.0, 5.0, 6  # misfits with and without one K, and K that are needed
DIP = 0.1  # of the logarithm of efficiency: workers that are added do not make up for it
PLACES = 4  # tried for each measured K, of a term that may begin between two
OF_THE_SPREAD = ("spread", "spread grows", "slow runs")  # which say nothing where other programs disturbed the runs


@dataclass(frozen=True, eq=False)
class Points:
    """Means of log T at each K without slow runs, their variances, and the spreads of all repeats; `slow` is the share
    of slow runs."""

    k: FloatArray
    mean: FloatArray
    variance: FloatArray
    spread: FloatArray
    count: FloatArray
    pooled: float
    slow: float


def steady_runs(times: Mapping[int, FloatArray]) -> dict[int, FloatArray]:
    """Samples without single runs far above the rest of their K: those widen the band, and do not move the curve."""
    logs = {k: np.log(values) for k, values in times.items()}
    rest = [np.abs(v - np.median(v)) * np.sqrt(len(v) / (len(v) - 1)) for v in logs.values() if len(v) > 3]
    limit = max(4.0 * 1.4826 * float(np.median(np.concatenate(rest))), 0.02) if rest else np.inf
    return {k: times[k][v <= np.median(v) + limit] for k, v in logs.items()}


def pooled_spread(times: Mapping[int, FloatArray]) -> float:
    """The pooled relative standard deviation of a run; that of a single run where none was repeated."""
    logs = [np.log(values) for values in times.values()]
    freedom = sum(len(v) - 1 for v in logs)
    return float(np.sqrt(sum(((v - v.mean()) ** 2).sum() for v in logs) / freedom)) if freedom > 0 else UNREPEATED


def slow_run_findings(times: Mapping[int, FloatArray]) -> Iterator[Finding]:
    """Samples far above the rest of their K: where, how many, and how much wider they make the band."""
    kept = steady_runs(times)
    slow = {k: float(times[k].max() / np.median(times[k]) - 1.0) for k in times if len(kept[k]) < len(times[k])}
    if not slow:
        return
    count, of = (sum(map(len, own.values())) for own in (kept, times))
    count, worst, wide, narrow = of - count, max(slow.values()), pooled_spread(times), pooled_spread(kept)
    are = "is" if count == 1 else "are"
    message = (
        f"{count} of {of} runs {are} far slower than the rest (up to {worst:.0%} above the median of their K): the "
        f"spread is {wide:.1%} with them and {narrow:.1%} without. Slow runs widen the band; they do not cause the "
        "bend where the medians stay smooth"
    )
    remedy = "look for neighbours, throttling or background jobs; more repeats narrow the band, not the bend"
    figures = {"count": count, "worst": worst, "spread_with": wide, "spread_without": narrow}
    yield warning("straggler-noise", message, remedy=remedy, k=list(slow), **figures)


def points_of(times: Mapping[int, FloatArray]) -> Points:
    """Samples by K as means and spreads."""
    kept = [np.log(values) for values in steady_runs(times).values()]
    logs = [np.log(values) for values in times.values()]
    count = np.array([len(v) for v in kept], dtype=np.float64)
    squares = np.array([((v - v.mean()) ** 2).sum() for v in kept])
    pooled = pooled_spread(steady_runs(times))
    return Points(
        np.array(list(times), dtype=np.float64),
        np.array([v.mean() for v in kept]),
        (SHRINKAGE * pooled**2 + squares) / (SHRINKAGE + count - 1) / count,
        np.array([v.std(ddof=1) if len(v) > 1 else np.nan for v in logs]),
        np.array([len(v) for v in logs], dtype=np.float64),
        pooled,
        1.0 - float(count.sum()) / sum(map(len, logs)),
    )


def term_shapes(k: FloatArray, *, weak: bool) -> list[tuple[str, FloatArray]]:
    """Seconds that each term adds at each K for size 1, once for each place it may have; none that equals P."""
    share = np.ones_like(k) if weak else 1.0 / k
    steps = np.arange(1.0, len(k) - 1.0, 1.0 / PLACES)
    between = np.exp(np.interp(steps, np.arange(len(k)), np.log(k))).tolist()
    places = {"": [0.0], "first": k[:1].tolist(), "inner": k[1:-1].tolist(), "between": between}
    forms = []
    for term in TERMS:
        if term.causes and term.regime in (None, "weak" if weak else "strong"):
            form = formula(term.formula)
            values = (form(K=k, P=share, first=own, inner=own, between=own) for own in places[term.place])
            forms += [(term.name, np.broadcast_to(value, k.shape)) for value in values]
    return [(name, form) for name, form in forms if np.ptp(form / share) > 1e-9]


def loss_chance(times: Mapping[int, FloatArray], *, weak: bool, beyond: float) -> float:
    """The chance that more than the share `beyond` of the time at the largest K is lost against the first."""
    points = points_of(times)
    ideal = 0.0 if weak else math.log(points.k[0] / points.k[-1])
    lost = float(points.mean[-1] - points.mean[0]) - ideal + math.log1p(-beyond)
    error = math.sqrt(points.variance[0] + points.variance[-1] + UNSEEN**2)
    return 0.5 * math.erfc(-lost / error / math.sqrt(2.0))


def evidence(times: Mapping[int, FloatArray], *, weak: bool) -> tuple[dict[str, float], dict[str, float]]:
    """What the times show, each number within a few units of 0; and the part of the loss in each term."""
    points = points_of(times)
    k = points.k
    share = np.ones_like(k) if weak else 1.0 / k
    seconds = np.exp(points.mean - points.mean[0])
    fitted = loss_by_term(points, weak=weak)
    overhead = seconds / (share / share[0]) - 1.0
    safe = np.maximum(overhead, 0.5 * np.sqrt(points.variance + UNSEEN**2) + 0.002)
    middle = len(k) // 2
    error = float(np.sqrt(points.variance[0] + points.variance[-1] + UNSEEN**2))
    known = ~np.isnan(points.spread)
    growth = 0.0
    if known.sum() > 1:
        weight = points.count[known] - 1.0
        x, y = np.log2(k[known]), np.log(points.spread[known] + 0.002)
        x = x - np.average(x, weights=weight)
        growth = float((weight * x * y).sum() / ((weight * x * x).sum() + 2.0))
    numbers = {
        **{f"loss in {name}": fitted.leads.get(name, 0.0) for name in NAMES},
        "loss beyond noise": float(np.clip((overhead[-1] - 0.03) / error, -4.0, 4.0)) / 2.0,
        "growth at small K": _exponent(safe, k, min(1, middle), middle),
        "growth at large K": _exponent(safe, k, middle, len(k) - 1),
        "spread": float(np.clip(np.log10(points.pooled + 1e-3) + 2.0, -1.0, 1.5)),
        "spread grows": float(np.clip(growth, -1.0, 1.0)),
        "slow runs": min(10.0 * points.slow, 1.0),
        "misfit": float(np.clip(np.log10(fitted.misfit + 0.1), -1.0, 2.0)),
    }
    return numbers, fitted.shares


def _exponent(overhead: FloatArray, k: FloatArray, first: int, last: int) -> float:
    """The power of K with which the overhead grows between two places."""
    if first == last:
        return 0.0
    power = np.log(overhead[last] / overhead[first]) / np.log(k[last] / k[first])
    return float(np.clip(power, -1.0, 2.5))


@dataclass(frozen=True)
class Fitted:
    """The part of the loss at the largest K in each term, averaged over fits; the same drawn to the largest term, whose
    cause is the main one; and the chi-square of the best fit over its degrees of freedom."""

    shares: dict[str, float]
    leads: dict[str, float]
    misfit: float


def loss_by_term(points: Points, *, weak: bool) -> Fitted:
    """The sums of terms fitted to the means, averaged by how well they do."""
    fits = list(_fits(points, weak=weak))
    if not fits:
        return Fitted({}, {}, 100.0)
    scores, losses, misfits = zip(*fits, strict=True)
    power = np.exp(np.array(scores) - max(scores))
    averaged: list[dict[str, float]] = []
    for drawn in (1.0, LEADING):
        counted: Counter[str] = Counter()
        for weight, lost in zip((power / power.sum()).tolist(), losses, strict=True):
            total = max(sum(part**drawn for part in lost.values()), 1e-12)
            counted.update({name: weight * part**drawn / total for name, part in lost.items()})
        averaged.append(dict(counted))
    shares, leads = averaged
    return Fitted(shares, leads, min(misfits))


def _fits(points: Points, *, weak: bool) -> Iterator[tuple[float, dict[str, float], float]]:
    """Every sum with positive sizes: its log likelihood with penalties, the loss at the largest K in each term, and its
    chi-square over the degrees of freedom."""
    share = np.ones_like(points.k) if weak else 1.0 / points.k
    ideal, seconds = share / share[0], np.exp(points.mean - points.mean[0])
    error = seconds * np.sqrt(points.variance + UNSEEN**2)
    names, forms = zip(*term_shapes(points.k, weak=weak), strict=True)
    columns = np.array([ideal, *forms])
    added = (columns / ideal)[:, -1] - (columns / ideal)[:, 0]
    for model in _models(names, len(points.k)):
        sizes, chi2 = _fitted(columns[list(model)], seconds, error)
        if np.all(sizes[1:] >= 0) and sizes[0] > 0:
            lost = (sizes[1:] * added[list(model[1:])]).tolist()
            own = [names[j - 1] for j in model[1:]]
            score = -0.5 * chi2 - PENALTY * len(own) - math.log(math.prod(names.count(name) for name in own))
            yield score, dict(zip(own, lost, strict=True)), float(chi2) / max(len(points.k) - len(model), 1)


def outcast(times: Mapping[int, FloatArray], *, weak: bool) -> int | None:
    """The inner K that costs more than its larger neighbour, and without which a sum of terms follows the times; None
    where one follows all, or no single K is the reason."""
    points = points_of(times)
    cost = points.mean + (0.0 if weak else np.log(points.k))
    dips = np.flatnonzero(cost[1:-1] - np.maximum(cost[:-2], cost[2:]) > DIP) + 1
    if len(times) < LEAST_WITH_OUTCAST or len(dips) != 1 or loss_by_term(points, weak=weak).misfit < OUTCAST:
        return None
    k = int(points.k[dips[0]])
    rest = points_of({own: values for own, values in times.items() if own != k})
    return k if loss_by_term(rest, weak=weak).misfit < FOLLOWED else None


def off_by(times: Mapping[int, FloatArray], *, weak: bool) -> float:
    """How far the times lie from the nearest sum of terms: root mean square of the relative distances."""
    points = points_of(times)
    return math.sqrt(loss_by_term(points, weak=weak).misfit * float(np.mean(points.variance + UNSEEN**2)))


def _models(names: tuple[str, ...], points: int) -> list[tuple[int, ...]]:
    """Sets of columns to fit: the ideal, alone and with each term; strong also with a constant or a step and a term."""
    every = range(1, len(names) + 1)
    least = {CONSTANT: 4, STEP: 5}  # points
    firsts = [j for j in every if points >= least.get(names[j - 1], points + 1)]
    pairs = [(0, one, j) for one in firsts for j in every if one < j or j not in firsts] if CONSTANT in names else []
    return [(0,), *((0, j) for j in every), *pairs]


def _fitted(columns: FloatArray, seconds: FloatArray, error: FloatArray) -> tuple[np.ndarray, float]:
    """The sizes of the columns by weighted least squares, and the chi-square of what is left."""
    design = (columns / error).T
    normal = design.T @ design
    normal[np.diag_indices_from(normal)] *= 1.0 + 1e-9
    sizes = np.linalg.solve(normal, design.T @ (seconds / error))
    return sizes, float(((seconds / error - design @ sizes) ** 2).sum())
