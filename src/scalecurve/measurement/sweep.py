"""`measure`: launch, read, journal, until every point has its repeats, its precision, or the budget of time ends."""

from __future__ import annotations

import math
import re
import secrets
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any, Unpack

from scalecurve.errors import Fault, InputError, RunError
from scalecurve.measurement.beforehand import checked_settings, faults_beforehand
from scalecurve.measurement.building import build_study
from scalecurve.measurement.evidence import read_run, what_the_job_says
from scalecurve.measurement.guard import ATTEMPTS, PATIENCE_SECONDS, is_disturbed, limit_of, wait_for_quiet
from scalecurve.measurement.journal import Journal, Workspace, cannot_write, open_journal
from scalecurve.measurement.launchers import launcher_named
from scalecurve.measurement.machine import load_of, real_world
from scalecurve.measurement.masking import scrubbed
from scalecurve.measurement.observation import counts_energy
from scalecurve.measurement.ports import PENDING, Command, Launcher, LaunchJob, LaunchOutcome, World
from scalecurve.measurement.processes import WatchdogLost
from scalecurve.measurement.schedule import Planned, SweepPoint, launches_asked, points_of, runs_to_make
from scalecurve.measurement.servers import Servers, used_between
from scalecurve.measurement.settings import MeasureKeywords, MeasureSettings
from scalecurve.measurement.size_evidence import SizeCheck, SizeRefused
from scalecurve.measurement.worker_site import site_here
from scalecurve.study import Run, RunStatus, Study, StudySet
from scalecurve.study.file import save

Listener = Callable[["Progress"], None]
SETUP_SECONDS = 3600.0
FAILURES_ALIKE = 3
"""After so many failures in one way, and no time, the next launch would fail too."""
LOAD_SECONDS = 1.0
"""The display reads the load this often."""
AHEAD_SECONDS = 0.04
"""So many seconds of launches are made at once; a longer launch does not feel what is done between two."""
MOST_AHEAD = 32
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, and how schedulers and closed terminals end a job."""


class EndedBySignal(KeyboardInterrupt):
    """SIGTERM or SIGHUP ended the measurement; the exit code is that of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.exit_code = 128 + number


@dataclass
class SignalGate:
    """The first signal ends the sweep by an exception; later ones wait until the study is written."""

    closed: bool = False
    waiting: int | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.closed:
            self.waiting = self.waiting or number
            return
        self.closed = True
        self.end(number)

    def end(self, number: int) -> None:
        raise KeyboardInterrupt if number == signal.SIGINT else EndedBySignal(number)


@contextmanager
def signals_end_the_sweep() -> Iterator[SignalGate]:
    """Handle the ending signals; one that is ignored (nohup) stays so, and threads leave them to the program."""
    gate = SignalGate()
    before = {}
    if threading.current_thread() is threading.main_thread():
        own = (signal.SIG_DFL, signal.default_int_handler)
        before = {number: old for number in ENDING_SIGNALS if (old := signal.getsignal(number)) in own}
    for number in before:
        signal.signal(number, gate.handle)
    try:
        yield gate
    finally:
        for number, old in before.items():
            signal.signal(number, old)
    if gate.waiting is not None:
        gate.end(gate.waiting)


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What the display gets before and after every launch.  `run` is None before it; times are in seconds.

    `unit` is that of a rate, None where the value is a time in seconds; `cell` names the levels of a grid.
    """

    planned: Planned
    number: int
    total: int
    elapsed: float
    remaining: float | None
    load: float | None
    last_seconds: float | None
    run: Run | None = None
    unit: str | None = None
    cell: str = ""


def measure(
    file: str | Path | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    submit: bool = False,
    collect: bool = False,
    listener: Listener | None = None,
    **settings: Unpack[MeasureKeywords],
) -> Study | StudySet:
    """Run a scaling study of a real job and return it; it is also written to `output`, where there is one.

    With `axes` it is a StudySet.

    Settings come from a TOML file, from keywords, or from both; a keyword replaces the file's value.  The keywords are
    the names of the file (`scalecurve measure --init` writes them with comments); tables are dictionaries.
    `resume` continues an interrupted measurement or adds to a finished one, `force` replaces it; to resume, a study
    file says itself how it was measured.

    `submit` gives every launch to the queue of a batch system as a chain of jobs and returns the study so far without
    waiting; `collect` reads the jobs that have ended since, also from another login.
    """
    world = real_world()
    checked = checked_settings(file, settings, world, resume=resume or collect, force=force)
    if submit or collect:
        return by_queue(checked, world, submit=submit, resume=resume or collect, force=force)
    listener = listener or (lambda progress: None)
    try:
        if checked.output is not None:
            return run_study(checked, world, output=checked.output, resume=resume, force=force, listener=listener)
        with tempfile.TemporaryDirectory(prefix="scalecurve-") as scratch:
            return run_study(checked, world, output=Path(scratch) / "study.json", listener=listener)
    finally:
        world.runner.close()


def by_queue(settings: MeasureSettings, world: World, *, submit: bool, resume: bool, force: bool) -> Study:
    """Submit all launches that are missing, or collect those whose jobs have ended; the study so far."""
    if settings.output is None or settings.axes is not None:
        fault = Fault("a queue needs a study file and one sweep", where="output", remedy="name it with -o; no axes")
        raise InputError(fault)
    launcher = launcher_named(settings.launcher.name)
    space = Workspace(settings.output)
    try:
        with space.locked():
            journal = begun(space, settings, world, launcher, resume=resume, force=force)
            sweep = _SweepUnderWay(settings, world, launcher, space, journal, lambda progress: None)
            if submit:
                sweep.submit_all()
                return build_study(settings, space, world, pending=dict.fromkeys(journal.begun, "submitted"))
            pending = sweep.collect()
            return saved(journal, world, pending=pending)
    finally:
        world.runner.close()


def begun(
    space: Workspace, settings: MeasureSettings, world: World, launcher: Launcher, *, resume: bool, force: bool
) -> Journal:
    """The journal of a sweep, new or continued; jobs of one that is not continued are not ours to wait for."""
    continued, runs = resume and space.journal.exists(), space.folder / "runs"
    journal = open_journal(space, settings, world, resume=resume, force=force)
    if runs.exists() and not continued:
        launcher.abandon(runs, settings, world)
        shutil.rmtree(runs, ignore_errors=True)
    return journal


def saved(journal: Journal, world: World, *, pending: Mapping[Planned, str] | None = None) -> Study:
    """The study of what was measured, written; the work folder is removed where nothing is left for `--resume`."""
    settings, space = journal.made.settings, journal.space
    study = build_study(settings, space, world, pending=pending)
    save(study, space.output)
    if len(study.samples) == 0 and pending is None:
        hint = "try again with --resume, or with another command or pattern and --force"
        raise RunError(f"no launch gave a time ({hint}); the last error: {journal.last_error or 'no run was made'}")
    failed = any(row.failed for row in journal.made.rows.values())
    owed = pending or failed or next(runs_to_make(settings, journal.made), None) is not None
    if not owed and not settings.keep_files:
        space.remove()
    return study


def run_study(
    settings: MeasureSettings,
    world: World,
    *,
    output: Path,
    resume: bool = False,
    force: bool = False,
    listener: Listener = lambda progress: None,
    launcher: Launcher | None = None,
) -> Study | StudySet:
    """One sweep, or with axes a sweep for each combination of them."""
    if settings.axes is None:
        return run_sweep(
            settings, world, output=output, resume=resume, force=force, listener=listener, launcher=launcher
        )

    from scalecurve.measurement.axes import run_grid

    def one(own: MeasureSettings, path: Path, again: bool) -> Study:
        return run_sweep(own, world, output=path, resume=again, listener=listener, launcher=launcher)

    return run_grid(settings, world, one, output=output, resume=resume, force=force)


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
    if faults := list(faults_beforehand(settings, world, launcher)):
        raise InputError(faults)
    if missing := launcher.missing(world):
        raise RunError(f"launcher {launcher.name} cannot be used here: {missing}")
    space = Workspace(output)
    with signals_end_the_sweep() as gate, space.locked():
        journal = begun(space, settings, world, launcher, resume=resume, force=force)
        try:
            try:
                _SweepUnderWay(settings, world, launcher, space, journal, listener).run()
            finally:
                gate.closed = True
                launcher.finish(space.folder / "runs", world)
        except SizeRefused:
            if not any(row.times for row in journal.made.rows.values()):  # leave nothing that is in the way
                space.remove()
            raise
        except (KeyboardInterrupt, WatchdogLost) as end:
            save(build_study(settings, space, world, interrupted=True), output)
            made, place = sum(row.timed for row in journal.made.rows.values()), settings.output or output
            there = f"{place} holds {made} of {launches_asked(settings)} launches"
            end.args = (f"{str(end) or 'interrupted'}; {there}: continue with `scalecurve measure --resume {place}`",)
            raise
        return saved(journal, world)


def with_server(outcome: LaunchOutcome, server: dict[str, Any]) -> LaunchOutcome:
    """The launch with what its servers used: that is part of the job, and others used the rest."""
    observed: dict[str, Any] = {**outcome.observed, "server": server}
    if "foreign_cpu_seconds" in observed and outcome.wall_seconds:
        rest = observed["foreign_cpu_seconds"] - server["cpu_seconds"]
        observed |= {"foreign_cpu_seconds": round(rest, 3)}
        observed |= {"foreign_cores": round(max(0.0, rest) / outcome.wall_seconds, 3)}
    return replace(outcome, observed=observed)


def how_it_failed(run: Run) -> str | None:
    """The failure of a launch without its numbers, so that two of them can be compared; None for one with a time."""
    if run.value is not None:
        return None
    return f"{run.status}: {re.sub(r'[0-9.]+', '#', (run.error or '').partition(chr(10))[0])}"


def fail_alike(ways: Sequence[str | None]) -> bool:
    """Whether so many launches failed, and all in one way, that the next would fail too."""
    return len(ways) >= FAILURES_ALIKE and None not in ways and len(set(ways)) == 1


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
    walls: float = 0.0
    launches: int = 0
    done: int = 0
    load: float | None = None
    load_read: float | None = None
    cell: str = ""
    last: Run | None = None
    jobs: dict[Planned, LaunchJob] = field(default_factory=dict)
    sizes: SizeCheck = field(init=False)
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.sizes = SizeCheck(self.settings, self.world)
        self.total = launches_asked(self.settings)
        self.done = sum(row.made_below(self.settings.repeats) for row in self.journal.made.rows.values())
        if self.settings.axes is not None:
            from scalecurve.measurement.axes import cell_name

            self.cell = cell_name(self.settings.axes)

    def run(self) -> None:
        """Make every launch that is missing, until `max_time` has passed.

        A point whose launches all fail alike is given up, and the sweep when they do so at every point without a time.
        """
        settings = self.settings
        made = self.journal.made
        timed = {point for point, row in made.rows.items() if row.timed}
        ways: dict[SweepPoint, list[str | None]] = {point: [] for point in points_of(settings) if point not in timed}
        self.began = self.world.clock.now()
        for planned in self.plan():
            if self.time_left() <= 0:
                return
            if fail_alike(ways.get(planned.point, ())):
                continue
            self._report(planned, None)
            run = self.launch_in_quiet(planned)
            self.add(run)
            self.last = run
            self._report(planned, run)
            ways.setdefault(planned.point, []).append(how_it_failed(run))
            if run.value is None and all(ways.values()) and fail_alike([way for own in ways.values() for way in own]):
                return

    def time_left(self) -> float:
        """Seconds until `max_time` has passed."""
        return (self.settings.max_time or math.inf) - (self.world.clock.now() - self.began)

    def add(self, run: Run) -> None:
        """Save a run; the folder of a job that outlives the tool is not needed any more."""
        self.journal.add(run)
        if run.order is not None and self.launcher.reattaches and not self.settings.keep_files:
            shutil.rmtree(self.space.run_folder(run.order), ignore_errors=True)

    def plan(self) -> Iterator[Planned]:
        """The launches that are missing; where they are so short that what is done between them would be felt in T,
        the next ones are made at once, and what they left is read afterwards."""
        missing = runs_to_make(self.settings, self.journal.made)
        for planned in missing:
            batch, most = [planned], self.most_ahead(planned)
            while len(batch) < most and batch[-1].repeat < self.settings.repeats - 1 and (more := next(missing, None)):
                batch.append(more)
            if len(batch) > 1:
                self.launch_ahead(batch)
            yield from batch

    def most_ahead(self, planned: Planned) -> int:
        """How many launches are made at once: those of AHEAD_SECONDS, where nothing is to be done before each."""
        settings, last = self.settings, self.last
        apart = settings.timing.setup_command or settings.serves or settings.quiet_below or settings.keep_files
        if last is None or last.value is None or apart or planned.is_warmup or counts_energy():
            return 1
        return min(MOST_AHEAD, int(AHEAD_SECONDS / max(last.wall_seconds or AHEAD_SECONDS, 1e-6)))

    def launch_ahead(self, batch: Sequence[Planned]) -> None:
        """Make these launches one after the other; `launch` reads each."""
        launches = []
        for number, planned in enumerate(batch):
            job = self.job_of(planned, number)
            commands = self.launcher.commands(job, self.settings, self.world)
            if commands is None:
                return
            self.jobs[planned] = job
            launches.append((commands, job.folder, job.token, job.timeout))
        try:
            self.world.runner.run_ahead(launches)
        except (KeyboardInterrupt, WatchdogLost):
            self.interrupted(self.jobs[batch[0]])
            raise

    def interrupted(self, job: LaunchJob) -> None:
        self.journal.add(Run(k=job.k, status=RunStatus.INTERRUPTED, role=job.role, repeat=job.repeat, order=job.order))

    def launch_in_quiet(self, planned: Planned) -> Run:
        """A launch; with `quiet_below`, one that others disturbed is kept as evidence and made again.

        Where the machine did not get quiet in time, another launch would be disturbed too.
        """
        limit, quiet = self.settings.quiet_below, True
        for attempt in range(1, ATTEMPTS + 1):
            if limit is not None and self.settings.is_local:
                quiet = wait_for_quiet(self.world, limit, min(PATIENCE_SECONDS, self.time_left()))
            run = self.launch(planned)
            last = limit is None or not quiet or attempt == ATTEMPTS
            if last or not run.observed.get("disturbed") or run.value is None:
                return run
            self.journal.keep(replace(run, status=RunStatus.DISTURBED))
        return run

    def folder_of(self, order: int, number: int) -> Path:
        """The empty folder of a launch; that of a job that outlives the tool may hold the job to wait for."""
        kept = self.settings.keep_files or self.launcher.reattaches
        folder = self.space.run_folder(order).absolute() if kept else self.space.scratch
        try:
            if not kept:
                return self.space.cleared_scratch(number)
            if not self.launcher.reattaches:
                shutil.rmtree(folder, ignore_errors=True)
            (folder / "probe").mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise cannot_write(folder, problem) from None
        return folder

    def submit_all(self) -> None:
        """Give every launch that is missing to the queue, each to start when the one before it has ended."""
        previous = None
        self.space.submitted.touch(mode=0o600)
        for planned in list(runs_to_make(self.settings.model_copy(update={"precision": None}), self.journal.made)):
            job = self.job_of(planned)
            previous = self.launcher.submit(job, self.settings, self.world, after=previous)
            self.journal.begun[planned] = (job.order, job.token)

    def collect(self) -> dict[Planned, str]:
        """Read the submitted jobs that have ended; the others, with what their queue says of them."""
        waiting: dict[Planned, str] = {}
        for planned, _ in sorted(self.journal.begun.items(), key=lambda item: item[1]):
            job = self.job_of(planned)
            reason = self.launcher.pending(job, self.settings, self.world)
            if reason is None:
                self.add(self.launch(planned))
            else:
                waiting[planned] = reason
                with (job.folder / PENDING).open("a") as file:
                    file.write(f"{reason}\n")
        return waiting

    def job_of(self, planned: Planned, number: int = 0) -> LaunchJob:
        """The launch as a launcher takes it, the `number`th of those made at once; one that began before keeps its
        order, its mark and its folder."""
        settings, k = self.settings, planned.point.k
        order, token = self.journal.begin(planned, secrets.token_hex(16))
        candidate = settings.baseline.get(planned.point.role)
        env = dict(zip(settings.env, settings.filled(tuple(settings.env.values()), k), strict=True))
        return LaunchJob(
            k=k,
            repeat=planned.repeat,
            order=order,
            role=planned.point.role,
            argv=settings.filled(candidate.command if candidate else settings.command, k),
            env={**env, **(candidate.env if candidate else {})},
            folder=self.folder_of(order, number),
            token=token,
            timeout=settings.timeout,
            threads=(candidate.threads if candidate else None) or settings.launcher.threads_per_worker,
        )

    def launch(self, planned: Planned) -> Run:
        """One launch and its record; an interrupted run is recorded before the interrupt goes on."""
        settings, k = self.settings, planned.point.k
        job = self.jobs.pop(planned, None) or self.job_of(planned)
        self.sizes.before(job)
        servers = Servers(settings.serves) if settings.serves else None
        try:
            setup = self.set_up(job)
            before = servers.reading() if servers else None
            outcome = self.launcher.launch(job, settings, self.world)
            if servers and before:
                outcome = with_server(outcome, used_between(before, servers.reading()))
        except (KeyboardInterrupt, WatchdogLost):
            self.interrupted(job)
            raise
        beyond = k * (job.threads or 1) > len(self.world.machine.usable_cores())
        beyond = beyond and settings.is_local and not settings.k_is_load
        run = read_run(job, settings, outcome, oversubscribed=beyond, warmup=planned.is_warmup)
        run = self.sizes.after(job, run, outcome, what_the_job_says(job, settings, outcome))
        return self.noted(run, job, setup)

    def noted(self, run: Run, job: LaunchJob, setup: float | None) -> Run:
        """The run with what the sweep knows of it: the site at first, the load, the set-up; without secrets."""
        settings, observed = self.settings, dict(run.observed)
        site = observed.pop("site", None)
        if run.status in (RunStatus.OK, RunStatus.WARMUP) and not self.journal.has_site:  # kept with the first run
            site = site or (site_here(job, settings, self.world) if settings.is_local else None)
            observed |= {"site": site} if site else {}
        if "complaint" in observed:
            observed["complaint"] = scrubbed(observed["complaint"], settings.secrets())
        if settings.is_local and is_disturbed(run, limit_of(settings)):
            observed["disturbed"] = True
        if setup is not None:
            observed["setup_command_seconds"] = setup
        return replace(
            run,
            observed=observed,
            error=scrubbed(run.error, settings.secrets()) if run.error else None,
            setup_seconds=run.setup_seconds if setup is None else setup,
        )

    def set_up(self, job: LaunchJob) -> float | None:
        """Seconds of the setup command, run where the job runs and watched like it; None without one."""
        settings = self.settings
        if not settings.timing.setup_command:
            return None
        words = settings.filled(settings.timing.setup_command, job.k)
        command = Command(argv=words, env=job.env, folder=settings.folder)
        folder = job.folder / "setup"
        folder.mkdir(exist_ok=True)
        done = self.world.runner.run_together(
            [command], folder=folder, token=job.token, timeout=settings.timeout or SETUP_SECONDS
        )
        if done.status is not RunStatus.OK:
            raise RunError(f"the setup command failed: {done.error}")
        return done.wall_seconds

    def _report(self, planned: Planned, run: Run | None) -> None:
        settings = self.settings
        elapsed = self.world.clock.now() - self.began
        if self.load_read is None or elapsed - self.load_read >= LOAD_SECONDS:
            self.load, self.load_read = load_of(self.world.machine), elapsed
        if run is not None:
            self.walls += run.wall_seconds or 0.0
            self.launches += run.wall_seconds is not None
            self.done += planned.repeat < settings.repeats
        done = self.done
        mean = self.walls / self.launches if self.launches else None
        self.listener(
            Progress(
                planned=planned,
                number=done + (run is None),
                total=max(self.total, done),
                elapsed=elapsed,
                remaining=None if mean is None else max(0, self.total - done) * mean,
                load=self.load,
                last_seconds=(run.wall_seconds if settings.timing.measures_rate else run.value) if run else None,
                run=run,
                unit=(settings.timing.rate_unit or "per second") if settings.timing.measures_rate else None,
                cell=self.cell,
            )
        )
