"""A proposal judged: seven answers, the prediction, the bend, the recommended K, the verdict and what it hangs on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.document import Document, Shown
from scalecurve.findings import Finding, info, warning
from scalecurve.planning.cost import CostTable
from scalecurve.planning.cost_row import CostRow
from scalecurve.planning.currency import format_money
from scalecurve.proposals.decision import decide
from scalecurve.proposals.money import money_question, price_proposal
from scalecurve.proposals.proposal import Growth, Proposal
from scalecurve.proposals.questions import (
    Answer,
    exchange_question,
    growth_question,
    kernel_question,
    serial_question,
    straggler_question,
)
from scalecurve.proposals.scale_up import scale_up_question
from scalecurve.proposals.sensitivity import Sensitivity, most_sensitive
from scalecurve.proposals.verdict import Judgement, Verdict, judge, overall, regimes_of
from scalecurve.units import format_seconds


@dataclass(frozen=True, kw_only=True)
class Assessment(Shown):
    """What the check found; `judgements` hold the prediction for each regime that applies."""

    proposal: Proposal
    answers: tuple[Answer, ...]
    judgements: tuple[Judgement, ...]
    verdict: Verdict
    decision: str
    bend: dict[str, Any] | None
    recommended: dict[str, int | None]
    sensitive_to: tuple[Sensitivity, ...]
    cost: CostTable | None
    findings: tuple[Finding, ...]

    @property
    def meets_deadline(self) -> bool:
        return bool(within_deadline(self.proposal, self.cost))

    def records(self) -> list[dict[str, Any]]:
        return [
            {name: value for name, value in answer.to_dict().items() if name != "numbers"} for answer in self.answers
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "title": self.proposal.title,
            "workers": self.proposal.workers,
            "workers_today": self.proposal.workers_today,
            "k_unit": self.proposal.k_unit,
            "regime": str(self.proposal.growth),
            "floor": self.proposal.floor,
            "verdict": str(self.verdict),
            "decision": self.decision,
            "questions": [answer.to_dict() for answer in self.answers],
            "predictions": [judgement.to_dict() for judgement in self.judgements],
            "bend": self.bend,
            "recommended": self.recommended,
            "sensitive_to": [item.to_dict() for item in self.sensitive_to],
            "cost": None if self.cost is None else self.cost.records(),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        from scalecurve.proposals.assessment_document import assessment_document

        return assessment_document(self)


def assess(proposal: Proposal) -> Assessment:
    """Apply the checklist to a proposal."""
    judgements = tuple(judge(proposal, regime) for regime in regimes_of(proposal))
    verdict = overall(proposal, judgements)
    first = judgements[0]
    priced = price_proposal(proposal, first)
    return Assessment(
        proposal=proposal,
        answers=_answers(proposal, judgements, priced),
        judgements=judgements,
        verdict=verdict,
        decision=decide(proposal, verdict, judgements),
        bend=_bend(proposal, first),
        recommended={
            str(one.regime): recommended_k(proposal, one, price_proposal(proposal, one)) for one in judgements
        },
        sensitive_to=most_sensitive(proposal),
        cost=priced,
        findings=(*proposal.findings, *_findings(proposal, judgements, priced)),
    )


def _answers(proposal: Proposal, judgements: Sequence[Judgement], priced: CostTable | None) -> tuple[Answer, ...]:
    return (
        serial_question(proposal),
        growth_question(proposal, judgements),
        kernel_question(proposal),
        exchange_question(proposal),
        straggler_question(proposal),
        money_question(proposal, judgements[0], priced),
        scale_up_question(proposal, judgements),
    )


def _bend(proposal: Proposal, judgement: Judgement) -> dict[str, Any] | None:
    """The first known K below the bend's threshold; the bend lies between it and the last K that reaches it."""
    found = None if judgement.evidence is None else judgement.evidence.bend(proposal.bend_below)
    if found is None:
        return None
    return {"k": found[0], "after": found[1], "threshold": proposal.bend_below, "regime": str(judgement.regime)}


def recommended_k(proposal: Proposal, judgement: Judgement, priced: CostTable | None) -> int | None:
    """The cheapest K that meets the deadline where one does, else the largest that reaches the floor."""
    in_time = within_deadline(proposal, priced)
    if in_time:
        return min(in_time, key=lambda row: (row.cost.value, row.k)).k
    if judgement.evidence is None:
        return None
    best = judgement.evidence.largest_reaching(proposal.floor, most=proposal.workers)
    return None if best is None else best.k


def within_deadline(proposal: Proposal, priced: CostTable | None) -> list[CostRow]:
    """The priced K that meet the deadline; none where there is no deadline or no price."""
    if priced is None or proposal.money is None or proposal.money.deadline is None:
        return []
    deadline = proposal.money.deadline
    return [row for row in priced.rows if row.elapsed.value <= deadline]


def _findings(proposal: Proposal, judgements: Sequence[Judgement], priced: CostTable | None) -> list[Finding]:
    found = [*(proposal.money.findings if proposal.money is not None else ())]
    for judgement in judgements:
        found += _prediction_findings(proposal, judgement)
    found += _goal_findings(proposal, priced)
    if proposal.growth is Growth.UNKNOWN:
        found.append(warning("regime-unknown", "whether the problem grows with the cluster is not stated"))
    return found


def _goal_findings(proposal: Proposal, priced: CostTable | None) -> list[Finding]:
    """Whether the proposed K itself keeps the deadline and the budget."""
    money = proposal.money
    if money is None or priced is None:
        return []
    row, found = priced.row(proposal.workers), []
    if money.deadline is not None and row.elapsed.value > money.deadline:
        late = format_seconds(row.elapsed.value)
        words = f"K = {row.k} takes {late}, beyond the deadline of {format_seconds(money.deadline)}"
        found.append(warning("deadline-missed", words, k=row.k, seconds=row.elapsed.value))
    if money.budget is not None and row.cost.value > money.budget:
        currency = priced.tariff.currency
        asked = format_money(row.cost.value, currency)
        words = f"K = {row.k} costs {asked}, beyond the budget of {format_money(money.budget, currency)}"
        found.append(warning("budget-exceeded", words, k=row.k, cost=row.cost.value))
    return found


def words_of(kind: str) -> str:
    return {"model": "computed from single numbers", "stated": "stated as one number"}.get(kind, f"{kind} once")


def _prediction_findings(proposal: Proposal, judgement: Judgement) -> list[Finding]:
    known = judgement.proposed
    if known is None:
        return []
    found = []
    if known.low is None or known.high is None:
        words = f"the {judgement.regime} efficiency at K = {known.k} has no interval: it is {words_of(known.kind)}"
        found.append(info("no-interval", words, k=known.k, remedy="measure it with repeats, or state a range"))
    if known.kind == "model":
        left_out = [
            name for name, part in (("exchange", proposal.exchange), ("stragglers", proposal.spread)) if part is None
        ]
        if left_out:
            words = f"the model leaves out {' and '.join(left_out)}: its efficiency is an upper bound"
            found.append(warning("upper-bound", words, left_out=left_out))
    return found
