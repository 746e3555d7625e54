"""The material of a report: a study and every result about it, and the answer they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scalecurve._version import __version__
from scalecurve.analysis import SpeedupTable
from scalecurve.analysis.table import tabulate
from scalecurve.auditing.audit import audit
from scalecurve.diagnosis.diagnosis import diagnose
from scalecurve.document import Result
from scalecurve.errors import ScalecurveError
from scalecurve.findings import Finding, Severity
from scalecurve.fitting.fit import fit
from scalecurve.forecasting.forecast import forecast
from scalecurve.study import Study

INCOMPLETE = {"interrupted", "missing-points"}  # errors that remove points and leave the others valid
DIFFERENT_JOBS = {"work-differs", "answer-differs", "threads-differ", "workload-changed", "answer-changed"}
AUDITED = {"mixed-regime", "regime-switch", "workload-changed", "answer-changed"}  # audit errors that leave no curve
LEVEL = 0.95  # of every interval of a report, so that one quantity at one K has one interval
ENOUGH = 5  # measured K from which a report looks 8 times ahead
MOST_JOINED = 2
SAID_ALIKE = {"superlinear"}  # codes by which table, laws and diagnosis say the same
GRAVITY = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclass(frozen=True)
class Refusal:
    """Why a part has no answer; the report prints it where the answer would be."""

    reason: str


Part = Result | Refusal | None


@dataclass(frozen=True, kw_only=True)
class Material:
    """A study and the results about it.  A part is None where it was not requested, a Refusal where it was refused."""

    study: Study
    table: SpeedupTable
    fits: Part = None
    forecast: Part = None
    diagnosis: Part = None
    audit: Part = None
    cost: Part = None
    proposal: Part = None
    history: Part = None
    command: str | None = None
    version: str | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings once, errors first; those of one code are one finding, whose message names the others."""
        parts = (self.table, self.fits, self.forecast, self.diagnosis, self.audit, self.cost, self.proposal)
        by_code: dict[str, dict[str, Finding]] = {}
        for finding in (finding for part in (*parts, self.history) for finding in getattr(part, "findings", ())):
            by_code.setdefault(finding.code, {}).setdefault(finding.message, finding)
        return tuple(sorted(map(_joined, by_code.values()), key=lambda finding: GRAVITY[finding.severity]))

    @property
    def fault(self) -> Finding | None:
        """The error that makes the points different jobs, not points of one curve."""
        own = [finding for finding in self.table.findings if finding.code not in INCOMPLETE]
        audited = [finding for finding in getattr(self.audit, "violations", ()) if finding.code in AUDITED]
        return next((finding for finding in (*own, *audited) if finding.severity is Severity.ERROR), None)


def _joined(alike: Mapping[str, Finding]) -> Finding:
    """Findings of one code as one: the gravest, and what the others say."""
    first, *others = sorted(alike.values(), key=lambda finding: GRAVITY[finding.severity])
    if first.code in SAID_ALIKE:
        return first
    words = [finding.message for finding in others[:MOST_JOINED]]
    words += [f"{len(others) - MOST_JOINED} more of this kind"] if len(others) > MOST_JOINED else []
    return replace(first, message="; ".join([first.message.rstrip(".") if words else first.message, *words]))


def gather(
    study: Study,
    *,
    threshold: float = 0.7,
    price: float | None = None,
    proposal: str | Path | None = None,
    history: str | Path | None = None,
) -> Material:
    """Every result about a study, by the public verbs; a part that is refused carries its reason.

    What few reports have is imported only where it is asked for: each such import takes as long as a plot.
    """
    rare: dict[str, Any] = {"cost": None, "proposal": None, "history": None}
    if price is not None:
        from scalecurve.planning.cost import cost

        rare["cost"] = attempt(lambda: cost(study, price, level=LEVEL))
    if proposal is not None:
        from scalecurve.proposals.assessment import assess

        rare["proposal"] = assess(proposal)
    if history is not None:
        from scalecurve.auditing.history import history as read_history

        rare["history"] = attempt(lambda: read_history(history, name=study.name))
    options = "" if price is None else f" --price {price:g}"
    options += "" if proposal is None else " --proposal proposal.toml"
    options += "" if history is None else " --history checks.jsonl"
    factors = (2, 4, 8) if len(study.all_k) >= ENOUGH else (2, 4)  # short of where forecasts are refused
    beyond = [study.all_k[-1] * factor for factor in factors]
    return Material(
        study=study,
        table=tabulate(study, threshold=threshold, level=LEVEL),
        fits=attempt(lambda: fit(study)),
        forecast=attempt(lambda: forecast(study, at=beyond, level=LEVEL)),
        diagnosis=attempt(lambda: diagnose(study)),
        audit=attempt(lambda: audit(study)),
        **rare,
        command=f"scalecurve report study.json -o report.html --threshold {threshold:g}{options}",
        version=f"scalecurve {__version__}",
    )


def attempt(verb: Callable[[], Any]) -> Any:
    """The result of a verb, or the reason for its refusal."""
    try:
        return verb()
    except ScalecurveError as problem:
        return Refusal(str(problem))


def answer(material: Material) -> tuple[str, ...]:
    """The answer of the table, the cause, and the audit's verdict; for a broken study, what is broken."""
    fault, verdict = material.fault, trust(material)
    audited = () if verdict is None else (verdict,)
    if fault is None:
        said = material.table.answer
        cause, step = cause_of(material)
        step = said.next if step is None or material.table.bend is None else step
        last = () if step is None else (f"Next: {step.rstrip('.')}.",)
        return (*replace(said, next=None).lines(), *cause, *audited, *last)
    message = fault.message.removeprefix("broken: ").rstrip(".")
    is_unsaid = fault.code in DIFFERENT_JOBS and "different jobs" not in message
    remedy = (fault.remedy or "fix this").rstrip(".")
    return (
        f"{'The points are different jobs' if is_unsaid else 'The study is broken'}: {message}.",
        "A broken study has no cause to name.",
        f"{remedy[:1].upper()}{remedy[1:]}; then measure again.",
        *audited,
    )


def cause_of(material: Material) -> tuple[tuple[str, ...], str | None]:
    """The decision of the diagnosis, or why there is none, and what would sharpen it; nothing where none was asked."""
    if isinstance(material.diagnosis, Refusal):
        return (f"The cause is unknown: {material.diagnosis.reason.rstrip('.')}.",), None
    said = None if material.diagnosis is None else material.diagnosis.answer
    return ((), None) if said is None else ((said.decision,), said.next)


def trust(material: Material) -> str | None:
    """The audit's verdict in one sentence; None where there is no audit."""
    audited = {} if material.audit is None or isinstance(material.audit, Refusal) else material.audit.to_dict()
    if "verdict" not in audited:
        return None
    return f"Audit: {audited['verdict']}, {audited['score']} of 100. {audited['answer']['decision']}"
