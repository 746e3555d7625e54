"""The ways in which a measurement touches the world; tests put fakes behind each of them (tests/fakes/world.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from scalecurve.errors import Fault, InputError
from scalecurve.study import Placement, RunStatus

if TYPE_CHECKING:
    from scalecurve.measurement.settings import MeasureSettings


PENDING = "pending"
"""The file beside a submitted job that lists why it waited."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """One process to start: its argument list, additions to its environment, its folder and the cores it may use."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    cores: tuple[int, ...] = ()


Launch = tuple[Sequence[Command], Path, str, float | None]
"""What `run_together` is given: commands, folder, token and timeout."""


@dataclass(frozen=True, kw_only=True)
class LaunchJob:
    """One launch for a launcher to make.  `folder` is for its files alone; `token` marks every process of it."""

    k: int
    repeat: int
    order: int
    role: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    folder: Path
    token: str
    timeout: float | None = None
    threads: int | None = None

    @cached_property
    def probe_folder(self) -> Path:
        return self.folder / "probe"


@dataclass(frozen=True, kw_only=True)
class LaunchOutcome:
    """How a launch ended: unix time of its start, wall seconds, what it wrote, and what the system counted."""

    status: RunStatus
    launched: float
    wall_seconds: float | None = None
    error: str | None = None
    output: str = ""
    errors: str = ""
    observed: Mapping[str, Any] = field(default_factory=dict)
    placement: Placement | None = None
    setup_seconds: float | None = None


class Unreadable(Exception):
    """What the job left behind cannot be understood; the run is recorded as failed, without a time."""


class Clock(Protocol):
    """Seconds: `now` for differences, `unix` for the calendar."""

    def now(self) -> float: ...
    def unix(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


class Runner(Protocol):
    """Starts processes and ends them, with everything they started."""

    def run_together(
        self, commands: Sequence[Command], *, folder: Path, token: str, timeout: float | None
    ) -> LaunchOutcome:
        """Start all commands at once and wait for the last one; `folder`, which exists, is for their output."""

    def run_ahead(self, launches: Sequence[Launch]) -> None:
        """Make short launches with nothing done between them; `run_together` then has their answers."""

    def capture(self, argv: Sequence[str], *, timeout: float = 30.0) -> tuple[int, str]:
        """Exit code and text of a short command; 127 when the program does not exist."""

    def close(self) -> None:
        """End what the runner itself keeps running."""


class MachineView(Protocol):
    """What can be read of the machine: small files of /proc and /sys, and the cores this process may use."""

    def read(self, path: str) -> str | None: ...
    def usable_cores(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class World:
    """The ports together."""

    clock: Clock
    runner: Runner
    machine: MachineView


class Launcher(Protocol):
    """Starts one job with K workers and waits for it.  To add one: docs/guide/adding-a-launcher.md.

    Inherit from it: `reattaches` and `finish` have defaults that suit a launcher whose jobs end with the tool.
    """

    name: str
    reattaches: bool = False
    """True when jobs outlive the tool: the folder of a run is then kept on --resume, to find its job again."""

    def missing(self, world: World) -> str | None:
        """The missing piece and how to get it; None when the launcher can be used here."""

    def launch(self, job: LaunchJob, settings: MeasureSettings, world: World) -> LaunchOutcome:
        """Start K workers and wait for them."""

    def commands(self, job: LaunchJob, settings: MeasureSettings, world: World) -> Sequence[Command] | None:
        """What `launch` starts together, where that is all it does; then short jobs may be launched ahead."""
        return None

    def submit(self, job: LaunchJob, settings: MeasureSettings, world: World, *, after: str | None = None) -> str:
        """Give the job to a queue, to start when job `after` has ended, and return its number without waiting."""
        hint = "measure without --submit, or by slurm, pbs, torque, lsf, sge, flux, kubernetes or template"
        raise InputError(Fault(f"the launcher {self.name} has no queue", where="launcher.name", remedy=hint))

    def pending(self, job: LaunchJob, settings: MeasureSettings, world: World) -> str | None:
        """Why a submitted job has not ended yet, in the words of its queue; None when it has."""
        return None

    def abandon(self, folder: Path, settings: MeasureSettings, world: World) -> None:
        """End the jobs of an earlier measurement that nothing waits for any more; `folder` holds their run folders."""
        return

    def finish(self, folder: Path, world: World) -> None:
        """Give back what is held between launches (an allocation), however the sweep ends.

        `folder` holds the folders of all runs.
        """
        return
