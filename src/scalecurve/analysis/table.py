"""The speedup table: what T(K) says without any model.

With baseline K0 (1 unless stated or not measured):

    strong, seconds      E(K) = K0 T(K0) / (K T(K))       weak, seconds     E(K) = T(K0) / T(K)
    throughput X(K)      E(K) = (X(K)/K) / (X(K0)/K0)     per worker x(K)   E(K) = x(K) / x(K0)

S(K) = K E(K) in every case (scaled speedup under weak scaling), and the relative speedup is S(K)/K0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.analysis.bend import Bend, Curve, find_bend
from scalecurve.analysis.checks import check_table
from scalecurve.analysis.ratio import WELCH_LOG, ratio_estimate
from scalecurve.analysis.row import TableRow
from scalecurve.analysis.summary import Summary, mean_estimates, summarise
from scalecurve.document import Document, Shown
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate, exact
from scalecurve.findings import Finding
from scalecurve.laws.karp_flatt import serial_fraction
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.samples import FloatArray

SEED = 7


@dataclass(frozen=True, kw_only=True)
class SpeedupTable(Shown):
    """T, S and E for every measured K, each with its interval, and the bend."""

    name: str
    regime: Regime
    quantity: Quantity
    k_unit: str
    unit: str | None
    baseline_k: int
    threshold: float
    level: float
    rule: str
    method: str
    bend: Bend | None
    rows: tuple[TableRow, ...]
    findings: tuple[Finding, ...]
    karp_flatt: bool = False

    def row(self, k: int) -> TableRow:
        for row in self.rows:
            if row.k == k:
                return row
        raise InputError(Fault("this K was not measured", seen=str(k)))

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "regime": str(self.regime),
            "quantity": str(self.quantity),
            "k_unit": self.k_unit,
            "baseline_k": self.baseline_k,
            "threshold": self.threshold,
            "level": self.level,
            "method": self.method,
            "bend": self.bend.to_dict() if self.bend else None,
            "rows": self.records(),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        from scalecurve.analysis.table_document import table_document

        return table_document(self)


def tabulate(
    study: Study,
    *,
    threshold: float = 0.7,
    level: float = 0.95,
    bend: str = "efficiency",
    karp_flatt: bool = False,
    rng: np.random.Generator | None = None,
) -> SpeedupTable:
    """T, S and E of a study with intervals at `level`, and its bend by the named rule.

    `karp_flatt` shows the experimentally determined serial fraction of each row beside it.
    """
    _check_settings(study, threshold, level)
    summary = summarise(study.samples)
    efficiency = efficiencies(study, summary)
    rows = _rows(study, summary, efficiency, threshold, level)
    generator = rng if rng is not None else np.random.default_rng(SEED)
    return SpeedupTable(
        name=study.name,
        regime=study.regime,
        quantity=study.quantity,
        k_unit=study.k_unit,
        unit=study.unit,
        baseline_k=study.baseline_k,
        threshold=threshold,
        level=level,
        rule=bend,
        method=WELCH_LOG,
        bend=find_bend(_curve(study, summary, efficiency), bend, threshold, generator),
        rows=rows,
        karp_flatt=karp_flatt,
        findings=(*study.findings, *check_table(study, summary, rows)),
    )


def _check_settings(study: Study, threshold: float, level: float) -> None:
    faults = []
    if not 0 < threshold < 10:
        faults.append(Fault("the threshold is a share above 0", where="threshold", seen=f"{threshold:g}"))
    if not 0 < level < 1:
        faults.append(Fault("a level lies between 0 and 1", where="level", seen=f"{level:g}", remedy="0.95 is usual"))
    if len(study.all_k) < 2:
        seen = f"K = {study.all_k[0]}" if study.all_k else "none"
        faults.append(Fault("scaling needs at least two worker counts", seen=seen, remedy="measure another K"))
    if faults:
        raise InputError(faults, subject=study.name)


def efficiencies(study: Study, summary: Summary) -> FloatArray:
    """E(K) of every distinct K by the formulas in this module's header."""
    k, mean = summary.k.astype(np.float64), summary.mean
    per_worker = {
        Quantity.THROUGHPUT_PER_WORKER: mean,
        Quantity.THROUGHPUT: mean / k,
        Quantity.SECONDS: 1.0 / (k * mean) if study.regime is Regime.STRONG else 1.0 / mean,
    }[study.quantity]
    relative: FloatArray = per_worker / per_worker[summary.index(study.baseline_k)]
    return relative


def _curve(study: Study, summary: Summary, efficiency: FloatArray) -> Curve:
    place = summary.index(study.baseline_k)
    return Curve(summary.k, summary.k * efficiency, np.nan_to_num(summary.log_se), summary.degrees, place)


def _rows(
    study: Study, summary: Summary, efficiency: FloatArray, threshold: float, level: float
) -> tuple[TableRow, ...]:
    means = mean_estimates(summary, level)
    over = {run.k for run in study.runs if run.oversubscribed and run.counts}
    return tuple(
        _row(
            study, summary, i, means[i], _efficiency_at(study, summary, i, float(efficiency[i]), level), threshold, over
        )
        for i in range(len(summary.k))
    )


def _efficiency_at(study: Study, summary: Summary, i: int, value: float, level: float) -> Estimate:
    base = summary.index(study.baseline_k)
    if i == base:
        return exact(1.0)
    se, degrees = summary.log_se, summary.degrees
    return ratio_estimate(value, float(se[base]), float(degrees[base]), float(se[i]), float(degrees[i]), level)


def _row(
    study: Study, summary: Summary, i: int, mean: Estimate, efficiency: Estimate, threshold: float, over: set[int]
) -> TableRow:
    k, n = int(summary.k[i]), int(summary.n[i])
    speedup = efficiency.scaled(k)
    shows_serial = study.regime is Regime.STRONG and study.baseline_k == 1
    return TableRow(
        k=k,
        n=n,
        mean=mean,
        std=float(summary.std[i]) if n > 1 else None,
        speedup=speedup,
        relative_speedup=speedup.value / study.baseline_k,
        efficiency=efficiency,
        verdict=_verdict(efficiency, threshold),
        sure=_sure(efficiency, threshold),
        karp_flatt=serial_fraction(k, speedup.value) if shows_serial else None,
        oversubscribed=k in over,
    )


def _verdict(efficiency: Estimate, threshold: float) -> str:
    if efficiency.low is not None and efficiency.low > 1:
        return "superlinear"
    return "ok" if efficiency.value >= threshold else "below"


def _sure(efficiency: Estimate, threshold: float) -> bool | None:
    if efficiency.method == "exact":
        return True
    if efficiency.low is None or efficiency.high is None:
        return None
    return not efficiency.low < threshold <= efficiency.high
