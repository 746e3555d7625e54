"""Does the efficiency justify the dollars?  The proposal's K through the one pricing function."""

from __future__ import annotations

from typing import Any

from scalecurve.errors import InputError
from scalecurve.estimate import Estimate
from scalecurve.planning.campaign import Campaign
from scalecurve.planning.choices import share_text
from scalecurve.planning.cost import CostTable, cost
from scalecurve.planning.currency import format_amount, format_money
from scalecurve.planning.curve import CurvePoint, Kind, TimeCurve
from scalecurve.proposals.known import Evidence, Known
from scalecurve.proposals.proposal import Proposal
from scalecurve.proposals.questions import Answer, open_question
from scalecurve.proposals.verdict import Judgement

QUESTION = "Does the efficiency justify the dollars?"
_KINDS = {"measured": Kind.MEASURED, "interpolated": Kind.INTERPOLATED, "forecast": Kind.FORECAST}


def price_proposal(proposal: Proposal, judgement: Judgement) -> CostTable | None:
    """Every known K priced; None without a price, a time at the baseline, or an efficiency at the proposed K."""
    evidence = judgement.evidence
    if proposal.money is None or evidence is None:
        return None
    base = baseline_seconds(proposal, evidence)
    if base is None or judgement.proposed is None or judgement.proposed.value is None:
        return None
    known = {point.k: point for point in evidence.points if point.value}
    known |= {point.k: point for point in (judgement.proposed, judgement.today) if point is not None and point.value}
    points = tuple(_point(point, base, evidence.baseline_k) for point in known.values())
    curve = TimeCurve(name=proposal.title, points=points, baseline_k=evidence.baseline_k, k_unit=proposal.k_unit)
    return cost(curve, proposal.money.tariff, campaign=Campaign(jobs=proposal.money.jobs))


def baseline_seconds(proposal: Proposal, evidence: Evidence) -> float | None:
    """T(K0): measured, or stated."""
    base = evidence.at(evidence.baseline_k)
    if base is not None and base.seconds is not None:
        return base.seconds.value
    return proposal.seconds_at_baseline


def _point(known: Known, base: float, baseline_k: int) -> CurvePoint:
    """Seconds per result: T(K0) K0/(K E), in both regimes."""
    work = base * baseline_k / known.k
    low = None if known.high is None else work / known.high
    high = None if not known.low else work / known.low
    seconds = Estimate(work / (known.value or 1.0), low, high, None, known.kind)
    return CurvePoint(k=known.k, seconds=seconds, kind=_KINDS.get(known.kind, Kind.LAW))


def money_question(proposal: Proposal, judgement: Judgement, table: CostTable | None) -> Answer:
    """Cost per result at the proposed K against today's and against the best K."""
    gain, dearer = judgement.gain, judgement.dearer
    if dearer is None or gain is None:
        return open_question(
            6, QUESTION, f"the efficiency at K = {proposal.workers} or {judgement.today_k} is not known"
        )
    text = f"per result {_change(dearer)} than at K = {judgement.today_k} for {_faster(gain)}, at a linear price"
    source = "1/E at a linear price" if proposal.money is None else proposal.money.tariff.source
    amount, numbers = _amounts(proposal, judgement, table)
    return Answer(
        number=6,
        question=QUESTION,
        text=f"{text}; {amount}",
        source=source,
        numbers={"dearer": dearer, "gain": gain, **numbers},
    )


def _amounts(proposal: Proposal, judgement: Judgement, table: CostTable | None) -> tuple[str, dict[str, Any]]:
    """The money itself, or which input is missing for it."""
    if proposal.money is None:
        return "the price itself is missing", {}
    if table is None:
        return "the amount is missing: state time_at_baseline", {}
    row, best, currency = table.row(proposal.workers), table.cheapest, table.tariff.currency
    today = _against_today(table, judgement.today_k)
    cheapest = f"{format_money(best.job_cost.value, currency)} at the cheapest K = {best.k}"
    numbers = {"job_cost": row.job_cost.value, "best_k": best.k, "best_job_cost": best.job_cost.value}
    return f"{_amount(row.job_cost, currency)} a result{today}, {cheapest}", numbers | {"currency": currency}


def _against_today(table: CostTable, today: int) -> str:
    try:
        return f" against {format_money(table.row(today).job_cost.value, table.tariff.currency)} at K = {today}"
    except InputError:
        return ""


def _amount(amount: Estimate, currency: str) -> str:
    if amount.low is None or amount.high is None:
        return format_money(amount.value, currency)
    return f"{format_money(amount.value, currency)} ({format_amount(amount.low)} to {format_amount(amount.high)})"


def _change(dearer: float) -> str:
    return f"{share_text(abs(dearer))} {'dearer' if dearer >= 0 else 'cheaper'}"


def _faster(gain: float) -> str:
    if gain > 1:
        return f"{gain + 1:.3g} times the speed"
    return f"{share_text(gain)} more speed" if gain >= 0 else f"{share_text(-gain)} less speed"
