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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalecurve.document import Answer, Document, FindingList, JsonRecord, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, warning
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


def last_two(curve: Sequence[Timing]) -> tuple[Timing, Timing]:
    """The last timing of a size, and the last one at fewer ranks before it."""
    last = curve[-1]
    return next(timing for timing in reversed(curve) if timing.ranks < last.ranks), last


def by_growth(timed: Curves, operation: Operation, ranks: int) -> dict[float, float]:
    """Seconds by size, the method of this module: last two points, phi of the operation, growth smoothed over sizes."""
    phi = math.log2 if operation in FOLDING else float
    growths = []
    for curve in timed.values():
        before, last = last_two(curve)
        slope = max(0.0, (last.seconds - before.seconds) / (phi(last.ranks) - phi(before.ranks)))
        floor = 0.01 * last.seconds  # going to fewer ranks, a straight line may cross zero; a time cannot
        growths.append(math.log(max(floor, last.seconds + slope * (phi(ranks) - phi(last.ranks))) / last.seconds))
    smoothed = [np.median(growths[max(0, i - NEIGHBOURS) : i + NEIGHBOURS + 1]) for i in range(len(growths))]
    return {
        size: curve[-1].seconds * math.exp(growth)
        for (size, curve), growth in zip(timed.items(), smoothed, strict=True)
    }
