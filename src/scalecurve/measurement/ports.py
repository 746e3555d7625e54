"""The few ways in which measuring touches the world; tests put fakes behind each of them (tests/fakes)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from scalecurve.study import Placement, RunStatus

if TYPE_CHECKING:
    from scalecurve.measurement.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Command:
    """One process to start: an argument list, what is added to its environment, and the cores it is bound to."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Job:
    """One launch asked of a launcher.  `folder` is for its files alone; `token` marks every process of it."""

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

    @property
    def probe_folder(self) -> Path:
        return self.folder / "probe"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a launch ended, and what the operating system or the scheduler counted meanwhile."""

    status: RunStatus
    launched: float
    wall_seconds: float | None = None
    error: str | None = None
    output: str = ""
    observed: Mapping[str, Any] = field(default_factory=dict)
    placement: Placement | None = None
    setup_seconds: float | None = None


class Clock(Protocol):
    """Time: `now` for differences, `unix` for the calendar."""

    def now(self) -> float: ...
    def unix(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


class Runner(Protocol):
    """Starts processes and ends them, with all that they started."""

    def run_together(
        self, commands: Sequence[Command], *, folder: Path, token: str, timeout: float | None
    ) -> Outcome: ...
    def capture(self, argv: Sequence[str], *, timeout: float = 30.0) -> tuple[int, str]: ...
    def close(self) -> None: ...


class Machine(Protocol):
    """What can be read of the machine: small files of /proc and /sys, and its cores."""

    def read(self, path: str) -> str | None: ...
    def usable_cores(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class World:
    """The ports together."""

    clock: Clock
    runner: Runner
    machine: Machine


class Launcher(Protocol):
    """Starts one job with K workers and waits for it.  To add one: docs/guide/adding-a-launcher.md."""

    name: str

    def missing(self, world: World) -> str | None:
        """The piece that is missing here, with the way to get it; None when the launcher can be used."""

    def launch(self, job: Job, settings: Settings, world: World) -> Outcome: ...
