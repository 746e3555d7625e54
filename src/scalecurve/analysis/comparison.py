"""Two studies side by side: the ratio of T and of E at each K, with intervals.

Ratios are of means; their intervals are Welch's t on logarithms (see `ratio`).  The ratio of two efficiencies has four
means in it, so its interval is about 1.4 times as wide as that of T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scalecurve.analysis.ratio import WELCH_LOG, student_quantile
from scalecurve.analysis.sameness import require_sameness
from scalecurve.analysis.summary import Summary, summarise
from scalecurve.analysis.table import efficiencies
from scalecurve.document import Block, Cell, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding
from scalecurve.study import Quantity, Study


@dataclass(frozen=True)
class LogRatio:
    """The logarithm of a product of means and inverse means, with its standard error and degrees of freedom."""

    value: float
    variance: float
    degrees: float

    @property
    def error(self) -> float:
        return math.sqrt(self.variance)

    def estimate(self, level: float) -> Estimate:
        middle = math.exp(self.value)
        if self.degrees < 1:
            return Estimate(middle, method="single sample")
        half = student_quantile(self.degrees, level) * self.error
        return Estimate(middle, math.exp(self.value - half), math.exp(self.value + half), level, WELCH_LOG)


def log_ratio(*ends: tuple[Summary, int, float]) -> LogRatio:
    """Of several means, each with the power (+1 or -1) it stands in; Welch and Satterthwaite's degrees of freedom."""
    value = variance = fourth = 0.0
    least = math.inf
    for summary, k, power in ends:
        i = summary.index(k)
        square, degrees = float(summary.log_se[i]) ** 2, float(summary.degrees[i])
        least = min(least, degrees)
        value += power * math.log(float(summary.mean[i]))
        variance += square
        fourth += square**2 / degrees if degrees >= 1 else 0.0
    if least < 1:
        return LogRatio(value, math.nan, 0.0)
    return LogRatio(value, variance, variance**2 / fourth if fourth > 0 else least)


@dataclass(frozen=True, kw_only=True)
class ComparisonRow:
    """One K: second over first.  `value` is of times or rates, `efficiency` of E (None at the baseline)."""

    k: int
    first: float
    second: float
    value: Estimate
    efficiency: Estimate | None
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {"k": self.k, "first": self.first, "second": self.second}
        row |= {"ratio": self.value.value, "ratio_low": self.value.low, "ratio_high": self.value.high}
        e = self.efficiency
        return row | {
            "efficiency_ratio": e.value if e else None,
            "efficiency_ratio_low": e.low if e else None,
            "efficiency_ratio_high": e.high if e else None,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, kw_only=True)
class Comparison(Shown):
    """Second against first at every K both measured."""

    first: str
    second: str
    quantity: Quantity
    level: float
    rows: tuple[ComparisonRow, ...]
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    findings: tuple[Finding, ...]

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "quantity": str(self.quantity),
            "level": self.level,
            "rows": self.records(),
            "only_first": list(self.only_first),
            "only_second": list(self.only_second),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        head = f"{self.second} over {self.first}, values in {self.quantity}; intervals at {self.level:.0%}"
        heads = ["K", "first", "second", "ratio", "interval", "E ratio", "interval", "verdict"]
        blocks: list[Block] = [Paragraph(head), table(heads, [_cells(row) for row in self.rows])]
        for name, alone in ((self.first, self.only_first), (self.second, self.only_second)):
            if alone:
                blocks.append(Paragraph(f"Only in {name}: K = {', '.join(map(str, alone))}."))
        return Document(None, (*blocks, FindingList(self.findings)))


def _cells(row: ComparisonRow) -> list[Cell | str | None]:
    e = row.efficiency
    tone = {"faster": "good", "slower": "bad"}.get(row.verdict, "plain")
    return [
        str(row.k), f"{row.first:.5g}", f"{row.second:.5g}", f"{row.value.value:.3f}", _interval(row.value),
        f"{e.value:.3f}" if e else None, _interval(e) if e else None, Cell(row.verdict, tone),  # type: ignore[arg-type]
    ]  # fmt: skip


def _interval(estimate: Estimate) -> str | None:
    return None if estimate.low is None or estimate.high is None else f"{estimate.low:.3f}..{estimate.high:.3f}"


def compare(first: Study, second: Study, *, level: float = 0.95, allow_mixed: bool = False) -> Comparison:
    """Second over first at each K; studies that differ in machine, versions or workload are refused."""
    findings = require_sameness(first, second, allow_mixed=allow_mixed)
    one, other = summarise(first.samples), summarise(second.samples)
    common = sorted(set(first.all_k) & set(second.all_k))
    if not common:
        raise InputError(
            Fault(
                "the studies have no K in common",
                seen=f"{first.all_k} and {second.all_k}",
                remedy="measure one in both",
            ),
            subject=f"{first.name} and {second.name}",
        )
    return Comparison(
        first=first.name,
        second=second.name,
        quantity=first.quantity,
        level=level,
        rows=tuple(_row(first, second, one, other, k, level) for k in common),
        only_first=tuple(k for k in first.all_k if k not in common),
        only_second=tuple(k for k in second.all_k if k not in common),
        findings=findings,
    )


def _row(first: Study, second: Study, one: Summary, other: Summary, k: int, level: float) -> ComparisonRow:
    value = log_ratio((other, k, 1.0), (one, k, -1.0)).estimate(level)
    return ComparisonRow(
        k=k,
        first=float(one.mean[one.index(k)]),
        second=float(other.mean[other.index(k)]),
        value=value,
        efficiency=_efficiency_ratio(first, second, one, other, k, level),
        verdict=_verdict(value, first.quantity),
    )


def _efficiency_ratio(
    first: Study, second: Study, one: Summary, other: Summary, k: int, level: float
) -> Estimate | None:
    k0, other_k0 = first.baseline_k, second.baseline_k
    if k in (k0, other_k0):
        return None
    better = 1.0 if first.quantity.higher_is_better else -1.0
    spread = log_ratio((other, k, better), (other, other_k0, -better), (one, k, -better), (one, k0, better))
    e_first = float(efficiencies(first, one)[one.index(k)])
    e_second = float(efficiencies(second, other)[other.index(k)])
    return LogRatio(math.log(e_second / e_first), spread.variance, spread.degrees).estimate(level)


def _verdict(ratio: Estimate, quantity: Quantity) -> str:
    if ratio.low is None or ratio.high is None:
        return "one sample"
    if ratio.low <= 1.0 <= ratio.high:
        return "no difference seen"
    return "faster" if (ratio.value > 1) == quantity.higher_is_better else "slower"
