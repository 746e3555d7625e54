"""A proposal assessed: seven answers, the prediction, the bend, the recommended K, and the verdict with its reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scalecurve.document import (
    MEASURE_NEXT,
    Answer,
    Block,
    Cell,
    Column,
    Document,
    FindingList,
    Heading,
    Paragraph,
    Result,
    Table,
    Tone,
    table,
)
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.planning.cost import Cost
from scalecurve.planning.cost_rows import PricedRow
from scalecurve.planning.tariff import format_money
from scalecurve.proposals.decision import (
    INPUTS,
    Judgement,
    ProposalVerdict,
    Sensitivity,
    decide,
    judge,
    most_sensitive,
    overall,
    regimes_of,
)
from scalecurve.proposals.evidence import EfficiencyPoint
from scalecurve.proposals.proposal import Proposal, ProposedRegime, read_proposal
from scalecurve.proposals.questions import ProposalAnswer, answer_questions, price_proposal
from scalecurve.study import Regime
from scalecurve.units import format_seconds, format_seconds_range
from scalecurve.words import beside, limit_words, percent, unit_words, workers_text

TONES: dict[ProposalVerdict, Tone] = {
    ProposalVerdict.HELPS: "good",
    ProposalVerdict.WASTEFUL: "warn",
    ProposalVerdict.NO_HELP: "bad",
    ProposalVerdict.CANNOT_TELL: "warn",
}


QUALIFYING = ("implausible", "disturbed")
"""Findings of a study that decide whether its efficiencies can be judged at all."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Assessment(Result):
    """What the check concludes; `judgements` hold the prediction for each regime that applies."""

    proposal: Proposal
    answers: tuple[ProposalAnswer, ...]
    judgements: tuple[Judgement, ...]
    verdict: ProposalVerdict
    decision: str
    bend: dict[str, Any] | None
    recommended: dict[str, int | None]
    sensitive_to: tuple[Sensitivity, ...]
    cost: Cost | None
    findings: tuple[Finding, ...]

    REFUSAL = "No size can be judged"
    JSON = """
        title=proposal.title workers=proposal.workers workers_today=proposal.workers_today
        k_unit=proposal.k_unit regime=proposal.regime floor=proposal.floor verdict decision
        questions=answers predictions=judgements bend recommended sensitive_to cost=cost.records findings"""

    def records(self) -> list[dict[str, Any]]:
        return [{name: value for name, value in one.to_dict().items() if name != "numbers"} for one in self.answers]

    @property
    def answer(self) -> Answer:
        """Whether to buy, by the verdict; where it cannot be told, what to measure first."""
        proposal = self.proposal
        size, floor = workers_text(proposal.workers, proposal.k_unit), limit_words(proposal.floor)
        judged = next((one for one in self.judgements if one.verdict is self.verdict), self.judgements[0])
        first = ", ".join(str(k) for k in sorted({k for one in self.judgements for k in one.measure})) or "1, 2, 4"
        only = self._only() if self.verdict is ProposalVerdict.HELPS else ""
        part = f" under {judged.regime} scaling" if len(self.judgements) > 1 and not only else ""
        reached = f"{_efficiency_words(judged, proposal.floor)}{part} (floor {floor})"
        best = self.recommended.get(str(judged.regime)) or 0
        instead = f"; take {best:,} instead" if 0 < best < proposal.workers else ""
        gain = "" if judged.gain is None else f", {beside(judged.gain + 1, 1.0, 2)}x the speed of {judged.today_k:,}"
        faster = "not faster" if judged.gain is not None and judged.gain <= 0 else "hardly faster"
        decision = {
            ProposalVerdict.HELPS: f"Buy {size}{only}: {reached}{self._elsewhere()}.",
            ProposalVerdict.WASTEFUL: f"Do not buy {size} for this job: {reached}{instead}.",
            ProposalVerdict.NO_HELP: f"Do not buy {size}: {faster}{gain}{instead}.",
            ProposalVerdict.CANNOT_TELL: f"Cannot tell whether {size} help: measure K = {first} first.",
        }[self.verdict]
        if proposal.regime is ProposedRegime.UNKNOWN and any(one.proposed for one in self.judgements):
            known = [one for one in self.judgements if one.proposed is not None]
            return Answer(
                decision=f"Cannot tell whether {size} help: say first whether the job grows with the cluster.",
                reason=" ".join(f"Under {one.regime} scaling {one.why}." for one in known),
                next='write regime = "strong" (total work fixed), "weak" or "mixed" into the proposal',
            )
        return Answer(
            decision=decision,
            confidence=self._turn,
            reason=None if self._is_said(judged) else f"{judged.why[:1].upper()}{judged.why[1:]}.",
            next=f"measure K = {first}: {MEASURE_NEXT}; name its study under [{judged.regime}]"
            if self.verdict is ProposalVerdict.CANNOT_TELL
            else "`SAME --verbose` shows what would turn it",
        )

    @property
    def _turn(self) -> str | None:
        """The input whose change would turn the decision; what the floor decides the reason says."""
        inputs = {*INPUTS.values()} - {INPUTS["floor"]}
        buys = self.verdict is ProposalVerdict.HELPS
        for one in self.sensitive_to:
            if one.name in inputs and one.becomes is not None and buys is not (one.becomes == ProposalVerdict.HELPS):
                return f"{one.sentence}."
        return None

    @property
    def _failing(self) -> Judgement | None:
        """Strong scaling, where it is not helped by a size that helps weak scaling."""
        strong = (one for one in self.judgements if one.regime == "strong")
        return next((one for one in strong if one.verdict is not ProposalVerdict.HELPS), None)

    def _only(self) -> str:
        return "" if self._failing is None else " only for jobs that grow with them"

    def _elsewhere(self) -> str:
        """Where the jobs of fixed size belong, as the second half of a decision."""
        best = self._failing and self.recommended.get(str(self._failing.regime))
        return f"; keep others on {best:,}" if best else ""

    def _is_said(self, judged: Judgement) -> bool:
        """Whether the decision says all that its reason would: an efficiency beside the floor, without interval."""
        point, floored = judged.proposed, (ProposalVerdict.HELPS, ProposalVerdict.WASTEFUL)
        return self.verdict in floored and point is not None and None in (point.low, point.high)

    def body(self) -> Document:
        """The page a committee reads: decision and prediction, then the seven answers with their sources."""
        proposal = self.proposal
        step = f"from {self.judgements[0].today_k} to {proposal.workers} {unit_words(proposal.k_unit)}"
        blocks: list[Block] = [
            Paragraph(f"Proposed: {step}, {proposal.regime} scaling; efficiency floor {proposal.floor:g}."),
            Paragraph(self.decision, TONES[self.verdict]),
            self._prediction(),
            Paragraph("\n".join(self._closing())),
            FindingList(self.findings),
        ]
        details: list[Block] = [Heading("Seven questions")]
        for answer in self.answers:
            source = "" if answer.source is None else f" [{answer.source}]"
            text = f"{answer.number}. {answer.question}\n   {answer.text}{source}"
            details.append(Paragraph(text, "muted" if answer.missing else "plain"))
        details.append(Heading("What the verdict depends on"))
        details.append(Paragraph("\n".join(item.sentence for item in self.sensitive_to)))
        return Document(proposal.title, tuple(blocks), tuple(details))

    def _prediction(self) -> Table:
        columns: list[Column | str] = [Column("regime", "left"), "T(K)", "S(K)", "E(K)", "against today"]
        columns += ["cost per result", Column("basis", "left"), Column("verdict", "left")]
        return table(columns, [_prediction_row(one) for one in self.judgements])

    def _closing(self) -> Iterator[str]:
        """The bend, and the recommended K with the rule behind it."""
        bend, proposal = self.bend, self.proposal
        if bend is None:
            yield f"No K of the evidence has E < {proposal.bend_threshold:g}."
        else:
            after = "" if bend["after"] is None else f"; K = {bend['after']} still reaches it"
            first = f"the first K of the evidence with E < {bend['threshold']:g} ({bend['regime']})"
            yield f"Bend: K = {bend['k']}, {first}{after}."
        rule = f"the largest K of the evidence with E >= {proposal.floor:g}"
        if proposal.price is not None and proposal.price.deadline is not None and within_deadline(proposal, self.cost):
            rule = f"the cheapest K of the evidence within {format_seconds(proposal.price.deadline)}"
        for regime, k in {} if self.verdict is ProposalVerdict.CANNOT_TELL else self.recommended.items():
            yield f"Recommended, {regime} scaling: {'none can be named' if k is None else f'K = {k}, {rule}'}."


def _prediction_row(judgement: Judgement) -> list[Cell | str | None]:
    """The cells of one regime."""
    point, source = judgement.proposed, "" if judgement.evidence is None else judgement.evidence.source
    speedup, efficiency = _number(judgement.speedup, 2), _number(judgement.efficiency, 3)
    if point is not None and point.value is None:  # only a bound
        bound, sign = point.low or point.high or 0.0, "<=" if point.low is None else ">="
        speedup, efficiency = f"{sign} {point.k * bound:.4g}", f"{sign} {bound:g}"
    gain = None if judgement.gain is None else f"{judgement.gain + 1:.2f}x"
    change = None if judgement.cost_change is None else f"x{judgement.cost_change + 1:.2f}"
    basis = None if point is None else f"{point.kind}, {source}"
    verdict = Cell(str(judgement.verdict), TONES[judgement.verdict])
    return [str(judgement.regime), _time_text(judgement), speedup, efficiency, gain, change, basis, verdict]


def _efficiency_words(judgement: Judgement, floor: float) -> str:
    """`efficiency 82 %`, or its bound."""
    point = judgement.proposed
    if point is None:
        return "efficiency unknown"
    bound = "" if point.value is not None else "at least " if point.low is not None else "at most "
    return f"efficiency {bound}{percent(point.value or point.low or point.high or 0.0, floor)}"


def _time_text(judgement: Judgement) -> str | None:
    """T in seconds, or relative to T(K0) where no time is stated; time falls where efficiency rises."""
    point, evidence = judgement.proposed, judgement.evidence
    if point is None or evidence is None:
        return None
    if point.seconds is not None:
        ends = point.seconds.ends
        span = f" ({format_seconds_range(*ends, ' to ')})" if ends else ""
        return format_seconds(point.seconds.value) + span
    work = evidence.baseline_k / point.k if judgement.regime == "strong" else 1.0
    sign = "" if point.value is not None else "<= " if point.low is not None else ">= "
    return f"{sign}{work / (point.value or point.low or point.high or 1.0):.4g} T({evidence.baseline_k})"


def _number(estimate: Estimate | None, digits: int) -> str | None:
    if estimate is None:
        return None
    text = f"{{:.{digits}f}}".format
    return text(estimate.value) + (f" ({estimate.span(text)})" if estimate.ends else "")


def assess(proposal: str | Path | Proposal | Mapping[str, Any]) -> Assessment:
    """Whether a cluster size helps: seven answers, the prediction, the recommended K and the verdict.

    Parameters
    ----------
    proposal
        A proposal.toml (`scalecurve assess --init` writes one), its fields as a mapping, or a Proposal.

    Returns
    -------
    Assessment
        The verdict with its reasons, an efficiency in each regime that applies, and what would turn the verdict.

    Raises
    ------
    InputError
        The proposal cannot be read; every fault of it at once.

    Examples
    --------
    >>> import scalecurve as sc
    >>> strong = {"points": [{"k": 8, "efficiency": 0.9}, {"k": 64, "efficiency": 0.5}]}
    >>> sc.assess({"workers": 64, "workers_today": 8, "regime": "strong", "strong": strong}).verdict
    <ProposalVerdict.WASTEFUL: 'wasteful'>
    """
    if not isinstance(proposal, Proposal):
        proposal = read_proposal(proposal)
    judgements = tuple(judge(proposal, regime) for regime in regimes_of(proposal))
    verdict, first = overall(proposal, judgements), judgements[0]
    priced = price_proposal(proposal, first)
    bend = None if first.evidence is None else first.evidence.bend(proposal.bend_threshold)
    threshold = {"threshold": proposal.bend_threshold, "regime": str(first.regime)}
    return Assessment(
        proposal=proposal,
        answers=answer_questions(proposal, judgements, priced),
        judgements=judgements,
        verdict=verdict,
        decision=decide(proposal, verdict, judgements),
        bend=None if bend is None else {"k": bend[0], "after": bend[1], **threshold},
        recommended={str(one.regime): recommended_k(proposal, one) for one in judgements},
        sensitive_to=most_sensitive(proposal),
        cost=priced,
        findings=tuple(assessment_findings(proposal, judgements, priced)),
    )


def recommended_k(proposal: Proposal, judgement: Judgement) -> int | None:
    """The cheapest K that meets the deadline where one does, else the largest that reaches the floor."""
    in_time = within_deadline(proposal, price_proposal(proposal, judgement))
    if in_time:
        return min(in_time, key=lambda row: (row.cost.value, row.k)).k
    if judgement.evidence is None:
        return None
    largest = judgement.evidence.largest_reaching(proposal.floor, most=proposal.workers)
    return None if largest is None else largest.k


def within_deadline(proposal: Proposal, priced: Cost | None) -> list[PricedRow]:
    """The priced K that meet the deadline; none where there is no deadline or no price."""
    if priced is None or proposal.price is None or proposal.price.deadline is None:
        return []
    return [row for row in priced.rows if row.elapsed.value <= proposal.price.deadline]


def assessment_findings(
    proposal: Proposal, judgements: tuple[Judgement, ...], priced: Cost | None
) -> Iterator[Finding]:
    """What qualifies the prediction, and whether the proposed K keeps the deadline and the budget."""
    yield from proposal.price_findings
    for judgement in judgements:
        of_study = () if judgement.evidence is None else judgement.evidence.findings
        yield from (finding for finding in of_study if finding.code in QUALIFYING)
    for judgement in judgements:
        if judgement.proposed is not None:
            yield from _point_findings(proposal, judgement.proposed, judgement.regime)
    terms = proposal.price
    if terms is not None and priced is not None:
        row, currency = priced.row(proposal.workers), priced.tariff.currency
        if terms.deadline is not None and row.elapsed.value > terms.deadline:
            late, limit = format_seconds(row.elapsed.value), format_seconds(terms.deadline)
            message = f"K = {row.k} takes {late}, beyond the deadline of {limit}"
            yield warning("deadline-missed", message, k=row.k, seconds=row.elapsed.value)
        if terms.budget is not None and row.cost.value > terms.budget.amount:
            cost, limit = format_money(row.cost.value, currency), format_money(terms.budget.amount, currency)
            message = f"K = {row.k} costs {cost}, beyond the budget of {limit}"
            yield warning("budget-exceeded", message, k=row.k, cost=row.cost.value)
    if proposal.regime is ProposedRegime.UNKNOWN:
        yield warning("regime-unknown", "whether the problem grows with the cluster is not stated")


def _point_findings(proposal: Proposal, point: EfficiencyPoint, regime: Regime) -> Iterator[Finding]:
    """What a reader must know of the efficiency at the proposed K."""
    if point.low is None or point.high is None:
        words = {"model": "computed from single numbers", "stated": "stated as one number"}
        basis = words.get(point.kind, f"{point.kind} once")
        message = f"the {regime} efficiency at K = {point.k} has no interval: it is {basis}"
        yield info("no-interval", message, k=point.k, remedy="measure it with repeats, or state a range")
    parts = {"exchange": proposal.collective, "stragglers": proposal.spread}
    left_out = [name for name, part in parts.items() if part is None]
    if point.kind == "model" and left_out:
        message = f"the model leaves out {' and '.join(left_out)}: its efficiency is an upper bound"
        yield warning("upper-bound", message, left_out=left_out)
