"""The verb `audit`: may these numbers be believed, and what must be asked?

Each fact stands once: a checklist row with its evidence, a finding for what no row says, and one question for each row
that is not fulfilled.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scalecurve.auditing import job_rules, number_rules  # noqa: F401  importing them fills RULES, in this order
from scalecurve.auditing.claim import Claim, claim_of, load_claim
from scalecurve.auditing.rule import RULES, Effect, Item, Rule
from scalecurve.document import (
    Block,
    Cell,
    Column,
    Document,
    FindingList,
    Heading,
    Listing,
    Paragraph,
    Result,
    Tone,
    table,
)
from scalecurve.findings import Finding, Severity
from scalecurve.study import Study
from scalecurve.units import format_seconds

SOUND, WARNINGS, NOT_PUBLISHABLE = "sound", "warnings", "not publishable"
MOST_MISSING = 2  # of the six rows; with more, nobody could check the result
BROKEN = {"work-differs": Item.WORKLOAD, "answer-differs": Item.WORKLOAD}  # errors of `measure`
TONES: dict[str, Tone] = {
    "ok": "good", "missing": "warn", "violated": "bad", SOUND: "good", WARNINGS: "warn", NOT_PUBLISHABLE: "bad",
}  # fmt: skip
ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


@dataclass(frozen=True)
class ChecklistRow:
    """One row of the reporting checklist: ok, missing or violated, the evidence, and the rules that decided it."""

    item: str
    status: str
    evidence: str
    rules: tuple[str, ...] = ()
    remedy: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"rules": list(self.rules)}


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit(Result):
    """The verdict on a claim, the six rows, the findings beside them, and what to ask its author.

    `violations` are the findings behind all rows that are missing or violated.
    """

    claim: Claim
    verdict: str
    checklist: tuple[ChecklistRow, ...]
    findings: tuple[Finding, ...]
    questions: tuple[str, ...]
    violations: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        return f"<Audit of {self.claim.name}: {self.verdict}, {self._counts()}>"

    @property
    def publishable(self) -> bool:
        return self.verdict != NOT_PUBLISHABLE

    def records(self) -> list[dict[str, str]]:
        return [{"item": row.item, "status": row.status, "evidence": row.evidence} for row in self.checklist]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.claim.name,
            "kind": self.claim.kind,
            "verdict": self.verdict,
            "checklist": [row.to_dict() for row in self.checklist],
            "rows": [{"k": p.k, "speedup": e * p.k, "efficiency": e} for p, e in self.claim.efficiencies()],
            "questions": list(self.questions),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        """The audit as a page that can be pasted into a review."""
        claim, heads = self.claim, [Column("item", "left"), Column("status", "left"), Column("evidence", "left")]
        rows = [
            (
                row.item,
                Cell(row.status, TONES[row.status]),
                f"{row.evidence} [{', '.join(row.rules)}]" if row.rules else row.evidence,
            )
            for row in self.checklist
        ]
        summary = f"Verdict: {self.verdict}. Of the six rows of the reporting checklist: {self._counts()}."
        blocks: list[Block] = [Paragraph(summary, TONES[self.verdict]), table(heads, rows)]
        points = list(claim.efficiencies())
        if len(points) > 1:
            cells = [(str(p.k), f"{e * p.k:.4g}", f"{e:.3f}", f"{max(0.0, 1 - e):.0%}") for p, e in points]
            blocks.append(table([f"K ({claim.k_unit})", "S", "E", "idle"], cells, caption="Recomputed"))
        blocks.append(FindingList(self.findings))
        if self.questions:
            listed = "\n".join(f"{i}. {question}" for i, question in enumerate(self.questions, 1))
            blocks += [Heading("What to ask for"), Listing(listed)]
        return Document(f"Audit of {claim.name}", tuple(blocks))

    def _counts(self) -> str:
        statuses = [row.status for row in self.checklist]
        counts = {status: statuses.count(status) for status in ("ok", "missing", "violated")}
        return ", ".join(f"{count} {status}" for status, count in counts.items() if count)


def audit(subject: Study | Claim | str | Path) -> Audit:
    """Hold every rule against a study, a claim, or a file that `load_claim` reads.

    The findings that a study carries from its measurement count too.
    """
    if isinstance(subject, str | Path):
        subject = load_claim(subject)
    claim = claim_of(subject) if isinstance(subject, Study) else subject
    own = subject.findings if isinstance(subject, Study) else ()
    hits = [(rule, finding) for rule in RULES for finding in rule.findings(claim)]
    checklist, questions, violations = [], [], []
    for item in Item:
        status = Effect.VIOLATED
        causes: list[tuple[Rule | None, Finding]] = [(None, one) for one in own if BROKEN.get(one.code) is item]
        for effect in Effect:
            if not causes:
                status = effect
                causes = [(rule, finding) for rule, finding in hits if (rule.item, rule.effect) == (item, effect)]
        if not causes:
            checklist.append(ChecklistRow(str(item), "ok", evidence_for(item, claim)))
            continue
        findings = [finding for _, finding in causes]
        codes = tuple(dict.fromkeys(finding.code for finding in findings))
        evidence = "; ".join(finding.message for finding in findings)
        checklist.append(ChecklistRow(str(item), str(status), evidence, codes, findings[0].remedy))
        asks = next((rule.asks for rule, _ in causes if rule is not None and rule.asks), None)
        questions.append(asks or f"Please {findings[0].remedy or f'correct the {item}'}.")
        violations += findings
    everything = (*own, *(finding for _, finding in hits))
    return Audit(
        claim=claim,
        verdict=_verdict([row.status for row in checklist], [finding.severity for finding in everything]),
        checklist=tuple(checklist),
        findings=tuple(
            finding
            for severity in ORDER
            for finding in everything
            if finding.severity is severity and finding not in violations
        ),
        questions=tuple(questions),
        violations=tuple(violations),
    )


def _verdict(statuses: list[str], severities: list[Severity]) -> str:
    if Severity.ERROR in severities or Effect.VIOLATED in statuses or statuses.count(Effect.MISSING) > MOST_MISSING:
        return NOT_PUBLISHABLE
    return WARNINGS if Severity.WARNING in severities or Effect.MISSING in statuses else SOUND


def evidence_for(item: Item, claim: Claim) -> str:
    """Why a row of the checklist is fulfilled, in one sentence with numbers."""
    match item:
        case Item.BASELINE:
            base = claim.at(claim.baseline_k)
            time = f", {format_seconds(base.seconds)}" if base is not None and base.seconds else ""
            return f"K0 = {claim.baseline_k}{time}: {claim.baseline.description or 'described'}"
        case Item.WORKLOAD:
            sizes = {point.size for point in claim.points if point.size is not None}
            if len(sizes) == 1:
                return f"total work {sizes.pop():g} at every K"
            return "work per worker the same at every K" if sizes else claim.workload or "stated as fixed"
        case Item.STEADY:
            return f"warm-up {claim.measurement.warmup}, set-up {claim.measurement.setup}"
        case Item.SPREAD:
            counts = [point.n for point in claim.points if point.n is not None]
            relative = [p.std / p.seconds for p in claim.points if p.std is not None and p.seconds]
            spread = f", spread up to {max(relative):.1%} of the mean" if relative else ""
            repeats = min(counts) if counts else claim.measurement.repeats
            return f"{repeats} or more repeats{spread}" if repeats else f"spread stated{spread}"
        case Item.REGIME:
            return f"{claim.regime} scaling"
        case Item.EFFICIENCY:
            point, e = list(claim.efficiencies())[-1]
            return f"E = {e:.3f} at K = {point.k}"
