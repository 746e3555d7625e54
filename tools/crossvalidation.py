"""Forecasts of published curves by a calibration that never saw their source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalecurve.forecasting.curves import Array, CurveKind, pack
from scalecurve.forecasting.experts import consult
from scalecurve.forecasting.prediction import PANELS, features
from scalecurve.forecasting.published import Width
from scalecurve.forecasting.stack import EXPERTS
from tools.learn_stack import Crossed, Examples, examples
from tools.published import Published, balance, teachers, weighted_quantile

FOLDS = 10
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
FEWEST = 15  # sources counted in the finite-sample correction where there are fewer: else every level would be 100 %


@dataclass(frozen=True)
class Judged:
    """All predicted points of all curves of one kind in rows; `curve` is the index of the curve.

    `ahead` and `truth` are log performance, `experts` the experts' forecasts by name (strong curves only), `ends` the
    interval at each level, `features` what the width depends on (panels only), `last` log performance at the last K.
    """

    curves: Sequence[Published]
    curve: Array
    ratio: Array
    truth: Array
    ahead: Array
    fold: Array
    experts: dict[str, Array]
    ends: dict[float, tuple[Array, Array]]
    features: Array
    last: Array

    @property
    def error(self) -> Array:
        return self.truth - self.ahead


def folds(curves: Sequence[Published], by: str = "source_repo", count: int = FOLDS) -> Array:
    """Groups dealt to the emptiest fold, largest first: deterministic, and no group is ever split."""
    labels = [curve.facts[by] for curve in curves]
    fill = [0] * count
    place: dict[str, int] = {}
    for label in sorted(set(labels), key=lambda name: (-labels.count(name), name)):
        place[label] = fill.index(min(fill))
        fill[place[label]] += labels.count(label)
    return np.array([place[label] for label in labels])


def lessons(curves: list[Published], loads: list[Published], count: int = FOLDS) -> Examples:
    """Published curves and those measured here, each dealt to folds on its own, so that neither moves the other's."""
    teaching, more = teachers(curves), teachers(loads)
    return examples([*teaching, *more], np.r_[folds(teaching, count=count), folds(more, count=count)])


def judged_rows(crossed: Crossed, *, here: bool = False) -> Judged:
    """The standard truncation of every judged curve: the smallest 60 % of K fitted, the rest predicted.

    Only published curves are judged, or with `here` only those measured for this project.
    """
    data, rows = crossed.data, crossed.data.standard_rows()
    rows = rows[np.array([data.curves[i].measured_here for i in data.owner[rows].tolist()]) == here]
    kept, place = np.unique(data.owner[rows], return_inverse=True)
    asked = data.asked[rows]

    def flat(values: Array) -> Array:
        return np.asarray(values[rows][asked])

    last = np.broadcast_to(data.packed.last, data.at.shape)
    curve = np.broadcast_to(place[:, None], asked.shape)[asked]
    ratio = flat(data.at / data.packed.k[:, -1:])
    experts = {name: flat(last + crossed.gains[..., i]) for i, name in enumerate(EXPERTS)}
    ends = {level: (flat(last + low), flat(last + high)) for level, (low, high) in crossed.ends.items()}
    curves = [data.curves[i] for i in kept.tolist()]
    fold = data.fold[kept][curve]
    truth, ahead = flat(data.truth), flat(last + crossed.point)
    return Judged(curves, curve, ratio, truth, ahead, fold, experts, ends, np.empty(0), flat(last))


def judge_panel(curves: Sequence[Published], kind: CurveKind, fold: Array) -> Judged:
    """Weak curves or collectives forecast by their fixed panel, without intervals (see `crossed_intervals`)."""
    splits = [curve.split(kind) for curve in curves]
    width = max(len(at) for _, at, _ in splits)
    at = np.stack([np.r_[own, np.full(width - len(own), own[-1])] for _, own, _ in splits])
    asked = np.stack([np.arange(width) < len(own) for _, own, _ in splits])
    packed = pack([fitted for fitted, _, _ in splits])
    verdict = consult(packed, at, PANELS[kind])
    truth = np.concatenate([log for _, _, log in splits])
    curve = np.repeat(np.arange(len(curves)), asked.sum(axis=1))
    ratio, parts = (at / packed.k[:, -1:])[asked], features(packed, at, verdict)[asked]
    last = np.broadcast_to(packed.last, asked.shape)[asked]
    return Judged(curves, curve, ratio, truth, verdict.ahead[asked], fold[curve], {}, {}, parts, last)


def crossed_intervals(judged: Judged, level: float) -> tuple[Array, Array]:
    """Low and high ends of a panel's log performance, each width learned without the curve's fold."""
    half = np.empty(len(judged.truth))
    for number in sorted(set(judged.fold.tolist())):
        own = judged.fold == number
        width = width_of(judged, ~own)
        half[own] = np.exp(judged.features[own] @ width.coefficients) * width.quantile(level)
    return judged.ahead - half, judged.ahead + half


def width_of(judged: Judged, chosen: Array | None = None) -> Width:
    """How wide a panel's intervals are, learned from some of the predicted points."""
    rows = np.ones(len(judged.truth), dtype=bool) if chosen is None else chosen
    applications = {judged.curves[i].facts["application"] for i in np.unique(judged.curve[rows])}
    per_curve = np.bincount(judged.curve, minlength=len(judged.curves))
    weight = balance([curve.facts["application"] for curve in judged.curves]) / np.maximum(per_curve, 1)
    residuals = Residuals(judged.error[rows], judged.features[rows], weight[judged.curve][rows])
    return learn_width(residuals, max(len(applications), FEWEST))


@dataclass(frozen=True)
class Residuals:
    """Cross-validated errors of log performance, one row per predicted point, with the features of its width."""

    error: Array
    features: Array
    weight: Array

    def rows(self, chosen: npt.NDArray[np.bool_]) -> Residuals:
        return Residuals(self.error[chosen], self.features[chosen], self.weight[chosen])


def learn_width(residuals: Residuals, sources: int) -> Width:
    """Coefficients by the Laplace likelihood, then conformal quantiles of |error| / scale.

    The finite-sample correction level * (1 + 1/n) counts independent sources, not points: siblings err together.
    """
    from scipy.optimize import minimize

    features, size, weight = residuals.features, np.abs(residuals.error), residuals.weight

    def loss(b: Array) -> tuple[float, Array]:
        log_scale = features @ b
        ratio = size * np.exp(-log_scale)
        return float((weight * (ratio + log_scale)).sum()), (weight * (1 - ratio)) @ features

    start = np.zeros(features.shape[1])
    start[0] = np.log(np.average(size, weights=weight))
    coefficients = np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)
    standard = size * np.exp(-features @ coefficients)
    corrected = [min(level * (1 + 1 / sources), 1.0) for level in LEVELS]
    quantiles = np.array([weighted_quantile(standard, weight, level) for level in corrected])
    return Width(coefficients, np.array(LEVELS), np.maximum.accumulate(quantiles))
