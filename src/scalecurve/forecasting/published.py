"""What published curves taught (shapes, the stack, widths, percentiles), and where a study stands among them.

`calibration.json` is rebuilt by `tools/calibrate_forecast.py DATA`; it holds derived numbers and their provenance.
A study stands by its efficiency at 2, 4, 8 ... times its smallest K among published curves of its kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from scalecurve.analysis.curve import curve_of
from scalecurve.document import Answer, Document, Heading, JsonRecord, Result, Table, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.forecasting.curves import Array, View, view
from scalecurve.forecasting.experts import Shapes
from scalecurve.forecasting.stack import ExpertStack
from scalecurve.formats.loading import StudyLike, as_study
from scalecurve.study import Study

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
    """Everything learned; `standing` maps domain -> multiple of the base K -> percentiles of efficiency.

    `library` names the published curves that taught, each with the number of the shape that fits it best.
    """

    shapes: Shapes
    stack: ExpertStack
    widths: Mapping[str, Width]
    standing: Mapping[str, Any]
    provenance: Mapping[str, Any]
    library: Mapping[str, Any]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Calibration:
        table = np.array(data["shapes"]["rows"], dtype=np.float64)
        prior = table[:, 4] / table[:, 4].sum()
        widths = {
            name: Width(np.array(w["coefficients"]), np.array(w["levels"]), np.array(w["quantiles"]))
            for name, w in data["widths"].items()
        }
        stack = ExpertStack.from_dict(data["stack"])
        return cls(Shapes(table[:, :4], prior), stack, widths, data["standing"], data["provenance"], data["library"])


@cache
def shipped() -> Calibration:
    """The calibration that comes with the package."""
    text = files("scalecurve.forecasting").joinpath("calibration.json").read_text(encoding="utf-8")
    return Calibration.from_dict(json.loads(text))


DOMAIN_OF_UNIT = {
    "clients": "database", "connections": "database", "threads": "threads", "cores": "threads", "nodes": "hpc",
    "ranks": "hpc",
}  # fmt: skip
TRAINING = re.compile(r"train|sgd|epoch|token|sample|image|sequence|gradient|resnet|bert|gpt|llama", re.IGNORECASE)
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
        return (
            f"E = {self.efficiency:.3f} at {self.multiple}x is better than {self.percentile:.0f} % "
            f"of {self.curves} published curves (median {self.median:.2f})"
        )


@dataclass(frozen=True, repr=False)
class Standing(Result):
    """The percentile of a study's efficiency among published curves, at multiples of its smallest K.

    `ratio` is the name of the efficiency: E, or E against the smallest K where that is not the baseline.
    """

    domain: str
    regime: str
    rows: tuple[StandingRow, ...]
    findings: tuple[Finding, ...] = ()
    ratio: str = "E"

    JSON = "domain regime rows"

    @property
    def answer(self) -> Answer:
        last = self.rows[-1]
        kind = "" if self.domain == EVERYTHING else f" of {self.domain}"
        better = f"better than {last.percentile:.0f} % of {last.curves} published curves{kind}"
        return Answer(
            decision=f"At K = {last.k:g} this study is {better}.",
            reason=f"Its efficiency is {last.efficiency:.2f}, their median {last.median:.2f}.",
        )

    def heading(self) -> Heading:
        """Among which curves the study is placed."""
        kind = "all domains" if self.domain == EVERYTHING else self.domain
        return Heading(f"Where this study stands ({kind}, {self.regime} scaling)")

    def table(self) -> Table:
        rows = [
            [f"{row.multiple}x", f"{row.k:g}", f"{row.efficiency:.3f}", f"{row.percentile:.0f}", f"{row.median:.2f}",
             str(row.curves)]
            for row in self.rows
        ]  # fmt: skip
        return table(["of base", "K", self.ratio, "percentile", "published median", "curves"], rows)

    def body(self) -> Document:
        return Document(None, (self.heading(), self.table()))


def stand(study: StudyLike, domain: str | None = None, *, calibration: Calibration | None = None) -> Standing | None:
    """Place a study among published curves of a domain, which is guessed from what a worker is, else all domains.

    None where no multiple of two lies within the measured range and near a measured K.
    """
    learned = calibration or shipped()
    check_domain(domain, learned)
    return standing_of(view(as_study(study)), domain, learned)


def check_domain(domain: str | None, calibration: Calibration) -> None:
    """Refuse a domain without published curves."""
    domains = sorted({*calibration.standing["strong"], *calibration.standing["weak"]})
    if domain is not None and domain not in domains:
        hint = f"use one of {', '.join(domains)}"
        raise InputError(Fault("no published curves of this domain", value=domain, remedy=hint))


def domain_of(study: Study) -> str:
    """The domain that the study tells; accelerators run more than training, so that its unit or name must say so."""
    if study.k_unit.lower().rstrip("s") in ACCELERATORS:
        return "dl-training" if TRAINING.search(f"{study.unit} {study.name}") else EVERYTHING
    return DOMAIN_OF_UNIT.get(study.k_unit.lower(), EVERYTHING)


def standing_of(curve: View, domain: str | None, calibration: Calibration) -> Standing | None:
    """As `stand`, for a view."""
    regime = str(curve.study.regime)
    published = calibration.standing[regime]
    wished = domain or domain_of(curve.study)
    chosen = wished if published.get(wished) else EVERYTHING
    log_k, log_e = np.log(curve.points.k), np.log(curve_of(curve.study).efficiency)  # of the means, as in the table
    rows = []
    for multiple in published[chosen]:
        k = int(multiple) * float(curve.points.k[0])
        if k > curve.largest_k or float(np.min(np.abs(log_k - np.log(k)))) > NEAR:
            continue
        efficiency = float(np.exp(np.interp(np.log(k), log_k, log_e - log_e[0])))
        rows.append(_row(int(multiple), k, efficiency, published[chosen][multiple], calibration))
    smallest = int(curve.points.k[0])
    ratio = "E" if smallest == curve.study.baseline_k else f"T({smallest})-based efficiency"
    return Standing(chosen, regime, tuple(rows), ratio=ratio) if rows else None


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
