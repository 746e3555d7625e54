"""What a reader of a cost table must know beside its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scalecurve.findings import Finding, info, warning
from scalecurve.planning.campaign import Campaign, campaign_cost, campaign_seconds
from scalecurve.planning.cost_row import CostRow
from scalecurve.planning.currency import format_money
from scalecurve.planning.curve import Kind, TimeCurve
from scalecurve.planning.tariff import Tariff
from scalecurve.units import format_seconds

WORTH_PACKING = 1.1


def cost_findings(
    curve: TimeCurve, tariff: Tariff, campaign: Campaign, budget: float | None, rows: Sequence[CostRow]
) -> tuple[Finding, ...]:
    found = [*_kinds(rows), *_packing(curve, tariff, campaign, rows), *_fleet(campaign, rows)]
    found += [*_reserved(tariff, rows), *_spot(tariff), *_setup(tariff), *_budget(tariff, campaign, budget, rows)]
    return tuple(found)


def _kinds(rows: Sequence[CostRow]) -> Iterator[Finding]:
    between = [row.k for row in rows if row.kind is Kind.INTERPOLATED]
    if between:
        words = f"K = {_listed(between)} were not measured: their times lie on a power law between the neighbours"
        yield info("interpolated", words, k=between, remedy="measure the K you mean to pay for")
    ahead = [row.k for row in rows if row.kind is Kind.FORECAST]
    if ahead:
        words = f"K = {_listed(ahead)} are forecasts: read their intervals, not their estimates"
        yield warning("forecast", words, k=ahead, remedy="measure the K you mean to pay for")


def _packing(curve: TimeCurve, tariff: Tariff, campaign: Campaign, rows: Sequence[CostRow]) -> Iterator[Finding]:
    """Many jobs rarely need to be fast one by one: the same workers, packed at an efficient K, finish sooner."""
    if campaign.jobs < 2 or campaign.fleet is not None:
        return
    known = [row for row in rows if row.kind is not Kind.FORECAST]
    largest = known[-1]
    packed = Campaign(jobs=campaign.jobs, fleet=largest.k, one_rental=campaign.one_rental)
    points = [(campaign_seconds(packed, tariff, p.k, p.seconds.value), p) for p in curve.points if p.k <= largest.k]
    elapsed, point = min(points, key=lambda pair: (pair[0], pair[1].k))
    total = campaign_cost(packed, tariff, point.k, point.seconds.value)
    if point.k == largest.k or largest.elapsed.value < WORTH_PACKING * elapsed:
        return
    one, many = format_money(largest.cost.value, tariff.currency), format_money(total, tariff.currency)
    words = (
        f"packed {packed.lanes(point.k)} at a time with K = {point.k} each, the {campaign.jobs} jobs take "
        f"{format_seconds(elapsed)} and {many} on {largest.k} {curve.k_unit}; one after another on all of them "
        f"{format_seconds(largest.elapsed.value)} and {one}"
    )
    yield info("pack-jobs", words, k=point.k, fleet=largest.k, remedy=f"--fleet {largest.k} shows every K")


def _fleet(campaign: Campaign, rows: Sequence[CostRow]) -> Iterator[Finding]:
    if campaign.fleet is None:
        return
    idle = {row.k: campaign.fleet - row.lanes * row.k for row in rows if row.lanes * row.k < campaign.fleet}
    if idle:
        listed = ", ".join(f"{count} at K = {k}" for k, count in idle.items())
        words = f"of the fleet of {campaign.fleet}, these stand idle and are not paid for here: {listed}"
        yield info("fleet-idle", words, idle=idle)


def _reserved(tariff: Tariff, rows: Sequence[CostRow]) -> Iterator[Finding]:
    reserved = tariff.reserved
    if reserved is None:
        return
    if tariff.per_hour > 0:
        share = reserved.per_hour / tariff.per_hour
        words = f"a reserved unit pays off when it is busy more than {share:.0%} of the time it is paid for"
        yield info("reserved-break-even", words, share=share)
    idle = [row.k for row in rows if tariff.units(row.k) < reserved.units]
    if idle:
        words = (
            f"at K = {_listed(idle)} some of the {reserved.units} reserved units stand idle; their price is in the cost"
        )
        yield info("reserved-idle", words, k=idle)


def _spot(tariff: Tariff) -> Iterator[Finding]:
    if tariff.spot is None:
        return
    words = "interruptions are counted by their expectation; probabilities do not contain their chance"
    yield info("spot-expected", words, interruptions_per_hour=tariff.spot.interruptions_per_hour)
    if tariff.spot.checkpoint_every is None and not tariff.spot.checkpoint_seconds:
        words = "no checkpoints: every interruption loses all work since the job's start"
        yield warning("spot-without-checkpoints", words, remedy="give --checkpoint-every")


def _setup(tariff: Tariff) -> Iterator[Finding]:
    if tariff.setup_seconds:
        words = (
            f"set-up of {format_seconds(tariff.setup_seconds)} is billed with every rental, so cost is not 1/E any more"
        )
        yield info("setup-billed", words, seconds=tariff.setup_seconds)


def _budget(tariff: Tariff, campaign: Campaign, budget: float | None, rows: Sequence[CostRow]) -> Iterator[Finding]:
    if budget is None or any(row.within_budget for row in rows):
        return
    least = min(rows, key=lambda row: row.job_cost.value)
    count = int(budget / least.job_cost.value)
    words = (
        f"the budget pays for {count} of {campaign.jobs} jobs at the cheapest K = {least.k}; all of them cost "
        f"{format_money(least.cost.value, tariff.currency)}"
    )
    yield warning("budget-too-small", words, jobs=count, k=least.k, needed=least.cost.value)


def _listed(workers: Sequence[int]) -> str:
    return ", ".join(str(k) for k in workers)
