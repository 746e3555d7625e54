"""Forecast views: what is known of the machine limits K, and curves of the same study that were measured further help.

Siblings (other sizes, machines or versions of one study) share their errors.  Each is cut at the K nearest the largest
measured K of the study, forecast from there, and compared with what was measured: its residual of log performance at
each doubling ahead.  The forecast is moved by the mean residual times m/(m + 1) for m siblings, by at most 1.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scalecurve.findings import Finding, info, warning
from scalecurve.forecasting.calibration import Calibration
from scalecurve.forecasting.curves import Array, LogCurve
from scalecurve.forecasting.prediction import Prediction, predict
from scalecurve.forecasting.view import View

NEAR = 1.6  # a sibling is cut at a K within this factor of the study's largest
FEWEST = 3
LARGEST_SHIFT = 1.5


@dataclass(frozen=True)
class Residual:
    """How far a forecast of a sibling was below what was measured: log performance, by doublings ahead."""

    doublings: Array
    below: Array

    def at(self, doublings: Array) -> Array:
        """Zero where the sibling was cut, straight lines between, constant beyond its last K."""
        return np.interp(doublings, np.r_[0.0, self.doublings], np.r_[0.0, self.below])


def pooled_shift(residuals: Sequence[Residual], doublings: Array) -> Array:
    """What the siblings' residuals add to log performance; partial pooling, so that one sibling counts half."""
    mean = np.mean([one.at(doublings) for one in residuals], axis=0)
    return np.asarray(np.clip(mean, -LARGEST_SHIFT, LARGEST_SHIFT) * len(residuals) / (len(residuals) + 1))


def cut_of(k: Array, largest: float) -> int | None:
    """How many points of a sibling to fit, up to the K nearest `largest`; None where that is far or points are few."""
    distance = np.abs(np.log(k / largest))
    n = int(np.argmin(distance)) + 1
    usable = distance[n - 1] <= np.log(NEAR) and FEWEST <= n < len(k)
    return n if usable else None


def with_siblings(own: View, like: Sequence[View]) -> View:
    """The view with the siblings that can help it, and a finding for each that cannot."""
    useful: list[LogCurve] = []
    remarks: list[Finding] = []
    for other in like:
        if other.kind is not own.kind:
            reason = f"it is a {other.kind} curve, the study a {own.kind} one"
        elif cut_of(other.fitted.k, own.largest_k) is None:
            reason = (
                f"it needs {FEWEST} K up to about K = {own.largest_k:g}, the last within a factor of {NEAR:g} of it, "
                "and larger K beyond"
            )
        else:
            useful.append(other.fitted)
            continue
        message = f"{other.name} cannot correct this forecast: {reason}"
        remarks.append(warning("sibling-not-used", message, remedy="name curves measured further", sibling=other.name))
    return replace(own, siblings=tuple(useful), remarks=(*own.remarks, *remarks))


def predict_views(views: Sequence[View], at: Sequence[Array], calibration: Calibration) -> list[Prediction]:
    """Forecast every view at its own K beyond its largest, corrected by its siblings."""
    reached = [own.reach(k) for own, k in zip(views, at, strict=True)]
    forecasts = predict([own.fitted for own in views], [own.kind for own in views], reached, calibration)
    return [
        _corrected(own, k, prediction, calibration) if own.siblings and len(k) else prediction
        for own, k, prediction in zip(views, reached, forecasts, strict=True)
    ]


def _corrected(own: View, at: Array, prediction: Prediction, calibration: Calibration) -> Prediction:
    largest = float(own.fitted.k[-1])
    cuts = [(curve, n) for curve in own.siblings if (n := cut_of(curve.k, largest)) is not None]
    if not cuts:
        return prediction
    ahead = [curve.k[n:] for curve, n in cuts]
    forecasts = predict([curve.part(slice(n)) for curve, n in cuts], [own.kind] * len(cuts), ahead, calibration)
    residuals = [
        Residual(np.log2(k / curve.k[n - 1]), curve.log_performance[n:] - forecast.ahead)
        for (curve, n), k, forecast in zip(cuts, ahead, forecasts, strict=True)
    ]
    shift = pooled_shift(residuals, np.log2(at / largest))
    return replace(prediction, ahead=prediction.ahead + shift, shift=shift, siblings=len(cuts))


def sibling_finding(prediction: Prediction, at: Sequence[int]) -> Finding | None:
    """How many siblings moved the forecast and by how much; None without siblings."""
    if not prediction.siblings:
        return None
    moved = {k: float(np.expm1(shift)) for k, shift in zip(at, prediction.shift.tolist(), strict=True)}
    listed = ", ".join(f"{change:+.1%} at K = {k}" for k, change in moved.items())
    count = "1 sibling" if prediction.siblings == 1 else f"{prediction.siblings} siblings"
    message = f"the errors of forecasts of {count} moved the expected performance by {listed}"
    return info("siblings-used", message, siblings=prediction.siblings, moved={str(k): v for k, v in moved.items()})
