"""What a study ran, what its baseline is, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
        elsewhere = self.launcher in (None, "slurm") or launcher.get("hosts") or launcher.get("address")
        return None if elsewhere else max(1, cores // int(launcher.get("threads_per_worker") or 1))
