"""Load by others while a run was measured: which runs and rows it disturbs, and waiting until the machine is quiet.

The CPU time of others is what the usable cores worked (/proc/stat, with time stolen by the hypervisor) without the CPU
time of the run itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from scalecurve.measurement.ports import MachineView, World
from scalecurve.study import Run, RunStatus

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
    lines = {match[1]: match[2].split() for match in re.finditer(r"^cpu(\d+) (.*)$", text, re.MULTILINE)}
    cores = [lines.get(str(core)) for core in machine.usable_cores()]
    if any(fields is None or len(fields) <= max(_WORKING) for fields in cores):
        return None
    return sum(int(fields[place]) for fields in cores if fields for place in _WORKING) / os.sysconf("SC_CLK_TCK")


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


def disturbed_rows(runs: Iterable[Run], settings: MeasureSettings) -> dict[tuple[str, int], float]:
    """The rows (role, K) that others disturbed, with the cores that others used on average over the runs of each.

    Runs too short for the kernel's clock are judged together.  What happens on other machines is not known here.
    """
    rows: dict[tuple[str, int], list[Run]] = {}
    limit = limit_of(settings)
    if not settings.is_local:
        return {}
    for run in runs:
        if run.status is RunStatus.OK and run.value is not None and "foreign_cpu_seconds" in run.observed:
            rows.setdefault((run.role, run.k), []).append(run)
    disturbed = {}
    for point, row in rows.items():
        foreign = sum(float(run.observed["foreign_cpu_seconds"]) for run in row)
        wall = sum(run.wall_seconds or 0.0 for run in row)
        share = sum(is_disturbed(run, limit) for run in row) / len(row)
        if share > DISTURBED_SHARE or disturbs(foreign, wall, limit):
            disturbed[point] = max(0.0, foreign) / wall
    return disturbed


def wait_for_quiet(world: World, limit: float) -> bool:
    """Wait until others use fewer than `limit` cores, a minute at most; False when they never did."""
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
        if now - begin > PATIENCE_SECONDS:
            return False
        before = after
    return True
