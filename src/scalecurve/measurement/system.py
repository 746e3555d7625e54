"""The real clock and the real machine behind the ports."""

from __future__ import annotations

import os
import time
from pathlib import Path

from scalecurve.measurement.ports import World

LONGEST_FILE = 1_000_000


class SystemClock:
    def now(self) -> float:
        return time.perf_counter()

    def unix(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class SystemMachine:
    def read(self, path: str) -> str | None:
        try:
            with Path(path).open(encoding="utf-8", errors="replace") as file:
                return file.read(LONGEST_FILE)
        except OSError:
            return None

    def usable_cores(self) -> tuple[int, ...]:
        if hasattr(os, "sched_getaffinity"):
            return tuple(sorted(os.sched_getaffinity(0)))
        return tuple(range(os.cpu_count() or 1))


def real_world() -> World:
    from scalecurve.measurement.processes import LocalRunner

    return World(SystemClock(), LocalRunner(), SystemMachine())
