"""What a result costs on K workers, which K meets a deadline or a budget, and what the last hour saved costs.

    cost(K) = K p T(K)  per result,    cost(K)/cost(1) = 1/E(K)  for linear prices

so the cheapest K is the most efficient one, and only a deadline or a value of time makes a larger K rational.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scalecurve.document import Document, Shown
from scalecurve.errors import Fault, InputError, Refused
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding
from scalecurve.planning.campaign import Campaign, campaign_bills, campaign_cost, campaign_seconds
from scalecurve.planning.chances import chance_by
from scalecurve.planning.choices import (
    Step,
    best_for_value,
    cheapest_in_time,
    fastest_in_budget,
    front,
    steps,
    with_saved_hours,
)
from scalecurve.planning.cost_findings import cost_findings
from scalecurve.planning.cost_row import CostRow
from scalecurve.planning.currency import format_money
from scalecurve.planning.curve import CurvePoint, TimeCurve
from scalecurve.planning.pricing import price_job
from scalecurve.planning.tariff import Tariff
from scalecurve.units import format_seconds


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What is asked of the choice of K: seconds, money in the tariff's currency, money per hour of waiting."""

    deadline: float | None = None
    budget: float | None = None
    value_per_hour: float | None = None
    chance: float | None = None

    def __post_init__(self) -> None:
        faults = []
        for where, value in (
            ("deadline", self.deadline),
            ("budget", self.budget),
            ("value of time", self.value_per_hour),
        ):
            if value is not None and not (math.isfinite(value) and value > 0):
                faults.append(Fault("must be above 0", where=where, seen=f"{value:g}"))
        if self.chance is not None and not 0 < self.chance < 1:
            faults.append(Fault("a probability lies between 0 and 1", where="chance", seen=f"{self.chance:g}"))
        if faults:
            raise InputError(faults)


@dataclass(frozen=True, kw_only=True)
class CostTable(Shown):
    """Every K priced, the choices among them, and the sentences a manager needs."""

    name: str
    k_unit: str
    result: str
    baseline_k: int
    tariff: Tariff
    campaign: Campaign
    goal: Goal
    rows: tuple[CostRow, ...]
    steps: tuple[Step, ...]
    cheapest: CostRow
    cheapest_in_time: CostRow | None
    fastest_in_budget: CostRow | None
    best_for_value: CostRow | None
    findings: tuple[Finding, ...]

    def row(self, k: int) -> CostRow:
        for row in self.rows:
            if row.k == k:
                return row
        raise InputError(Fault("this K was not priced", seen=str(k)))

    @property
    def front(self) -> tuple[CostRow, ...]:
        """The K that no other K beats in both time and cost."""
        return tuple(row for row in self.rows if row.on_front)

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "k_unit": self.k_unit,
            "result": self.result,
            "baseline_k": self.baseline_k,
            "currency": self.tariff.currency,
            "price": self.tariff.to_dict(),
            **vars(self.campaign),
            "deadline_seconds": self.goal.deadline,
            "budget": self.goal.budget,
            "value_per_hour": self.goal.value_per_hour,
            "rows": self.records(),
            "steps": [step.to_dict() for step in self.steps],
            "pareto": [row.k for row in self.front],
            "cheapest": self.cheapest.k,
            "cheapest_in_time": _k(self.cheapest_in_time),
            "fastest_in_budget": _k(self.fastest_in_budget),
            "best_for_value": _k(self.best_for_value),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        from scalecurve.planning.cost_document import cost_document

        return cost_document(self)


def _k(row: CostRow | None) -> int | None:
    return None if row is None else row.k


def cost(
    curve: TimeCurve,
    tariff: Tariff,
    *,
    campaign: Campaign | None = None,
    goal: Goal | None = None,
    notes: Sequence[Finding] = (),
) -> CostTable:
    """Price every K of a curve and choose among them; `notes` are findings about the price itself."""
    plan, aim = campaign or Campaign(), goal or Goal()
    check_campaign(plan)
    reached = curve if plan.fleet is None else curve.limited(plan.fleet)
    rows = _rows(reached, tariff, plan, aim)
    _check_reach(rows, aim, curve.k_unit, tariff.currency)
    return CostTable(
        name=curve.name,
        k_unit=curve.k_unit,
        result=curve.result,
        baseline_k=_baseline(reached),
        tariff=tariff,
        campaign=plan,
        goal=aim,
        rows=rows,
        steps=steps(rows, curve.k_unit),
        cheapest=min(rows, key=lambda row: (row.cost.value, row.elapsed.value)),
        cheapest_in_time=cheapest_in_time(rows, aim.chance) if aim.deadline is not None else None,
        fastest_in_budget=fastest_in_budget(rows) if aim.budget is not None else None,
        best_for_value=best_for_value(rows, aim.value_per_hour) if aim.value_per_hour is not None else None,
        findings=(*notes, *curve.findings, *cost_findings(reached, tariff, plan, aim.budget, rows)),
    )


def check_campaign(campaign: Campaign) -> None:
    faults = []
    if campaign.jobs < 1:
        faults.append(Fault("jobs are a whole number from 1", where="jobs", seen=str(campaign.jobs)))
    if campaign.fleet is not None and campaign.fleet < 1:
        faults.append(Fault("a fleet holds at least one worker", where="fleet", seen=str(campaign.fleet)))
    if faults:
        raise InputError(faults)


def _baseline(curve: TimeCurve) -> int:
    known = [point.k for point in curve.points]
    return curve.baseline_k if curve.baseline_k in known else known[0]


def _rows(curve: TimeCurve, tariff: Tariff, campaign: Campaign, goal: Goal) -> tuple[CostRow, ...]:
    base = curve.point(_baseline(curve))
    unit = _job_cost(base, tariff, campaign, base.seconds.value)
    rows = [_row(point, tariff, campaign, goal, unit) for point in curve.points]
    return front(with_saved_hours(rows))


def _job_cost(point: CurvePoint, tariff: Tariff, campaign: Campaign, seconds: float) -> float:
    """Of one result: a rental of its own, or its share of the campaign's."""
    if campaign.one_rental:
        return campaign_cost(campaign, tariff, point.k, seconds) / campaign.jobs
    return price_job(tariff, workers=point.k, seconds=seconds).total


def _row(point: CurvePoint, tariff: Tariff, campaign: Campaign, goal: Goal, unit: float) -> CostRow:
    job = _through(point.seconds, lambda seconds: _job_cost(point, tariff, campaign, seconds))
    elapsed = _through(point.seconds, lambda seconds: campaign_seconds(campaign, tariff, point.k, seconds))
    bills = campaign_bills(campaign, tariff, point.k, point.seconds.value)
    total = _through(point.seconds, lambda seconds: campaign_cost(campaign, tariff, point.k, seconds))
    row = CostRow(
        k=point.k,
        kind=point.kind,
        lanes=campaign.lanes(point.k),
        seconds=point.seconds,
        job_cost=job,
        relative_cost=job.value / unit if unit > 0 else 1.0,
        results_per_money=1.0 / job.value if job.value > 0 else None,
        elapsed=elapsed,
        cost=total,
        energy_kwh=_sum([(times, bill.energy_kwh) for times, bill in bills]),
        co2_grams=_sum([(times, bill.co2_grams) for times, bill in bills]),
    )
    return _against(row, point, goal, campaign, tariff)


def _against(row: CostRow, point: CurvePoint, goal: Goal, campaign: Campaign, tariff: Tariff) -> CostRow:
    """The row measured against the goal."""
    if goal.deadline is not None:
        chance = chance_by(point, goal.deadline, campaign, tariff)
        row = replace(row, meets_deadline=row.elapsed.value <= goal.deadline, chance=chance)
    if goal.budget is not None:
        row = replace(row, within_budget=row.cost.value <= goal.budget)
    return row


def _through(seconds: Estimate, price: Callable[[float], float]) -> Estimate:
    """An interval carried through a price: cost never falls with time, so the ends carry over."""
    low = None if seconds.low is None else price(seconds.low)
    high = None if seconds.high is None else _or_none(price, seconds.high)
    return Estimate(price(seconds.value), low, high, seconds.level, seconds.method)


def _or_none(price: Callable[[float], float], seconds: float) -> float | None:
    """The upper end may be where interruptions never let the job finish."""
    try:
        return price(seconds)
    except Refused:
        return None


def _sum(parts: Sequence[tuple[int, float | None]]) -> float | None:
    known = [times * value for times, value in parts if value is not None]
    return sum(known) if known else None


def _check_reach(rows: Sequence[CostRow], goal: Goal, k_unit: str, currency: str) -> None:
    """A deadline no K meets, or a budget that pays for no job at all, is a wrong question: say what is possible."""
    faults = []
    best = min(rows, key=lambda row: row.elapsed.value)
    if goal.deadline is not None and best.elapsed.value > goal.deadline:
        possible = f"the best possible is {format_seconds(best.elapsed.value)} at K = {best.k} {k_unit}"
        hint = f"{possible}; allow more time, fewer jobs, or pack them into a larger fleet"
        faults.append(
            Fault("no K meets the deadline", where="deadline", seen=format_seconds(goal.deadline), remedy=hint)
        )
    least = min(rows, key=lambda row: row.job_cost.value)
    if goal.budget is not None and least.job_cost.value > goal.budget:
        hint = f"the cheapest costs {format_money(least.job_cost.value, currency)}, at K = {least.k} {k_unit}"
        seen = format_money(goal.budget, currency)
        faults.append(Fault("the budget does not pay for one job", where="budget", seen=seen, remedy=hint))
    if faults:
        raise InputError(faults)
