"""Predict many curves at once: numbers in, numbers out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scalecurve.forecasting.calibration import Calibration
from scalecurve.forecasting.curves import Array, Curve, Curves, pack
from scalecurve.forecasting.experts import COLLECTIVE_PANEL, WEAK_PANEL, Family, strong_panel
from scalecurve.forecasting.interval import scale
from scalecurve.forecasting.panel import Verdict, consult
from scalecurve.forecasting.view import Path

SMOOTH_LAWS = "smooth laws within the noise"


@dataclass(frozen=True)
class Prediction:
    """One curve's forecast: log performance and the scale of its error at each K asked for, and who decided."""

    ahead: Array
    scale: Array
    weights: Mapping[str, float]
    noise: float
    trust: float


def panel_of(path: Path, calibration: Calibration) -> dict[str, Family]:
    if path is Path.STRONG:
        return strong_panel(calibration.shapes)
    return WEAK_PANEL if path is Path.WEAK else COLLECTIVE_PANEL


def predict(
    points: Sequence[Curve], paths: Sequence[Path], at: Sequence[Array], calibration: Calibration
) -> list[Prediction]:
    """Forecast every curve at its own list of K, each of them beyond its largest measured K."""
    done: dict[int, Prediction] = {}
    for path in sorted(set(paths)):
        chosen = [i for i, own in enumerate(paths) if own is path and len(at[i])]
        if chosen:
            made = _predict_path([points[i] for i in chosen], path, [at[i] for i in chosen], calibration)
            done.update(zip(chosen, made, strict=True))
    nothing = Prediction(np.empty(0), np.empty(0), {}, 0.0, 0.0)
    return [done.get(i, nothing) for i in range(len(points))]


def _predict_path(
    points: Sequence[Curve], path: Path, at: Sequence[Array], calibration: Calibration
) -> list[Prediction]:
    curves, ahead = pack(points), _pad(at)
    panel = panel_of(path, calibration)
    verdict = consult(curves, ahead, panel, laws=path is Path.STRONG)
    sigma = scale(curves, ahead, verdict, calibration.widths[path])
    return [_one(curves, verdict, sigma, list(panel), i, len(own)) for i, own in enumerate(at)]


def _pad(at: Sequence[Array]) -> Array:
    width = max(len(own) for own in at)
    return np.stack([np.r_[own, np.full(width - len(own), own[-1])] for own in at])


def _one(curves: Curves, verdict: Verdict, sigma: Array, names: list[str], i: int, asked: int) -> Prediction:
    weights = _influence(verdict.families[:, i, :asked], names, float(verdict.trust[i]))
    noise, trust = float(verdict.noise[i]), float(verdict.trust[i])
    return Prediction(verdict.ahead[i, :asked], sigma[i, :asked], weights, noise, trust)


def _influence(families: Array, names: list[str], trust: float) -> dict[str, float]:
    """A family's share in the median (the middle one or two at each K), and the share of the smooth laws."""
    count = len(names)
    middle = np.argsort(families, axis=0, kind="stable")[(count - 1) // 2 : count // 2 + 1]
    votes = np.bincount(middle.ravel(), minlength=count) / middle.size
    shares = {name: float((1 - trust) * vote) for name, vote in zip(names, votes, strict=True) if vote > 0}
    return shares | ({SMOOTH_LAWS: trust} if trust > 0.005 else {})
