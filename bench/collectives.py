"""How well are collectives predicted at more ranks?  Fit on the smaller half, test on the larger, beside the last
slope.

    python -m bench.collectives DATA/collectives_open.csv
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scalecurve.errors import Fault, InputError
from scalecurve.formats.sweeps import read_sweeps
from scalecurve.laws.collectives import Operation, as_operation
from scalecurve.mechanisms.network_extension import Curves, by_growth, curves, last_two
from scalecurve.study.message_sweep import MessageSweep


@dataclass(frozen=True)
class HeldOut:
    """One operation of one system: errors of predicting the larger half of the ranks from the smaller half."""

    operation: Operation
    system: str | None
    errors: tuple[float, ...]
    yardstick: tuple[float, ...]
    fitted_ranks: tuple[int, ...]


def hold_out(sweep: MessageSweep, operation: str) -> HeldOut:
    """Fit on the smaller half of the rank counts, test on the larger half."""
    which = as_operation(operation)
    timed = curves(sweep, which)
    ranks = sorted({timing.ranks for curve in timed.values() for timing in curve})
    half = (len(ranks) + 1) // 2
    fitted, tested = ranks[:half], ranks[half:]
    if len(fitted) < 2 or not tested:
        counts = ", ".join(map(str, ranks))
        raise InputError(Fault("too few rank counts to hold some out", value=counts, remedy="time at least three"))
    small = {size: [t for t in curve if t.ranks in fitted] for size, curve in timed.items()}
    small = {size: curve for size, curve in small.items() if len({t.ranks for t in curve}) > 1}
    methods: tuple[Callable[[Curves, Operation, int], dict[float, float]], ...] = (by_growth, by_last_slope)
    errors, yardstick = (
        tuple(
            abs(seconds / timing.seconds - 1)
            for p in tested
            for size, seconds in method(small, which, p).items()
            for timing in timed[size]
            if timing.ranks == p
        )
        for method in methods
    )
    return HeldOut(
        operation=which,
        system=sweep.system,
        errors=errors,
        yardstick=yardstick,
        fitted_ranks=tuple(fitted),
    )


def by_last_slope(timed: Curves, operation: Operation, ranks: int) -> dict[float, float]:
    """Seconds by size, the yardstick: the last log-log slope of each size carried on."""
    predicted = {}
    for size, curve in timed.items():
        before, last = last_two(curve)
        slope = math.log(last.seconds / before.seconds) / math.log(last.ranks / before.ranks)
        predicted[size] = last.seconds * (ranks / last.ranks) ** slope
    return predicted


def main(path: Path) -> None:
    sweeps = read_sweeps([path])
    for operation in ("allreduce", "allgather", "alltoall"):
        results: list[HeldOut] = []
        for sweep in sweeps:
            try:
                results.append(hold_out(sweep, operation))
            except InputError as problem:
                print(f"  {sweep.system}: {problem}")
        ours = statistics.median([error for each in results for error in each.errors])
        slope = statistics.median([error for each in results for error in each.yardstick])
        print(f"{operation}: median error {ours:.1%} on {len(results)} systems; extending the last slope {slope:.1%}")
        for each in results:
            print(
                f"  {each.system}: {statistics.median(each.errors):.1%} against {statistics.median(each.yardstick):.1%}"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
