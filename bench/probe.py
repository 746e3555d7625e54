"""What the probe costs per step, as ratios to a bare pair of perf_counter_ns() in the same loop.

python bench/probe.py            prints the ratios; exit 1 when one is above its limit
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from time import perf_counter_ns

from scalecurve import probe

STEPS = 1_000
ROUNDS = 800
LIMITS = {"steps": 3.0, "steps and two phases": 12.0}


def bare() -> None:
    now = perf_counter_ns
    for _ in range(STEPS):
        now()
        now()


def empty() -> None:
    for _ in range(STEPS):
        pass


def stepped() -> None:
    for _ in probe.steps(range(STEPS)):
        pass


def phased() -> None:
    phase = probe.phase
    for _ in probe.steps(range(STEPS)):
        with phase("compute"):
            pass
        with phase("communication"):
            pass


def best(*functions: Callable[[], None]) -> list[float]:
    """Nanoseconds per step of each: in turn, and the least of many short rounds, because noise only adds."""
    times: list[list[int]] = [[] for _ in functions]
    for _ in range(ROUNDS):
        for function, mine in zip(functions, times, strict=True):
            begin = perf_counter_ns()
            function()
            mine.append(perf_counter_ns() - begin)
    return [min(mine) / STEPS for mine in times]


def main() -> int:
    off, nothing = best(stepped, empty)
    with tempfile.TemporaryDirectory() as folder:
        probe.start(folder, rank=0, size=1)
        pair, steps, phases = best(bare, stepped, phased)
        ratios = {"steps": steps / pair, "steps and two phases": phases / pair}
        probe.finish()
    print(f"bare pair of perf_counter_ns(): {pair:.0f} ns;  switched off: {off / nothing:.2f}x an empty loop")
    for name, ratio in ratios.items():
        print(f"{name}: {ratio:.2f}x (limit {LIMITS[name]:g}x)")
    return int(any(ratio > LIMITS[name] for name, ratio in ratios.items()))


if __name__ == "__main__":
    sys.exit(main())
