"""What the times of a curve show, as numbers that can be weighed: its shape, its loss and its noise.

The shape is said in the terms of the fitted laws.  With P(K) = 1/K under strong scaling and 1 under weak scaling every
sum of P, a constant and one term is fitted to the means by least squares; `loss in TERM` is the part of the loss at the
largest K that the term takes, averaged over the fits by how well they do.  The same term may have several causes
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
NAMES = tuple(term.name for term in TERMS if term.causes)
CONSTANT = "a constant part"
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
    places = {"": [0.0], "first": k[:1].tolist(), "inner": k[1:-1].tolist()}
    forms = [
        (term.name, np.broadcast_to(formula(term.formula)(K=k, P=share, first=place, inner=place), k.shape))
        for term in TERMS
        if term.causes and term.regime in (None, "weak" if weak else "strong")
        for place in places[term.place]
    ]
    return [(name, form) for name, form in forms if np.ptp(form / share) > 1e-9]


def loss_chance(times: Mapping[int, FloatArray], *, weak: bool, beyond: float) -> float:
    """The chance that more than the share `beyond` of the time at the largest K is lost against the first."""
    points = points_of(times)
    ideal = 0.0 if weak else math.log(points.k[0] / points.k[-1])
    lost = float(points.mean[-1] - points.mean[0]) - ideal + math.log1p(-beyond)
    error = math.sqrt(points.variance[0] + points.variance[-1] + UNSEEN**2)
    return 0.5 * math.erfc(-lost / error / math.sqrt(2.0))


def evidence(times: Mapping[int, FloatArray], *, weak: bool) -> dict[str, float]:
    """What the times show, each number within a few units of 0."""
    points = points_of(times)
    k = points.k
    share = np.ones_like(k) if weak else 1.0 / k
    seconds = np.exp(points.mean - points.mean[0])
    losses, misfit = loss_by_term(points, share, weak=weak)
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
    return {
        **{f"loss in {name}": losses.get(name, 0.0) for name in NAMES},
        "loss beyond noise": float(np.clip((overhead[-1] - 0.03) / error, -4.0, 4.0)) / 2.0,
        "growth at small K": _exponent(safe, k, min(1, middle), middle),
        "growth at large K": _exponent(safe, k, middle, len(k) - 1),
        "spread": float(np.clip(np.log10(points.pooled + 1e-3) + 2.0, -1.0, 1.5)),
        "spread grows": float(np.clip(growth, -1.0, 1.0)),
        "slow runs": min(10.0 * points.slow, 1.0),
        "misfit": float(np.clip(np.log10(misfit + 0.1), -1.0, 2.0)),
    }


def _exponent(overhead: FloatArray, k: FloatArray, first: int, last: int) -> float:
    """The power of K with which the overhead grows between two places."""
    if first == last:
        return 0.0
    power = np.log(overhead[last] / overhead[first]) / np.log(k[last] / k[first])
    return float(np.clip(power, -1.0, 2.5))


def loss_by_term(points: Points, share: FloatArray, *, weak: bool) -> tuple[dict[str, float], float]:
    """The part of the loss at the largest K in each term, averaged over fits; and the chi-square of the best fit over
    its degrees of freedom."""
    k, ideal = points.k, share / share[0]
    seconds = np.exp(points.mean - points.mean[0])
    error = seconds * np.sqrt(points.variance + UNSEEN**2)
    forms = term_shapes(k, weak=weak)
    names = [name for name, _ in forms]
    columns = np.array([ideal, *(form for _, form in forms)])
    added = (columns / ideal)[:, -1] - (columns / ideal)[:, 0]
    weights, parts, best = [], [], np.inf
    for model in _models(names, len(k)):
        sizes, chi2 = _fitted(columns[list(model)], seconds, error)
        if np.any(sizes[1:] < 0) or sizes[0] <= 0:
            continue
        best = min(best, chi2 / max(len(k) - len(model), 1))
        own = [names[j - 1] for j in model[1:]]
        lost = dict(zip(own, (sizes[1:] * added[list(model[1:])]).tolist(), strict=True))
        total = sum(lost.values())
        parts.append({name: value / total for name, value in lost.items()} if total > 0 else {})
        spread_over = np.log([names.count(name) for name in own]).sum()
        weights.append(-0.5 * chi2 - PENALTY * len(own) - spread_over)
    if not weights:
        return {}, 100.0
    power = np.exp(np.array(weights) - max(weights))
    shares: Counter[str] = Counter()
    for weight, lost in zip((power / power.sum()).tolist(), parts, strict=True):
        shares.update({name: weight * part for name, part in lost.items()})
    return dict(shares), float(best)


def _models(names: list[str], points: int) -> list[tuple[int, ...]]:
    """Sets of columns to fit: the ideal alone, with each term, and with a constant and each term."""
    models = [(0,), *((0, j) for j in range(1, len(names) + 1))]
    if CONSTANT in names and points > 3:
        constant = 1 + names.index(CONSTANT)
        models += [(0, constant, j) for j in range(1, len(names) + 1) if j != constant]
    return models


def _fitted(columns: FloatArray, seconds: FloatArray, error: FloatArray) -> tuple[np.ndarray, float]:
    """The sizes of the columns by weighted least squares, and the chi-square of what is left."""
    design = (columns / error).T
    normal = design.T @ design
    normal[np.diag_indices_from(normal)] *= 1.0 + 1e-9
    sizes = np.linalg.solve(normal, design.T @ (seconds / error))
    return sizes, float(((seconds / error - design @ sizes) ** 2).sum())
