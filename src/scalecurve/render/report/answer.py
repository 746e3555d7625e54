"""The answer in three sentences: how far it scales, why it stops, what to do; of a broken study, that it is broken."""

from __future__ import annotations

from collections.abc import Sequence

from scalecurve.analysis import TableRow
from scalecurve.analysis.table import rule_words
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, Severity
from scalecurve.render.report.material import Material, Refusal, plain
from scalecurve.study import Regime

WHY_UNKNOWN = (
    "Why is not known: times alone do not tell communication from stragglers or a serial part; "
    "runs with ranks and phases do (scalecurve measure)."
)
CAUSES = {
    "communication": "communication that grows with K",
    "straggler": "waiting for the slowest worker",
    "imbalance": "work that is unevenly divided",
    "contention": "workers queueing for something they share",
    "serial": "a part of the work that does not divide",
}
# Errors that take points away but leave those that are there what they are.
INCOMPLETE = {"interrupted", "missing-points"}
DIFFERENT_JOBS = {"work-differs", "answer-differs", "threads-differ", "workload-changed", "answer-changed"}
# What an audit may find that leaves no curve to speak of; its other errors qualify the curve.
AUDITED = {"mixed-regime", "regime-switch", "workload-changed", "answer-changed"}


def answer(material: Material) -> tuple[str, str, str]:
    fault = what_broke_it(material)
    if fault is not None:
        return broken_words(fault), "No cause is named for a broken study.", remedy_words(fault)
    return how_far(material), why(material), what_to_do(material)


def what_broke_it(material: Material) -> Finding | None:
    """The error that makes the points no points of one curve."""
    own = [finding for finding in material.table.findings if finding.code not in INCOMPLETE]
    audited = [finding for finding in getattr(material.audit, "findings", ()) if finding.code in AUDITED]
    return next((finding for finding in (*own, *audited) if finding.severity is Severity.ERROR), None)


def broken_words(fault: Finding) -> str:
    message = fault.message.removeprefix("broken: ").rstrip(".")
    is_new = fault.code in DIFFERENT_JOBS and "different jobs" not in message
    return f"{'The points are different jobs' if is_new else 'The study is broken'}: {message}."


def remedy_words(fault: Finding) -> str:
    remedy = (fault.remedy or "mend that").rstrip(".")
    return f"{remedy[:1].upper()}{remedy[1:]}; then measure again."


def how_far(material: Material) -> str:
    table = material.table
    best = max(table.rows, key=lambda row: row.speedup.value)
    if table.regime is Regime.WEAK:
        last = table.rows[-1]
        where = f"K = {_counted(last.k, table.k_unit)}"
        reached = f"With the work per worker fixed, efficiency is {_share(last.efficiency)} at {where}"
    elif best.k == table.baseline_k:
        reached = f"With the total work fixed, no measured K beats K0 = {_counted(best.k, table.k_unit)}"
    else:
        workers = _counted(best.k, table.k_unit)
        reached = f"With the total work fixed, {workers} finish {_times(best.speedup)} as fast as one would"
        reached += f", an efficiency of {_share(best.efficiency)}"
    return f"{reached}; {_bend_words(material)}."


def _counted(k: int, unit: str) -> str:
    """`1 worker`, `2 workers`: units are kept in the plural."""
    if k != 1 or not unit.endswith("s") or unit.endswith("ss"):
        return f"{k} {unit}"
    return f"1 {unit.removesuffix('es' if unit.endswith('sses') else 's')}"


def _bend_words(material: Material) -> str:
    table = material.table
    if table.bend is None:
        return f"no bend was seen up to K = {table.rows[-1].k} ({rule_words(table)})"
    chance = "" if table.bend.probability is None else f", probability {table.bend.probability:.2f}"
    return f"the curve bends at K = {table.bend.k} ({rule_words(table)}{chance})"


def why(material: Material) -> str:
    found = plain(material.diagnosis)
    cause = found.get("cause")
    if isinstance(material.diagnosis, Refusal):
        return f"Why is not known: {material.diagnosis.reason.rstrip('.')}."
    if cause in (None, "undetermined"):
        return WHY_UNKNOWN
    if cause == "none":
        return "Nothing in the measured range stops it: no overhead stands out from the noise."
    chance = found.get("probability")
    sure = "" if chance is None else f" (probability {chance:.2f})"
    return f"The likeliest cause is {CAUSES.get(str(cause), str(cause))}{sure}."


def what_to_do(material: Material) -> str:
    table = material.table
    keep = _last_good(table.rows)
    if table.regime is Regime.STRONG and max(table.rows, key=lambda row: row.speedup.value).k == table.baseline_k:
        return f"Stay at K0 = {_counted(table.baseline_k, table.k_unit)} until what stops it is mended."
    if table.bend is None:
        return f"Up to K = {table.rows[-1].k} every size measured pays; measure larger K before you buy beyond it."
    if keep is None:
        return f"No K above the baseline keeps an efficiency of {table.threshold:g}: find the cause before adding more."
    words = (
        f"Use up to K = {_counted(keep.k, table.k_unit)} for this job, where efficiency is {_share(keep.efficiency)}"
    )
    if table.regime is Regime.STRONG:
        return f"{words}; use more only if the work grows with the workers or the deadline is worth the waste."
    return f"{words}; larger jobs pay for workers that wait."


def _last_good(rows: Sequence[TableRow]) -> TableRow | None:
    """The largest K before efficiency is first lost, past the baseline."""
    kept = None
    for row in rows[1:]:
        if row.verdict == "below":
            break
        kept = row
    return kept


def _share(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def _times(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f} times"
    return f"{estimate.value:.2f} times ({estimate.low:.2f} to {estimate.high:.2f})"
