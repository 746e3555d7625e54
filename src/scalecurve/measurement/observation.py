"""What the operating system counted while a run was going on; cheap enough not to disturb it."""

from __future__ import annotations

import os
import resource
from typing import Any

KIB = 1024


class Observer:
    """Load before and during, CPU time of others, peak memory, major page faults and swapping of one run."""

    def __init__(self) -> None:
        self.load_before = _load()
        self.loads = [self.load_before]
        self.busy_before = _busy_seconds()
        self.swap_before = _swapped_pages()
        self.cpu_seconds = 0.0
        self.peak_bytes = 0
        self.major_faults = 0

    def look(self) -> None:
        self.loads.append(_load())

    def count(self, usage: resource.struct_rusage) -> None:
        """Add a process that ended, with the children it waited for."""
        self.cpu_seconds += usage.ru_utime + usage.ru_stime
        self.peak_bytes = max(self.peak_bytes, usage.ru_maxrss * KIB)
        self.major_faults += usage.ru_majflt

    def finish(self, wall: float) -> dict[str, Any]:
        """The facts; those this system does not tell are left out."""
        facts: dict[str, Any] = {
            "load_before": self.load_before,
            "load_during": max((load for load in self.loads if load is not None), default=None),
            "cpu_seconds": self.cpu_seconds,
            "peak_process_bytes": self.peak_bytes or None,
            "major_faults": self.major_faults,
            "swapped_pages": _difference(_swapped_pages(), self.swap_before),
        }
        busy = _difference(_busy_seconds(), self.busy_before)
        if busy is not None and wall > 0:
            # Cores' worth of CPU that others used meanwhile; the counters tick in hundredths of a second.
            facts["foreign_cores"] = round(max(0.0, busy - self.cpu_seconds) / wall, 3)
        return {name: value for name, value in facts.items() if value is not None}


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _busy_seconds() -> float | None:
    """CPU seconds used by anybody since boot: user, nice, system, irq and softirq of /proc/stat."""
    fields = _fields("/proc/stat", "cpu ")
    if fields is None:
        return None
    return sum(fields[i] for i in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")


def _swapped_pages() -> int | None:
    parts = [_fields("/proc/vmstat", name) for name in ("pswpin ", "pswpout ")]
    return None if any(part is None for part in parts) else sum(part[0] for part in parts if part)


def _fields(path: str, start: str) -> list[int] | None:
    try:
        with open(path) as file:
            line = next((line for line in file if line.startswith(start)), None)
    except OSError:
        return None
    return None if line is None else [int(word) for word in line.split()[1:]]


def _difference(after: Any, before: Any) -> Any:
    return None if after is None or before is None else after - before
