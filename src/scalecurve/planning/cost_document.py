"""A cost table as text: the answer first, then the rows, then the steps between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.document import Block, Cell, Column, Document, FindingList, Listing, Paragraph, Table, Tone, table
from scalecurve.estimate import Estimate
from scalecurve.planning.choices import unit_words
from scalecurve.planning.cost_row import CostRow
from scalecurve.planning.currency import format_amount, format_money
from scalecurve.planning.curve import Kind
from scalecurve.units import format_seconds

if TYPE_CHECKING:
    from scalecurve.planning.cost import CostTable

_TONES: dict[Kind, Tone] = {Kind.FORECAST: "assumed", Kind.LAW: "assumed", Kind.PLANNED: "assumed"}
MOST_STEPS = 16


def cost_document(result: CostTable) -> Document:
    blocks: list[Block] = [Paragraph(head(result)), Paragraph("\n".join(answers(result))), _rows(result)]
    if result.steps:
        blocks.append(Listing("\n".join(step.sentence for step in result.steps[-MOST_STEPS:])))
    if result.findings:
        blocks.append(FindingList(result.findings))
    return Document(None, tuple(blocks))


def head(result: CostTable) -> str:
    """What was priced and how, in one paragraph."""
    tariff, campaign = result.tariff, result.campaign
    each = "worker" if tariff.workers_per_unit == 1 else f"unit of {tariff.workers_per_unit} workers"
    price = f"{format_money(tariff.per_hour, tariff.currency)} per {each} and hour ({tariff.source})"
    if tariff.spot is not None:
        price = f"spot at {format_money(tariff.spot.per_hour, tariff.currency)} per {each} and hour"
    packed = "one after another on K" if campaign.fleet is None else f"packed into {campaign.fleet}"
    jobs = "1 job" if campaign.jobs == 1 else f"{campaign.jobs:,} jobs, {packed} {unit_words(result.k_unit)}"
    what = f"{result.name}: {price}; {jobs}; a result is {result.result}; baseline K0 = {result.baseline_k}"
    levels = sorted({row.seconds.level for row in result.rows if row.seconds.level is not None})
    return what + (f"; intervals at {' and '.join(f'{level:.0%}' for level in levels)}" if levels else "")


def answers(result: CostTable) -> list[str]:
    """The choices, each with its time and cost."""
    lines = [f"Cheapest: {_choice(result, result.cheapest)}."]
    goal, currency = result.goal, result.tariff.currency
    if goal.deadline is not None:
        lines.append(f"Cheapest within {format_seconds(goal.deadline)}: {_in_time(result)}.")
    if goal.budget is not None:
        found = result.fastest_in_budget
        words = "no K (see below)" if found is None else _choice(result, found)
        lines.append(f"Fastest within {format_money(goal.budget, currency)}: {words}.")
    if result.best_for_value is not None and goal.value_per_hour is not None:
        worth = f"{format_money(goal.value_per_hour, currency)} an hour"
        lines.append(f"At {worth} of waiting: {_choice(result, result.best_for_value)}; {_beyond(result)}.")
    front = ", ".join(str(row.k) for row in result.front)
    return [*lines, f"No other K is both faster and cheaper than K = {front}."]


def _in_time(result: CostTable) -> str:
    row = result.cheapest_in_time
    if row is None:
        return f"no K with probability {result.goal.chance:g}"
    chance = "" if row.chance is None else f", probability {row.chance:.2f}"
    return _choice(result, row) + chance


def _beyond(result: CostTable) -> str:
    best = result.best_for_value
    larger = [row.k for row in result.rows if best is not None and row.k > best.k]
    return f"from K = {larger[0]} on, more workers cost more than they save" if larger else "no larger K was priced"


def _choice(result: CostTable, row: CostRow) -> str:
    side = f", {row.lanes} at a time" if row.lanes > 1 else ""
    total = format_money(row.cost.value, result.tariff.currency)
    return f"K = {row.k} {unit_words(result.k_unit)}{side}, {format_seconds(row.elapsed.value)}, {total}"


def _rows(result: CostTable) -> Table:
    currency = result.tariff.currency
    ranges = has_intervals(result)
    columns = [f"K ({result.k_unit})", *_with_range("time/job", ranges), *_with_range(f"{currency}/job", ranges)]
    columns += ["cost/cost(K0)", f"jobs/{currency}"]
    many = result.campaign.jobs > 1 or result.campaign.fleet is not None
    columns += ["side by side"] if result.campaign.fleet is not None else []
    columns += ["all: time", f"all: {currency}"] if many else []
    columns += ["expected time"] if _interrupted(result, many=many) else []
    columns += ["P(in time)"] if result.goal.deadline is not None else []
    columns += ["kWh"] if result.tariff.energy is not None else []
    columns += ["kg CO2"] if any(row.co2_grams is not None for row in result.rows) else []
    heads = [Column(name) for name in [*columns, f"{currency} per saved hour"]]
    heads += [Column("Pareto", "left"), Column("known by", "left")]
    return table(heads, [_cells(result, row, many=many) for row in result.rows])


def _interrupted(result: CostTable, *, many: bool) -> bool:
    """Whether losses of machines make a job longer than its bare time; the time of many jobs counts them already."""
    spot = result.tariff.spot
    return spot is not None and spot.interruptions_per_hour > 0 and not many


def has_intervals(result: CostTable) -> bool:
    return any(row.seconds.has_interval for row in result.rows)


def _with_range(name: str, ranges: bool) -> list[str]:
    return [name, "interval"] if ranges else [name]


def _cells(result: CostTable, row: CostRow, *, many: bool) -> list[Cell | str | None]:
    ranges = has_intervals(result)
    cells: list[Cell | str | None] = [str(row.k), format_seconds(row.seconds.value)]
    cells += [_times(row.seconds)] if ranges else []
    cells += [format_amount(row.job_cost.value)] + ([_amounts(row.job_cost)] if ranges else [])
    cells += [f"{row.relative_cost:.3f}"]
    cells += [None if row.results_per_money is None else f"{row.results_per_money:.4g}"]
    cells += [str(row.lanes)] if result.campaign.fleet is not None else []
    cells += [format_seconds(row.elapsed.value), format_amount(row.cost.value)] if many else []
    cells += [format_seconds(row.elapsed.value)] if _interrupted(result, many=many) else []
    cells += [_chance(row)] if result.goal.deadline is not None else []
    cells += [f"{row.energy_kwh:.4g}"] if row.energy_kwh is not None else []
    cells += [f"{row.co2_grams / 1000:.4g}"] if row.co2_grams is not None else []
    cells += [None if row.saved_hour_cost is None else format_amount(row.saved_hour_cost)]
    return [*cells, Cell("*" if row.on_front else ""), Cell(str(row.kind), _TONES.get(row.kind, "plain"))]


def _chance(row: CostRow) -> Cell:
    tone: Tone = "good" if row.meets_deadline else "bad"
    if row.chance is None:
        return Cell("yes" if row.meets_deadline else "no", tone)
    return Cell(f"{row.chance:.2f}", tone)


def _times(estimate: Estimate) -> str | None:
    if estimate.low is None or estimate.high is None:
        return None
    return f"{format_seconds(estimate.low)}..{format_seconds(estimate.high)}"


def _amounts(estimate: Estimate) -> str | None:
    if estimate.low is None or estimate.high is None:
        return None
    return f"{format_amount(estimate.low)}..{format_amount(estimate.high)}"
