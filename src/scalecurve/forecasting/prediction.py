"""Predict many curves at once, with the distribution of the error.

Strong scaling and throughput are forecast by the stack (see `stack`).  Weak scaling and collectives, of which few
curves are published, are forecast by the median of their panel; there the error is a scale from what can be seen, times
a quantile measured on published curves:

    ln sigma = b . (1, ln(t + 0.1), ln(D + 0.02), ln(s + 0.01), e(1 - e))

t = doublings beyond the largest measured K, D = disagreement of the families, s = noise of the curve, e = slope at the
end cut to 0..1.  The coefficients minimise the Laplace likelihood of cross-validated residuals; the quantiles are
conformal, cross-validated by source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scalecurve.forecasting.calibration import Calibration, Width
from scalecurve.forecasting.curves import Array, Curves, LogCurve, last_slope, pack
from scalecurve.forecasting.panel import COLLECTIVE_PANEL, WEAK_PANEL, Verdict, consult
from scalecurve.forecasting.stack import EXPERTS, StackedGains, circumstances, stacked_gains
from scalecurve.forecasting.view import CurveKind

WIDEST = 30.0  # half-width on log scale; beyond it a number means nothing and only overflows
FEWEST, FEW_WIDENING = 3, 1.5  # fewer points lie beyond the calibration: intervals are so much wider
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
    """The error of the stack's point for one curve among many: not the same up and down."""

    gains: StackedGains
    row: int
    count: int
    wider: float = 1.0

    def interval(self, level: float) -> tuple[Array, Array]:
        own, ends = (self.row, slice(self.count)), self.gains.interval(level)
        low, high = (self.wider * (end[own] - self.gains.point[own]) for end in (ends.low, ends.high))
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

    def interval(self, level: float) -> tuple[Array, Array]:
        """Low and high log performance at each K."""
        low, high = self.error.interval(level)
        return self.ahead + low, self.ahead + high

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
        width = max(len(at[i]) for i in chosen)
        ahead = np.stack([np.r_[at[i], np.full(width - len(at[i]), at[i][-1])] for i in chosen])
        counts = [len(at[i]) for i in chosen]
        answer = _stacked if kind is CurveKind.STRONG else _panelled
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
