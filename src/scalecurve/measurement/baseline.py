"""T(1): the fastest correct single-worker program, not the distributed code with one worker."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scalecurve.findings import Finding, info, warning
from scalecurve.measurement.sameness import digests_agree, works_agree
from scalecurve.measurement.settings import Settings
from scalecurve.study import Baseline, Run, RunStatus
from scalecurve.study.run import SCALING
from scalecurve.units import format_seconds


def choose_baseline(runs: Sequence[Run], settings: Settings) -> tuple[Baseline, list[Finding]]:
    """The program that gives T(1), and what the others would have made of the curve."""
    if not settings.baseline:
        return Baseline(), []
    own = _mean(runs, SCALING)
    wrong = {name for name in settings.baseline if not _is_correct(name, runs, settings)}
    means = {name: mean for name in settings.baseline if name not in wrong and (mean := _mean(runs, name)) is not None}
    if own is not None:
        means[SCALING] = own
    findings = [_wrong_candidate(name) for name in sorted(wrong)]
    if not means:
        return Baseline(candidates=tuple(settings.baseline)), findings
    chosen = min(means, key=lambda name: means[name])
    if own is not None:
        findings.append(_comparison(chosen, means, own))
    described = _describe(chosen, settings)
    return Baseline(candidates=tuple(settings.baseline), chosen=chosen, description=described), findings


def _mean(runs: Sequence[Run], role: str) -> float | None:
    times = [run.value for run in runs if run.status is RunStatus.OK and run.role == role and run.k == 1 and run.value]
    return math.fsum(times) / len(times) if times else None


def _is_correct(name: str, runs: Sequence[Run], settings: Settings) -> bool:
    """A candidate must do the work of the job and give its answer, as far as both report them."""
    job = [run for run in runs if run.role == SCALING and run.k == 1 and run.value is not None]
    mine = [run for run in runs if run.role == name and run.value is not None]
    return all(
        digests_agree(one, other, settings.sameness.digest_tolerance)
        and works_agree(one, other, settings.sameness.work_tolerance)
        for one in job[:1]
        for other in mine
    )


def _wrong_candidate(name: str) -> Finding:
    return warning(
        "baseline-wrong-answer",
        f"baseline {name} does other work or gives another answer than the job at K = 1, so it cannot be T(1)",
        remedy="mend the candidate, or allow the difference with [sameness]",
        candidate=name,
    )


def _comparison(chosen: str, means: dict[str, float], own: float) -> Finding:
    if chosen == SCALING:
        tried = ", ".join(f"{name} {format_seconds(mean)}" for name, mean in means.items() if name != SCALING)
        return info(
            "baseline-is-the-job",
            f"T(1) is the job itself, {format_seconds(own)}: no candidate was faster ({tried or 'none gave a time'})",
            means=means,
        )
    inflation = own / means[chosen]
    return info(
        "baseline-chosen",
        f"T(1) is {chosen}, {format_seconds(means[chosen])}; the distributed code at K = 1 takes {format_seconds(own)} "
        f"and as a baseline would have inflated every S by {inflation:.3g}",
        means=means,
        inflation=inflation,
    )


def _describe(chosen: str, settings: Settings) -> str:
    if chosen == SCALING:
        return "the distributed code with one worker, the fastest of those tried"
    candidate = settings.baseline[chosen]
    threads = f", {candidate.threads} threads" if candidate.threads else ""
    return f"{' '.join(candidate.command)}{threads}"
