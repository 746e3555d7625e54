"""Work and depth: how much parallelism does a computation have, whatever the machine?

W = work (the time on one worker), D = depth (the longest chain, the time on infinitely many).  On P workers

    max(W/P, D)  <=  T_P  <=  (W - D)/P + D        (greedy schedule; Graham 1969, Brent 1974)

so a greedy schedule is within a factor of two of the best, and speedup <= min(P, W/D).  Classic counts in unit tasks:

    sum of n values by a tree         W = n - 1            D = ceil(lg n)
    prefix sum, n = 2^k               W = 2 (n - 1)        D = 2 lg n            (Blelloch 1990)
    n x n matrix product              W = 2 n^3 - n^2      D = 1 + ceil(lg n)
    pipeline, s stages, m batches     W = s m              D = s + m - 1         bubble (s-1)/(s+m-1)

Source: R. L. Graham, SIAM J. Appl. Math. 17(2), 1969; R. P. Brent, J. ACM 21(2), 1974.
Worked number: a sum of 1000 values has W = 999 and D = 10, so at most S = 99.9.
Limits: tasks move no data and scheduling costs nothing; keep W/D at ten times P or more (rule of the Cilk papers).
"""

from __future__ import annotations


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
