"""What the threads of a job do, sampled from outside while it runs: running, waiting for a core, blocked.

The kernel counts for every thread how long it ran and how long it waited for a core (schedstat), a wait when it ends: a
runnable thread that did not run since the last sample has waited since then.  Whether a blocked thread waits for a disk
or for another thread is its state at the sample.  Samples are so far apart that taking them costs less than COST_SHARE
of the time.
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
WHOLE_SHARE = 0.9
"""One that did so for more than this of a window did not wait for another thread in it."""
WINDOW_SECONDS = 0.5
TURN_SHARE = 0.02
"""A thread that did so for less of an interval takes no turns in it."""
BORN, TICKS = 18, os.sysconf("SC_CLK_TCK")
"""The place of a thread's start after its state in `stat`, and the units of that in a second."""
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


def alone_in(interval: float, runnable: int, busy: list[float]) -> float:
    """Seconds of an interval in which one thread alone ran or waited for a core, from the seconds that each did so.

    What these leave room for is taken where one was runnable at the end, or one of two: a look is too slow to see two
    threads that take turns.
    """
    longest, *others = sorted(busy, reverse=True)
    together = max(0.0, longest + others[0] - interval) if others else 0.0
    turns = sum(seconds > TURN_SHARE * interval for seconds in busy) == 2
    if runnable == 1 or (runnable and turns):
        return max(0.0, min(interval - together, sum(busy) - 2.0 * together))
    return max(0.0, longest - sum(others))


class Window:
    """Intervals in which the same threads worked: how long each ran and how long it waited for a core."""

    def __init__(self, seconds: float, working: dict[str, tuple[float, float]]) -> None:
        self.seconds, self.working = seconds, working
        self.least = min((waited for _, waited in working.values()), default=0.0)

    def add(self, interval: float, working: dict[str, tuple[float, float]]) -> bool:
        """Take in another interval; False where other threads work in it, or this window is long enough."""
        if working.keys() != self.working.keys() or self.seconds > WINDOW_SECONDS:
            return False
        self.seconds += interval
        self.least += min((waited for _, waited in working.values()), default=0.0)
        for place, (ran, waited) in working.items():
            before = self.working[place]
            self.working[place] = before[0] + ran, before[1] + waited
        return True

    def lost(self) -> float:
        """The seconds that waiting for cores cost at least: in each interval what the thread waited that waited least.

        Threads that ran or waited all the time did not wait for each other: the same then holds for the whole window.
        """
        whole = all(ran + waited > WHOLE_SHARE * self.seconds for ran, waited in self.working.values())
        waits = [waited for _, waited in self.working.values()]
        return max(self.least, min(waits)) if waits and whole else self.least


class ThreadSampler:
    """Seconds of all threads below one process, by what they did; `lost` bounds what their waiting for cores cost: in
    each window at least what `Window` says, in each interval at most what all threads waited together."""

    def __init__(self, root: int, begin: float) -> None:
        self.root = root
        self.last: dict[str, tuple[int, int, float]] = {}
        self.seconds = dict.fromkeys(STATES, 0.0)
        self.thread_seconds = self.covered = self.lost_low = self.lost_high = self.longest = 0.0
        self.window = Window(0.0, {})
        self.samples = 0
        self.moment = begin
        self.pause = SHORTEST_SECONDS

    def due(self) -> float:
        """Seconds until the next sample."""
        return max(0.0, self.moment + self.pause - time.perf_counter())

    def sample(self) -> None:
        begin, cpu, since_boot = time.perf_counter(), time.thread_time(), time.clock_gettime(time.CLOCK_BOOTTIME)
        interval, lived = begin - self.moment, list[float]()
        now: dict[str, tuple[int, int, float]] = {}
        runnable, working, spent = 0, dict[str, tuple[float, float]](), list[tuple[float, float]]()
        for place in threads_below(self.root):
            counts, stat = read_small(f"{place}/schedstat").split(), read_small(f"{place}/stat")
            state, *fields = stat[stat.rfind(b")") + 2 :].split() or [b""]
            if len(counts) < 2 or state in (b"", b"Z", b"X"):
                continue
            lived.append(min(interval, max(0.0, since_boot - (int(fields[BORN]) + 0.5) / TICKS)))
            ran, waited, ahead = self._spent(place, state, int(counts[0]), int(counts[1]), interval)
            self.longest = max(self.longest, int(counts[0]) / 1e9)
            now[place] = int(counts[0]), int(counts[1]), ahead
            self._add(place, state, ran, waited, max(0.0, lived[-1] - ran - waited))
            runnable += state == b"R"
            if state == b"R" or ran + waited > ACTIVE_SHARE * interval:
                working[place] = ran, waited
            spent.append((ran, waited))
        if now:
            interval = interval if self.samples else max(lived)  # the job started after the watch
            self.samples += 1
            self.covered += interval
            self.thread_seconds += sum(lived)
            self.seconds["alone"] += alone_in(interval, runnable, [ran + waited for ran, waited in spent])
            if not self.window.add(interval, working):
                self.lost_low += self.window.lost()
                self.window = Window(interval, working)
            self.lost_high += min(interval, sum(waited for _, waited in spent))
        self.last, self.moment = now, begin
        self.pause = min(LONGEST_SECONDS, max(SHORTEST_SECONDS, (time.thread_time() - cpu) / COST_SHARE))

    def _spent(self, place: str, state: bytes, ran: int, waited: int, interval: float) -> tuple[float, float, float]:
        """Seconds that a thread ran and waited for a core since the last sample, and by how much its waiting is ahead
        of what the kernel has told."""
        ran_before, waited_before, ahead = self.last.get(place, (0, 0, 0.0))
        told = (waited - waited_before) / 1e9 - ahead
        waits = state == b"R" and ran == ran_before and place in self.last
        seconds = interval if waits else min(interval, max(0.0, told))
        return (ran - ran_before) / 1e9, seconds, seconds - told

    def _add(self, place: str, state: bytes, ran: float, waited: float, rest: float) -> None:
        """Count what a thread did in an interval; `rest` are the seconds that it slept."""
        self.seconds["running"] += ran
        self.seconds["runnable"] += waited
        self.seconds["blocked_io" if state == b"D" else "blocked_other"] += rest
        if state == b"S" and rest and b"futex" in read_small(f"{place}/wchan"):
            self.seconds["futex"] += rest

    def facts(self, wall: float, cpu_seconds: float) -> dict[str, float] | None:
        """The seconds of a run of `wall` seconds, those after the last sample included; None without a sample."""
        if not self.samples or not self.covered:
            return None
        ran = self.seconds["running"]
        scale = {name: max(1.0, wall / self.covered) for name in STATES}
        scale |= dict.fromkeys(("running", "runnable"), max(1.0, cpu_seconds / ran) if ran else 1.0)
        facts = {name: round(seconds * scale[name], 4) for name, seconds in self.seconds.items()}
        facts["alone"] = min(facts["alone"], round(wall, 4))
        facts["longest"] = round(self.longest * scale["running"], 4)
        return facts | {"samples": self.samples, "threads": round(self.thread_seconds / self.covered, 2)}

    def lost(self, wall: float) -> tuple[float, float]:
        """Bounds in seconds of what waiting for cores cost a run of `wall` seconds; all of it without a sample."""
        if not self.covered:
            return 0.0, wall
        scale = max(1.0, wall / self.covered)
        low = self.lost_low + self.window.lost()
        return min(wall, scale * low), min(wall, scale * self.lost_high)
