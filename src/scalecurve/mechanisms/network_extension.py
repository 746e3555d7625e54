"""From the ranks that were timed to more ranks, message size by message size.

Libraries switch algorithms by size, so each size keeps its own curve.  How a curve grows is taken from the cost
model: with lg p for operations that fold a vector of fixed length (all-reduce, reduce, broadcast), with p for those
whose vector or number of partners grows with the ranks (all-gather, reduce-scatter, all-to-all).  T(p) = T(last) +
slope (phi(p) - phi(last)) with the slope of the last two rank counts, the earlier ones still being inside a node;
growth factors are smoothed over neighbouring sizes, because a single slope from two points is noisy.

On published sweeps of six systems, fitted on the smaller half of the ranks, this beats extending the last log-log
slope;
see bench/collectives.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalecurve.document import Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, warning
from scalecurve.laws.collectives import Operation, as_operation
from scalecurve.study.message_sweep import MessageSweep, Timing
from scalecurve.units import format_bytes, format_seconds

NEIGHBOURS = 2  # sizes on either side whose growth is pooled
FOLDING = (Operation.ALLREDUCE, Operation.REDUCE, Operation.BROADCAST)

Curves = dict[float, list[Timing]]  # message size -> timings, ranks rising
Method = Callable[[Curves, Operation, int], dict[float, float]]


@dataclass(frozen=True, kw_only=True)
class ExtendedRow:
    message: float
    ranks: int
    seconds: float
    last_ranks: int

    def to_dict(self) -> dict[str, Any]:
        extrapolation = self.ranks / self.last_ranks
        return {
            "message": self.message,
            "ranks": self.ranks,
            "seconds": self.seconds,
            "extrapolation": extrapolation,
        }


@dataclass(frozen=True, kw_only=True)
class ExtendedSweep(Shown):
    """Predicted times of one operation at more ranks than were timed."""

    operation: Operation
    rows: tuple[ExtendedRow, ...]
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        found = [finding.to_dict() for finding in self.findings]
        return {"operation": str(self.operation), "rows": self.records(), "findings": found}

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def document(self) -> Document:
        rows = [[format_bytes(r.message), str(r.ranks), format_seconds(r.seconds)] for r in self.rows]
        growth = "lg p" if self.operation in FOLDING else "p"
        head = Paragraph(f"each size extended with {growth} from its last two rank counts")
        grid = table(["message", "ranks", "time"], rows)
        return Document(f"{self.operation} at more ranks", (head, grid, FindingList(self.findings)))


def extend_sweep(sweep: MessageSweep, operation: str, ranks: Sequence[int]) -> ExtendedSweep:
    """Times of one operation at `ranks`, for every size that was timed at two rank counts or more."""
    which = as_operation(operation)
    known = curves(sweep, which)
    last = {size: each[-1].ranks for size, each in known.items()}
    rows = [
        ExtendedRow(message=size, ranks=p, seconds=seconds, last_ranks=last[size])
        for p in ranks
        for size, seconds in by_growth(known, which, p).items()
    ]
    found = []
    if rows and max(ranks) > 4 * max(last.values()):
        text = f"{max(ranks)} ranks are {max(ranks) / max(last.values()):.3g} times the largest count timed"
        found.append(warning("far-extrapolation", text, remedy="time the operation at more ranks"))
    return ExtendedSweep(operation=which, rows=tuple(rows), findings=tuple(found))


def curves(sweep: MessageSweep, operation: Operation) -> Curves:
    """Timings by message size; sizes seen at one rank count only cannot be extended and are left out."""
    found: Curves = {}
    for timing in sorted(sweep.timings, key=lambda each: each.ranks):
        if timing.message > 0 and _named(timing, operation):
            found.setdefault(timing.message, []).append(timing)
    usable = {size: each for size, each in sorted(found.items()) if len({t.ranks for t in each}) > 1}
    if not usable:
        hint = "time the same message sizes at two or more rank counts"
        raise InputError(Fault(f"no size of {operation} was timed at two rank counts", remedy=hint))
    return usable


def _named(timing: Timing, operation: Operation) -> bool:
    try:
        return as_operation(timing.operation) is operation
    except InputError:
        return False


def by_growth(known: Curves, operation: Operation, ranks: int) -> dict[float, float]:
    """The method of this module: last two points, phi of the operation, growth smoothed over sizes."""
    growth = {size: math.log(_extended(each, operation, ranks) / each[-1].seconds) for size, each in known.items()}
    return {size: each[-1].seconds * math.exp(_smoothed(growth, size)) for size, each in known.items()}


def _extended(curve: Sequence[Timing], operation: Operation, ranks: int) -> float:
    before, last = _last_two(curve)
    phi = math.log2 if operation in FOLDING else float
    slope = max(0.0, (last.seconds - before.seconds) / (phi(last.ranks) - phi(before.ranks)))
    floor = 0.01 * last.seconds  # going to fewer ranks, a straight line may cross zero; a time cannot
    return max(floor, last.seconds + slope * (phi(ranks) - phi(last.ranks)))


def _last_two(curve: Sequence[Timing]) -> tuple[Timing, Timing]:
    last = curve[-1]
    return next(each for each in reversed(curve) if each.ranks < last.ranks), last


def _smoothed(growth: dict[float, float], size: float) -> float:
    sizes = list(growth)
    place = sizes.index(size)
    near = sizes[max(0, place - NEIGHBOURS) : place + NEIGHBOURS + 1]
    return float(np.median([growth[each] for each in near]))


def by_last_slope(known: Curves, operation: Operation, ranks: int) -> dict[float, float]:
    """The yardstick: the last log-log slope of each size carried on."""
    found = {}
    for size, curve in known.items():
        before, last = _last_two(curve)
        slope = math.log(last.seconds / before.seconds) / math.log(last.ranks / before.ranks)
        found[size] = last.seconds * (ranks / last.ranks) ** slope
    return found


@dataclass(frozen=True, kw_only=True)
class HeldOut(Shown):
    """How well the larger half of the ranks is predicted from the smaller half, beside the yardstick."""

    operation: Operation
    system: str | None
    errors: tuple[float, ...]
    yardstick: tuple[float, ...]
    fitted_ranks: tuple[int, ...]
    tested_ranks: tuple[int, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def median_error(self) -> float:
        return float(np.median(self.errors))

    @property
    def yardstick_error(self) -> float:
        return float(np.median(self.yardstick))

    def to_dict(self) -> dict[str, Any]:
        return {
            "operation": str(self.operation),
            "system": self.system,
            "median_error": self.median_error,
            "last_slope_error": self.yardstick_error,
            "cells": len(self.errors),
            "fitted_ranks": list(self.fitted_ranks),
            "tested_ranks": list(self.tested_ranks),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        text = (
            f"fitted on {_listed(self.fitted_ranks)} ranks, tested on {_listed(self.tested_ranks)}: median error "
            f"{self.median_error:.1%} over {len(self.errors)} cells "
            f"(extending the last slope: {self.yardstick_error:.1%})"
        )
        return Document(f"{self.operation} on {self.system or 'this system'}", (Paragraph(text),))


def _listed(ranks: Sequence[int]) -> str:
    return ", ".join(str(p) for p in ranks)


def hold_out(sweep: MessageSweep, operation: str) -> HeldOut:
    """Fit on the smaller half of the rank counts, test on the larger half."""
    which = as_operation(operation)
    everything = curves(sweep, which)
    ranks = sorted({timing.ranks for each in everything.values() for timing in each})
    half = (len(ranks) + 1) // 2
    fitted, tested = ranks[:half], ranks[half:]
    if len(fitted) < 2 or not tested:
        hint = "time at least three"
        raise InputError(Fault("too few rank counts to hold some out", seen=_listed(ranks), remedy=hint))
    small = {s: [t for t in each if t.ranks in fitted] for s, each in everything.items()}
    known = {s: each for s, each in small.items() if len({t.ranks for t in each}) > 1}
    return HeldOut(
        operation=which,
        system=sweep.system,
        errors=_errors(by_growth, known, everything, which, tested),
        yardstick=_errors(by_last_slope, known, everything, which, tested),
        fitted_ranks=tuple(fitted),
        tested_ranks=tuple(tested),
    )


def _errors(
    method: Method, known: Curves, everything: Curves, operation: Operation, tested: Sequence[int]
) -> tuple[float, ...]:
    errors = []
    for p in tested:
        predicted = method(known, operation, p)
        for size, seconds in predicted.items():
            errors += [abs(seconds / timing.seconds - 1) for timing in everything[size] if timing.ranks == p]
    return tuple(errors)
