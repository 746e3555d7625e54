"""The job, one launch of it at one worker count with what was recorded, and where the records come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

SCALING = "scaling"


class RunStatus(StrEnum):
    """How a run ended; only `ok` runs are observations, the others are kept as evidence."""

    OK = "ok"
    WARMUP = "warmup"
    FAILED = "failed"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    DISTURBED = "disturbed"


@dataclass(frozen=True, kw_only=True)
class RankRecord:
    """What one worker of a run reported: its own seconds, its steps, and where its time went.

    `step_phases` holds the seconds of each phase in each measured step, one number per step: all ranks list the same
    steps.  Seconds in a collective that every worker of a step spends there are transfer; the rest is waiting.
    """

    rank: int
    seconds: float | None = None
    host: str | None = None
    steps: tuple[float, ...] = ()
    warmup_steps: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)
    step_phases: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    work: float | None = None


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where the workers of a run were placed; None where it was not recorded."""

    ranks: int | None = None
    threads_per_rank: int | None = None
    nodes: int | None = None
    hosts: tuple[str, ...] = ()
    cores: tuple[int, ...] = ()
    numa_nodes: tuple[int, ...] = ()
    pinning: str | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """One fresh launch.

    `value` is in the study's quantity and None unless the run succeeded.  `role` is "scaling" for a point of the
    curve, or the name of a baseline candidate.  `observed` holds per-run facts (load, peak memory, page faults).
    """

    k: int
    value: float | None = None
    status: RunStatus = RunStatus.OK
    role: str = SCALING
    repeat: int | None = None
    order: int | None = None
    started: str | None = None
    wall_seconds: float | None = None
    setup_seconds: float | None = None
    work: float | None = None
    digest: str | float | None = None
    oversubscribed: bool = False
    ranks: tuple[RankRecord, ...] = ()
    placement: Placement | None = None
    observed: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None

    @property
    def counts(self) -> bool:
        """Whether this run is an observation of the job's own T(K)."""
        return self.counts_as(SCALING)

    @property
    def failure(self) -> str:
        """Why there is no time, in one line: how the launch ended and the last words of the job."""
        lines = [line.strip() for line in (self.error or "no message").splitlines() if line.strip()]
        return ": ".join(dict.fromkeys(line[:160] for line in (*lines[:1], *lines[-1:])))

    def counts_as(self, role: str) -> bool:
        """Whether this run succeeded in that role and has a value."""
        return self.status is RunStatus.OK and self.value is not None and self.role == role


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The job, described once for all K.  `total` is held in strong scaling, `per_worker` in weak scaling."""

    name: str | None = None
    command: tuple[str, ...] = ()
    description: str | None = None
    total: float | None = None
    per_worker: float | None = None
    work_unit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """What T(K0) is.  `k` None means the smallest measured K; `candidates` are programs tried for T(1)."""

    k: int | None = None
    description: str | None = None
    candidates: tuple[str, ...] = ()
    chosen: str | None = None


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Who measured, with what, where.  `machine` and `software` hold facts by allow-list; never secrets."""

    source: str | None = None
    tool: str | None = None
    tool_version: str | None = None
    created: str | None = None
    launcher: str | None = None
    timing: str | None = None
    seed: int | None = None
    machine: Mapping[str, Any] = field(default_factory=dict)
    software: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def reach(self) -> int | None:
        """The most workers that the launcher of this study can run on cores of their own.

        None where it is not known: other hosts, a scheduler, or a study that was not measured here.
        """
        job = self.settings.get("job")
        launcher = job.get("launcher") if isinstance(job, Mapping) else None
        cores = self.machine.get("usable_cores")
        if not isinstance(launcher, Mapping) or not isinstance(cores, int):
            return None
        here = self.launcher in ("local", "mpi", "torchrun", "ray", "dask")
        elsewhere = not here or launcher.get("hosts") or launcher.get("address")
        return None if elsewhere else max(1, cores // int(launcher.get("threads_per_worker") or 1))
