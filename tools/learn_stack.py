"""Learn the forecast's stack from published curves, and judge it with whole sources left out.

Examples are every truncation of every strong or throughput curve that leaves at least three points to fit; targets lie
up to six doublings ahead.  A curve weighs (curves of its source)^-1/2, a truncation most where 60 % of the points are
fitted.  The prior over shapes that an example's experts use never saw the example's own fold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scalecurve.forecasting.curves import Array, CurveKind, Curves, pack
from scalecurve.forecasting.experts import Shapes
from scalecurve.forecasting.stack import (
    EXPERTS,
    LARGEST_GAIN,
    NARROWEST,
    PANEL,
    WIDEST,
    Circumstances,
    ExpertGate,
    ExpertStack,
    Mixture,
    Standard,
    circumstances,
    softmax,
    stacked_gains,
)
from tools.learn_shapes import learn_shapes, shape_evidence
from tools.published import FARTHEST, Published, balance

FEWEST_POINTS = 3
PANEL_BIAS = 2.0
SMOOTHING = 0.03  # errors below 3 % are not worth weights
GATES = (("plain", 0.1), ("plain", 0.05), ("plain", 0.03), ("octaves", 0.1), ("units", 0.2))
EMPHASIS_FROM, EMPHASIS = 16, 2.0  # the unit block of the "units" gate counts double
MIXTURE_PENALTY, SCALE_PENALTY = 3.0, 0.03
STEPS = 300
LEVELS = (0.5, 0.8, 0.9)


@dataclass(frozen=True)
class Examples:
    """Truncated curves in rows; `owner` is the index of the curve, `asked` marks the targets that exist."""

    curves: Sequence[Published]
    fold: Array
    owner: Array
    fitted_points: Array
    packed: Curves
    at: Array
    asked: Array
    truth: Array
    weight: Array

    @property
    def gain(self) -> Array:
        """The gain over the last fitted point that was measured, NaN where no target exists."""
        return self.truth - self.packed.last

    @cached_property
    def evidence(self) -> Array:
        return shape_evidence([curve.whole(CurveKind.STRONG) for curve in self.curves])

    def shapes(self, left_out: set[int]) -> Shapes:
        """The prior learned from the curves whose fold is not left out."""
        rows = np.flatnonzero(~np.isin(self.fold, list(left_out)))
        weight = balance([self.curves[i].facts["application"] for i in rows])
        return learn_shapes(self.evidence[rows], weight)

    def circumstances(self, left_out: set[int]) -> Circumstances:
        """Experts and features of every row, its shapes learned without its own fold and without `left_out`."""
        parts: dict[int, Circumstances] = {}
        rows_of = {number: np.flatnonzero(self.fold[self.owner] == number) for number in np.unique(self.fold).tolist()}
        for number, rows in rows_of.items():
            parts[number] = circumstances(self.packed.rows(rows), self.at[rows], self.shapes(left_out | {number}))
        order = np.argsort(np.concatenate(list(rows_of.values())), kind="stable")

        def joined(name: str) -> Array:
            return np.asarray(np.concatenate([getattr(part, name) for part in parts.values()])[order])

        names = ("gains", "centres", "features", "octaves", "noise", "slower")
        return Circumstances(*(joined(name) for name in names), next(iter(parts.values())).verdict)

    def standard_rows(self) -> Array:
        """Rows that fit the smallest 60 % of a curve with at least five K: what accuracy is quoted on."""
        points = np.array([len(curve.k) for curve in self.curves])[self.owner]
        wanted = np.maximum(FEWEST_POINTS, np.ceil(0.6 * points))
        return np.flatnonzero((self.fitted_points == wanted) & (points >= 5))


def examples(curves: Sequence[Published], fold: Array) -> Examples:
    """Every truncation of the curves; `fold` has one number for each curve."""
    owners, counts, fitted, targets, truths = [], [], [], [], []
    for i, curve in enumerate(curves):
        whole = curve.whole(CurveKind.STRONG)
        for n in range(FEWEST_POINTS, len(curve.k)):
            ahead = curve.k[n:] / curve.k[n - 1] <= FARTHEST
            if ahead.any():
                owners.append(i)
                counts.append(n)
                fitted.append(whole.part(slice(n)))
                targets.append(curve.k[n:][ahead])
                truths.append(whole.log_performance[n:][ahead])
    width = max(len(own) for own in targets)
    at = np.stack([np.r_[own, np.full(width - len(own), own[-1])] for own in targets])
    truth = np.stack([np.r_[own, np.full(width - len(own), np.nan)] for own in truths])
    asked, owner = np.isfinite(truth), np.array(owners)
    share = np.array(counts) / np.array([len(curves[i].k) for i in owners])
    nearness = np.exp(-(((share - 0.6) / 0.2) ** 2))
    nearness /= np.bincount(owner, nearness, minlength=len(curves))[owner]
    source = balance([curve.facts["source_repo"] for curve in curves])
    weight = (source[owner] * nearness / asked.sum(axis=1))[:, None] * asked
    return Examples(curves, fold, owner, np.array(counts), pack(fitted), at, asked, truth, weight)


def learn(data: Examples, case: Circumstances, rows: Array) -> ExpertStack:
    """The stack learned from some rows; all inputs are cross-fitted already."""
    mask = data.asked & rows[:, None]
    weight = data.weight[mask] / data.weight[mask].sum()
    gain = np.clip(data.gain[mask], -LARGEST_GAIN, LARGEST_GAIN)
    gates = []
    for kind, penalty in GATES:
        features = case.for_gate(kind)[mask]
        standard = _standard(features, weight, EMPHASIS_FROM if kind == "units" else None)
        weights, bias = learn_gate(standard.apply(features), case.gains[mask], gain, weight, penalty)
        gates.append(ExpertGate(kind, standard, weights, bias))
    # Curves measured here teach what a load does, not how much curves scatter: other users shared the machine.
    published = np.array([not curve.measured_here for curve in data.curves])[data.owner]
    mask = data.asked & (rows & published)[:, None]
    weight = data.weight[mask] / data.weight[mask].sum()
    gain = np.clip(data.gain[mask], -LARGEST_GAIN, LARGEST_GAIN)
    mixture = learn_mixture(case.features[mask], case.for_scale()[mask], case.centres[mask], gain, weight)
    sources = {data.curves[i].facts["source_repo"] for i in np.unique(data.owner[rows]).tolist()}
    return ExpertStack(tuple(gates), mixture, len(sources))


def _standard(features: Array, weight: Array, emphasised_from: int | None = None) -> Standard:
    mean = np.average(features, axis=0, weights=weight)
    scale = np.sqrt(np.average((features - mean) ** 2, axis=0, weights=weight)) + 1e-9
    emphasis = np.ones(len(mean))
    if emphasised_from is not None:
        emphasis[emphasised_from:] = EMPHASIS
    return Standard(mean, scale, emphasis)


def learn_gate(features: Array, gains: Array, gain: Array, weight: Array, penalty: float) -> tuple[Array, Array]:
    """Weights (features x experts) that minimise the weighted sqrt(error^2 + 0.03^2), shrunk towards the panel."""
    from scipy.optimize import minimize

    shape = features.shape[1], gains.shape[1]
    bias = np.zeros(shape[1])
    bias[PANEL] = PANEL_BIAS
    shrink = 10 * penalty / math.prod(shape)

    def loss(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(shape)
        shares = softmax(features @ weights + bias)
        predicted = (shares * gains).sum(axis=1)
        error = predicted - gain
        size = np.sqrt(error**2 + SMOOTHING**2)
        slope = shares * (gains - predicted[:, None]) * (weight * error / size)[:, None]
        value = float((weight * size).sum() + shrink * (weights**2).sum())
        return value, (features.T @ slope + 2 * shrink * weights).ravel()

    solution = minimize(loss, np.zeros(math.prod(shape)), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(solution.x).reshape(shape), bias


def learn_mixture(features: Array, scale_features: Array, centres: Array, gain: Array, weight: Array) -> Mixture:
    """Weights and scales of the mixture by likelihood, lightly penalised."""
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    standard, scale_standard = _standard(features, weight), _standard(scale_features, weight)
    x, s = standard.apply(features), scale_standard.apply(scale_features)
    d, k, q = x.shape[1], centres.shape[1], s.shape[1]
    distance = np.abs(gain[:, None] - centres)
    shrink, shrink_scale = MIXTURE_PENALTY / (d * k), SCALE_PENALTY / q

    def parts(flat: Array) -> tuple[Array, Array, Array, Array]:
        return flat[: d * k].reshape(d, k), flat[d * k : d * k + k], flat[d * k + k : -k], flat[-k:]

    def loss(flat: Array) -> tuple[float, Array]:
        weights, bias, slope, offset = parts(flat)
        logits = x @ weights + bias
        log_share = logits - logsumexp(logits, axis=1, keepdims=True)
        log_scale = np.clip((s @ slope)[:, None] + offset, NARROWEST, WIDEST)
        ratio = distance * np.exp(-log_scale)
        terms = log_share - math.log(2) - log_scale - ratio
        total = logsumexp(terms, axis=1)
        blame = np.exp(terms - total[:, None])
        by_logit = -(blame - np.exp(log_share)) * weight[:, None]
        by_scale = -blame * (ratio - 1) * weight[:, None]
        value = -float((weight * total).sum()) + shrink * float((weights**2).sum())
        value += shrink_scale * float((slope**2).sum()) + 0.01 * float((bias**2).mean())
        grad = (x.T @ by_logit + 2 * shrink * weights).ravel(), by_logit.sum(axis=0) + 0.02 * bias / k
        return value, np.r_[
            grad[0], grad[1], s.T @ by_scale.sum(axis=1) + 2 * shrink_scale * slope, by_scale.sum(axis=0)
        ]

    start = np.r_[np.zeros(d * k + k + q), np.full(k, -2.0)]
    solution = parts(np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x))
    return Mixture(standard, solution[0], solution[1], scale_standard, solution[2], solution[3])


@dataclass(frozen=True)
class Crossed:
    """Forecasts of every example by a stack that never saw its source; gains, and intervals at LEVELS."""

    data: Examples
    gains: Array
    point: Array
    ends: dict[float, tuple[Array, Array]]


def crossvalidate(data: Examples) -> Crossed:
    """Leave each fold out in turn; shapes inside the training folds are cross-fitted, so the figure is nested."""
    shape = data.at.shape
    point, gains = np.full(shape, np.nan), np.full((*shape, len(EXPERTS)), np.nan)
    ends = {level: (np.full(shape, np.nan), np.full(shape, np.nan)) for level in LEVELS}
    for number in np.unique(data.fold).tolist():
        case = data.circumstances({number})
        own = data.fold[data.owner] == number
        stack = learn(data, case, ~own)
        held = case.rows(own)
        result = stacked_gains(held, stack)
        point[own], gains[own] = result.point, held.gains
        for level in LEVELS:
            ends[level][0][own], ends[level][1][own], *_ = result.interval(level)
    return Crossed(data, gains, point, ends)
