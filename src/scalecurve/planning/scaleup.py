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
from typing import TYPE_CHECKING, Any, NamedTuple

from scalecurve.document import Cell, Column, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.study import Quantity, Study

if TYPE_CHECKING:
    from scalecurve.forecasting.forecast import ForecastRow

MEASURED, FORECAST = "measured", "forecast"


class KnownEfficiency(NamedTuple):
    """E at one K with its interval, and how it is known: law, measured or forecast."""

    k: int
    efficiency: float
    low: float | None = None
    high: float | None = None
    kind: str = "law"


@dataclass(frozen=True, kw_only=True)
class ScaleRow:
    """K small machines against the big one; `time` and `cost` are of one result, in those of one small machine."""

    workers: int
    efficiency: float
    low: float | None
    high: float | None
    kind: str
    time: float
    cost: float
    faster: bool
    cheaper: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "k": self.workers,
            "efficiency": self.efficiency,
            "efficiency_low": self.low,
            "efficiency_high": self.high,
            "kind": self.kind,
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
        ranges = any(row.low is not None for row in self.rows)
        heads = ["K", "E(K)", *(["interval"] if ranges else []), "time", "cost", "faster", "cheaper"]
        grid = table([*heads, Column("known by", "left")], [_cells(row, ranges) for row in self.rows])
        listed = [row.workers for row in self.rows]
        lines = [
            f"scaling out is faster {_span([row.workers for row in self.rows if row.faster], listed)}",
            f"scaling out is cheaper {_span([row.workers for row in self.rows if row.cheaper], listed)}",
        ]
        body = (Paragraph(big), grid, Paragraph("\n".join(lines)), FindingList(self.findings))
        return Document("One big machine against many small ones", body)


def _cells(row: ScaleRow, ranges: bool) -> list[Cell | str | None]:
    interval = None if row.low is None or row.high is None else f"{row.low:.3f}..{row.high:.3f}"
    return [
        str(row.workers),
        f"{row.efficiency:.3f}",
        *([interval] if ranges else []),
        f"{row.time:.4g}",
        f"{row.cost:.4g}",
        Cell("out" if row.faster else "up", "good" if row.faster else "plain"),
        Cell("out" if row.cheaper else "up", "good" if row.cheaper else "plain"),
        Cell(row.kind, "assumed" if row.kind != MEASURED else "plain"),
    ]


def _span(won: Sequence[int], listed: Sequence[int]) -> str:
    """Where a side wins among the K listed: open at an end of the list, closed where it loses again."""
    if not won:
        return "nowhere in this range"
    places = [listed.index(k) for k in won]
    if places[-1] - places[0] + 1 != len(won):
        return f"at K = {', '.join(map(str, won))}"
    if len(won) == len(listed):
        return "at every K listed"
    if won[-1] == listed[-1]:
        return f"from K = {won[0]}"
    return f"up to K = {won[-1]}" if won[0] == listed[0] else f"at K = {_ends(won)}"


def _ends(won: Sequence[int]) -> str:
    return str(won[0]) if len(won) == 1 else f"{won[0]}..{won[-1]}"


def compare_scaleup(
    efficiencies: Sequence[KnownEfficiency],
    *,
    faster: float,
    big_price: float,
    small_price: float,
    notes: Sequence[Finding] = (),
) -> ScaleUp:
    """Both sides over K, rising; `notes` are what is to be known of E(K)."""
    _check(faster, big_price, small_price)
    ratio = big_price / small_price
    rows = tuple(_row(known, faster, ratio) for known in efficiencies)
    quick = [row.workers for row in rows if row.faster]
    cheap = [row.workers for row in rows if row.cheaper]
    return ScaleUp(
        faster=faster,
        price_ratio=ratio,
        rows=rows,
        time_from=min(quick) if quick else None,
        cost_up_to=max(cheap) if cheap else None,
        findings=(*notes, *_findings(rows, faster)),
    )


def _check(faster: float, big_price: float, small_price: float) -> None:
    faults = [
        Fault("is a positive finite number", where=name, seen=f"{value:g}")
        for name, value in (("faster", faster), ("price of the big", big_price), ("price of a small", small_price))
        if not (math.isfinite(value) and value > 0)
    ]
    if faults:
        raise InputError(faults, subject="scaleup")


def _row(known: KnownEfficiency, faster: float, ratio: float) -> ScaleRow:
    k, efficiency = known.k, known.efficiency
    if not efficiency > 0:
        raise InputError(Fault("an efficiency is positive", where=f"K = {k}", seen=f"{efficiency:g}"))
    return ScaleRow(
        workers=k,
        efficiency=efficiency,
        low=known.low,
        high=known.high,
        kind=known.kind,
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


def efficiency_of_law(name: str, parameters: Mapping[str, float], workers: Sequence[int]) -> list[KnownEfficiency]:
    """E(K) of a closed form."""
    from scalecurve.laws import law

    chosen = law(name)
    return [KnownEfficiency(k, float(chosen.efficiency(k, **parameters))) for k in workers]


def efficiency_of_study(study: Study) -> list[KnownEfficiency]:
    """E(K) as measured; only a study whose baseline is one machine can be compared with one."""
    from scalecurve.analysis import tabulate

    found = tabulate(study)
    if study.baseline_k != 1:
        hint = "measure one small machine, or state E(K) by a law"
        raise InputError(Fault("the study has no K = 1", seen=f"K0 = {study.baseline_k}", remedy=hint))
    return [
        KnownEfficiency(row.k, float(row.efficiency.value), row.efficiency.low, row.efficiency.high, MEASURED)
        for row in found.rows
    ]


def efficiency_of_forecast(
    study: Study, workers: Sequence[int] | None = None
) -> tuple[list[KnownEfficiency], tuple[Finding, ...]]:
    """E at these K (default: the measured), measured or else forecast, with what the forecast warns of or refuses."""
    from scalecurve.forecasting.forecast import forecast

    measured = {known.k: known for known in efficiency_of_study(study)}
    asked = sorted(set(workers if workers is not None else measured))
    others = [k for k in asked if k not in measured]
    if not others:
        return [measured[k] for k in asked], study.findings
    made = forecast(study, others)
    ahead = {row.k: _forecast(row) for row in made.rows if row.value is not None}
    known = {**measured, **ahead}
    return [known[k] for k in asked if k in known], made.findings


def _forecast(row: ForecastRow) -> KnownEfficiency:
    """The interval of E as that of the value, turned round where the value is a time."""
    value, low, high, e = (float(each or 0.0) for each in (row.value, row.low, row.high, row.efficiency))
    ends = (value / high, value / low) if row.quantity is Quantity.SECONDS else (low / value, high / value)
    return KnownEfficiency(row.k, e, e * ends[0], e * ends[1], FORECAST)
