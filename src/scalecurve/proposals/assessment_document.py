"""The page a committee reads: verdict and decision first, then the seven answers with their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalecurve.document import Block, Cell, Column, Document, FindingList, Heading, Paragraph, Table, Tone, table
from scalecurve.estimate import Estimate
from scalecurve.planning.choices import unit_words
from scalecurve.proposals.known import Known
from scalecurve.proposals.verdict import Judgement, Verdict
from scalecurve.units import format_seconds

if TYPE_CHECKING:
    from scalecurve.proposals.assessment import Assessment

_TONES: dict[Verdict, Tone] = {
    Verdict.HELPS: "good",
    Verdict.WASTEFUL: "warn",
    Verdict.NO_HELP: "bad",
    Verdict.CANNOT_TELL: "warn",
}


def assessment_document(result: Assessment) -> Document:
    proposal = result.proposal
    blocks: list[Block] = [
        Paragraph(_asked(result)),
        Paragraph(f"Verdict: {verdict_words(result)}.", _TONES[result.verdict]),
        Paragraph(f"Decision: {result.decision}"),
        Heading("Seven questions"),
        *(
            block
            for answer in result.answers
            for block in _answer(answer.number, answer.question, answer.text, answer.source)
        ),
        Heading(f"Prediction at K = {proposal.workers}"),
        _prediction(result),
        Paragraph("\n".join(_closing(result))),
        Heading("What the verdict hangs on"),
        Paragraph("\n".join(item.sentence for item in result.sensitive_to)),
    ]
    if result.findings:
        blocks.append(FindingList(result.findings))
    return Document(proposal.title, tuple(blocks))


def verdict_words(result: Assessment) -> str:
    wanted = sorted({k for one in result.judgements for k in one.measure})
    if result.verdict is Verdict.CANNOT_TELL and wanted:
        return f"cannot tell: measure K = {', '.join(map(str, wanted))} first"
    return str(result.verdict)


def _asked(result: Assessment) -> str:
    proposal, first = result.proposal, result.judgements[0]
    step = f"from {first.today_k} to {proposal.workers} {unit_words(proposal.k_unit)}"
    return f"Proposed: {step}, {proposal.growth} scaling; efficiency floor {proposal.floor:g}."


def _answer(number: int, question: str, text: str, source: str | None) -> list[Block]:
    told = "" if source is None else f" [{source}]"
    tone: Tone = "muted" if source is None else "plain"
    return [Paragraph(f"{number}. {question}\n   {text}{told}", tone)]


def _prediction(result: Assessment) -> Table:
    columns: list[Column | str] = [Column("regime", "left"), "T(K)", "S(K)", "E(K)", "against today", "cost per result"]
    heads = [*columns, Column("known by", "left"), Column("verdict", "left")]
    return table(heads, [_row(judgement) for judgement in result.judgements])


def _row(judgement: Judgement) -> list[Cell | str | None]:
    known = judgement.proposed
    cells: list[Cell | str | None] = [str(judgement.regime), _seconds(judgement), _speedup(judgement)]
    cells += [_efficiency(judgement)]
    cells += [None if judgement.gain is None else f"{judgement.gain + 1:.2f}x"]
    cells += [None if judgement.dearer is None else f"x{judgement.dearer + 1:.2f}"]
    cells += [None if known is None else f"{known.kind}, {judgement.evidence.source if judgement.evidence else ''}"]
    return [*cells, Cell(str(judgement.verdict), _TONES[judgement.verdict])]


def _seconds(judgement: Judgement) -> str | None:
    """T in seconds where known, else relative to T(K0)."""
    known, evidence = judgement.proposed, judgement.evidence
    if known is None or evidence is None:
        return None
    if known.seconds is not None:
        low, high = known.seconds.low, known.seconds.high
        span = "" if low is None or high is None else f" ({format_seconds(low)} to {format_seconds(high)})"
        return format_seconds(known.seconds.value) + span
    work = evidence.baseline_k / known.k if judgement.regime == "strong" else 1.0
    number = known.value or known.low or known.high or 1.0
    return f"{_bound(known, falling=True)}{work / number:.4g} T({evidence.baseline_k})"


def _bound(known: Known, *, falling: bool = False) -> str:
    """The sign before a number of which only a bound is known; time falls where efficiency rises."""
    if known.value is not None:
        return ""
    return "<= " if (known.low is not None) == falling else ">= "


def _speedup(judgement: Judgement) -> str | None:
    known = judgement.proposed
    if known is None or known.value is not None:
        return _number(judgement.speedup, 2)
    return f"{_bound(known)}{known.k * (known.low or known.high or 0.0):.4g}"


def _efficiency(judgement: Judgement) -> str | None:
    known = judgement.proposed
    if known is None or known.value is not None:
        return _number(judgement.efficiency, 3)
    return f"{_bound(known)}{known.low or known.high:g}"


def _number(estimate: Estimate | None, digits: int) -> str | None:
    if estimate is None:
        return None
    text = f"{estimate.value:.{digits}f}"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({estimate.low:.{digits}f} to {estimate.high:.{digits}f})"


def _reason(result: Assessment) -> str:
    """By which rule a K is recommended."""
    money = result.proposal.money
    if money is not None and money.deadline is not None and result.meets_deadline:
        return f"the cheapest known K within {format_seconds(money.deadline)}"
    return f"the largest known K with E >= {result.proposal.floor:g}"


def _closing(result: Assessment) -> list[str]:
    lines = []
    if result.bend is None:
        lines.append(f"No known K is below E = {result.proposal.bend_below:g}.")
    else:
        bend = result.bend
        after = "" if bend["after"] is None else f"; K = {bend['after']} still reaches it"
        rule = f"the first known K with E < {bend['threshold']:g} ({bend['regime']})"
        lines.append(f"Bend: K = {bend['k']}, {rule}{after}.")
    for regime, k in result.recommended.items():
        words = "none can be named" if k is None else f"K = {k}, {_reason(result)}"
        lines.append(f"Recommended, {regime} scaling: {words}.")
    return lines
