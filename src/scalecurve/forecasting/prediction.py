"""Predict many curves at once, with the distribution of the error; the backtest and the expected bend of one study.

Strong scaling and throughput are forecast by the stack (see `stack`).  Weak scaling and collectives, of which few
curves are published, are forecast by the median of their panel; there the error is a scale from what can be seen, times
a quantile measured on published curves:

    ln sigma = b . (1, ln(t + 0.1), ln(D + 0.02), ln(s + 0.01), e(1 - e))

t = doublings beyond the largest measured K, D = disagreement of the families, s = noise of the curve, e = slope at the
end cut to 0..1.  The coefficients minimise the Laplace likelihood of cross-validated residuals; the quantiles are
conformal, cross-validated by source.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scalecurve.findings import Finding, warning
from scalecurve.forecasting.calibration import Calibration, Width
from scalecurve.forecasting.curves import Array, Curves, LogCurve, last_slope, pack
from scalecurve.forecasting.panel import COLLECTIVE_PANEL, WEAK_PANEL, Verdict, consult
from scalecurve.forecasting.stack import EXPERTS, StackedGains, circumstances, stacked_gains
from scalecurve.forecasting.view import CurveKind, View

WIDEST = 30.0  # half-width on log scale; beyond it a number means nothing and only overflows
FEWEST, SHARE = 4, 0.6  # of the backtest: at least so many K, so large a share of them fitted
FAILED_ERROR = 0.5
HORIZON = 16.0
KNEE, EFFICIENCY = "knee (dlnS/dlnK passes 1/2)", "efficiency below 0.7"
WEAK_THRESHOLD = 0.7
PANELS = {CurveKind.WEAK: WEAK_PANEL, CurveKind.COLLECTIVE: COLLECTIVE_PANEL}


@dataclass(frozen=True)
class PanelError:
    """The error of a panel's median, the same up and down: a scale times a quantile of published errors."""

    scale: Array
    width: Width

    def interval(self, level: float) -> tuple[Array, Array]:
        half = np.minimum(self.width.quantile(level) * self.scale, WIDEST)
        return -half, half


@dataclass(frozen=True)
class Prediction:
    """One curve's forecast: log performance at each K, its error and the weight of each expert.

    `last` is log performance at the largest measured K, from which the stack counts its gains.
    """

    ahead: Array
    error: PanelError | StackedGains
    weights: Mapping[str, float]
    noise: float
    last: float = 0.0

    def interval(self, level: float) -> tuple[Array, Array]:
        """Low and high log performance at each K."""
        low, high = self.error.interval(level)
        if isinstance(self.error, StackedGains):
            return np.maximum(self.last + low, self.ahead - WIDEST), np.minimum(self.last + high, self.ahead + WIDEST)
        return self.ahead + low, self.ahead + high

    def half_width(self, level: float) -> Array:
        """Half the width of the interval of log performance."""
        low, high = self.interval(level)
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
    seen = circumstances(curves, at, calibration.shapes)
    gains = stacked_gains(seen, calibration.stack)
    for row, count in enumerate(counts):
        own, last = gains.row(row, count), float(curves.last[row, 0])
        weights = dict(zip(EXPERTS, own.shares.mean(axis=0).tolist(), strict=True))
        yield Prediction(last + own.point, own, weights, float(seen.verdict.noise[row]), last)


def _panelled(
    curves: Curves, kind: CurveKind, at: Array, counts: list[int], calibration: Calibration
) -> Iterator[Prediction]:
    """The panel's forecast of weak curves and collectives."""
    panel, width = PANELS[kind], calibration.widths[kind]
    verdict = consult(curves, at, panel)
    few = np.where(curves.count < 3, 1.5, 1.0)[:, None]  # two points lie beyond the calibration
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
class BacktestRow:
    """One K that the backtest predicted, in the study's quantity."""

    k: int
    predicted: float
    measured: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """Relative, positive where the forecast was too high."""
        return self.predicted / self.measured - 1

    @property
    def inside(self) -> bool:
        return self.low <= self.measured <= self.high

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"error": self.error, "inside": self.inside}


@dataclass(frozen=True)
class Backtest:
    """The forecast tried on the study itself: fitted to K up to `fitted_to`, compared with the larger K."""

    fitted_to: int
    rows: tuple[BacktestRow, ...]

    @property
    def median_error(self) -> float:
        return float(np.median([abs(row.error) for row in self.rows]))

    @property
    def covered(self) -> float:
        """The share of rows inside their interval."""
        return float(np.mean([row.inside for row in self.rows]))

    def to_dict(self) -> dict[str, Any]:
        rows = [row.to_dict() for row in self.rows]
        figures = {"median_error": self.median_error, "covered": self.covered}
        return {"fitted_to": self.fitted_to, **figures, "rows": rows}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A warning where the forecast missed this study's own larger K."""
        if self.covered > 0 and self.median_error <= FAILED_ERROR:
            return ()
        missed = "every interval missed" if self.covered == 0 else "not all intervals missed"
        message = (
            f"fitted to K <= {self.fitted_to}, the forecast of this study's own larger K was off by "
            f"{self.median_error:.0%} in the median; {missed}"
        )
        remedy = "do not rely on these rows: check the data for a change of set-up, and measure larger K"
        evidence = {"fitted_to": self.fitted_to, "median_error": self.median_error, "covered": self.covered}
        return (warning("backtest-failed", message, remedy=remedy, **evidence),)


def backtest(view: View, level: float, calibration: Calibration) -> Backtest | None:
    """Fit the smaller 60 % of K and predict the rest; None with fewer than four K, which would leave too few to fit."""
    points = view.fitted
    if len(points.k) < FEWEST:
        return None
    n = max(3, math.ceil(SHARE * len(points.k)))
    ahead = predict([points.part(slice(n))], [view.kind], [points.k[n:]], calibration)[0]
    k = points.k[n:]
    ends = [view.value(k, end) for end in ahead.interval(level)]
    predicted, measured = view.value(k, ahead.ahead), view.value(k, points.log_performance[n:])
    columns = (k.astype(int), predicted, measured, np.minimum(*ends), np.maximum(*ends))
    rows = tuple(BacktestRow(*numbers) for numbers in zip(*(column.tolist() for column in columns), strict=True))
    return Backtest(int(points.k[n - 1]), rows)


@dataclass(frozen=True)
class ExpectedBend:
    """The K where the curve is expected to bend; None: not within 16 times the largest measured K.

    Strong scaling: the knee, where d ln S / d ln K passes 1/2, which is the K with the largest S*E.  Weak scaling: the
    first K with an efficiency below 0.7.  `low` and `high` are the bend on the two edges of the interval.
    """

    rule: str
    k: float | None
    low: float | None
    high: float | None
    measured: bool

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def sentence(self) -> str:
        if self.k is None:
            return f"No bend expected within {HORIZON:g} times the largest measured K ({self.rule})."
        where = "already within the measured range" if self.measured else "expected"
        ends = " to ".join("beyond the horizon" if end is None else f"{end:.3g}" for end in (self.low, self.high))
        return f"The bend is {where}, near K = {self.k:.3g} (from {ends}; rule: {self.rule})."


def expected_bend(view: View, level: float, calibration: Calibration) -> ExpectedBend:
    """The rule applied to the measured curve continued by half-doublings, and to both edges of its interval."""
    strong = view.kind is CurveKind.STRONG
    grid = np.asarray(view.largest_k * 2.0 ** (np.arange(1, 9) / 2))
    ahead = predict([view.fitted], [view.kind], [grid], calibration)[0]
    k, bends = np.r_[view.points.k, grid], []
    for edge in (ahead.ahead, *ahead.interval(level)):
        log = np.r_[view.points.log_performance, edge]
        if strong:
            best = int(np.argmax(2 * log - np.log(k)))  # ln of S^2/K up to a constant
            bends.append(None if best == len(k) - 1 else float(k[best]))
        else:
            below = np.flatnonzero(view.efficiency(k, log) < WEAK_THRESHOLD)
            bends.append(float(k[below[0]]) if len(below) else None)
    place, low, high = bends
    measured = place is not None and place <= view.largest_k
    return ExpectedBend(KNEE if strong else EFFICIENCY, place, low, high, measured)
