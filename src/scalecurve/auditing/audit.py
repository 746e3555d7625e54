"""The verb `audit`: may these numbers be believed, and what must be asked?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scalecurve.auditing.claim import Claim
from scalecurve.auditing.evidence import evidence_for
from scalecurve.auditing.from_study import claim_of
from scalecurve.auditing.rule import Effect, Item, Rule
from scalecurve.auditing.rules import RULES
from scalecurve.document import Document, Shown
from scalecurve.findings import Finding, Severity
from scalecurve.study import Study

SOUND, WARNINGS, NOT_PUBLISHABLE = "sound", "warnings", "not publishable"
MOST_MISSING = 2  # of the six rows; beyond, nobody could check the result


@dataclass(frozen=True)
class ChecklistRow:
    """One row of the reporting checklist: ok, missing or violated, and the evidence."""

    item: str
    status: str
    evidence: str

    def to_dict(self) -> dict[str, str]:
        return {"item": self.item, "status": self.status, "evidence": self.evidence}


@dataclass(frozen=True, kw_only=True)
class Audit(Shown):
    """The verdict on a claim, the six rows, the findings, and what to ask its author."""

    claim: Claim
    verdict: str
    checklist: tuple[ChecklistRow, ...]
    findings: tuple[Finding, ...]
    questions: tuple[str, ...]

    @property
    def publishable(self) -> bool:
        return self.verdict != NOT_PUBLISHABLE

    def records(self) -> list[dict[str, str]]:
        return [row.to_dict() for row in self.checklist]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.claim.name,
            "kind": self.claim.kind,
            "verdict": self.verdict,
            "checklist": self.records(),
            "rows": [{"k": p.k, "speedup": e * p.k, "efficiency": e} for p, e in self.claim.efficiencies()],
            "questions": list(self.questions),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        from scalecurve.auditing.audit_document import audit_document

        return audit_document(self)


def audit(subject: Study | Claim) -> Audit:
    """Hold every rule against a study or a claim; what a study says of itself counts too."""
    claim = claim_of(subject) if isinstance(subject, Study) else subject
    own = subject.findings if isinstance(subject, Study) else ()
    hits = [(rule, found) for rule in RULES if (found := rule.findings(claim))]
    checklist = tuple(_row(item, claim, hits, own) for item in Item)
    findings = (*own, *(finding for _, found in hits for finding in found))
    return Audit(
        claim=claim,
        verdict=_verdict(checklist, findings),
        checklist=checklist,
        findings=tuple(sorted(findings, key=lambda finding: _ORDER[finding.severity])),
        questions=tuple(dict.fromkeys(rule.asks for rule, _ in hits if rule.asks)),
    )


_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


# What measuring itself found broken, and the row it breaks.
BROKEN = {"work-differs": Item.WORKLOAD, "answer-differs": Item.WORKLOAD}


def _row(item: Item, claim: Claim, hits: list[tuple[Rule, list[Finding]]], own: tuple[Finding, ...]) -> ChecklistRow:
    """The worst any rule says about an item, or the evidence that it is fulfilled."""
    broken = [finding.message for finding in own if BROKEN.get(finding.code) is item]
    if broken:
        return ChecklistRow(str(item), str(Effect.VIOLATED), "; ".join(broken))
    for effect in (Effect.VIOLATED, Effect.MISSING):
        found = [
            finding.message for rule, each in hits for finding in each if (rule.item, rule.effect) == (item, effect)
        ]
        if found:
            return ChecklistRow(str(item), str(effect), "; ".join(found))
    return ChecklistRow(str(item), "ok", evidence_for(item, claim))


def _verdict(checklist: tuple[ChecklistRow, ...], findings: tuple[Finding, ...]) -> str:
    statuses = [row.status for row in checklist]
    broken = any(finding.severity is Severity.ERROR for finding in findings) or Effect.VIOLATED in statuses
    if broken or statuses.count(Effect.MISSING) > MOST_MISSING:
        return NOT_PUBLISHABLE
    loud = any(finding.severity is Severity.WARNING for finding in findings)
    return WARNINGS if loud or Effect.MISSING in statuses else SOUND
