"""From how a launch ended and what it left behind to one Run of the study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from scalecurve.measurement import evidence
from scalecurve.measurement.evidence import Unreadable, Worker
from scalecurve.measurement.ports import Job, Outcome
from scalecurve.measurement.precision import spread_of
from scalecurve.measurement.settings import Settings
from scalecurve.study import Placement, Run, RunStatus

KEPT_ERROR = 4000


@dataclass(frozen=True, kw_only=True)
class _Time:
    """T of a run and how it was obtained."""

    seconds: float
    source: str
    setup: float | None = None


def read_run(job: Job, settings: Settings, outcome: Outcome, *, oversubscribed: bool, warmup: bool) -> Run:
    """The run with its evidence; one that failed or cannot be understood has no value."""
    bare = Run(
        k=job.k,
        status=outcome.status,
        role=job.role,
        repeat=job.repeat,
        order=job.order,
        started=datetime.fromtimestamp(outcome.launched, UTC).isoformat(timespec="milliseconds"),
        wall_seconds=outcome.wall_seconds,
        setup_seconds=outcome.setup_seconds,
        oversubscribed=oversubscribed,
        placement=outcome.placement,
        observed=dict(outcome.observed),
        error=outcome.error[-KEPT_ERROR:] if outcome.error else None,
    )
    try:
        workers = evidence.read_workers(job.probe_folder)
        with_ranks = replace(bare, ranks=tuple(w.record(i) for i, w in enumerate(workers)))
        if outcome.status is not RunStatus.OK:
            return with_ranks
        read = _with_evidence(with_ranks, workers, job, settings, outcome)
        return replace(read, status=RunStatus.WARMUP) if warmup else read
    except Unreadable as problem:
        status = RunStatus.FAILED if outcome.status is RunStatus.OK else outcome.status
        return replace(bare, status=status, error=bare.error or str(problem))


def _with_evidence(run: Run, workers: Sequence[Worker], job: Job, settings: Settings, outcome: Outcome) -> Run:
    check_size(workers, job, settings, outcome)
    time = _time_of(workers, settings, outcome)
    return replace(
        run,
        value=time.seconds,
        setup_seconds=time.setup if run.setup_seconds is None else run.setup_seconds,
        work=_work_of(workers, settings, outcome.output),
        digest=_digest_of(workers, settings, outcome.output),
        placement=_placement_of(run.placement, workers, job),
        observed={**run.observed, "timing": time.source, **_facts_of(workers)},
    )


def check_size(workers: Sequence[Worker], job: Job, settings: Settings, outcome: Outcome) -> None:
    """K workers were asked for: a mismatched mpirun gives K jobs of size 1, and exit code 0."""
    sizes = {worker.size for worker in workers if worker.size is not None}
    if sizes - {job.k}:
        many = f"{len(workers)} jobs" if sizes == {1} else "a job"
        hint = "; the launcher and the job's communication library do not belong together" if sizes == {1} else ""
        raise Unreadable(f"{job.k} workers were asked for but {many} of size {sorted(sizes)} ran{hint}")
    if sizes and len(workers) != job.k:
        raise Unreadable(f"{job.k} workers were asked for but {len(workers)} reported; some wrote nothing")
    pattern = settings.launcher.size_pattern
    if pattern and (seen := evidence.caught_number(pattern, outcome.output, "size")) != job.k:
        raise Unreadable(f"{job.k} workers were asked for but the job says it had {seen:g}")


def _time_of(workers: Sequence[Worker], settings: Settings, outcome: Outcome) -> _Time:
    source = settings.timing.source
    if source == "probe" or (source == "auto" and workers):
        return _probed(workers, settings, outcome)
    if source == "pattern" or (source == "auto" and settings.timing.pattern):
        found = evidence.caught_number(settings.timing.pattern or "", outcome.output, "time")
        seconds = found * evidence.UNITS[settings.timing.unit]
        return _Time(seconds=_positive(seconds, "the time in the output"), source="pattern")
    if outcome.wall_seconds is None:
        raise Unreadable("the wall time is not known")
    return _Time(seconds=_positive(outcome.wall_seconds, "the wall time"), source="wall")


def _probed(workers: Sequence[Worker], settings: Settings, outcome: Outcome) -> _Time:
    if not workers:
        raise Unreadable("timing.source is 'probe' but no worker wrote to the folder in SCALECURVE_PROBE")
    target = settings.target
    if target is not None:
        seconds = evidence.seconds_to_target(workers, target.quality, target.higher_is_better)
    elif settings.timing.what == "step":
        seconds = evidence.step_seconds(workers)
    else:
        seconds = evidence.common_seconds(workers)
    begins = [worker.begin for worker in workers if worker.begin > 0]
    setup = max(0.0, min(begins) - outcome.launched) if begins else None
    return _Time(seconds=_positive(seconds, "the measured time"), source="probe", setup=setup)


def _positive(seconds: float, what: str) -> float:
    if seconds <= 0:
        raise Unreadable(f"{what} is {seconds:g} s")
    return seconds


def _work_of(workers: Sequence[Worker], settings: Settings, output: str) -> float | None:
    """All the work of the run: the sum over workers."""
    if settings.sameness.work_pattern:
        return evidence.caught_number(settings.sameness.work_pattern, output, "work")
    amounts = [worker.work for worker in workers if worker.work is not None]
    return float(sum(amounts)) if amounts else None


def _digest_of(workers: Sequence[Worker], settings: Settings, output: str) -> str | float | None:
    if settings.sameness.digest_pattern:
        text = evidence.caught_text(settings.sameness.digest_pattern, output, "digest")
        try:
            return float(text)
        except ValueError:
            return text
    return next((worker.digest for worker in workers if worker.digest is not None), None)


def _placement_of(known: Placement | None, workers: Sequence[Worker], job: Job) -> Placement:
    """What the launcher intended, completed by what the workers saw."""
    base = known or Placement()
    hosts = tuple(sorted({worker.host for worker in workers if worker.host}))
    cores = tuple(sorted({core for worker in workers for core in worker.cores}))
    return replace(
        base,
        ranks=base.ranks or len(workers) or None,
        threads_per_rank=base.threads_per_rank or job.threads or _threads_of(workers),
        nodes=base.nodes or len(hosts) or None,
        hosts=base.hosts or hosts,
        cores=base.cores or (cores if len(hosts) <= 1 else ()),
    )


def _threads_of(workers: Sequence[Worker]) -> int | None:
    return max((max(worker.threads.values()) for worker in workers if worker.threads), default=None)


def _within_run(workers: Sequence[Worker]) -> float | None:
    """Spread of the steps of the first worker: kept, and never used in place of the spread between runs."""
    steps = workers[0].steps[workers[0].warmup_steps :] if workers else ()
    return round(spread_of(steps), 6) if len(steps) >= 3 and sum(steps) > 0 else None


def _facts_of(workers: Sequence[Worker]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "within_run_cv": _within_run(workers),
        "start_skew_seconds": evidence.start_skew(workers),
        "thread_pools": dict(workers[0].threads) if workers and workers[0].threads else None,
        "debug": sorted({sign for worker in workers for sign in worker.debug}) or None,
        "series": {name: values for worker in workers[:1] for name, values in worker.series.items()} or None,
        "quality": [list(pair) for pair in workers[0].quality][-200:] if workers and workers[0].quality else None,
    }
    return {name: value for name, value in facts.items() if value is not None}
