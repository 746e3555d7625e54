"""Forecasts of published curves by a calibration that never saw their source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalecurve.forecasting.calibration import Calibration, Residuals, Width, balance, learn_shapes, learn_width
from scalecurve.forecasting.curves import Array, pack, roughness
from scalecurve.forecasting.panel import Family, Verdict, consult, smooth_laws
from scalecurve.forecasting.prediction import features, panel_of
from scalecurve.forecasting.shapes import Shapes
from scalecurve.forecasting.view import CurveKind
from tools.published import Published

FOLDS = 10
FEWEST = 15  # sources counted in the finite-sample correction where there are fewer: else every level would be 100 %
NO_SHAPES = Shapes(np.array([[1.0, 0.0, 0.0, 1.0]]), np.ones(1))


@dataclass(frozen=True)
class Judged:
    """All predicted points of all curves of one panel in rows; `curve` is the index of the curve.

    What the verdict was made of is kept (`families` has one column per family), so that other ways to combine it can
    be judged.
    """

    curves: Sequence[Published]
    curve: Array
    ratio: Array
    truth: Array
    ahead: Array
    features: Array
    last: Array
    rough: Array
    law: Array
    trust: Array
    believed: Array
    families: Array
    fold: Array

    @property
    def error(self) -> Array:
        return self.truth - self.ahead

    def residuals(self) -> Residuals:
        per_curve = np.bincount(self.curve, minlength=len(self.curves))
        weight = balance([curve.facts["application"] for curve in self.curves]) / np.maximum(per_curve, 1)
        return Residuals(self.error, self.features, weight[self.curve])


def folds(curves: Sequence[Published], by: str = "source_repo", count: int = FOLDS) -> Array:
    """Groups dealt to the emptiest fold, largest first: deterministic, and no group is ever split."""
    labels = [curve.facts[by] for curve in curves]
    fill = [0] * count
    place: dict[str, int] = {}
    for label in sorted(set(labels), key=lambda name: (-labels.count(name), name)):
        place[label] = fill.index(min(fill))
        fill[place[label]] += labels.count(label)
    return np.array([place[label] for label in labels])


def judge(curves: Sequence[Published], path: CurveKind, fold: Array, panel: dict[str, Family] | None = None) -> Judged:
    """Predict every curve with shapes learned from the other folds (strong) or with the fixed panel."""
    parts = []
    for number in sorted(set(fold.tolist())):
        chosen = np.flatnonzero(fold == number)
        shapes = NO_SHAPES
        if path is CurveKind.STRONG:
            shapes = _shapes([curve for curve, own in zip(curves, fold, strict=True) if own != number])
        families = panel or panel_of(path, Calibration(shapes, {}, {}, {}))
        parts.append(_predict([curves[i] for i in chosen], chosen, path, families))
    rows = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(rows[0], kind="stable")
    columns = [column[order] for column in rows]
    return Judged(curves, *columns, fold[columns[0]])


def _shapes(others: Sequence[Published]) -> Shapes:
    weight = balance([curve.facts["application"] for curve in others])
    return learn_shapes([curve.whole(CurveKind.STRONG) for curve in others], weight)


def _predict(
    curves: Sequence[Published], index: Array, path: CurveKind, families: dict[str, Family]
) -> tuple[Array, ...]:
    splits = [curve.split(path) for curve in curves]
    width = max(len(at) for _, at, _ in splits)
    at = np.stack([np.r_[own, np.full(width - len(own), own[-1])] for _, own, _ in splits])
    asked = np.stack([np.arange(width) < len(own) for _, own, _ in splits])
    packed = pack([fitted for fitted, _, _ in splits])
    verdict: Verdict = consult(packed, at, families, laws=path is CurveKind.STRONG)
    truth = np.concatenate([log for _, _, log in splits])
    rows = np.repeat(index, asked.sum(axis=1))
    law = smooth_laws(packed, at)
    columns = (roughness(packed), verdict.trust, packed.believed)
    spread_out = [np.broadcast_to(own[:, None], at.shape)[asked] for own in columns]
    families_of_points = np.moveaxis(verdict.families, 0, -1)[asked]
    last = np.broadcast_to(packed.last, at.shape)[asked]
    predicted = (verdict.ahead[asked], features(packed, at, verdict)[asked], last, spread_out[0], law.ahead[asked])
    return rows, (at / packed.k[:, -1:])[asked], truth, *predicted, *spread_out[1:], families_of_points


def crossed_intervals(judged: Judged, level: float, borrowed: Array | None = None) -> tuple[Array, Array]:
    """Low and high ends of log performance, each width learned without the curve's fold."""
    half = np.empty(len(judged.truth))
    for number in sorted(set(judged.fold.tolist())):
        own = judged.fold == number
        width = width_of(judged, borrowed, ~own)
        half[own] = np.exp(judged.features[own] @ width.coefficients) * width.quantile(level)
    return judged.ahead - half, judged.ahead + half


def width_of(judged: Judged, borrowed: Array | None = None, chosen: Array | None = None) -> Width:
    rows = np.ones(len(judged.truth), dtype=bool) if chosen is None else chosen
    applications = {judged.curves[i].facts["application"] for i in np.unique(judged.curve[rows])}
    return learn_width(judged.residuals().rows(rows), max(len(applications), FEWEST), borrowed)


def whole_shapes(curves: Sequence[Published]) -> Shapes:
    return _shapes(curves)
