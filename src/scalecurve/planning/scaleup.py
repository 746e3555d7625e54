"""Scale up or scale out: one machine r times as fast at price p_up, or K small ones at price p each?

    out wins on time  iff  S(K) > r
    out wins on cost  iff  p / E(K) < p_up / r        (cost of a result: K p T(K) = p T(1)/E(K), and p_up T(1)/r)

so out can win on cost at small K and on time only at large K, and between the two there may be nothing: no K that is
both faster and cheaper.  E(K) comes from a law or from a study; prices are for the same unit of time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.document import Cell, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.study import Study


@dataclass(frozen=True, kw_only=True)
class ScaleRow:
    """K small machines against the big one; `time` and `cost` are of one result, in those of one small machine."""

    workers: int
    efficiency: float
    time: float
    cost: float
    faster: bool
    cheaper: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "k": self.workers,
            "efficiency": self.efficiency,
            "speedup": self.workers * self.efficiency,
            "time": self.time,
            "cost": self.cost,
            "out_wins_on_time": self.faster,
            "out_wins_on_cost": self.cheaper,
        }


@dataclass(frozen=True, kw_only=True)
class ScaleUp(Shown):
    """The comparison over K, and where each side starts to win."""

    faster: float
    price_ratio: float
    rows: tuple[ScaleRow, ...]
    time_from: int | None
    cost_up_to: int | None
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "faster": self.faster,
            "price_ratio": self.price_ratio,
            "big": {"time": 1 / self.faster, "cost": self.price_ratio / self.faster},
            "rows": self.records(),
            "out_wins_on_time_from": self.time_from,
            "out_wins_on_cost_up_to": self.cost_up_to,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def document(self) -> Document:
        big = (
            f"the big machine: {self.faster:g} times as fast at {self.price_ratio:g} times the price, so time "
            f"{1 / self.faster:.4g} and cost {self.price_ratio / self.faster:.4g} of one small machine's"
        )
        rows: list[list[Cell | str | None]] = [
            [
                str(row.workers),
                f"{row.efficiency:.3f}",
                f"{row.time:.4g}",
                f"{row.cost:.4g}",
                Cell("out" if row.faster else "up", "good" if row.faster else "plain"),
                Cell("out" if row.cheaper else "up", "good" if row.cheaper else "plain"),
            ]
            for row in self.rows
        ]
        grid = table(["K", "E(K)", "time", "cost", "faster", "cheaper"], rows)
        lines = [
            "scaling out is faster from K = " + (str(self.time_from) if self.time_from else "nowhere in this range"),
            "scaling out is cheaper up to K = "
            + (str(self.cost_up_to) if self.cost_up_to else "nowhere in this range"),
        ]
        body = (Paragraph(big), grid, Paragraph("\n".join(lines)), FindingList(self.findings))
        return Document("One big machine against many small ones", body)


def compare_scaleup(
    efficiencies: Sequence[tuple[int, float]], *, faster: float, big_price: float, small_price: float
) -> ScaleUp:
    """Both sides over K; `efficiencies` are (K, E(K)), rising in K."""
    _check(faster, big_price, small_price)
    ratio = big_price / small_price
    rows = tuple(_row(k, value, faster, ratio) for k, value in efficiencies)
    quick = [row.workers for row in rows if row.faster]
    cheap = [row.workers for row in rows if row.cheaper]
    return ScaleUp(
        faster=faster,
        price_ratio=ratio,
        rows=rows,
        time_from=min(quick) if quick else None,
        cost_up_to=max(cheap) if cheap else None,
        findings=_findings(rows, faster),
    )


def _check(faster: float, big_price: float, small_price: float) -> None:
    faults = [
        Fault("is a positive finite number", where=name, seen=f"{value:g}")
        for name, value in (("faster", faster), ("price of the big", big_price), ("price of a small", small_price))
        if not (math.isfinite(value) and value > 0)
    ]
    if faults:
        raise InputError(faults, subject="scaleup")


def _row(k: int, efficiency: float, faster: float, ratio: float) -> ScaleRow:
    if not efficiency > 0:
        raise InputError(Fault("an efficiency is positive", where=f"K = {k}", seen=f"{efficiency:g}"))
    return ScaleRow(
        workers=k,
        efficiency=efficiency,
        time=1 / (k * efficiency),
        cost=1 / efficiency,
        faster=k * efficiency > faster,
        cheaper=1 / efficiency < ratio / faster,
    )


def _findings(rows: Sequence[ScaleRow], faster: float) -> tuple[Finding, ...]:
    if any(row.faster and row.cheaper for row in rows):
        both = ", ".join(str(row.workers) for row in rows if row.faster and row.cheaper)
        return (info("out-wins-both", f"scaling out is both faster and cheaper at K = {both}"),)
    if not any(row.faster for row in rows):
        text = f"no K listed reaches a speedup of {faster:g}: on time the big machine cannot be matched here"
        return (warning("never-faster", text, remedy="list larger K, or accept the big machine"),)
    text = "no K is both faster and cheaper: a choice between time and money"
    return (info("trade-off", text),)


def efficiency_of_law(name: str, parameters: Mapping[str, float], workers: Sequence[int]) -> list[tuple[int, float]]:
    """E(K) of a closed form."""
    from scalecurve.laws import law

    chosen = law(name)
    return [(k, float(chosen.efficiency(k, **parameters))) for k in workers]


def efficiency_of_study(study: Study) -> list[tuple[int, float]]:
    """E(K) as measured; only a study whose baseline is one machine can be compared with one."""
    from scalecurve.analysis import tabulate

    found = tabulate(study)
    if study.baseline_k != 1:
        hint = "measure one small machine, or state E(K) by a law"
        raise InputError(Fault("the study has no K = 1", seen=f"K0 = {study.baseline_k}", remedy=hint))
    return [(row.k, float(row.efficiency.value)) for row in found.rows]


def efficiency_of_forecast(study: Study, workers: Sequence[int]) -> list[tuple[int, float]]:
    """E(K) as measured, and as forecast at larger K; what the forecast refuses is left out."""
    from scalecurve.forecasting.forecast import forecast_all

    measured = efficiency_of_study(study)
    beyond = [k for k in workers if k > measured[-1][0]]
    if not beyond:
        return measured
    rows = forecast_all([study], beyond)[0].rows
    return measured + [(row.k, float(row.efficiency)) for row in rows if row.efficiency is not None]
