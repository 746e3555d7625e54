"""From the timed ranks to more ranks, message size by message size, and how well that works.

Libraries switch algorithms by size, so every size keeps its own curve.  How a curve grows follows from the cost model:
with lg p for operations that fold a vector of fixed length (all-reduce, reduce, broadcast), with p for those whose
vector or number of partners grows with the ranks (all-gather, reduce-scatter, all-to-all).  T(p) = T(last) + slope
(phi(p) - phi(last)) with the slope of the last two rank counts, because earlier ones are still inside a node; growth
factors are smoothed over neighbouring sizes, because a slope from two points is noisy.

On published sweeps of six systems, fitted on the smaller half of the ranks, this beats extending the last log-log
slope; see bench/collectives.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scalecurve.document import Answer, Column, Document, FindingList, JsonRecord, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.laws.collectives import Operation, as_operation
from scalecurve.study.message_sweep import MessageSweep, Timing
from scalecurve.units import WorkersLike, as_workers, format_bytes, format_seconds

NEIGHBOURS = 2  # sizes on either side whose growth is pooled
FOLDING = (Operation.ALLREDUCE, Operation.REDUCE, Operation.BROADCAST)

Curves = dict[float, list[Timing]]  # message size -> timings, ranks rising


@dataclass(frozen=True, kw_only=True)
class ExtendedRow(JsonRecord):
    """Predicted seconds of one message size (bytes) at more ranks than the last timed count."""

    message: float
    ranks: int
    seconds: float
    last_ranks: int

    JSON = "message ranks seconds extrapolation"

    @property
    def extrapolation(self) -> float:
        return self.ranks / self.last_ranks


@dataclass(frozen=True, kw_only=True, repr=False)
class ExtendedSweep(Result):
    """Predicted times of one operation at more ranks than were timed."""

    operation: Operation
    rows: tuple[ExtendedRow, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def answer(self) -> Answer:
        """The time at the most ranks."""
        if not self.rows:
            return Answer(decision="No size was timed at two rank counts, so none can be extended.")
        last = self.rows[-1]
        time = f"{format_seconds(last.seconds)} at {last.ranks:,} ranks"
        return Answer(
            decision=f"{self.operation} of {format_bytes(last.message)} would take {time}.",
            reason=f"Timed up to {last.last_ranks:,} ranks.",
        )

    def body(self) -> Document:
        rows = [[format_bytes(r.message), str(r.ranks), format_seconds(r.seconds)] for r in self.rows]
        growth = "lg p" if self.operation in FOLDING else "p"
        head = Paragraph(f"each size extended with {growth} from its last two rank counts")
        grid = table(["message", "ranks", "time"], rows)
        return Document(f"{self.operation} at more ranks", (head, grid, FindingList(self.findings)))


def extend_sweep(sweep: MessageSweep, operation: str, ranks: WorkersLike) -> ExtendedSweep:
    """Times of one operation at `ranks`, for every size that was timed at two rank counts or more."""
    which, counts = as_operation(operation), as_workers(ranks)
    timed = curves(sweep, which)
    last = {size: curve[-1].ranks for size, curve in timed.items()}
    rows = [
        ExtendedRow(message=size, ranks=p, seconds=seconds, last_ranks=last[size])
        for p in counts
        for size, seconds in by_growth(timed, which, p).items()
    ]
    findings = []
    farthest, largest = max(counts), max(last.values())
    if farthest > 4 * largest:
        text = f"{farthest} ranks are {farthest / largest:.3g} times the largest count timed"
        findings.append(warning("far-extrapolation", text, remedy="time the operation at more ranks"))
    return ExtendedSweep(operation=which, rows=tuple(rows), findings=tuple(findings))


def timings_of(sweep: MessageSweep, operation: Operation) -> list[Timing]:
    """The timings of one operation that moved bytes, whatever name the tool gave it."""
    names = set()
    for name in sweep.operations:
        try:
            names |= {name} if as_operation(name) is operation else set()
        except InputError:
            continue  # an operation without a model, such as a barrier
    return [timing for timing in sweep.timings if timing.operation in names and timing.message > 0]


def curves(sweep: MessageSweep, operation: Operation) -> Curves:
    """Timings by message size; sizes timed at one rank count only cannot be extended and are left out."""
    by_size: Curves = {}
    for timing in sorted(timings_of(sweep, operation), key=lambda timing: timing.ranks):
        by_size.setdefault(timing.message, []).append(timing)
    usable = {size: curve for size, curve in sorted(by_size.items()) if len({t.ranks for t in curve}) > 1}
    if not usable:
        hint = "time the same message sizes at two or more rank counts"
        raise InputError(Fault(f"no size of {operation} was timed at two rank counts", remedy=hint))
    return usable


def _last_two(curve: Sequence[Timing]) -> tuple[Timing, Timing]:
    last = curve[-1]
    return next(timing for timing in reversed(curve) if timing.ranks < last.ranks), last


def by_growth(timed: Curves, operation: Operation, ranks: int) -> dict[float, float]:
    """Seconds by size, the method of this module: last two points, phi of the operation, growth smoothed over sizes."""
    phi = math.log2 if operation in FOLDING else float
    growths = []
    for curve in timed.values():
        before, last = _last_two(curve)
        slope = max(0.0, (last.seconds - before.seconds) / (phi(last.ranks) - phi(before.ranks)))
        floor = 0.01 * last.seconds  # going to fewer ranks, a straight line may cross zero; a time cannot
        growths.append(math.log(max(floor, last.seconds + slope * (phi(ranks) - phi(last.ranks))) / last.seconds))
    smoothed = [np.median(growths[max(0, i - NEIGHBOURS) : i + NEIGHBOURS + 1]) for i in range(len(growths))]
    return {
        size: curve[-1].seconds * math.exp(growth)
        for (size, curve), growth in zip(timed.items(), smoothed, strict=True)
    }


def by_last_slope(timed: Curves, operation: Operation, ranks: int) -> dict[float, float]:
    """Seconds by size, the yardstick: the last log-log slope of each size carried on."""
    predicted = {}
    for size, curve in timed.items():
        before, last = _last_two(curve)
        slope = math.log(last.seconds / before.seconds) / math.log(last.ranks / before.ranks)
        predicted[size] = last.seconds * (ranks / last.ranks) ** slope
    return predicted


@dataclass(frozen=True, kw_only=True)
class HeldOut(JsonRecord):
    """One operation of one system: errors of predicting the larger half of the ranks from the smaller half."""

    operation: Operation
    system: str | None
    errors: tuple[float, ...]
    yardstick: tuple[float, ...]
    fitted_ranks: tuple[int, ...]
    tested_ranks: tuple[int, ...]
    findings: tuple[Finding, ...] = ()

    JSON = "operation system median_error last_slope_error=yardstick_error cells fitted_ranks tested_ranks findings"

    @property
    def cells(self) -> int:
        return len(self.errors)

    @property
    def median_error(self) -> float:
        return float(np.median(self.errors))

    @property
    def yardstick_error(self) -> float:
        return float(np.median(self.yardstick))


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
        tested_ranks=tuple(tested),
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class HeldOutNetworks(Result):
    """Predictions of the larger half of the ranks from the smaller half, all systems together."""

    tests: tuple[HeldOut, ...]
    findings: tuple[Finding, ...] = ()

    JSON = "operations=pooled tests findings"

    def records(self) -> list[dict[str, Any]]:
        kept = ("operation", "system", "median_error", "last_slope_error", "cells")
        return [{key: test.to_dict()[key] for key in kept} for test in self.tests]

    def pooled(self) -> list[dict[str, Any]]:
        """The median error of each operation over all systems, ours and that of the last slope."""
        pooled = []
        for operation in dict.fromkeys(test.operation for test in self.tests):
            tests = [test for test in self.tests if test.operation is operation]
            ours = float(np.median([error for test in tests for error in test.errors]))
            slope = float(np.median([error for test in tests for error in test.yardstick]))
            pooled.append({"operation": str(operation), "median_error": ours, "last_slope_error": slope})
        return pooled

    @property
    def answer(self) -> Answer:
        """How far off the extension was on ranks it had not seen."""
        name, ours, slope = self.pooled()[0].values()
        return Answer(decision=f"{name}: {ours:.1%} median error on more ranks, {slope:.1%} by the last slope.")

    def body(self) -> Document:
        rows = [[name, None, f"{ours:.1%}", f"{slope:.1%}"] for name, ours, slope in map(dict.values, self.pooled())]
        rows += [[str(t.operation), t.system, f"{t.median_error:.1%}", f"{t.yardstick_error:.1%}"] for t in self.tests]
        columns = [Column("operation", "left"), Column("system", "left"), Column("median error"), Column("last slope")]
        text = (
            "fitted on the smaller half of the rank counts, tested on the larger half, beside the last slope extended"
        )
        return Document("Held-out ranks", (Paragraph(text), table(columns, rows), FindingList(self.findings)))


def hold_out_all(sweeps: Sequence[MessageSweep], *, operation: str | None = None) -> HeldOutNetworks:
    """Every operation of every system that has enough rank counts."""
    tests, findings = [], []
    for sweep in sweeps:
        for name in (operation,) if operation else sweep.operations:
            try:
                tests.append(hold_out(sweep, name))
            except InputError as problem:
                findings.append(info("not-tested", f"{sweep.system} {name}: {problem}"))
    if not tests:
        raise InputError(f"no operation could be tested: {'; '.join(finding.message for finding in findings)}")
    tests.sort(key=lambda test: (test.operation, test.system or ""))
    return HeldOutNetworks(tests=tuple(tests), findings=tuple(findings))


def hold_out_collectives(
    files: Sequence[str | Path],
    *,
    operation: str | None = None,
    ranks: int | None = None,
    nodes: int | None = None,
    k_from: str | None = None,
) -> HeldOutNetworks:
    """How well the larger half of the ranks is predicted from the smaller half, from files of other tools."""
    from scalecurve.formats.sweeps import read_sweeps

    sweeps = read_sweeps([Path(file) for file in files], operation=operation, ranks=ranks, nodes=nodes, k_from=k_from)
    return hold_out_all(sweeps, operation=operation)
