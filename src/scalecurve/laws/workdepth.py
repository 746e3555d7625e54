"""Work and depth: how much parallelism a computation has, whatever the machine.

W = work (all of it on one worker), D = depth (the longest chain, on infinitely many).  On P workers

    max(W/P, D)  <=  T_P  <=  (W - D)/P + D        (greedy schedule; Graham 1969, Brent 1974)

so a greedy schedule is within a factor of two of the best, and speedup <= min(P, W/D).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scalecurve.errors import Fault, InputError

WANTED_SLACK = 10.0  # (W/D)/P from which scheduling losses stay small; rule of thumb of the Cilk papers


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Work and depth of a classic algorithm, in unit tasks."""

    work: int
    depth: int


def check(work: float, depth: float) -> None:
    """Refuse a depth above the work, or numbers that are not finite and at least 0."""
    faults = [
        Fault(f"{name} is a finite number from 0", where=name, seen=f"{value:g}")
        for name, value in (("work", work), ("depth", depth))
        if not (math.isfinite(value) and value >= 0)
    ]
    if not faults and depth > work * (1 + 1e-9):
        faults = [Fault("depth cannot exceed work", where="depth", seen=f"{depth:g} > {work:g}")]
    if faults:
        raise InputError(faults, subject="work and depth")


def parallelism(work: float, depth: float) -> float | None:
    """W/D: the most workers that can be kept busy on average; None for an empty graph."""
    return work / depth if depth > 0 else None


def least_time(work: float, depth: float, workers: int) -> float:
    """No schedule beats max(W/P, D)."""
    return max(work / workers, depth)


def greedy_time(work: float, depth: float, workers: int) -> float:
    """A greedy schedule takes at most (W - D)/P + D."""
    return (work - depth) / workers + depth


def most_speedup(work: float, depth: float, workers: int) -> float | None:
    """min(P, W/D)."""
    wide = parallelism(work, depth)
    return None if wide is None else min(float(workers), wide)


def slack(work: float, depth: float, workers: int) -> float | None:
    """(W/D)/P: how many times over the workers could be kept busy."""
    wide = parallelism(work, depth)
    return None if wide is None else wide / workers


def reduction_tree(n: int) -> Counts:
    """Sum of n values by a balanced tree: W = n - 1, D = ceil(lg n)."""
    return Counts(work=n - 1, depth=_ceil_lg(n))


def prefix_sum(n: int) -> Counts:
    """Blelloch's scan of n = 2^k values: up-sweep and down-sweep of n - 1 nodes each, D = 2 lg n (Blelloch 1990)."""
    if n < 1 or n & (n - 1):
        raise InputError(Fault("Blelloch's scan is counted for a power of two", seen=str(n)))
    return Counts(work=2 * (n - 1), depth=2 * _ceil_lg(n))


def matrix_product(n: int) -> Counts:
    """For n x n by definition with tree sums: n^3 products and n^2 (n-1) additions, D = 1 + ceil(lg n)."""
    return Counts(work=n**3 + n * n * (n - 1), depth=1 + _ceil_lg(n))


def pipeline(stages: int, microbatches: int) -> Counts:
    """For s stages, m microbatches, each stage in order: W = s m, D = s + m - 1; bubble share (s-1)/(s+m-1)."""
    return Counts(work=stages * microbatches, depth=stages + microbatches - 1)


def _ceil_lg(n: int) -> int:
    if n < 1:
        raise InputError(Fault("a size is a whole number from 1", seen=str(n)))
    return (n - 1).bit_length()
