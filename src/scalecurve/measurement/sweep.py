"""`measure`: launch, read, journal, until every point has its repeats, its precision, or the budget of time ends."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError, RunError
from scalecurve.measurement.building import build_study
from scalecurve.measurement.disturbance import ATTEMPTS, is_disturbed, limit_of, wait_for_quiet
from scalecurve.measurement.evidence import read_run, what_the_job_says
from scalecurve.measurement.journal import Journal, Workspace, cannot_write, journal_on_disk, open_journal
from scalecurve.measurement.launchers import launcher_named
from scalecurve.measurement.machine import load_of, real_world
from scalecurve.measurement.ports import Launcher, LaunchJob, World
from scalecurve.measurement.schedule import Planned, points_of, runs_to_make
from scalecurve.measurement.settings import (
    BaselineCandidate,
    LauncherSettings,
    MeasureSettings,
    MetricSettings,
    SamenessSettings,
    TargetSettings,
    TimingSettings,
    settings_from,
)
from scalecurve.measurement.size_evidence import SizeCheck, SizeRefused
from scalecurve.measurement.worker_site import site_here
from scalecurve.study import Regime, Run, RunStatus, Study
from scalecurve.study.file import save
from scalecurve.study.run import SCALING
from scalecurve.units import WorkersLike

Listener = Callable[["Progress"], None]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What the display gets before and after every launch.  `run` is None before it; times are in seconds."""

    planned: Planned
    number: int
    total: int
    elapsed: float
    remaining: float | None
    load: float | None
    last_seconds: float | None
    run: Run | None = None


def measure(
    file: str | Path | None = None,
    *,
    regime: Regime | str | None = None,
    workers: WorkersLike | None = None,
    command: Sequence[str] | None = None,
    output: str | Path | None = None,
    repeats: int | None = None,
    name: str | None = None,
    description: str | None = None,
    folder: str | Path | None = None,
    shell: bool | None = None,
    env: Mapping[str, str] | None = None,
    total: float | None = None,
    per_worker: float | None = None,
    work_unit: str | None = None,
    k_unit: str | None = None,
    warmup_launches: int | None = None,
    warmup_steps: int | None = None,
    precision: float | str | None = None,
    level: float | str | None = None,
    max_repeats: int | None = None,
    max_time: float | str | None = None,
    timeout: float | str | None = None,
    seed: int | None = None,
    oversubscribe: bool | None = None,
    quiet_below: float | None = None,
    expected_seconds: float | str | None = None,
    expected_cv: float | str | None = None,
    usd_per_worker_hour: float | None = None,
    keep_files: bool | None = None,
    timing: TimingSettings | Mapping[str, Any] | None = None,
    sameness: SamenessSettings | Mapping[str, Any] | None = None,
    target: TargetSettings | Mapping[str, Any] | None = None,
    baseline: Mapping[str, BaselineCandidate | Mapping[str, Any]] | None = None,
    metrics: Mapping[str, MetricSettings | Mapping[str, Any]] | Sequence[str] | None = None,
    launcher: str | LauncherSettings | Mapping[str, Any] | None = None,
    resume: bool = False,
    force: bool = False,
    listener: Listener | None = None,
) -> Study:
    """Run a scaling study of a real job and return it; it is also written to `output`, where there is one.

    Settings come from a TOML file, from keywords, or from both; a keyword replaces the file's value.  The keywords are
    the names of the file (`scalecurve measure --init` writes them with comments); tables are dictionaries.
    `resume` continues an interrupted measurement or adds to a finished one, `force` replaces it.
    """
    values = {key: value for key, value in locals().items() if key not in ("file", "resume", "force", "listener")}
    settings = settings_from(file, values)
    listener = listener or (lambda progress: None)
    world = real_world()
    try:
        if settings.output is not None:
            return run_sweep(settings, world, output=settings.output, resume=resume, force=force, listener=listener)
        with tempfile.TemporaryDirectory(prefix="scalecurve-") as scratch:
            return run_sweep(settings, world, output=Path(scratch) / "study.json", listener=listener)
    finally:
        world.runner.close()


def run_sweep(
    settings: MeasureSettings,
    world: World,
    *,
    output: Path,
    resume: bool = False,
    force: bool = False,
    listener: Listener = lambda progress: None,
    launcher: Launcher | None = None,
) -> Study:
    """Run the study and write it to `output`.  Completed runs survive whatever ends this early."""
    launcher = launcher or launcher_named(settings.launcher.name)
    _check_beforehand(settings, world, launcher)
    space = Workspace(output)
    with space.locked():
        journal = open_journal(space, settings, world, resume=resume, force=force)
        try:
            try:
                _SweepUnderWay(settings, world, launcher, space, journal, listener).run()
            finally:
                launcher.finish(space.folder / "runs", world)
        except SizeRefused:
            if not any(run.counts for run in journal.runs):  # only warm-ups were made: leave nothing that is in the way
                space.remove()
            raise
        except KeyboardInterrupt:
            # The interrupt may have come between writing the line and keeping it in memory: the disk is right.
            save(build_study(settings, journal_on_disk(space), world, interrupted=True), output)
            raise
        study = build_study(settings, journal, world)
        save(study, output)
        if len(study.samples) == 0:
            last = next((run.error for run in reversed(journal.runs) if run.error), None) or "no run was made"
            raise RunError(f"no launch gave a time; the last error: {last}")
        complete = next(runs_to_make(settings, journal.successes()), None) is None  # nothing left for --resume
        if complete and not settings.keep_files:
            space.remove()
    return study


def _check_beforehand(settings: MeasureSettings, world: World, launcher: Launcher) -> None:
    missing = launcher.missing(world)
    if missing:
        raise RunError(f"launcher {launcher.name} cannot be used here: {missing}")
    cores = len(world.machine.usable_cores())
    beyond = ", ".join(str(k) for k in settings.workers if k > cores)
    if beyond and settings.is_local and not settings.oversubscribe:
        hint = "leave them out, or add --oversubscribe, which marks these points"
        raise InputError(Fault(f"K = {beyond} are more than the {cores} cores here", where="workers", remedy=hint))
    if SCALING in settings.baseline:
        raise InputError(Fault("this name is taken", where=f"baseline.{SCALING}", remedy="choose another name"))


@dataclass
class _SweepUnderWay:
    """A measurement under way."""

    settings: MeasureSettings
    world: World
    launcher: Launcher
    space: Workspace
    journal: Journal
    listener: Listener
    began: float = 0.0
    walls: list[float] = field(default_factory=list)
    sizes: SizeCheck = field(init=False)

    def __post_init__(self) -> None:
        self.sizes = SizeCheck(self.settings, self.world)

    def run(self) -> None:
        """Make every launch that is missing, until `max_time` has passed."""
        settings = self.settings
        self.began = self.world.clock.now()
        for planned in runs_to_make(settings, self.journal.done):
            if settings.max_time is not None and self.world.clock.now() - self.began >= settings.max_time:
                return
            self._report(planned, None)
            run = self._launch_in_quiet(planned)
            self.journal.add(planned, run)
            self._report(planned, run)
            if run.order is not None and not settings.keep_files:
                shutil.rmtree(self.space.run_folder(run.order), ignore_errors=True)

    def _launch_in_quiet(self, planned: Planned) -> Run:
        """A launch; with `quiet_below`, one that others disturbed is kept as evidence and made again."""
        limit = self.settings.quiet_below
        for attempt in range(1, ATTEMPTS + 1):
            if limit is not None and self.settings.is_local:
                wait_for_quiet(self.world, limit)
            run = self._launch(planned)
            if limit is None or attempt == ATTEMPTS or not run.observed.get("disturbed") or run.value is None:
                return run
            self.journal.keep(replace(run, status=RunStatus.DISTURBED))
        return run

    def _launch(self, planned: Planned) -> Run:
        """One launch and its record; an interrupted run is recorded before the interrupt goes on."""
        settings, k = self.settings, planned.point.k
        order, token = self.journal.begin(planned, uuid.uuid4().hex)
        candidate = settings.baseline.get(planned.point.role)
        env = dict(zip(settings.env, settings.filled(tuple(settings.env.values()), k), strict=True))
        job = LaunchJob(
            k=k,
            repeat=planned.repeat,
            order=order,
            role=planned.point.role,
            argv=settings.filled(candidate.command if candidate else settings.command, k),
            env={**env, **(candidate.env if candidate else {})},
            folder=self.space.run_folder(order).absolute(),
            token=token,
            timeout=settings.timeout,
            threads=(candidate.threads if candidate else None) or settings.launcher.threads_per_worker,
        )
        self.sizes.before(job)
        if not self.launcher.reattaches:
            shutil.rmtree(job.folder, ignore_errors=True)
        try:
            job.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise cannot_write(job.folder, problem) from None
        setup = None
        if settings.timing.setup_command:
            begin = self.world.clock.now()
            words = settings.filled(settings.timing.setup_command, k)
            code, text = self.world.runner.capture(words, timeout=settings.timeout or 3600)
            if code != 0:
                raise RunError(f"the setup command failed with exit code {code}: {text.strip()[-400:]}")
            setup = self.world.clock.now() - begin
        try:
            outcome = self.launcher.launch(job, settings, self.world)
        except KeyboardInterrupt:
            interrupted = Run(k=k, status=RunStatus.INTERRUPTED, role=job.role, repeat=job.repeat, order=order)
            self.journal.add(planned, interrupted)
            raise
        beyond = settings.is_local and k > len(self.world.machine.usable_cores())
        run = read_run(job, settings, outcome, oversubscribed=beyond, warmup=planned.is_warmup)
        run = self.sizes.after(job, run, outcome, what_the_job_says(job, settings, outcome))
        if run.status in (RunStatus.OK, RunStatus.WARMUP) and not any(
            "site" in one.observed for one in self.journal.runs
        ):
            site = outcome.observed.get("site") or (site_here(job, settings, self.world) if settings.is_local else None)
            run = replace(run, observed={**run.observed, **({"site": site} if site else {})})
        elif "site" in run.observed:  # it is kept once, with the first run
            run = replace(run, observed={name: fact for name, fact in run.observed.items() if name != "site"})
        if settings.is_local and is_disturbed(run, limit_of(settings)):
            run = replace(run, observed={**run.observed, "disturbed": True})
        if setup is None:
            return run
        return replace(run, setup_seconds=setup, observed={**run.observed, "setup_command_seconds": setup})

    def _report(self, planned: Planned, run: Run | None) -> None:
        settings = self.settings
        if run is not None and run.wall_seconds is not None:
            self.walls.append(run.wall_seconds)
        total = (settings.repeats + settings.warmup_launches) * len(points_of(settings))
        done = sum(launch.repeat < settings.repeats for launch in self.journal.done)
        mean = sum(self.walls) / len(self.walls) if self.walls else None
        self.listener(
            Progress(
                planned=planned,
                number=done + (run is None),
                total=max(total, done),
                elapsed=self.world.clock.now() - self.began,
                remaining=None if mean is None else max(0, total - done) * mean,
                load=load_of(self.world.machine),
                last_seconds=(run.wall_seconds if settings.timing.measures_rate else run.value) if run else None,
                run=run,
            )
        )
