"""The verb `audit`: may these numbers be believed, and what must be asked?

Each fact stands once: a checklist row with its evidence, a finding for what no row says, and one question for each row
that is not fulfilled.  The grade says how bad it is: a method that is wrong, figures that contradict each other, too
few figures to check anything, figures that are hard to believe, or figures that agree while facts about them are not
stated.  The first three are not publishable.  The score counts the rows, so that two results can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scalecurve.analysis.checks import SUPERLINEAR, doubts
from scalecurve.auditing import arithmetic_rules, job_rules, number_rules  # noqa: F401  importing them fills RULES
from scalecurve.auditing.claim import Claim, claim_from, claim_of, load_claim
from scalecurve.auditing.job_rules import stated
from scalecurve.auditing.rule import RULES, AuditRule, Effect, Hit, Item
from scalecurve.document import (
    Answer,
    Block,
    Cell,
    Column,
    Document,
    FindingList,
    Heading,
    JsonRecord,
    Paragraph,
    Result,
    Tone,
    table,
)
from scalecurve.findings import Finding, Severity
from scalecurve.formats.loading import DataFrame, StudyLike, as_study
from scalecurve.study import Study
from scalecurve.units import format_count, format_seconds
from scalecurve.words import unit_words

SOUND, WARNINGS, NOT_PUBLISHABLE = "sound", "warnings", "not publishable"
WRONG, CONTRADICTORY, UNCHECKED, DOUBTFUL, NOT_STATED = (
    "wrong", "contradictory", "not checkable", "doubtful", "not stated"
)  # fmt: skip
VERDICTS = {SOUND: SOUND, NOT_STATED: WARNINGS, DOUBTFUL: WARNINGS}  # all other grades are not publishable
WEIGHTS = {
    Item.BASELINE: 20, Item.WORKLOAD: 20, Item.STEADY: 10, Item.SPREAD: 20, Item.REGIME: 15, Item.EFFICIENCY: 15,
}  # fmt: skip
VIOLATION = 0.5  # of its row's points, taken off besides
DOUBTS = {Severity.ERROR: 10, Severity.WARNING: 3, Severity.INFO: 0}  # points for findings outside the rows
MOST_QUESTIONS = 3
MOST_MISSING = 2  # of the six rows
LEAST_MEASURED = 3  # K with a time or a rate; with fewer and more rows missing, nobody could check the result
DECISIONS = {
    SOUND: "Believe it: nothing is wrong or left out",
    NOT_STATED: "Believe the figures, but ask for what is not stated",
    DOUBTFUL: "Do not rely on it yet",
    UNCHECKED: "Do not rely on it: nobody can check it",
    CONTRADICTORY: "Do not believe it",
    WRONG: "Do not believe it",
}
MOST_DECISION = 120
BARE = "Relative to what (K0, which program, how many seconds), and what was held fixed: all work, or that of a worker?"
NOTHING = "Which speedup or efficiency, on how many workers, and relative to what?"
BROKEN = {"work-differs": Item.WORKLOAD, "answer-differs": Item.WORKLOAD}  # errors of `measure`
TONES: dict[str, Tone] = {
    "ok": "good", "missing": "warn", "violated": "bad", SOUND: "good", WARNINGS: "warn", NOT_PUBLISHABLE: "bad",
}  # fmt: skip
UNRULED = ("speedups-as-times", "mixed-units", "same-everywhere")  # doubts about times that no rule here states
FIRST = "slower-than-baseline"  # whatever else is wrong: fewer workers would have been faster
NAMED = (
    "slower-than-fewer",
    "wide-spread",
    "no-efficiency",
)  # what the first line says although it is no doubt about the claim
ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


@dataclass(frozen=True)
class ChecklistRow(JsonRecord):
    """One row of the reporting checklist: ok, missing or violated, the evidence, and the rules that decided it."""

    item: str
    status: str
    evidence: str
    rules: tuple[str, ...] = ()
    remedy: str | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit(Result):
    """The verdict on a claim, the six rows, the findings beside them, and what to ask its author.

    `grade` is "wrong", "contradictory", "not checkable", "doubtful", "not stated" or "sound"; `score` goes from 0 to
    100 (each fulfilled row of the checklist has its points).  `questions` start with the one whose answer can add the
    most points.  `violations` are the findings behind all rows that are missing or violated; `worst` is what decides.
    """

    claim: Claim
    verdict: str
    grade: str
    score: int
    checklist: tuple[ChecklistRow, ...]
    findings: tuple[Finding, ...]
    questions: tuple[str, ...]
    violations: tuple[Finding, ...] = ()
    worst: Finding | None = None

    JSON = "name=claim.name kind=claim.kind verdict grade score checklist rows=points questions findings"

    @property
    def points(self) -> list[dict[str, float]]:
        return [{"k": p.k, "speedup": e * p.k, "efficiency": e} for p, e in self.claim.curve]

    @property
    def answer(self) -> Answer:
        figure = [f" E = {e:.2f} at K = {point.k}." for point, e in self.claim.curve[-1:]]
        joint = ", and" if self.grade == UNCHECKED else ":"
        whys = [f"{DECISIONS[self.grade]}{joint} {why}." for why in self._reasons()]
        if self._says_nothing:
            whys = ["Do not rely on it: no speedup, efficiency, time or rate is stated."]
        decision = next((said for said in whys if len(said) <= MOST_DECISION), None)
        decision = decision or "".join([DECISIONS[self.grade], ".", *figure])
        facts = [one.message for one in (*self.findings, *self.violations) if one.code in NAMED]
        if facts and self.grade in (SOUND, NOT_STATED):
            named = " and ".join(re.split(r": | \(", fact)[0] for fact in facts)
            decision = f"Believe the figures, but {named}.{''.join(figure)}"
        believed = self.worst is None or self.worst.code != "implausible"
        placed = next((one for one in self.findings if one.code == "standing" and believed), None)
        return Answer(
            decision=decision,
            confidence=f"Score {self.score} of 100: {self._counts()}.",
            reason=None if placed is None or self.claim.curve[-1][1] > SUPERLINEAR else f"{placed.message}.",
            next=f"ask: {self._question()}" if self.questions else None,
        )

    def believes(self, doubt: Finding) -> bool:
        return True  # the grade holds what is doubted

    def _reasons(self) -> list[str]:
        """What decides: the whole finding, without what it may come from, or what its rule looks for."""
        if self.worst is None:
            named = [one.message for one in (*self.findings, *self.violations) if one.code in NAMED]
            return [re.split(r": | \(", fact)[0] for fact in named if self.grade == UNCHECKED]
        titles = [rule.title for rule in RULES if rule.code == self.worst.code]
        message = self.worst.message
        return [message, message.partition(": ")[0], *(f"{title[:1].lower()}{title[1:]}" for title in titles)]

    @property
    def _says_nothing(self) -> bool:
        """Whether the claim holds no figure at all."""
        return not self.claim.curve and not any(point.timed for point in self.claim.points)

    def _question(self) -> str:
        """What to ask first; of one figure relative to nothing that the claim names, what it is relative to."""
        claim = self.claim
        bare = len(claim.points) == 1 and claim.regime is None and claim.baseline.description is None
        return NOTHING if self._says_nothing else BARE if bare else self.questions[0]

    @property
    def publishable(self) -> bool:
        return self.verdict != NOT_PUBLISHABLE

    def records(self) -> list[dict[str, Any]]:
        return [{"item": row.item, "status": row.status, "evidence": row.evidence} for row in self.checklist]

    def body(self) -> Document:
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
        verdict = self.verdict if self.grade == self.verdict else f"{self.verdict} ({self.grade})"
        asked = "\n".join(f"{i}. {question}" for i, question in enumerate(self.questions[:MOST_QUESTIONS], 1))
        grave = tuple(one for one in self.findings if one.severity is not Severity.INFO)
        details: list[Block] = [Heading("What to ask for"), Paragraph(asked)] if asked else []
        details.append(FindingList(tuple(one for one in self.findings if one not in grave)))
        cells = [(str(p.k), f"{e * p.k:.4g}", f"{e:.3f}", f"{max(0.0, 1 - e):.0%}") for p, e in claim.curve]
        k0 = claim.baseline_k
        caption = "Recomputed" if k0 == 1 else f"Recomputed, with S({k0}) = {k0}"
        if len(cells) > 1:
            details.append(table([f"K ({unit_words(claim.k_unit)})", "S", "E", "idle"], cells, caption=caption))
        blocks = (Paragraph(f"Verdict: {verdict}.", TONES[self.verdict]), table(heads, rows), FindingList(grave))
        return Document(f"Audit of {claim.name}", blocks, details=tuple(details))

    def _counts(self) -> str:
        statuses = [row.status for row in self.checklist]
        counts = {status: statuses.count(status) for status in ("ok", "missing", "violated")}
        parts = [f"{count} {'is' if count == 1 else 'are'} {status}" for status, count in counts.items() if count]
        if len(parts) == 1:
            return f"all six rows are {statuses[0]}"
        return f"of the six rows {', '.join(parts[:-1])} and {parts[-1]}"


def audit(subject: StudyLike | Claim | Mapping[str, Any], *, regime: str | None = None) -> Audit:
    """Whether a scaling result can be believed: the reporting checklist and the red flags, each with its evidence.

    Parameters
    ----------
    subject
        A study in any form that `load` takes, a published table, a claim.toml, or its fields as a mapping.
    regime
        "strong" or "weak", for a subject that does not state it.

    Returns
    -------
    Audit
        The verdict with its grade and score from 0 to 100, the six rows of the checklist, the findings (those of the
        measurement too), and the questions to ask the author.

    Raises
    ------
    InputError
        The subject cannot be read, or holds several curves.

    Examples
    --------
    >>> import scalecurve as sc
    >>> audit = sc.audit({"workers": 256, "speedup": 400, "statement": "near-linear"})
    >>> audit.verdict, [finding.code for finding in audit.violations][:2]
    ('not publishable', ['baseline-unknown', 'superlinear'])
    """
    subject = _audited(subject, regime)
    claim = claim_of(subject) if isinstance(subject, Study) else subject
    own = (*(subject.findings if isinstance(subject, Study) else ()), *_hard_to_believe(claim))
    hits = [(rule, hit, rule.finding(hit)) for rule in RULES for hit in rule.hits(claim)]
    rows = [_judged(item, claim, hits, own) for item in Item]
    violations = [finding for row in rows for finding in row.findings]
    beside = sorted(
        (finding for finding in (*own, *(finding for _, _, finding in hits)) if finding not in violations),
        key=lambda finding: (finding.code != FIRST, ORDER.index(finding.severity), finding.code != "standing"),
    )
    points = sum(row.points for row in rows) - sum(DOUBTS[finding.severity] for finding in beside)
    asked = sorted((row for row in rows if row.question), key=lambda row: row.points - WEIGHTS[row.item])
    grade = _grade(claim, hits, own, [row.line.status for row in rows])
    return Audit(
        claim=claim,
        verdict=VERDICTS.get(grade, NOT_PUBLISHABLE),
        grade=grade,
        score=round(min(100.0, max(0.0, points))),
        checklist=tuple(row.line for row in rows),
        findings=tuple(beside),
        questions=tuple(row.question for row in asked if row.question),
        violations=tuple(violations),
        worst=_worst(hits, own),
    )


def _hard_to_believe(claim: Claim) -> tuple[Finding, ...]:
    """What makes the times hard to believe where no rule of the audit says so."""
    times = {point.k: [point.seconds] for point in claim.points if point.seconds}
    if len(times) < LEAST_MEASURED or claim.regime not in ("strong", "weak"):
        return ()
    found = doubts(Study.from_samples(times, regime=claim.regime))
    return tuple(one for one in found if one.evidence["kind"] in UNRULED)


def _worst(hits: list[Caught], own: tuple[Finding, ...]) -> Finding | None:
    """The finding that decides most: more workers that are slower, then what is wrong, then what is doubtful."""
    ranked = [
        (rule.code != FIRST, not rule.is_grave, finding) for rule, _, finding in hits if rule.is_grave or rule.doubts
    ]
    ranked += [
        (one.code != "implausible", one.code != "implausible" and one.severity is not Severity.ERROR, one)
        for one in own
        if one.severity is not Severity.INFO
    ]
    return min(ranked, key=lambda one: (*one[:2], ORDER.index(one[2].severity)), default=(None, None, None))[2]


def _audited(subject: StudyLike | Claim | Mapping[str, Any], regime: str | None) -> Study | Claim:
    """What was given to `audit` as a study or a claim."""
    if isinstance(subject, str | Path):
        return load_claim(subject, regime=regime)
    is_table = isinstance(subject, Mapping) and not any(isinstance(k, str) for k in subject)
    if isinstance(subject, DataFrame) or is_table:
        return as_study(subject, regime=regime)  # type: ignore[arg-type]  # not the fields of a claim
    return subject if isinstance(subject, Study | Claim) else claim_from(subject)


Caught = tuple[AuditRule, Hit, Finding]


@dataclass(frozen=True)
class _JudgedRow:
    """A row of the checklist with its points, the findings behind it, and what to ask where it is not fulfilled."""

    item: Item
    line: ChecklistRow
    points: float
    findings: tuple[Finding, ...] = ()
    question: str | None = None


def _judged(item: Item, claim: Claim, hits: list[Caught], own: tuple[Finding, ...]) -> _JudgedRow:
    """A row by what `measure` found, else by the rules that it violates, else by those that miss something."""
    of_item = [hit for hit in hits if hit[0].item is item]
    violated, missed = ([hit for hit in of_item if hit[0].effect is effect] for effect in Effect)
    points = WEIGHTS[item]
    if broken := [finding for finding in own if BROKEN.get(finding.code) is item]:
        return _unfulfilled(item, Effect.VIOLATED, -VIOLATION * points, [], broken)
    if violated:
        return _unfulfilled(item, Effect.VIOLATED, -VIOLATION * points, violated)
    if missed:
        return _unfulfilled(item, Effect.MISSING, points * min(hit.credit for _, hit, _ in missed), missed)
    return _JudgedRow(item, ChecklistRow(str(item), "ok", EVIDENCE[item](claim)), points)


def _unfulfilled(
    item: Item, effect: Effect, points: float, causes: list[Caught], broken: Sequence[Finding] = ()
) -> _JudgedRow:
    """A row with the findings behind it, and the question that would mend it."""
    findings = (*broken, *(finding for _, _, finding in causes))
    evidence = "; ".join(dict.fromkeys(finding.message for finding in findings))
    asks = next((rule.asks for rule, _, _ in causes if rule.asks), None)
    codes, remedy = tuple(dict.fromkeys(finding.code for finding in findings)), findings[0].remedy
    line = ChecklistRow(str(item), str(effect), evidence, codes, remedy)
    return _JudgedRow(item, line, points, findings, asks or f"Please {remedy or f'correct the {item}'}.")


def _grade(claim: Claim, hits: list[Caught], own: tuple[Finding, ...], statuses: list[str]) -> str:
    """The worst that the rules say."""
    bad = [rule for rule, _, _ in hits if rule.is_grave]
    if any(finding.severity is Severity.ERROR for finding in own) or any(not rule.contradiction for rule in bad):
        return WRONG
    if bad:
        return CONTRADICTORY
    if sum(p.timed for p in claim.points) < LEAST_MEASURED and statuses.count(Effect.MISSING) > MOST_MISSING:
        return UNCHECKED
    if any(rule.doubts for rule, _, _ in hits) or any(finding.severity is Severity.WARNING for finding in own):
        return DOUBTFUL
    return NOT_STATED if Effect.MISSING in statuses else SOUND


def _baseline(claim: Claim) -> str:
    base = claim.at(claim.baseline_k)
    time = f", {format_seconds(base.seconds)}" if base is not None and base.seconds else ""
    return f"K0 = {claim.baseline_k}{time}: {claim.baseline.description or 'described'}"


def _workload(claim: Claim) -> str:
    sizes = {size for _, size in claim.sizes}
    if len(sizes) == 1:
        return f"total work {sizes.pop():g} at every K"
    if not sizes:
        return claim.workload or "stated as fixed"
    if set(claim.steps) == {"grows"}:
        return "work per worker the same at every K"
    return f"stated at every K: total work {format_count(min(sizes))} to {format_count(max(sizes))}"


def _spread(claim: Claim) -> str:
    relative = [p.std / p.seconds for p in claim.points if p.std is not None and p.seconds]
    spread = f", spread up to {max(relative):.1%} of the mean" if relative else ""
    repeats = min(stated(claim, "n").values(), default=claim.measurement.repeats)
    return f"{repeats} or more repeats{spread}" if repeats else f"spread stated{spread}"


EVIDENCE: dict[Item, Callable[[Claim], str]] = {
    Item.BASELINE: _baseline,
    Item.WORKLOAD: _workload,
    Item.STEADY: lambda claim: f"warm-up {claim.measurement.warmup}, set-up {claim.measurement.setup}",
    Item.SPREAD: _spread,
    Item.REGIME: lambda claim: f"{claim.regime} scaling",
    Item.EFFICIENCY: lambda claim: f"E = {claim.curve[-1][1]:.3f} at K = {claim.curve[-1][0].k}",
}
"""Why a row of the checklist is fulfilled, in one sentence with numbers."""
