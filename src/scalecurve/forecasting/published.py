"""What published curves taught (shapes, the stack, widths, percentiles), and where an efficiency stands among them.

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

from scalecurve.document import JsonRecord
from scalecurve.forecasting.curves import Array
from scalecurve.forecasting.experts import Shapes
from scalecurve.forecasting.stack import ExpertStack

FORMAT = 3


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
        """The quantile of |residual| / scale; levels below the first are interpolated from zero."""
        return float(np.interp(level, np.r_[0.0, self.levels], np.r_[0.0, self.quantiles]))


@dataclass(frozen=True)
class Calibration:
    """Everything learned; `standing` maps domain -> multiple of the base K -> percentiles of efficiency."""

    shapes: Shapes
    stack: ExpertStack
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
        stack = ExpertStack.from_dict(data["stack"])
        return cls(Shapes(table[:, :4], prior), stack, widths, data["standing"], data["provenance"])


@cache
def shipped() -> Calibration:
    """The calibration that comes with the package."""
    text = files("scalecurve.forecasting").joinpath("calibration.json").read_text(encoding="utf-8")
    return Calibration.from_dict(json.loads(text))


DOMAIN_OF_UNIT = {
    "clients": "database", "connections": "database", "threads": "threads", "cores": "threads", "nodes": "hpc",
    "ranks": "hpc",
}  # fmt: skip
EVERYTHING = "all"
ACCELERATORS = ("gpu", "accelerator", "tpu", "chip")
NEAR = float(np.log(2)) / 2 + 1e-9  # a factor of sqrt 2: farther from any measured K, E would be a guess


@dataclass(frozen=True)
class StandingRow(JsonRecord):
    """`percentile` is the share (in %) of published curves with a lower efficiency at this multiple of the base."""

    multiple: int
    k: float
    efficiency: float
    percentile: float
    median: float
    curves: int

    JSON = "multiple k efficiency percentile published_median=median published_curves=curves"

    def sentence(self) -> str:
        above = self.percentile >= 50
        side, share = ("better", self.percentile) if above else ("worse", 100 - self.percentile)
        return (
            f"E = {self.efficiency:.3f} at {self.multiple}x is {side} than {share:.0f} % of {self.curves} published "
            f"curves (median {self.median:.2f})"
        )


def _row(
    multiple: int, k: float, efficiency: float, figures: Mapping[str, Any], calibration: Calibration
) -> StandingRow:
    """One efficiency among the published ones at the same multiple of the base."""
    percents, shares = np.array(calibration.standing["percents"], dtype=np.float64), np.array(figures["efficiency"])
    percentile = float(np.interp(efficiency, shares, percents, left=percents[0], right=percents[-1]))
    return StandingRow(
        multiple, k, efficiency, percentile, float(np.interp(50.0, percents, shares)), int(figures["curves"])
    )


def place(efficiency: float, multiple: float, *, regime: str, k_unit: str) -> tuple[StandingRow, str] | None:
    """Where an efficiency at a multiple of its base stands, and in which domain; None where too few went so far.

    Accelerators stand among training curves, since those are what most claims about them are.
    """
    learned, unit = shipped(), k_unit.lower()
    domain = "dl-training" if unit.rstrip("s") in ACCELERATORS else DOMAIN_OF_UNIT.get(unit, EVERYTHING)
    published = learned.standing[regime].get(domain) or learned.standing[regime][EVERYTHING]
    nearest = min(map(int, published), key=lambda own: abs(np.log(own / multiple)))
    if abs(float(np.log(nearest / multiple))) > NEAR:
        return None
    return _row(nearest, multiple, efficiency, published[str(nearest)], learned), domain
