"""Broadcast and reduce.

Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH" (2005); Chan,
Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience" (2007).
"""

from __future__ import annotations

import math

from scalecurve.laws.collectives.all_to_all import allgather_ring, reduce_scatter_ring
from scalecurve.laws.collectives.steps import Step, Steps, block, ceil_lg


def broadcast_binomial(p: int, n: float) -> Steps:
    """ceil(lg p)(alpha + n beta)."""
    return (Step(rounds=ceil_lg(p), message=n),)


def broadcast_chain(p: int, n: float, segments: int = 1) -> Steps:
    """Pipelined chain of m segments: (p-2+m)(alpha + ceil(n/m) beta) for p > 1."""
    if p == 1:
        return ()
    return (Step(rounds=p - 2 + segments, message=block(n, segments)),)


def chain_segments(p: int, n: float, alpha: float, beta: float) -> int:
    """The m that minimises the chain: sqrt((p-2) n beta / alpha), at least one and at most a byte each."""
    if alpha <= 0:
        return max(1, int(min(n, 1e6)))
    return max(1, min(round(math.sqrt((p - 2) * n * beta / alpha)) if p > 2 else 1, int(n) or 1))


def broadcast_scatter_allgather(p: int, n: float) -> Steps:
    """By van de Geijn: binomial scatter, then ring all-gather: (ceil(lg p)+p-1) alpha + 2(p-1)/p n beta."""
    return scatter_binomial(p, n) + allgather_ring(p, n)


def scatter_binomial(p: int, n: float) -> Steps:
    """Root halves its range each round: ceil(lg p) alpha + (p-1)/p n beta.

    The first message holds what lies above the largest power of two below p, the others q/2, q/4 ... 1 blocks.
    """
    if p == 1:
        return ()
    half = 1 << (ceil_lg(p) - 1)
    counts = [p - half] + [half >> shift for shift in range(1, ceil_lg(p))]
    return tuple(Step(rounds=1, message=count * block(n, p)) for count in counts)


def reduce_binomial(p: int, n: float) -> Steps:
    """ceil(lg p)(alpha + n beta + n gamma)."""
    return (Step(rounds=ceil_lg(p), message=n, reduced=n),)


def reduce_scatter_gather(p: int, n: float) -> Steps:
    """Ring reduce-scatter, then binomial gather: (p-1+ceil(lg p)) alpha + 2(p-1)/p n beta + (p-1)/p n gamma."""
    return reduce_scatter_ring(p, n) + tuple(reversed(scatter_binomial(p, n)))
