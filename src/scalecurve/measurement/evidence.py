"""One Run from how a launch ended and what it left behind: the probe's files, a pattern in its output, its wall time.

The protocol of the files is docs/reference/probe-protocol.md; each file is one worker's two JSON lines.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scalecurve.measurement.figures import (
    Take,
    check_unit,
    last_digit,
    latencies_in,
    no_match,
    number_of,
    says_no_unit,
    seconds_of,
    taken,
    text_to_search,
    unit_after,
)
from scalecurve.measurement.ports import LaunchJob, LaunchOutcome, Unreadable
from scalecurve.measurement.processes import end_of_file
from scalecurve.measurement.schedule import spread_of
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.measurement.size_evidence import SizeSign, needs_evidence, size_signs
from scalecurve.patterns import spans_of
from scalecurve.study import Placement, RankRecord, Run, RunStatus
from scalecurve.units import format_seconds

LARGEST_FILE = 64 * 1024 * 1024
LARGEST_NUMBER = 1e300
KEPT_ERROR = 4000
METRIC = "metric "
LONGER_THAN_WALL = 1.02
"""A time may exceed the wall time of its launch by this factor, and by the next constant in seconds: clocks differ."""
CLOCK_SECONDS = 0.05
LONGEST_COMPLAINTS = 100_000
_COMPLAINT = re.compile(
    r"^.*(?:\b(?:fatal|exception|traceback|segmentation fault|aborted|could not|cannot|no such file|permission denied|"
    r"not found|failed|failure)\b|\berrors?\b(?!\s*[:=]?\s*[-+]?[\d.])).*$",
    re.IGNORECASE | re.MULTILINE,
)


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
    mpi_libraries: tuple[str, ...] = ()

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
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".jsonl"))
    except OSError:  # a launcher without the probe makes no folder for it
        names = []
    workers = [_read_worker(folder / name) for name in names]
    return tuple(sorted(workers, key=lambda worker: (worker.rank is None, worker.rank or 0)))


def _data_in(path: Path) -> dict[str, Any]:
    """The keys of all lines of a probe file."""
    try:
        raw = end_of_file(path, LARGEST_FILE + 1)
    except OSError as problem:
        raise Unreadable(f"{path.name} cannot be read: {problem.strerror}") from None
    if len(raw) > LARGEST_FILE:
        raise Unreadable(f"{path.name}: larger than {LARGEST_FILE} bytes")
    lines = [line for line in raw.decode(errors="replace").splitlines() if line.strip()]
    data: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        try:
            data |= json.loads(line)
        except (ValueError, RecursionError, TypeError):
            raise Unreadable(f"{path.name}, line {number}: not a JSON object: {line[:80]!r}") from None
    return data


def _read_worker(path: Path) -> Worker:
    from pydantic import TypeAdapter, ValidationError

    data = _data_in(path)
    if where := place_not_finite(data):
        raise Unreadable(f"{path.name}: {where}, which is not finite: the job diverged or divided by zero")
    if "end" not in data and "seconds" not in data:
        raise Unreadable(f"{path.name}: the worker began but did not write its last line")
    fields = {name: data[name] for name in Worker.__dataclass_fields__ if data.get(name) is not None}
    defaults = {"rank": None, "size": None, "host": None, "boot": None, "begin": 0.0, "end": data.get("seconds", 0.0)}
    try:
        worker = TypeAdapter(Worker).validate_python({**defaults, **fields})
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Unreadable(f"{path.name}: {where}: {first['msg']} (got {str(first['input'])[:80]!r})") from None
    if not (worker.duration > 0 and math.isfinite(worker.duration)):
        raise Unreadable(f"{path.name}: the measured part took {worker.duration} s")
    return worker


def place_not_finite(value: Any, place: str = "") -> str | None:
    """Where plain data holds a number that is NaN, infinite or too large, with that number; None where all are fine."""
    if isinstance(value, dict | list):
        named = value.items() if isinstance(value, dict) else enumerate(value)
        parts = ((f"[{name}]" if isinstance(value, list) else f".{name}", part) for name, part in named)
        return next((text for name, part in parts if (text := place_not_finite(part, place + name))), None)
    bad = isinstance(value, float | int) and not abs(value) < LARGEST_NUMBER
    return f"{place.removeprefix('.')} is {str(value)[:20]}" if bad else None


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


@dataclass(frozen=True)
class Figures:
    """What the patterns of the settings match in a launch: the figures by name, and the unit printed behind each."""

    matches: Mapping[str, list[str]]
    patterns: Mapping[str, str]
    text: str
    errors: str = ""
    units: Mapping[str, list[str | None]] = field(default_factory=dict)

    def texts(self, what: str) -> list[str]:
        """All matches of a pattern; raises Unreadable where there is none."""
        values = self.matches[what]
        if not values:
            raise no_match(what, self.patterns[what], self.text, self.errors)
        return values

    def number(self, what: str, take: Take | None = None) -> float:
        return taken([number_of(text, what) for text in self.texts(what)], take)

    def check_units(self, what: str, unit: str | None = None) -> None:
        """Refuse a time or rate whose printed unit says that it is something else; a clock says its own unit."""
        for text, word in zip(self.texts(what), self.units.get(what, ()), strict=False):
            if says_no_unit(text):
                check_unit(word, what, unit)


def figures_of(job: LaunchJob, settings: MeasureSettings, outcome: LaunchOutcome) -> Figures:
    """Search all patterns of the settings at once, in a process that is ended when it takes too long."""
    patterns = {
        "time": settings.timing.pattern,
        "rate": settings.timing.rate_pattern,
        "work": settings.sameness.work_pattern,
        "digest": settings.sameness.digest_pattern,
        "size": settings.launcher.size_pattern,
        **{f"{METRIC}{name}": metric.pattern for name, metric in settings.metrics.items()},
    }
    searches = {what: pattern for what, pattern in patterns.items() if pattern}
    if not searches:
        return Figures({}, {}, "")
    sources = settings.filled(settings.timing.read_from, job.k)
    text = text_to_search(sources, outcome, settings.folder, job)
    texts = dict.fromkeys(searches, text)
    if sources == ("stdout",):  # a size may stand on either
        texts["size"] = f"{outcome.output}\n{outcome.errors}"
    spans = spans_of([(what, pattern, texts[what]) for what, pattern in searches.items()])
    matches: dict[str, list[str]] = {}
    units: dict[str, list[str | None]] = {}
    for what, own in zip(searches, spans, strict=True):  # a group that took no part has a place below 0
        matches[what] = [texts[what][max(a, 0) : max(b, 0)] for a, b in own]
        units[what] = [unit_after(texts[what], b) if b >= 0 else None for _, b in own]
    return Figures(matches, searches, text, outcome.errors, units)


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
        observed={name: fact for name, fact in outcome.observed.items() if name != "thread_seconds"},
        threads=outcome.observed.get("thread_seconds"),
        error=outcome.error[-KEPT_ERROR:] if outcome.error else None,
    )
    try:
        workers = read_workers(job.probe_folder)
        ranks = ranks_of(workers)
        if outcome.status is not RunStatus.OK:
            return replace(run, ranks=ranks)
        check_all_reported(workers, job)
        figures = figures_of(job, settings, outcome)
        if "size" in figures.patterns:
            figures.texts("size")  # a pattern that matches nothing is a fault, not silence
        value, source = _value_of(workers, settings, outcome, figures)
        begins = [worker.begin for worker in workers if worker.begin > 0] if source == "probe" else []
        setup = max(0.0, min(begins) - outcome.launched) if begins else None
        work, digest = _work_and_digest(workers, figures)
        return replace(
            run,
            status=RunStatus.WARMUP if warmup else RunStatus.OK,
            ranks=ranks,
            value=value,
            setup_seconds=setup if run.setup_seconds is None else run.setup_seconds,
            work=work,
            digest=digest,
            placement=_placement_of(run.placement or Placement(), workers, job),
            observed={
                **run.observed,
                "timing": source,
                **_facts_of(workers),
                **_facts_of_figures(settings, figures, source),
                **({"latency": own} if settings.k_is_load and (own := latencies_in(outcome.output)) else {}),
                **({"complaint": complaint} if (complaint := complaint_in(outcome.errors)) else {}),
            },
        )
    except Unreadable as problem:
        status = RunStatus.FAILED if outcome.status is RunStatus.OK else outcome.status
        return replace(run, status=status, error=run.error or str(problem))


def ranks_of(workers: Sequence[Worker]) -> tuple[RankRecord, ...]:
    """What each worker reported, as the study keeps it."""
    return tuple(
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


def complaint_in(errors: str) -> str | None:
    """The first line on standard error that speaks of a failure; an error that is a number, as of a norm, is none."""
    line = _COMPLAINT.search(errors[:LONGEST_COMPLAINTS])
    return line[0].strip()[:200] if line else None


def check_all_reported(workers: Sequence[Worker], job: LaunchJob) -> None:
    """Each of the K workers of one job must have written its file."""
    sizes = {worker.size for worker in workers if worker.size is not None}
    if sizes == {job.k} and len(workers) != job.k:
        raise Unreadable(f"{job.k} workers were asked for but {len(workers)} reported; some wrote nothing")


def what_the_job_says(job: LaunchJob, settings: MeasureSettings, outcome: LaunchOutcome) -> list[SizeSign]:
    """The signs of its size that the job itself gives; empty where it says nothing that can be read."""
    sizes: list[int | None] = []
    size = None
    with suppress(Unreadable):
        sizes = [worker.size for worker in read_workers(job.probe_folder)]
    text = f"{outcome.output}\n{outcome.errors}"
    files = tuple(name for name in settings.timing.read_from if name not in ("stdout", "stderr"))
    if outcome.status is RunStatus.OK:
        if files:
            with suppress(Unreadable):
                text += "\n" + text_to_search(settings.filled(files, job.k), outcome, settings.folder, job)
        if settings.launcher.size_pattern:
            with suppress(Unreadable):
                size = figures_of(job, settings, outcome).number("size")
    return size_signs(sizes, size, job, text if needs_evidence(settings, job, outcome) else "")


def _value_of(
    workers: Sequence[Worker], settings: MeasureSettings, outcome: LaunchOutcome, figures: Figures
) -> tuple[float, str]:
    """T in seconds, or the rate that the job prints, and where it comes from: probe, pattern, rate or wall."""
    timing = settings.timing
    if timing.measures_rate:
        rate = figures.number("rate", timing.take)
        figures.check_units("rate")
        if rate <= 0:
            raise Unreadable(f"the rate is {rate:g}")
        return rate, "rate"
    source, seconds = _seconds_of_source(workers, settings, outcome, figures)
    if seconds is None or seconds <= 0:
        raise Unreadable(f"the {source} time is {'unknown' if seconds is None else f'{seconds:g} s'}")
    wall = outcome.wall_seconds
    if wall is not None and seconds > LONGER_THAN_WALL * wall + CLOCK_SECONDS:
        raise Unreadable(
            f"T = {format_seconds(seconds)} is longer than the launch, which took {format_seconds(wall)}: the "
            f"{source} gives something else; a rate needs --rate-pattern, another unit --time-unit"
        )
    return seconds, source


def _seconds_of_source(
    workers: Sequence[Worker], settings: MeasureSettings, outcome: LaunchOutcome, figures: Figures
) -> tuple[str, float | None]:
    source, timing, target = settings.timing.source, settings.timing, settings.target
    if source == "probe" or (source == "auto" and workers):
        if not workers:
            raise Unreadable("timing.source is 'probe' but no worker wrote to the folder in SCALECURVE_PROBE")
        if target is not None:
            return "probe", seconds_to_target(workers, target.quality, target.higher_is_better)
        return "probe", step_seconds(workers) if timing.what == "step" else common_seconds(workers)
    if source == "pattern" or (source == "auto" and timing.pattern):
        times = [seconds_of(text, timing.unit) for text in figures.texts("time")]
        figures.check_units("time", timing.unit)
        return "pattern", taken(times, timing.take)
    return "wall", outcome.wall_seconds


def _work_and_digest(workers: Sequence[Worker], figures: Figures) -> tuple[float | None, str | float | None]:
    """The work of all workers and the answer, from patterns in the output or from the probe."""
    amounts = [worker.work for worker in workers if worker.work is not None]
    work = float(sum(amounts)) if amounts else None
    if "work" in figures.patterns:
        work = figures.number("work")
    if "digest" not in figures.patterns:
        return work, next((worker.digest for worker in workers if worker.digest is not None), None)
    text = figures.texts("digest")[-1]
    with suppress(ValueError):
        number = float(text)
        if not math.isfinite(number):
            raise Unreadable(f"the digest pattern matched {text[:80]!r}: the answer of the job is not finite")
        return work, number
    return work, text


def _facts_of_figures(settings: MeasureSettings, figures: Figures, source: str) -> dict[str, Any]:
    """The named metrics of the run, and how often the pattern of its time or rate matched."""
    metrics = {
        name: {"value": figures.number(f"{METRIC}{name}", metric.take), "unit": metric.unit}
        for name, metric in settings.metrics.items()
    }
    if source != "rate" and "rate" in figures.patterns:
        metrics["rate"] = {"value": figures.number("rate"), "unit": settings.timing.rate_unit}
    facts: dict[str, Any] = {"metrics": metrics} if metrics else {}
    what = {"pattern": "time", "rate": "rate"}.get(source)
    if what is not None:
        facts["time_matches"] = len(figures.matches[what])
        if units := sorted({unit for unit in figures.units.get(what, ()) if unit}):
            facts["printed_units"] = units
        facts["last_digit"] = round(max(last_digit(text) for text in figures.matches[what]), 6)
    return facts


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
        "mpi_libraries": sorted({file for worker in workers for file in worker.mpi_libraries}) or None,
        "series": dict(first.series) or None,
        "quality": [list(pair) for pair in first.quality][-200:] or None,
    }
    return {name: value for name, value in facts.items() if value is not None}
