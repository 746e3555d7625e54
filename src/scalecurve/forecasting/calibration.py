"""What was learned from published curves: the prior over shapes, the widths of intervals, the percentiles.

`calibration.json` is rebuilt by `tools/calibrate_forecast.py DATA`; it holds derived numbers and their provenance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from scalecurve.forecasting.curves import Array
from scalecurve.forecasting.shapes import Shapes

FORMAT = 1


@dataclass(frozen=True)
class Width:
    """How wide intervals are: log scale = coefficients . features, times the quantile of the level asked for."""

    coefficients: Array
    levels: Array
    quantiles: Array

    @property
    def highest_level(self) -> float:
        return float(self.levels[-1])

    def quantile(self, level: float) -> float:
        """Of |residual| / scale; levels below the first are interpolated from zero."""
        return float(np.interp(level, np.r_[0.0, self.levels], np.r_[0.0, self.quantiles]))


@dataclass(frozen=True)
class Calibration:
    """Everything learned; `standing` maps domain -> multiple of the base K -> percentiles of efficiency."""

    shapes: Shapes
    widths: Mapping[str, Width]
    standing: Mapping[str, Any]
    provenance: Mapping[str, Any]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Calibration:
        table = np.array(data["shapes"]["rows"], dtype=np.float64)
        prior = table[:, 4] / table[:, 4].sum()
        widths = {
            name: Width(np.array(w["coefficients"]), np.array(w["levels"]), np.array(w["quantiles"]))
            for name, w in data["widths"].items()
        }
        return cls(Shapes(table[:, :4], prior), widths, data["standing"], data["provenance"])


@cache
def shipped() -> Calibration:
    """The calibration that comes with the package."""
    text = files("scalecurve.forecasting").joinpath("calibration.json").read_text(encoding="utf-8")
    return Calibration.from_dict(json.loads(text))
