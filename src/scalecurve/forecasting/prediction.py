"""Predict many curves at once, with the distribution of the error.

Strong scaling and throughput are forecast by the stack (see `stack`).  Weak scaling and collectives, of which few
curves are published, are forecast by the median of their panel; there the error is a scale from what can be seen, times
a quantile measured on published curves:

    ln sigma = b . (1, ln(t + 0.1), ln(D + 0.02), ln(s + 0.01), e(1 - e))

t = doublings beyond the largest measured K, D = disagreement of the families, s = noise of the curve, e = slope at the
end cut to 0..1.  The coefficients minimise the Laplace likelihood of cross-validated residuals; the quantiles are
conformal, cross-validated by source.

Siblings (other sizes, machines or versions of one study) share their errors.  Each is cut at the K nearest the largest
measured K of the study, forecast from there, and compared with what was measured: its residual of log performance at
each doubling ahead.  A sibling counts w = 1/(1 + (d/0.05)^2), d = how far its shape is from the study's at the K they
share.  The forecast is moved by the mean residual, weighted by w, times W/(W + 1/4) for the sum W of all w, by at most
1.5.

Where K crosses a node of known size, whole nodes are a term of their own (`fitting.nodes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scalecurve.findings import Finding, info, warning
from scalecurve.fitting.nodes import AcrossNodes, across_nodes
from scalecurve.forecasting.curves import (
    FORGETTING,
    LN2,
    Array,
    CurveKind,
    Curves,
    LogCurve,
    Mask,
    View,
    last_slope,
    pack,
    view,
)
from scalecurve.forecasting.experts import COLLECTIVE_PANEL, WEAK_PANEL, Verdict, consult
from scalecurve.forecasting.published import Calibration, Width
from scalecurve.forecasting.stack import EXPERTS, StackedGains, circumstances, stacked_gains
from scalecurve.study import Study, StudySet

WIDEST = 30.0  # half-width on log scale; beyond it a number means nothing and only overflows
FEWEST, FEW_WIDENING = 3, 1.5  # fewer points lie beyond the calibration: intervals are so much wider
NEAR, LARGEST_SHIFT = 1.6, 1.5  # a sibling is cut at a K within this factor of the study's largest; log performance
ALIKE, DOUBT = 0.05, 0.25  # distance of shapes at which a sibling counts half; likeness that stands against a shift
SHARED_PLACES = 8  # between the smallest and the largest K that two curves share
PANELS = {CurveKind.WEAK: WEAK_PANEL, CurveKind.COLLECTIVE: COLLECTIVE_PANEL}


@dataclass(frozen=True)
class PanelError:
    """The error of a panel's median, the same up and down: a scale times a quantile of published errors."""

    scale: Array
    width: Width

    def interval(self, level: float) -> tuple[Array, Array]:
        half = np.minimum(self.width.quantile(level) * self.scale, WIDEST)
        return -half, half

    def disagreement(self, level: float) -> Array:
        return 2 * self.width.quantile(level) * self.scale


@dataclass(frozen=True)
class StackError:
    """The error of the stack's point for one curve among many: not the same up and down.

    `inside` says which K are known to lie within one node.
    """

    gains: StackedGains
    row: int
    count: int
    wider: float = 1.0
    inside: Mask | bool = False

    def interval(self, level: float) -> tuple[Array, Array]:
        own, ends = (self.row, slice(self.count)), self.gains.interval(level)
        low = np.where(self.inside, ends.inside[own], ends.low[own])
        low, high = (self.wider * (end - self.gains.point[own]) for end in (low, ends.high[own]))
        return np.maximum(low, -WIDEST), np.minimum(high, WIDEST)

    def disagreement(self, level: float) -> Array:
        return np.asarray(self.wider * self.gains.interval(level).disagreement[self.row, : self.count])


@dataclass(frozen=True)
class Prediction:
    """One curve's forecast: log performance at each K, its error and the weight of each expert.

    `shift` is the part of `ahead` that so many `siblings` added.
    """

    ahead: Array
    error: PanelError | StackError
    weights: Mapping[str, float]
    noise: float
    shift: Array = field(default_factory=lambda: np.empty(0))
    siblings: int = 0
    across: AcrossNodes | None = None

    def interval(self, level: float) -> tuple[Array, Array]:
        """Low and high log performance at each K."""
        low, high = (self.ahead + end for end in self.error.interval(level))
        if self.across is not None:
            low, high = self.across.around(low - self.across.moved, high - self.across.moved, level)
        return low, high

    def disagreement(self, level: float) -> Array:
        """The width of the part of the interval that experts and their past errors make."""
        return self.error.disagreement(level)

    def half_width(self, level: float) -> Array:
        """Half the width of the interval of log performance."""
        low, high = self.error.interval(level)
        return np.asarray((high - low) / 2)


def features(curves: Curves, at: Array, verdict: Verdict) -> Array:
    """What the scale of the error depends on: curves x K x 5."""
    t = np.maximum(curves.doublings(at), 0.0)
    slope = np.clip(last_slope(curves), 0.0, 1.0)
    noise = np.broadcast_to(verdict.noise[:, None], t.shape)
    halfway = np.broadcast_to((slope * (1 - slope))[:, None], t.shape)
    parts = (np.ones_like(t), np.log(t + 0.1), np.log(verdict.spread + 0.02), np.log(noise + 0.01), halfway)
    return np.stack(parts, axis=-1)


def predict(
    points: Sequence[LogCurve], kinds: Sequence[CurveKind], at: Sequence[Array], calibration: Calibration
) -> list[Prediction]:
    """Forecast every curve at its own list of K, each of them beyond its largest measured K."""
    nothing = PanelError(np.empty(0), Width(np.empty(0), np.ones(1), np.ones(1)))
    predictions = [Prediction(np.empty(0), nothing, {}, 0.0)] * len(points)
    for kind in sorted(set(kinds)):
        chosen = [i for i, own in enumerate(kinds) if own is kind and len(at[i])]
        if not chosen:
            continue
        curves = pack([points[i] for i in chosen])
        counts = [len(at[i]) for i in chosen]
        width = max(counts)
        ahead = np.stack([np.r_[at[i], np.full(width - len(at[i]), at[i][-1])] for i in chosen])
        answer = {CurveKind.STRONG: _stacked}.get(kind, _panelled)
        for i, prediction in zip(chosen, answer(curves, kind, ahead, counts, calibration), strict=True):
            predictions[i] = prediction
    return predictions


def _stacked(
    curves: Curves, kind: CurveKind, at: Array, counts: list[int], calibration: Calibration
) -> Iterator[Prediction]:
    """The stack's forecast of strong curves."""
    case = circumstances(curves, at, calibration.shapes)
    gains = stacked_gains(case, calibration.stack)
    enough = (curves.count >= FEWEST).tolist()
    for row, count in enumerate(counts):
        ahead = float(curves.last[row, 0]) + gains.point[row, :count]
        weights = dict(zip(EXPERTS, gains.shares[row, :count].mean(axis=0).tolist(), strict=True))
        wider = 1.0 if enough[row] else FEW_WIDENING
        yield Prediction(ahead, StackError(gains, row, count, wider), weights, float(case.verdict.noise[row]))


def _panelled(
    curves: Curves, kind: CurveKind, at: Array, counts: list[int], calibration: Calibration
) -> Iterator[Prediction]:
    """The panel's forecast of weak curves and collectives."""
    panel, width = PANELS[kind], calibration.widths[kind]
    verdict = consult(curves, at, panel)
    few = np.where(curves.count < FEWEST, FEW_WIDENING, 1.0)[:, None]
    scale = few * np.exp(features(curves, at, verdict) @ width.coefficients)
    for row, count in enumerate(counts):
        # A family's weight is its share in the median: the middle one or two at each K.
        middle = np.argsort(verdict.families[:, row, :count], axis=0, kind="stable")
        middle = middle[(len(panel) - 1) // 2 : len(panel) // 2 + 1]
        votes = np.bincount(middle.ravel(), minlength=len(panel)) / middle.size
        weights = {name: float(vote) for name, vote in zip(panel, votes, strict=True) if vote > 0}
        error = PanelError(scale[row, :count], width)
        yield Prediction(verdict.ahead[row, :count], error, weights, float(verdict.noise[row]))


@dataclass(frozen=True)
class Residual:
    """How far a forecast of a sibling was below what was measured: log performance, by doublings ahead.

    `likeness` is the weight of the sibling, 1 for a curve of the same shape.
    """

    doublings: Array
    below: Array
    likeness: float = 1.0

    def at(self, doublings: Array) -> Array:
        """Zero where the sibling was cut, straight lines between, constant beyond its last K."""
        return np.interp(doublings, np.r_[0.0, self.doublings], np.r_[0.0, self.below])


def likeness(own: LogCurve, sibling: LogCurve) -> float:
    """The weight of a sibling, 0 to 1, from the distance of the two shapes, both cut and aligned at the last shared K.

    The distance is the root mean square difference of log performance; a doubling back from the end halves the weight.
    """
    end = min(own.k[-1], sibling.k[-1])
    start = min(max(own.k[0], sibling.k[0]), end)
    places = np.linspace(np.log(start), np.log(end), SHARED_PLACES)
    apart = np.interp(places, np.log(own.k), own.log_performance)
    apart = apart - np.interp(places, np.log(sibling.k), sibling.log_performance)
    square = np.average((apart - apart[-1]) ** 2, weights=FORGETTING ** ((places[-1] - places) / LN2))
    return float(1.0 / (1.0 + square / ALIKE**2))


def pooled_shift(residuals: Sequence[Residual], doublings: Array) -> Array:
    """What the siblings' residuals add to log performance; partial pooling, so that unlike siblings count little."""
    weights = np.array([one.likeness for one in residuals])
    mean = np.average([one.at(doublings) for one in residuals], axis=0, weights=weights)
    return np.asarray(np.clip(mean, -LARGEST_SHIFT, LARGEST_SHIFT) * weights.sum() / (weights.sum() + DOUBT))


def cut_of(k: Array, largest: float) -> int | None:
    """How many points of a sibling to fit, up to the K nearest `largest`; None where that is far or points are few."""
    distance = np.abs(np.log(k / largest))
    n = int(np.argmin(distance)) + 1
    usable = distance[n - 1] <= np.log(NEAR) and FEWEST <= n < len(k)
    return n if usable else None


def with_siblings(own: View, like: Sequence[View]) -> View:
    """The view with the siblings that can help it, and a finding for each that cannot."""
    reasons = [_cannot_help(own, other) for other in like]
    useful = tuple(other.fitted for other, reason in zip(like, reasons, strict=True) if reason is None)
    remarks = tuple(
        warning(
            "sibling-not-used",
            f"{other.name} cannot correct this forecast: {reason}",
            remedy="name curves measured further",
            sibling=other.name,
        )
        for other, reason in zip(like, reasons, strict=True)
        if reason is not None
    )
    return replace(own, siblings=useful, remarks=(*own.remarks, *remarks))


def siblings_in(studies: StudySet, study: Study) -> tuple[Study, ...]:
    """The curves of a set that can correct the forecast of one of them: measured further, and of the same kind."""
    own = view(study)
    others = (other for _, other in studies.items() if other is not study and max(other.all_k) > own.largest_k)
    return tuple(other for other in others if _cannot_help(own, view(other)) is None)


def _cannot_help(own: View, other: View) -> str | None:
    """Why a sibling is of no use; None where it is."""
    if other.kind is not own.kind:
        return f"it is a {other.kind} curve, the study a {own.kind} one"
    if cut_of(other.fitted.k, own.largest_k) is None:
        return (
            f"it needs {FEWEST} K up to about K = {own.largest_k:g}, the last within a factor of {NEAR:g} of it, "
            "and larger K beyond"
        )
    return None


def predict_views(views: Sequence[View], at: Sequence[Array], calibration: Calibration) -> list[Prediction]:
    """Forecast every view at its own K beyond its largest, corrected by siblings."""
    reached = [own.reach(k) for own, k in zip(views, at, strict=True)]
    forecasts = predict([own.fitted for own in views], [own.kind for own in views], reached, calibration)
    answers = []
    for own, k, prediction in zip(views, reached, forecasts, strict=True):
        answer = _corrected(own, k, prediction, calibration) if own.siblings and len(k) else prediction
        answers.append(_with_nodes(own, k, answer))
    return answers


def _with_nodes(own: View, at: Array, prediction: Prediction) -> Prediction:
    """The forecast with the term of whole nodes, for strong scaling beyond a node of known size.

    A node that was not filled counts as it was predicted to be full.
    """
    node = own.node_size
    if node is None or own.kind is not CurveKind.STRONG or len(own.fitted.k) < len(own.points.k) or not len(at):
        return prediction
    edge, ahead = max(float(node), own.largest_k), prediction.ahead
    inside = at <= edge
    if isinstance(prediction.error, StackError):
        prediction = replace(prediction, error=replace(prediction.error, inside=at <= node))
    if inside.all():
        return prediction
    logs, k = own.points.log_performance, own.points.k
    start = np.interp(np.log(edge), np.log(np.r_[k, at[inside]]), np.r_[logs, ahead[inside]])
    across = across_nodes(k, logs, node, at, ahead, np.asarray(start))
    return replace(prediction, ahead=ahead + across.moved, across=across)


def _corrected(own: View, at: Array, prediction: Prediction, calibration: Calibration) -> Prediction:
    largest = float(own.fitted.k[-1])
    cuts = [(curve, n) for curve in own.siblings if (n := cut_of(curve.k, largest)) is not None]
    if not cuts:
        return prediction
    ahead = [curve.k[n:] for curve, n in cuts]
    forecasts = predict([curve.part(slice(n)) for curve, n in cuts], [own.kind] * len(cuts), ahead, calibration)
    residuals = [
        Residual(
            np.log2(k / curve.k[n - 1]),
            curve.log_performance[n:] - forecast.ahead,
            likeness(own.fitted, curve.part(slice(n))),
        )
        for (curve, n), k, forecast in zip(cuts, ahead, forecasts, strict=True)
    ]
    shift = pooled_shift(residuals, np.log2(at / largest))
    return replace(prediction, ahead=prediction.ahead + shift, shift=shift, siblings=len(cuts))


def sibling_finding(prediction: Prediction, at: Sequence[int]) -> Iterator[Finding]:
    """How many siblings moved the forecast and by how much; nothing without siblings."""
    if not prediction.siblings:
        return
    moved = {k: float(np.expm1(shift)) for k, shift in zip(at, prediction.shift.tolist(), strict=True)}
    listed = ", ".join(f"{change:+.1%} at K = {k}" for k, change in moved.items())
    count = "1 sibling" if prediction.siblings == 1 else f"{prediction.siblings} siblings"
    message = f"the forecast errors of {count} changed the expected performance by {listed}"
    yield info("siblings-used", message, siblings=prediction.siblings, moved={str(k): v for k, v in moved.items()})
