"""What the threads of a job do, sampled from outside while it runs: running, waiting for a core, blocked.

The kernel counts for every thread how long it ran and how long it waited for a core (schedstat), so that these two are
exact; whether a blocked thread waits for a disk or for another thread is its state at the sample.  Samples are so far
apart that taking them costs less than COST_SHARE of the time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress

from scalecurve.measurement.watchdog import below

COST_SHARE = 0.005
SHORTEST_SECONDS = 0.02
LONGEST_SECONDS = 2.0
ACTIVE_SHARE = 0.5
"""A thread that ran or waited for a core for more of an interval than this works for the job in it."""
STATES = ("running", "runnable", "blocked_io", "blocked_other", "futex", "alone")


def read_small(path: str) -> bytes:
    """A small file of /proc; empty where its process has gone."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(handle, 4096)
    except OSError:
        return b""
    finally:
        os.close(handle)


def threads_below(root: int) -> Iterator[str]:
    """/proc/PID/task/TID of every thread of every process below `root`."""
    try:
        waiting = [int(pid) for pid in read_small(f"/proc/{root}/task/{root}/children").split()]
        knows_children = os.path.exists(f"/proc/{root}/task/{root}/children")
    except OSError:
        return
    if not knows_children:
        waiting = below([root])
    while waiting:
        pid = waiting.pop()
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                place = f"/proc/{pid}/task/{thread}"
                yield place
                if knows_children:
                    waiting += map(int, read_small(f"{place}/children").split())


class ThreadSampler:
    """Seconds of all threads below one process, by what they did; `lost_low` and `lost_high` bound what their waiting
    for cores cost the job: in each interval at least as much as the working thread that waited least, at most as much
    as all waited together."""

    def __init__(self, root: int, begin: float) -> None:
        self.root = root
        self.last: dict[str, tuple[int, int]] = {}
        self.seconds = dict.fromkeys(STATES, 0.0)
        self.thread_seconds = self.covered = self.lost_low = self.lost_high = 0.0
        self.samples = 0
        self.moment = begin
        self.pause = SHORTEST_SECONDS

    def due(self) -> float:
        """Seconds until the next sample."""
        return max(0.0, self.moment + self.pause - time.perf_counter())

    def sample(self) -> None:
        begin, cpu = time.perf_counter(), time.thread_time()
        interval = begin - self.moment
        now: dict[str, tuple[int, int]] = {}
        active, waits, all_waited = 0, [], 0.0
        for place in threads_below(self.root):
            counts, stat = read_small(f"{place}/schedstat").split(), read_small(f"{place}/stat")
            state = stat[stat.rfind(b")") + 2 :][:1]
            if len(counts) < 2 or state in (b"", b"Z", b"X"):
                continue
            now[place] = int(counts[0]), int(counts[1])
            before = self.last.get(place, (0, 0))
            ran, waited = ((new - old) / 1e9 for new, old in zip(now[place], before, strict=True))
            waited = min(waited, interval)
            rest = max(0.0, interval - ran - waited) if place in self.last else 0.0
            self.seconds["running"] += ran
            self.seconds["runnable"] += waited
            self.seconds["blocked_io" if state == b"D" else "blocked_other"] += rest
            if state == b"S" and rest and b"futex" in read_small(f"{place}/wchan"):
                self.seconds["futex"] += rest
            active += state == b"R"
            if ran + waited > ACTIVE_SHARE * interval:
                waits.append(waited)
            all_waited += waited
        if now:
            self.samples += 1
            self.covered += interval
            self.thread_seconds += interval * len(now)
            self.seconds["alone"] += interval if active == 1 else 0.0
            self.lost_low += min(waits, default=0.0)
            self.lost_high += min(interval, all_waited)
        self.last, self.moment = now, begin
        self.pause = min(LONGEST_SECONDS, max(SHORTEST_SECONDS, (time.thread_time() - cpu) / COST_SHARE))

    def facts(self, wall: float, cpu_seconds: float) -> dict[str, float] | None:
        """The seconds of a run of `wall` seconds, those after the last sample included; None without a sample."""
        if not self.samples or not self.covered:
            return None
        ran = self.seconds["running"]
        scale = {name: max(1.0, wall / self.covered) for name in STATES}
        scale |= dict.fromkeys(("running", "runnable"), max(1.0, cpu_seconds / ran) if ran else 1.0)
        facts = {name: round(seconds * scale[name], 4) for name, seconds in self.seconds.items()}
        facts["alone"] = min(facts["alone"], round(wall, 4))
        return facts | {"samples": self.samples, "threads": round(self.thread_seconds / self.covered, 2)}

    def lost(self, wall: float) -> tuple[float, float]:
        """Bounds in seconds of what waiting for cores cost a run of `wall` seconds; all of it without a sample."""
        if not self.covered:
            return 0.0, wall
        scale = max(1.0, wall / self.covered)
        return min(wall, scale * self.lost_low), min(wall, scale * self.lost_high)
