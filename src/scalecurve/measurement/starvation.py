"""What T would have been if the job had not waited for cores that others used.

Every run knows bounds of the time that its threads lost in run queues (`threads`).  T without it lies between T less
all that was lost and T less the least that was lost.  No K workers do their share in less CPU time than the fewest
workers did, which bounds T from below where others took nearly all of the machine.  What sharing caches, memory and
clocks costs is not counted by anyone: the bounds are widened for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scalecurve.measurement.settings import MeasureSettings
from scalecurve.study import Regime, Run

SHARING = 1.1
"""Others in the same caches and on the same memory slow a job that never waits by about this factor; they slow every K
alike up to this one."""
COLD = 0.3
"""A job that waits nearly all of its time finds its caches cold whenever it runs: so much more CPU time than quiet."""
FEWEST_WATCHED = 0.5
LEAST_SECONDS = 1e-6
WIDEST_SHARE = 5.0
"""Bounds of E farther apart than this say nothing."""


@dataclass(frozen=True)
class QuietRow:
    """One K: the mean value as measured, the share of the time that was lost at least and at most, and the bounds of
    the value on a quiet machine; `needed` bounds the seconds of one run, or of a unit of its rate, without waiting."""

    k: int
    value: float
    starved: tuple[float, float]
    low: float
    high: float
    needed: tuple[float, float]


def quiet_rows(runs: Iterable[Run], settings: MeasureSettings) -> dict[int, QuietRow]:
    """The bounds for every K of which most runs were watched; K beyond the cores waits for itself and has none."""
    by_k: dict[int, list[Run]] = {}
    for run in runs:
        if run.counts and not run.oversubscribed:
            by_k.setdefault(run.k, []).append(run)
    rows: dict[int, QuietRow] = {}
    first = min((max(0.0, cpu_within(run)) / run.k for run in by_k.get(min(by_k, default=0), ())), default=0.0)
    for k, all_runs in sorted(by_k.items()):
        watched = [run for run in all_runs if "lost_seconds" in run.observed and run.wall_seconds]
        if len(watched) >= max(1.0, FEWEST_WATCHED * len(all_runs)):
            needed = first * (min(by_k) if settings.regime is Regime.STRONG else k)  # CPU seconds of all K
            rows[k] = _row(k, watched, settings, needed)
    return rows


def cpu_within(run: Run) -> float:
    """CPU seconds within T: those outside, of set-up, are at most K cores for that time."""
    outside = max(0.0, (run.wall_seconds or 0.0) - seconds_of(run))
    return float(run.observed.get("cpu_seconds", 0.0)) - run.k * outside


def seconds_of(run: Run) -> float:
    """T of a run in seconds; the wall time where its value is a rate."""
    wall = run.wall_seconds or 0.0
    return min(wall, run.value or wall) if run.observed.get("timing") != "rate" else wall


def _row(k: int, runs: Sequence[Run], settings: MeasureSettings, needed: float) -> QuietRow:
    width, is_rate = settings.launcher.threads_per_worker or 1, settings.timing.measures_rate
    ends, lost = [], []
    for run in runs:
        seconds, (least, most) = seconds_of(run), run.observed["lost_seconds"]
        least = max(0.0, least - ((run.wall_seconds or 0.0) - seconds))  # the loss outside T may be all of it
        work = max(0.0, cpu_within(run)) / (k * width)
        lost.append((least / seconds, min(1.0, most / seconds)))
        unit = (run.value or seconds) * seconds if is_rate else 1.0
        low = min(seconds, max(seconds - most, min(work, needed / (k * width)), LEAST_SECONDS))
        ends.append((low / unit, max(low, min(seconds, work), seconds - least) / unit))
    low, high = (_edge([pair[place] for pair in ends], settings.level, 2 * place - 1) for place in (0, 1))
    starved = (min(own for own, _ in lost), max(own for _, own in lost))
    quiet = low / (SHARING + COLD * starved[1]), high * SHARING
    least, most = (1 / quiet[1], 1 / quiet[0]) if is_rate else quiet
    mean = math.fsum(run.value or 0.0 for run in runs) / len(runs)
    return QuietRow(k, mean, starved, least, most, (low, high))


def _edge(values: Sequence[float], level: float, side: int) -> float:
    """The mean with Student's interval added on one side (+1 above, -1 below), within the extremes of the runs: each
    run has bounds of its own."""
    if len(values) < 3:
        return max(values) if side > 0 else min(values)
    from scipy.special import stdtrit

    n, mean = len(values), math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    moved = mean + side * float(stdtrit(n - 1, (1 + level) / 2)) * spread / math.sqrt(n)
    return min(moved, max(values)) if side > 0 else max(moved, min(values))


def quiet_efficiency(rows: Mapping[int, QuietRow], settings: MeasureSettings) -> dict[int, tuple[float, float]]:
    """Bounds of E at every K but the smallest, from the bounds of both; none where they say nothing.

    What others cost a job that never waits is nearly the same at every K, and no K is faster than K times the first.
    """
    if not rows:
        return {}
    first, grows = rows[min(rows)], settings.regime is Regime.WEAK and not settings.timing.measures_rate
    bounds = {}
    for k, row in rows.items():
        grow = 1.0 if grows else first.k / k
        low, high = grow * first.needed[0] / row.needed[1] / SHARING, grow * first.needed[1] / row.needed[0] * SHARING
        high = min(high, 1.0)
        if k != first.k and low < high < WIDEST_SHARE * low:
            bounds[k] = (low, high)
    return bounds
