"""One Run from how a launch ended and what it left behind: the probe's files, a pattern in its output, its wall time.

The protocol of the files is docs/reference/probe-protocol.md; each file is one worker's two JSON lines.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scalecurve.measurement.ports import LaunchJob, LaunchOutcome
from scalecurve.measurement.schedule import spread_of
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.study import Placement, RankRecord, Run, RunStatus

LARGEST_FILE = 64 * 1024 * 1024
KEPT_ERROR = 4000
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


class Unreadable(Exception):
    """What the job left behind cannot be understood; the run is recorded as failed, without a time."""


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One probe file, checked.  `begin` and `end` are unix seconds."""

    rank: int | None
    size: int | None
    host: str | None
    boot: str | None
    begin: float
    end: float
    begin_ns: int | None = None
    end_ns: int | None = None
    seconds: float | None = None
    steps: tuple[float, ...] = ()
    warmup_steps: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)
    step_phases: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    work: float | None = None
    digest: str | float | None = None
    quality: tuple[tuple[float, float], ...] = ()
    series: Mapping[str, Any] = field(default_factory=dict)
    threads: Mapping[str, int] = field(default_factory=dict)
    cores: tuple[int, ...] = ()
    debug: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """Seconds of the measured part."""
        if self.seconds is not None:
            return self.seconds
        if self.begin_ns is not None and self.end_ns is not None:
            return (self.end_ns - self.begin_ns) / 1e9
        return self.end - self.begin

    @property
    def measured_steps(self) -> tuple[float, ...]:
        """Seconds of the steps after the warm-up."""
        return self.steps[self.warmup_steps :]


def read_workers(folder: Path) -> tuple[Worker, ...]:
    """Every worker that wrote a file, by rank; raises Unreadable for a file that does not parse."""
    workers = [_read_worker(path) for path in sorted(folder.glob("*.jsonl"))] if folder.is_dir() else []
    return tuple(sorted(workers, key=lambda worker: (worker.rank is None, worker.rank or 0)))


def _read_worker(path: Path) -> Worker:
    from pydantic import TypeAdapter, ValidationError

    if path.stat().st_size > LARGEST_FILE:
        raise Unreadable(f"{path.name}: larger than {LARGEST_FILE} bytes")
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    data: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        try:
            keys = json.loads(line)
        except (json.JSONDecodeError, RecursionError):
            raise Unreadable(f"{path.name}, line {number}: not JSON: {line[:80]!r}") from None
        if not isinstance(keys, dict):
            raise Unreadable(f"{path.name}, line {number}: not a JSON object: {line[:80]!r}")
        data |= keys
    if "end" not in data and "seconds" not in data:
        raise Unreadable(f"{path.name}: the worker began but did not write its last line")
    fields = {name: data[name] for name in Worker.__dataclass_fields__ if data.get(name) is not None}
    defaults = {"rank": None, "size": None, "host": None, "boot": None, "begin": 0.0, "end": data.get("seconds", 0.0)}
    try:
        worker = TypeAdapter(Worker).validate_python({**defaults, **fields})
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Unreadable(f"{path.name}: {where}: {first['msg']} (saw {str(first['input'])[:80]!r})") from None
    if not (worker.duration > 0 and math.isfinite(worker.duration)):
        raise Unreadable(f"{path.name}: the measured part took {worker.duration} s")
    return worker


def common_seconds(workers: Sequence[Worker]) -> float:
    """From the common start to the last worker's end; where clocks cannot be compared, the longest worker."""
    begins = [worker.begin_ns for worker in workers if worker.begin_ns is not None]
    ends = [worker.end_ns for worker in workers if worker.end_ns is not None]
    one_clock = len({worker.boot for worker in workers}) == 1 and workers[0].boot is not None
    if one_clock and len(begins) == len(ends) == len(workers) and all(worker.seconds is None for worker in workers):
        return (max(ends) - min(begins)) / 1e9
    return max(worker.duration for worker in workers)


def start_skew(workers: Sequence[Worker]) -> float | None:
    """Seconds between the first and the last start, where all workers share one clock."""
    begins = [worker.begin_ns for worker in workers if worker.begin_ns is not None]
    if len(begins) < 2 or len({worker.boot for worker in workers}) != 1:
        return None
    return (max(begins) - min(begins)) / 1e9


def step_seconds(workers: Sequence[Worker]) -> float:
    """Mean measured step of the slowest worker."""
    means = [math.fsum(steps) / len(steps) for worker in workers if (steps := worker.measured_steps)]
    if not means:
        raise Unreadable("the workers reported no steps; timing.what = 'step' needs probe.steps")
    return max(means)


def seconds_to_target(workers: Sequence[Worker], quality: float, higher_is_better: bool) -> float:
    """When the last worker that reports a quality first reached the target."""
    sign = 1 if higher_is_better else -1
    reached = [
        next((when for when, value in worker.quality if sign * (value - quality) >= 0), None)
        for worker in workers
        if worker.quality
    ]
    if not reached:
        raise Unreadable("the workers reported no quality; time to a target needs probe.quality(...)")
    if any(when is None for when in reached):
        best = (max if higher_is_better else min)(value for worker in workers for _, value in worker.quality)
        raise Unreadable(f"the target quality {quality:g} was not reached; the best was {best:g}")
    return max(when for when in reached if when is not None)


def matched_number(pattern: str, output: str, what: str) -> float:
    text = matched_text(pattern, output, what)
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        raise Unreadable(f"the {what} pattern matched {text[:80]!r}, which is not a number") from None
    if not math.isfinite(value):
        raise Unreadable(f"the {what} pattern matched {text[:80]!r}, which is not finite")
    return value


def matched_text(pattern: str, output: str, what: str) -> str:
    """The first group of the last match: programs print progress first and the result last."""
    matches = list(re.finditer(pattern, output))
    if not matches:
        raise Unreadable(f"the {what} pattern {pattern!r} matches nothing in the output, which ends {output[-200:]!r}")
    return str(matches[-1][1])


def read_run(
    job: LaunchJob, settings: MeasureSettings, outcome: LaunchOutcome, *, oversubscribed: bool, warmup: bool
) -> Run:
    """The run with its evidence; a run that failed or cannot be understood has no value."""
    run = Run(
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
        workers = read_workers(job.probe_folder)
        ranks = tuple(
            RankRecord(
                rank=worker.rank if worker.rank is not None else place,
                seconds=worker.duration,
                host=worker.host,
                steps=worker.steps,
                warmup_steps=worker.warmup_steps,
                phases=dict(worker.phases),
                step_phases=dict(worker.step_phases),
                work=worker.work,
            )
            for place, worker in enumerate(workers)
        )
        if outcome.status is not RunStatus.OK:
            return replace(run, ranks=ranks)
        check_size(workers, job, settings, outcome)
        seconds, source = _time_of(workers, settings, outcome)
        begins = [worker.begin for worker in workers if worker.begin > 0] if source == "probe" else []
        setup = max(0.0, min(begins) - outcome.launched) if begins else None
        work, digest = _work_and_digest(workers, settings, outcome.output)
        return replace(
            run,
            status=RunStatus.WARMUP if warmup else RunStatus.OK,
            ranks=ranks,
            value=seconds,
            setup_seconds=setup if run.setup_seconds is None else run.setup_seconds,
            work=work,
            digest=digest,
            placement=_placement_of(run.placement or Placement(), workers, job),
            observed={**run.observed, "timing": source, **_facts_of(workers)},
        )
    except Unreadable as problem:
        status = RunStatus.FAILED if outcome.status is RunStatus.OK else outcome.status
        return replace(run, status=status, error=run.error or str(problem))


def check_size(workers: Sequence[Worker], job: LaunchJob, settings: MeasureSettings, outcome: LaunchOutcome) -> None:
    """K workers must have run: a mismatched mpirun starts K jobs of size 1, with exit code 0."""
    asked = f"{job.k} workers were asked for but"
    sizes = {worker.size for worker in workers if worker.size is not None}
    if sizes - {job.k}:
        many = f"{len(workers)} jobs" if sizes == {1} else "a job"
        hint = "; the launcher and the job's communication library do not belong together" if sizes == {1} else ""
        raise Unreadable(f"{asked} {many} of size {sorted(sizes)} ran{hint}")
    if sizes and len(workers) != job.k:
        raise Unreadable(f"{asked} {len(workers)} reported; some wrote nothing")
    pattern = settings.launcher.size_pattern
    if pattern and (size := matched_number(pattern, outcome.output, "size")) != job.k:
        raise Unreadable(f"{asked} the job says it had {size:g}")


def _time_of(workers: Sequence[Worker], settings: MeasureSettings, outcome: LaunchOutcome) -> tuple[float, str]:
    """T in seconds and where it comes from: probe, pattern or wall."""
    source, pattern, target = settings.timing.source, settings.timing.pattern, settings.target
    seconds: float | None
    if source == "probe" or (source == "auto" and workers):
        source = "probe"
        if not workers:
            raise Unreadable("timing.source is 'probe' but no worker wrote to the folder in SCALECURVE_PROBE")
        if target is not None:
            seconds = seconds_to_target(workers, target.quality, target.higher_is_better)
        else:
            seconds = step_seconds(workers) if settings.timing.what == "step" else common_seconds(workers)
    elif source == "pattern" or (source == "auto" and pattern):
        source = "pattern"
        seconds = matched_number(pattern or "", outcome.output, "time") * UNITS[settings.timing.unit]
    else:
        source, seconds = "wall", outcome.wall_seconds
    if seconds is None or seconds <= 0:
        raise Unreadable(f"the {source} time is {'unknown' if seconds is None else f'{seconds:g} s'}")
    return seconds, source


def _work_and_digest(
    workers: Sequence[Worker], settings: MeasureSettings, output: str
) -> tuple[float | None, str | float | None]:
    """The work of all workers and the answer, from patterns in the output or from the probe."""
    amounts = [worker.work for worker in workers if worker.work is not None]
    work = float(sum(amounts)) if amounts else None
    if settings.sameness.work_pattern:
        work = matched_number(settings.sameness.work_pattern, output, "work")
    if not settings.sameness.digest_pattern:
        return work, next((worker.digest for worker in workers if worker.digest is not None), None)
    text = matched_text(settings.sameness.digest_pattern, output, "digest")
    try:
        return work, float(text)
    except ValueError:
        return work, text


def _placement_of(intended: Placement, workers: Sequence[Worker], job: LaunchJob) -> Placement:
    """What the launcher intended, completed by what the workers reported."""
    hosts = tuple(sorted({worker.host for worker in workers if worker.host}))
    cores = tuple(sorted({core for worker in workers for core in worker.cores}))
    threads = max((max(worker.threads.values()) for worker in workers if worker.threads), default=None)
    return replace(
        intended,
        ranks=intended.ranks or len(workers) or None,
        threads_per_rank=intended.threads_per_rank or job.threads or threads,
        nodes=intended.nodes or len(hosts) or None,
        hosts=intended.hosts or hosts,
        cores=intended.cores or (cores if len(hosts) <= 1 else ()),
    )


def _facts_of(workers: Sequence[Worker]) -> dict[str, Any]:
    """What is kept with the run; the spread of steps is never used in place of the spread between runs."""
    if not workers:
        return {}
    first = workers[0]
    steps = first.measured_steps
    facts: dict[str, Any] = {
        "within_run_cv": round(spread_of(steps), 6) if len(steps) >= 3 and sum(steps) > 0 else None,
        "start_skew_seconds": start_skew(workers),
        "thread_pools": dict(first.threads) or None,
        "debug": sorted({sign for worker in workers for sign in worker.debug}) or None,
        "series": dict(first.series) or None,
        "quality": [list(pair) for pair in first.quality][-200:] or None,
    }
    return {name: value for name, value in facts.items() if value is not None}
