"""The guard of load: how much others use this machine while something is measured.

The CPU time of others is what the usable cores worked (/proc/stat, with time stolen by the hypervisor) without the CPU
time of what is measured.  `measure` marks runs and rows with it and may wait until the machine is quiet; the pytest
plugin and the calibrations report it as a finding.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalecurve.findings import Finding, warning
from scalecurve.measurement.machine import SystemMachine
from scalecurve.measurement.ports import MachineView, World
from scalecurve.measurement.servers import Servers
from scalecurve.study import Run

if TYPE_CHECKING:
    from scalecurve.measurement.settings import MeasureSettings

BUSY_CORES = 0.3
"""Cores used by others on average over a run, above which it is disturbed, unless --quiet-below says another number."""
LEAST_SECONDS = 0.05
"""CPU time of others that can be told from the grain of the kernel's clock, a hundredth of a second per core."""
DISTURBED_SHARE = 0.25
"""A row is disturbed when more of its runs are than this."""
WINDOW_SECONDS = 0.25
PATIENCE_SECONDS = 60.0
ATTEMPTS = 3
_WORKING = (0, 1, 2, 5, 6, 7)
"""The fields user, nice, system, irq, softirq and steal of a line of /proc/stat."""


def busy_seconds(machine: MachineView) -> float | None:
    """Seconds that the usable cores have worked since the machine started; None where the machine does not say."""
    text = machine.read("/proc/stat")
    if text is None:
        return None
    cpus, _, _ = text.partition("\nintr")  # the long rest of the file has no processors
    lines = {words[0]: words[1:] for line in cpus.splitlines() if (words := line.split())}
    cores = [lines.get(f"cpu{core}", ()) for core in machine.usable_cores()]
    if any(len(fields) <= max(_WORKING) for fields in cores):
        return None
    return sum(int(fields[place]) for fields in cores for place in _WORKING) / os.sysconf("SC_CLK_TCK")


def limit_of(settings: MeasureSettings) -> float:
    """Cores that others may use during a run."""
    return settings.quiet_below if settings.quiet_below is not None else BUSY_CORES


def disturbs(foreign_seconds: float | None, wall_seconds: float | None, limit: float) -> bool:
    """Whether others used more than `limit` cores over that time, beyond the grain of the kernel's clock."""
    if foreign_seconds is None or not wall_seconds:
        return False
    return foreign_seconds >= LEAST_SECONDS and foreign_seconds / wall_seconds > limit


def is_disturbed(run: Run, limit: float) -> bool:
    return disturbs(run.observed.get("foreign_cpu_seconds"), run.wall_seconds, limit)


def wait_for_quiet(world: World, limit: float, patience: float = PATIENCE_SECONDS) -> bool:
    """Wait until others use fewer than `limit` cores, so many seconds at most; False when they never did."""
    if limit > len(world.machine.usable_cores()):
        return True
    begin = world.clock.now()
    before = busy_seconds(world.machine)
    while before is not None:
        since = world.clock.now()
        world.clock.sleep(WINDOW_SECONDS)
        after, now = busy_seconds(world.machine), world.clock.now()
        if after is None or (after - before) / max(now - since, WINDOW_SECONDS) < limit:
            return True
        if now - begin > patience:
            return False
        before = after
    return True


class LoadWatch:
    """Watches the machine from its creation on: what others use beside this process, all below it, and servers."""

    def __init__(self, servers: Sequence[str] = (), machine: MachineView | None = None) -> None:
        self.machine = machine or SystemMachine()
        self.ours = Servers((str(os.getpid()), *servers))
        self.begin, self.moment = self._reading(), time.perf_counter()

    def _reading(self) -> tuple[float | None, float]:
        return busy_seconds(self.machine), self.ours.reading().cpu_seconds

    def foreign_cores(self) -> float | None:
        """Cores that others used on average until now; None where the machine does not say."""
        (before, own_before), (after, own_after) = self.begin, self._reading()
        wall = time.perf_counter() - self.moment
        if before is None or after is None or not wall:
            return None
        foreign = after - before - (own_after - own_before)
        return max(0.0, foreign) / wall if foreign >= LEAST_SECONDS else 0.0

    def findings(self, what: str) -> tuple[Finding, ...]:
        """A warning where others used more than BUSY_CORES; `what` is disturbed by them, such as "the ceilings"."""
        cores = self.foreign_cores()
        if cores is None or cores <= BUSY_CORES:
            return ()
        text = f"Other processes used {cores:.1f} of {len(self.machine.usable_cores())} cores: {what} may be far off."
        return (warning("disturbed", text, remedy="measure again on a quiet machine", foreign_cores=cores, k=[]),)
