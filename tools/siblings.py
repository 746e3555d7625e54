"""Leave one sibling out: forecasts of published curves with and without the other curves of their study."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from scalecurve.forecasting.curves import Array, CurveKind, LogCurve
from scalecurve.forecasting.prediction import Residual, cut_of, likeness, pooled_shift
from tools.learn_stack import Crossed


def sibling_shifts(trial: Crossed) -> dict[int, Array]:
    """For each judged row that has siblings, what they add to its log performance.

    Their residuals are those of stacks that saw neither the curve nor them, since siblings share their source.
    """
    data = trial.data
    row_of = {pair: row for row, pair in enumerate(zip(data.owner.tolist(), data.fitted_points.tolist(), strict=True))}
    families: dict[str, list[int]] = defaultdict(list)
    for i, curve in enumerate(data.curves):
        families[f"{curve.study} | {curve.facts['quantity']}"].append(i)
    home = {i: members for members in families.values() for i in members}
    shifts = {}
    for row in data.standard_rows().tolist():
        own = int(data.owner[row])
        largest = float(data.packed.k[row, -1])
        residuals = [
            _residual(trial, row_of[other, n], _fitted(trial, row))
            for other in home[own]
            if other != own and (n := cut_of(data.curves[other].k, largest)) is not None and (other, n) in row_of
        ]
        if residuals:
            shifts[row] = pooled_shift(residuals, np.log2(data.at[row] / largest))
    return shifts


def _residual(trial: Crossed, row: int, own: LogCurve) -> Residual:
    data, asked = trial.data, trial.data.asked[row]
    doublings = np.log2(data.at[row, asked] / data.packed.k[row, -1])
    return Residual(doublings, (data.gain[row] - trial.point[row])[asked], likeness(own, _fitted(trial, row)))


def _fitted(trial: Crossed, row: int) -> LogCurve:
    """The points of the row's curve that are fitted."""
    data = trial.data
    return data.curves[int(data.owner[row])].whole(CurveKind.STRONG).part(slice(int(data.fitted_points[row])))


def leave_one_sibling_out(trial: Crossed) -> dict[str, dict[str, object]]:
    """Median and 90th percentile of the curves' errors and coverage at 90 %, alone and with siblings."""
    data, shifts = trial.data, sibling_shifts(trial)
    table = {}
    for name, share in (("alone", 0.0), ("with siblings", 1.0)):
        errors, inside = [], []
        for row, shift in shifts.items():
            asked, moved = data.asked[row], share * shift
            off = (trial.point[row] + moved - data.gain[row])[asked]
            errors.append(100 * float(np.median(np.abs(np.expm1(np.clip(off, -50, 50))))))
            low, high = (end[row] + moved for end in trial.ends[0.9])
            inside += ((data.gain[row] >= low) & (data.gain[row] <= high))[asked].tolist()
        figures = float(np.median(errors)), float(np.percentile(errors, 90)), float(np.mean(inside))
        names = ("median", "p90", "90 % covers")
        table[name] = {"curves": len(errors)} | {key: f"{value:.3g}" for key, value in zip(names, figures, strict=True)}
    return table
