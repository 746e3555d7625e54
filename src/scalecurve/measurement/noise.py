"""The noise floor of a machine: the same piece of work again and again, and how unequal the times are.

Fixed-work quanta: each quantum does the same arithmetic in one thread, so every difference is the machine's (other
processes, interrupts, clocks).  The floor is what no measurement here can be more precise than, whatever the job.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

QUANTUM_SECONDS = 0.002
BUDGET_SECONDS = 2.0
SLOW_FACTOR = 1.5


@dataclass(frozen=True, kw_only=True)
class NoiseFloor:
    """Times of quanta relative to the fastest; `run_to_run` is the spread of groups as long as a short run."""

    quanta: int
    quantum_seconds: float
    median: float
    p99: float
    worst: float
    slow_share: float
    run_to_run: float


def measure_noise(seconds: float = BUDGET_SECONDS) -> NoiseFloor:
    """Quanta for about `seconds`; calibrated first so that one takes some milliseconds."""
    size = _calibrate()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 50:
        times.append(_quantum(size))
    return summarise(np.asarray(times))


def summarise(times: npt.NDArray[np.float64]) -> NoiseFloor:
    fastest = float(times.min())
    relative = times / fastest
    return NoiseFloor(
        quanta=len(times),
        quantum_seconds=fastest,
        median=float(np.median(relative)),
        p99=float(np.quantile(relative, 0.99)),
        worst=float(relative.max()),
        slow_share=float(np.mean(relative > SLOW_FACTOR)),
        run_to_run=group_spread(times),
    )


def group_spread(times: npt.NDArray[np.float64], groups: int = 10) -> float:
    """Spread (s over mean) of the sums of equal groups of quanta: what two short runs would differ by."""
    sums = np.asarray([part.sum() for part in np.array_split(times[: len(times) // groups * groups], groups)])
    return float(sums.std(ddof=1) / sums.mean())


def _calibrate() -> int:
    size = 1000
    while _quantum(size) < QUANTUM_SECONDS and size < 10**9:
        size *= 2
    return size


def _quantum(size: int) -> float:
    begin = time.perf_counter()
    total = 0
    for i in range(size):
        total += i
    return time.perf_counter() - begin
