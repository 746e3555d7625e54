"""A study as a claim about itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scalecurve.analysis.curve import curve_of
from scalecurve.auditing.claim import Claim, ClaimedBaseline, Point
from scalecurve.study import Quantity, Run, Study


def claim_of(study: Study) -> Claim:
    """Everything the audit asks for that the study holds."""
    runs_by_k: dict[int, list[Run]] = {}
    for run in study.runs:
        if run.counts:
            runs_by_k.setdefault(run.k, []).append(run)
    job = study.workload
    return Claim(
        name=study.name,
        kind="study",
        source=study.provenance.source,
        regime=str(study.regime),
        k_unit=study.k_unit,
        points=_points(study, runs_by_k),
        baseline=_baseline(study),
        workload=job.description or (" ".join(job.command) or None),
        workload_fixed=True if job.total or job.per_worker or job.command else None,
        warmup=study.warmup,
        setup=study.setup,
        fresh_launches=True if study.runs else None,
        hardware=_words(study.provenance.machine),
        software=_words(study.provenance.software),
    )


def _baseline(study: Study) -> ClaimedBaseline:
    said = study.baseline
    described = said.description or (f"the job itself at K = {study.baseline_k}" if study.workload.command else None)
    return ClaimedBaseline(k=study.baseline_k, description=described)


def _points(study: Study, runs_by_k: dict[int, list[Run]]) -> tuple[Point, ...]:
    summary = curve_of(study)
    return tuple(
        _point(study, int(k), int(n), float(mean), float(std), runs_by_k.get(int(k), []))
        for k, n, mean, std in zip(summary.k, summary.n, summary.mean, summary.std, strict=True)
    )


def _point(study: Study, k: int, n: int, mean: float, std: float, runs: Sequence[Run]) -> Point:
    field = {
        Quantity.SECONDS: "seconds",
        Quantity.THROUGHPUT: "rate",
        Quantity.THROUGHPUT_PER_WORKER: "rate_per_worker",
    }[study.quantity]
    measured: dict[str, Any] = {field: mean}
    threads = {run.placement.threads_per_rank for run in runs if run.placement} - {None}
    return Point(
        k=k,
        n=n,
        work=_work(runs),
        threads=threads.pop() if len(threads) == 1 else None,
        answers=_answers(study, runs),
        oversubscribed=any(run.oversubscribed for run in runs),
        std=std if n > 1 else None,
        **measured,
    )


def _answers(study: Study, runs: Sequence[Run]) -> tuple[str | float, ...]:
    """`scalecurve measure` has compared them already, with the tolerance it was given; its findings say so."""
    if study.provenance.tool == "scalecurve measure":
        return ()
    return tuple(dict.fromkeys(run.digest for run in runs if run.digest is not None))


def _work(runs: Sequence[Run]) -> float | None:
    amounts = [run.work for run in runs]
    return None if not amounts or any(amount is None for amount in amounts) else float(amounts[0] or 0.0)


def _words(facts: Mapping[str, Any]) -> str | None:
    return ", ".join(f"{name} {value}" for name, value in facts.items() if isinstance(value, str | int)) or None
