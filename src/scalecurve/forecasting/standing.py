"""Where a study stands: its efficiency at 2, 4, 8 ... times its smallest K among published curves of its kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.forecasting.calibration import Calibration, shipped
from scalecurve.forecasting.view import View, view
from scalecurve.study import Regime, Study

DOMAIN_OF_UNIT = {
    "gpus": "dl-training", "gpu": "dl-training", "accelerators": "dl-training", "clients": "database",
    "connections": "database", "threads": "threads", "cores": "threads", "nodes": "hpc", "ranks": "hpc",
}  # fmt: skip
EVERYTHING = "all"
NEAR = float(np.log(2)) / 2 + 1e-9  # a factor of sqrt 2: farther from any measured K, E would be a guess


@dataclass(frozen=True)
class StandingRow:
    """`percentile` is the share (in %) of published curves with a lower efficiency at this multiple of the base."""

    multiple: int
    k: float
    efficiency: float
    percentile: float
    median: float
    curves: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "multiple": self.multiple,
            "k": self.k,
            "efficiency": self.efficiency,
            "percentile": self.percentile,
            "published_median": self.median,
            "published_curves": self.curves,
        }

    def sentence(self) -> str:
        return (
            f"{self.efficiency:.0%} at {self.multiple}x is better than {self.percentile:.0f} % "
            f"of {self.curves} published curves (median {self.median:.0%})"
        )


@dataclass(frozen=True)
class Standing:
    """Among which curves, and at which multiples."""

    domain: str
    regime: str
    rows: tuple[StandingRow, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"domain": self.domain, "regime": self.regime, "rows": [row.to_dict() for row in self.rows]}


def stand(study: Study, domain: str | None = None, calibration: Calibration | None = None) -> Standing | None:
    """Place a study among published curves; `domain` is guessed from what a worker is, else all domains together."""
    learned = calibration or shipped()
    check_domain(domain, learned)
    return standing_of(view(study), domain, learned)


def standing_of(seen: View, domain: str | None, calibration: Calibration) -> Standing | None:
    """None where no multiple of two lies within the measured range and near a measured K."""
    regime = "strong" if seen.study.regime is Regime.STRONG else "weak"
    known = calibration.standing[regime]
    chosen = _domain(domain, seen.study.k_unit, known)
    percents = np.array(calibration.standing["percents"], dtype=np.float64)
    rows = [_row(seen, int(multiple), own, percents) for multiple, own in known[chosen].items()]
    kept = tuple(row for row in rows if row is not None)
    return Standing(chosen, regime, kept) if kept else None


def check_domain(asked: str | None, calibration: Calibration) -> None:
    known = sorted({*calibration.standing["strong"], *calibration.standing["weak"]})
    if asked is not None and asked not in known:
        raise InputError(Fault("no published curves of this domain", seen=asked, remedy=f"one of {', '.join(known)}"))


def _domain(asked: str | None, k_unit: str, known: dict[str, Any]) -> str:
    guessed = asked or DOMAIN_OF_UNIT.get(k_unit.lower(), EVERYTHING)
    return guessed if known.get(guessed) else EVERYTHING


def _row(seen: View, multiple: int, published: dict[str, Any], percents: np.ndarray[Any, Any]) -> StandingRow | None:
    k = multiple * float(seen.points.k[0])
    nearest = float(np.min(np.abs(np.log(seen.points.k) - np.log(k))))
    if k > seen.largest_k or nearest > NEAR:
        return None
    efficiency = seen.efficiency(seen.points.k, seen.points.log_performance)
    own = float(np.exp(np.interp(np.log(k), np.log(seen.points.k), np.log(efficiency / efficiency[0]))))
    shares = np.array(published["efficiency"])
    percentile = float(np.interp(own, shares, percents, left=percents[0], right=percents[-1]))
    median = float(np.interp(50.0, percents, shares))
    return StandingRow(multiple, k, own, percentile, median, int(published["curves"]))
