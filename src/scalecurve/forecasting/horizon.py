"""Where the bend is expected: measured curve and forecast joined, one rule applied, with the interval's two ends.

Strong scaling: the knee, where d ln S / d ln K passes 1/2, which is the K with the largest S*E.
Weak scaling: the first K whose efficiency falls below 0.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.forecasting.curves import Array
from scalecurve.forecasting.engine import Prediction
from scalecurve.forecasting.view import Path, View

HORIZON = 16.0
KNEE, EFFICIENCY = "knee (dlnS/dlnK passes 1/2)", "efficiency below 0.7"
WEAK_THRESHOLD = 0.7


@dataclass(frozen=True)
class ExpectedBend:
    """The K where the curve is expected to bend; None: not within 16 times the largest measured K.

    `low` and `high` are the bend on the pessimistic and on the optimistic edge of the interval.
    """

    rule: str
    k: float | None
    low: float | None
    high: float | None
    measured: bool

    def to_dict(self) -> dict[str, Any]:
        return {"rule": self.rule, "k": self.k, "low": self.low, "high": self.high, "measured": self.measured}

    def sentence(self) -> str:
        if self.k is None:
            return f"No bend expected within {HORIZON:g} times the largest measured K ({self.rule})."
        where = "already within the measured range" if self.measured else "expected"
        ends = " to ".join("beyond the horizon" if end is None else f"{end:.3g}" for end in (self.low, self.high))
        return f"The bend is {where}, near K = {self.k:.3g} (from {ends}; rule: {self.rule})."


def grid_beyond(view: View) -> Array:
    """Half-doublings from the largest measured K to the horizon."""
    return np.asarray(view.largest_k * 2.0 ** (np.arange(1, 9) / 2))


def expected_bend(view: View, ahead: Prediction, quantile: float) -> ExpectedBend:
    """Apply the rule to the expected curve and to both edges of its interval."""
    half = quantile * ahead.scale
    k, low, high = (_bend(view, ahead.ahead + shift) for shift in (0.0 * half, -half, half))
    rule = KNEE if view.path is Path.STRONG else EFFICIENCY
    return ExpectedBend(rule, k, low, high, k is not None and k <= view.largest_k)


def _bend(view: View, ahead: Array) -> float | None:
    k = np.r_[view.points.k, grid_beyond(view)]
    log = np.r_[view.points.log_performance, ahead]
    if view.path is Path.STRONG:
        score = 2 * log - np.log(k)  # ln of S^2/K up to a constant
        best = int(np.argmax(score))
        return None if best == len(k) - 1 else float(k[best])
    below = np.flatnonzero(view.efficiency(k, log) < WEAK_THRESHOLD)
    return float(k[below[0]]) if len(below) else None
