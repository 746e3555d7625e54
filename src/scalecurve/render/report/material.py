"""The material of a report: a study and every result about it, and the answer they give in three sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol

from scalecurve._version import __version__
from scalecurve.analysis import SpeedupTable
from scalecurve.analysis.table import TableRow, rule_words, tabulate
from scalecurve.auditing.audit import GRADE_WORDS, audit
from scalecurve.diagnosis.diagnosis import diagnose
from scalecurve.document import Document
from scalecurve.errors import ScalecurveError
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, Severity
from scalecurve.fitting.fit import fit
from scalecurve.forecasting.forecast import forecast
from scalecurve.study import Regime, Study
from scalecurve.study.study import is_load
from scalecurve.words import chance_words

CAUSES = {
    "communication": "communication that grows with K",
    "straggler": "waiting for the slowest worker",
    "jitter": "small random delays at every barrier",
    "imbalance": "work that is unevenly divided",
    "contention": "workers queueing for something they share",
    "serial": "a part of the work that does not divide",
    "repeated-work": "work that is done again",
    "other": "a mechanism without a name",
    "none": "nothing beyond the noise",
}
SHORT = {  # where many are listed
    "communication": "communication",
    "straggler": "stragglers",
    "jitter": "jitter",
    "imbalance": "uneven work",
    "contention": "contention",
    "serial": "a serial part",
    "repeated-work": "repeated work",
    "other": "another cause",
    "none": "noise alone",
}
MOST_NAMED = 3
INCOMPLETE = {"interrupted", "missing-points"}  # errors that remove points and leave the others valid
DIFFERENT_JOBS = {"work-differs", "answer-differs", "threads-differ", "workload-changed", "answer-changed"}
AUDITED = {"mixed-regime", "regime-switch", "workload-changed", "answer-changed"}  # audit errors that leave no curve
LEVEL = 0.95  # of every interval of a report, so that one quantity at one K has one interval
ENOUGH = 5  # measured K from which a report looks 8 times ahead
MOST_JOINED = 2
SAID_ALIKE = {"superlinear"}  # codes by which table, laws and diagnosis say the same
GRAVITY = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


class Showable(Protocol):
    """Any result that can show itself."""

    def document(self) -> Document: ...
    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Refusal:
    """Why a part has no answer; the report prints it where the answer would be."""

    reason: str


Part = Showable | Refusal | None


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
    """How far the job scales, why it stops, what to do, and the audit's verdict; for a broken study, what is broken."""
    fault, verdict = material.fault, trust(material)
    audited = () if verdict is None else (verdict,)
    if fault is None:
        return (how_far(material), why(material), what_to_do(material), *audited)
    message = fault.message.removeprefix("broken: ").rstrip(".")
    is_unsaid = fault.code in DIFFERENT_JOBS and "different jobs" not in message
    remedy = (fault.remedy or "fix this").rstrip(".")
    return (
        f"{'The points are different jobs' if is_unsaid else 'The study is broken'}: {message}.",
        "A broken study has no cause to name.",
        f"{remedy[:1].upper()}{remedy[1:]}; then measure again.",
        *audited,
    )


def how_far(material: Material) -> str:
    """The best measured speedup, or the efficiency of weak scaling, and the bend."""
    table = material.table
    best, last = max(table.rows, key=lambda row: row.speedup.value), table.rows[-1]
    held = "" if is_load(table.k_unit) else "With the total work fixed, "  # clients of a server share no job
    if table.regime is Regime.WEAK:
        at = f"K = {_count(last.k, table.k_unit)}"
        base = "" if table.baseline_k == 1 else f" relative to K0 = {_count(table.baseline_k, table.k_unit)}"
        reach = f"With the work per worker fixed, efficiency is {_with_interval(last.efficiency)} at {at}{base}"
    elif best.k == table.baseline_k:
        reach = f"{held}no measured K beats K0 = {_count(best.k, table.k_unit)}"
        reach = reach[:1].upper() + reach[1:]
    else:
        is_rate = table.quantity.higher_is_better
        efficiency, than = _with_interval(best.efficiency), "one" if is_rate else "one would"
        times = _with_interval(best.speedup, " times")
        if table.baseline_k != 1:
            than = f"the baseline of K0 = {_count(table.baseline_k, table.k_unit)}"
            times = _with_interval(best.speedup.scaled(1 / table.baseline_k), " times")
            efficiency += f" relative to K0 = {table.baseline_k}"
        words = f"reach {times} the rate of {than}" if is_rate else f"finish {times} as fast as {than}"
        reach = f"{held}{_count(best.k, table.k_unit)} {words}"
        reach += f", an efficiency of {efficiency}"
    if table.bend is None:
        chance = "" if table.no_bend is None else f", probability {chance_words(table.no_bend)}"
        return f"{reach}; the curve does not bend up to K = {last.k} ({rule_words(table)}{chance})."
    chance = "" if table.bend.probability is None else f", probability {chance_words(table.bend.probability)}"
    return f"{reach}; the curve bends at K = {table.bend.k} ({rule_words(table)}{chance})."


def trust(material: Material) -> str | None:
    """The audit's verdict in one sentence; None where there is no audit."""
    audited = {} if material.audit is None or isinstance(material.audit, Refusal) else material.audit.to_dict()
    if "verdict" not in audited:
        return None
    return f"Audit: {audited['verdict']}, {audited['score']} of 100. {GRADE_WORDS[audited['grade']]}."


def why(material: Material) -> str:
    """The cause where it is earned, else the set that holds it and what would tell."""
    if isinstance(material.diagnosis, Refusal):
        return f"The cause is unknown: {material.diagnosis.reason.rstrip('.')}."
    diagnosis = {} if material.diagnosis is None else material.diagnosis.to_dict()
    cause, chance, separate = diagnosis.get("cause"), diagnosis.get("probability"), diagnosis.get("separate_by")
    if cause is None or chance is None:
        return "The cause was not asked for."
    if cause == "none":
        return "No cause limits it in the measured range: no overhead exceeds the noise."
    if cause != "undetermined":
        return f"The cause is {CAUSES[cause]} (probability {chance_words(chance)})."
    tail = f"; to tell, {separate}." if separate else "."
    if diagnosis.get("reason") is not None:
        return f"The cause is undetermined ({diagnosis['reason']}){tail}"
    names = list(diagnosis["candidates"])
    named = [(SHORT if len(names) > MOST_NAMED else CAUSES)[name] for name in names]
    words = " or ".join([", ".join(named[:-1]), named[-1]])
    return f"No single cause is sure: {words} cannot be told apart by {diagnosis['basis']}{tail}"


def what_to_do(material: Material) -> str:
    """The K to use: the largest before efficiency is first lost."""
    table = material.table
    is_strong = table.regime is Regime.STRONG
    if is_strong and max(table.rows, key=lambda row: row.speedup.value).k == table.baseline_k:
        return f"Use {_count(table.baseline_k, table.k_unit)} until the bottleneck is fixed."
    beyond = [row.k for row in table.rows if row.verdict == "superlinear"]
    if table.bend is None and beyond:
        named = ", ".join(map(str, beyond[:MOST_NAMED]))
        return (
            f"Check the baseline before you quote this: E is above 1 at K = {named}, "
            f"from a slow K0 = {table.baseline_k} or from data that fits a cache only when divided."
        )
    if table.bend is None:
        return f"Every measured K up to {table.rows[-1].k} pays; measure larger K before you buy more."
    keep = worth_using(table)
    if keep is None:
        return f"No K above the baseline keeps an efficiency of {table.threshold:g}: find the cause before adding more."
    if is_load(table.k_unit):
        held = _with_interval(keep.efficiency)
        return (
            f"Efficiency holds up to K = {_count(keep.k, table.k_unit)} ({held}); beyond it they wait for one another."
        )
    words = f"Use up to K = {_count(keep.k, table.k_unit)} for this job"
    base = "" if table.baseline_k == 1 else f" relative to K0 = {table.baseline_k}"
    words += f", where efficiency is {_with_interval(keep.efficiency)}{base}"
    if is_strong:
        return f"{words}; use more only if the work grows with the workers or the deadline is worth the waste."
    return f"{words}; beyond it you pay for workers that wait."


def worth_using(table: SpeedupTable) -> TableRow | None:
    """The row of the largest K before efficiency is first lost; None where the first step loses it."""
    kept = list(takewhile(lambda row: row.verdict != "below", table.rows[1:]))
    return kept[-1] if kept else None


def _count(k: int, unit: str) -> str:
    """`1 worker`, `2 workers`: units are kept in the plural."""
    if k != 1 or not unit.endswith("s") or unit.endswith("ss"):
        return f"{k} {unit}"
    return f"1 {unit.removesuffix('es' if unit.endswith('sses') else 's')}"


def _with_interval(estimate: Estimate, unit: str = "") -> str:
    """`0.83 (0.81 to 0.84)`, or the value alone where it has no interval."""
    form = ".2f" if estimate.value < 100 else ".1f" if estimate.value < 1000 else ",.0f"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:{form}}{unit}"
    return f"{estimate.value:{form}}{unit} ({estimate.low:{form}} to {estimate.high:{form}})"
