"""The sweep: launch, read, journal, and so on until every point has its repeats, its precision, or the budget ends."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError, RunError
from scalecurve.measurement.journal import Journal, journal_on_disk, open_journal
from scalecurve.measurement.launchers import launcher_named
from scalecurve.measurement.ports import Job, Launcher, World
from scalecurve.measurement.reading import read_run
from scalecurve.measurement.result import build_study
from scalecurve.measurement.schedule import Planned, runs_to_make
from scalecurve.measurement.settings import Candidate, Settings
from scalecurve.measurement.workspace import Workspace
from scalecurve.study import Run, RunStatus, Study
from scalecurve.study.file import save
from scalecurve.study.run import SCALING

Listener = Callable[["Progress"], None]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What the display is told, before and after every launch.  `run` is None before it."""

    planned: Planned
    number: int
    total: int
    elapsed: float
    remaining: float | None
    load: float | None
    last_seconds: float | None
    run: Run | None = None


@dataclass
class _Sweep:
    """A measurement under way."""

    settings: Settings
    world: World
    launcher: Launcher
    space: Workspace
    journal: Journal
    listener: Listener
    began: float = 0.0
    walls: dict[Planned, float] = field(default_factory=dict)

    def go(self) -> None:
        self.began = self.world.clock.now()
        for planned in runs_to_make(self.settings, self.journal.done):
            if self._out_of_time():
                return
            self._tell(planned, None)
            run = self._make(planned)
            self.journal.add(planned, run)
            self._tell(planned, run)
            if run.order is not None and not self.settings.keep_files:
                self.space.discard_run(run.order)

    def _out_of_time(self) -> bool:
        most = self.settings.max_time
        return most is not None and self.world.clock.now() - self.began >= most

    def _make(self, planned: Planned) -> Run:
        """One launch and its record; a run that is interrupted is recorded as such before we go."""
        order, token = self.journal.begin(planned, uuid.uuid4().hex)
        job = self._job(planned, order, token)
        self._prepare_folder(job.folder)
        setup = self._time_setup(job)
        try:
            outcome = self.launcher.launch(job, self.settings, self.world)
        except KeyboardInterrupt:
            interrupted = Run(k=job.k, status=RunStatus.INTERRUPTED, role=job.role, repeat=job.repeat, order=order)
            self.journal.add(planned, interrupted)
            raise
        run = read_run(job, self.settings, outcome, oversubscribed=self._oversubscribed(job), warmup=planned.is_warmup)
        return run if setup is None else _with_setup(run, setup)

    def _job(self, planned: Planned, order: int, token: str) -> Job:
        settings, k = self.settings, planned.point.k
        candidate = settings.baseline.get(planned.point.role)
        argv = candidate.command if candidate else settings.command
        return Job(
            k=k,
            repeat=planned.repeat,
            order=order,
            role=planned.point.role,
            argv=settings.filled(argv, k),
            env={**settings.env_at(k), **(candidate.env if candidate else {})},
            folder=self.space.run_folder(order).absolute(),
            token=token,
            timeout=settings.timeout,
            threads=_threads(settings, candidate),
        )

    def _prepare_folder(self, folder: Path) -> None:
        """Empty, unless the launcher finds there a job it had submitted before the tool was killed."""
        if not getattr(self.launcher, "reattaches", False):
            shutil.rmtree(folder, ignore_errors=True)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise _no_folder(folder, problem) from None

    def _time_setup(self, job: Job) -> float | None:
        argv = self.settings.timing.setup_command
        if not argv:
            return None
        begin = self.world.clock.now()
        code, text = self.world.runner.capture(self.settings.filled(argv, job.k), timeout=self.settings.timeout or 3600)
        if code != 0:
            raise RunError(f"the setup command failed with exit code {code}: {text.strip()[-400:]}")
        return self.world.clock.now() - begin

    def _oversubscribed(self, job: Job) -> bool:
        return is_local(self.settings) and job.k > len(self.world.machine.usable_cores())

    def _tell(self, planned: Planned, run: Run | None) -> None:
        if run is not None and run.wall_seconds is not None:
            self.walls[planned] = run.wall_seconds
        total = _total(self.settings)
        done = sum(p.repeat < self.settings.repeats for p in self.journal.done)
        text = self.world.machine.read("/proc/loadavg")
        self.listener(
            Progress(
                planned=planned,
                number=done + (run is None),
                total=max(total, done),
                elapsed=self.world.clock.now() - self.began,
                remaining=self._remaining(total - done),
                load=float(text.split()[0]) if text else None,
                last_seconds=run.value if run else None,
                run=run,
            )
        )

    def _remaining(self, launches: int) -> float | None:
        if not self.walls:
            return None
        return max(0, launches) * sum(self.walls.values()) / len(self.walls)


def measure(
    settings: Settings,
    world: World,
    *,
    output: Path,
    resume: bool = False,
    force: bool = False,
    listener: Listener = lambda _: None,
    launcher: Launcher | None = None,
) -> Study:
    """Run the study and write it to `output`.  Completed runs survive whatever ends this early."""
    launcher = launcher or launcher_named(settings.launcher.name)
    _check_beforehand(settings, world, launcher)
    space = Workspace(output)
    with space.locked():
        journal = open_journal(space, settings, world, resume=resume, force=force)
        sweep = _Sweep(settings, world, launcher, space, journal, listener)
        try:
            with _given_back(launcher, space, world):
                sweep.go()
        except KeyboardInterrupt:
            # The interrupt may have come between the line on the disk and our note of it: the disk is right.
            save(build_study(settings, journal_on_disk(space), world, interrupted=True), output)
            raise
        study = build_study(settings, journal, world)
        save(study, output)
        _refuse_emptiness(study, journal)
        if not settings.keep_files and _is_complete(settings, journal):
            space.remove()
    return study


@contextmanager
def _given_back(launcher: Launcher, space: Workspace, world: World) -> Iterator[None]:
    """A launcher that holds something between launches (an allocation) gives it back, however the sweep ends."""
    try:
        yield
    finally:
        finish = getattr(launcher, "finish", None)
        if finish is not None:
            finish(space.folder / "runs", world)


def _is_complete(settings: Settings, journal: Journal) -> bool:
    """Nothing left that --resume could do; a study that lacks runs keeps its journal."""
    return next(iter(runs_to_make(settings, journal.successes())), None) is None


def _refuse_emptiness(study: Study, journal: Journal) -> None:
    if len(study.samples) == 0:
        last = next((run.error for run in reversed(journal.runs) if run.error), None) or "no run was made"
        raise RunError(f"no launch gave a time; the last one said: {last}")


def is_local(settings: Settings) -> bool:
    """Whether all workers share this machine, so that its cores are the limit."""
    return settings.launcher.name != "slurm" and not settings.launcher.hosts and settings.launcher.address is None


def _check_beforehand(settings: Settings, world: World, launcher: Launcher) -> None:
    missing = launcher.missing(world)
    if missing:
        raise RunError(f"launcher {launcher.name} cannot be used here: {missing}")
    cores = len(world.machine.usable_cores())
    beyond = [k for k in settings.workers if k > cores]
    if beyond and is_local(settings) and not settings.oversubscribe:
        listed = ", ".join(str(k) for k in beyond)
        hint = "leave them out, or add --oversubscribe; such points are marked"
        raise InputError(Fault(f"K = {listed} are more than the {cores} cores here", where="workers", remedy=hint))
    if SCALING in settings.baseline:
        raise InputError(Fault("this name is taken", where=f"baseline.{SCALING}", remedy="choose another name"))


def _threads(settings: Settings, candidate: Candidate | None) -> int | None:
    return candidate.threads if candidate and candidate.threads else settings.launcher.threads_per_worker


def _total(settings: Settings) -> int:
    return (settings.repeats + settings.warmup_launches) * (len(settings.workers) + len(settings.baseline))


def _with_setup(run: Run, seconds: float) -> Run:
    from dataclasses import replace

    observed: dict[str, Any] = {**run.observed, "setup_command_seconds": seconds}
    return replace(run, setup_seconds=seconds, observed=observed)


def _no_folder(folder: Path, problem: OSError) -> InputError:
    from scalecurve.measurement.workspace import cannot_write

    return cannot_write(folder, problem)
