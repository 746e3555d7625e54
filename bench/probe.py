"""What the probe costs per step, as ratios to a bare pair of perf_counter_ns() in the same loop.

python bench/probe.py            prints the ratios; exit 1 when one is above its limit
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from time import perf_counter_ns

from scalecurve import probe

STEPS = 100_000
ROUNDS = 15
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


def best(function: Callable[[], None]) -> float:
    """Nanoseconds per step: the least of several rounds, because noise only adds."""
    times = []
    for _ in range(ROUNDS):
        begin = perf_counter_ns()
        function()
        times.append(perf_counter_ns() - begin)
    return min(times) / STEPS


def main() -> int:
    off = best(stepped) / best(empty)
    with tempfile.TemporaryDirectory() as folder:
        probe.start(folder, rank=0, size=1)
        pair = best(bare)
        ratios = {"steps": best(stepped) / pair, "steps and two phases": best(phased) / pair}
        probe.finish()
    print(f"bare pair of perf_counter_ns(): {pair:.0f} ns;  switched off: {off:.2f}x an empty loop")
    for name, ratio in ratios.items():
        print(f"{name}: {ratio:.2f}x (limit {LIMITS[name]:g}x)")
    return int(any(ratio > LIMITS[name] for name, ratio in ratios.items()))


if __name__ == "__main__":
    sys.exit(main())
