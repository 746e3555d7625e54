"""A clock that only moves when told, a machine made of a dictionary, a runner and a launcher that obey a function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scalecurve.measurement.ports import Command, Launch, Launcher, LaunchJob, LaunchOutcome, World
from scalecurve.measurement.settings import MeasureSettings
from scalecurve.study import RunStatus


@dataclass
class FakeClock:
    time: float = 1000.0

    def now(self) -> float:
        return self.time

    def unix(self) -> float:
        return 1_790_000_000.0 + self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


@dataclass
class FakeMachine:
    cores: int = 8
    files: Mapping[str, str] = field(default_factory=dict)

    def read(self, path: str) -> str | None:
        return self.files.get(path)

    def usable_cores(self) -> tuple[int, ...]:
        return tuple(range(self.cores))


@dataclass
class FakeRunner:
    """Answers `capture` from a dictionary of first words; remembers what it was asked to run."""

    answers: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    outcome: LaunchOutcome = field(
        default_factory=lambda: LaunchOutcome(status=RunStatus.OK, launched=0.0, wall_seconds=1.0)
    )
    ran: list[list[Command]] = field(default_factory=list)
    captured: list[tuple[str, ...]] = field(default_factory=list)

    def run_together(
        self, commands: Sequence[Command], *, folder: Path, token: str, timeout: float | None
    ) -> LaunchOutcome:
        self.ran.append(list(commands))
        return self.outcome

    def run_ahead(self, launches: Sequence[Launch]) -> None:
        return

    def capture(self, argv: Sequence[str], *, timeout: float = 30.0) -> tuple[int, str]:
        self.captured.append(tuple(argv))
        return self.answers.get(argv[0], (127, "no such program"))

    def close(self) -> None:
        pass


def fake_world(cores: int = 8, **files: str) -> World:
    return World(FakeClock(), FakeRunner(), FakeMachine(cores, files))


@dataclass
class FakeLauncher(Launcher):
    """A job whose time is a function of K and the repeat; it may also fail or be interrupted."""

    seconds: Callable[[LaunchJob], float]
    name: str = "fake"
    work: Callable[[LaunchJob], float | None] = lambda job: 1000.0
    digest: Callable[[LaunchJob], str | None] = lambda job: "same"
    fails: Callable[[LaunchJob], bool] = lambda job: False
    interrupts: Callable[[LaunchJob], bool] = lambda job: False
    steps: Callable[[LaunchJob], list[float]] = lambda job: []
    launched: list[LaunchJob] = field(default_factory=list)

    def missing(self, world: World) -> str | None:
        return None

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        self.launched.append(job)
        if self.interrupts(job):
            raise KeyboardInterrupt
        wall = self.seconds(job)
        world.clock.sleep(wall)
        if self.fails(job):
            return LaunchOutcome(
                status=RunStatus.FAILED, launched=world.clock.unix(), wall_seconds=wall, error="exit code 3"
            )
        job.probe_folder.mkdir(parents=True, exist_ok=True)
        for rank in range(job.k):
            self._write(job, rank, wall)
        return LaunchOutcome(status=RunStatus.OK, launched=world.clock.unix() - 1.0, wall_seconds=wall + 1.0)

    def _write(self, job: LaunchJob, rank: int, wall: float) -> None:
        amount = self.work(job)
        lines = [
            {"probe": 1, "rank": rank, "size": job.k, "host": "h", "begin": 1.79e9},
            {
                "end": 1.79e9 + wall,
                "seconds": wall,
                "work": None if amount is None else amount / job.k,
                "digest": self.digest(job),
                "steps": self.steps(job),
            },
        ]
        text = "\n".join(json.dumps(line) for line in lines)
        (job.probe_folder / f"rank-{rank}.jsonl").write_text(text + "\n")
