"""Two-level forms: N nodes of g ranks, p = N g, one step inside the nodes and one between them.

Between nodes every rank of a node talks to its namesakes on the other nodes (one rail each), so a rail carries 1/g of
the vector; `network.Network` slows the rails down where a node has fewer adapters than ranks. All-reduce [simulated]:
2(g-1) a_i + 2(g-1)/g n b_i + 2(N-1) a_e + 2(N-1)/N (n/g) b_e.
"""

from __future__ import annotations

from collections.abc import Callable

from scalecurve.laws.collectives.all_to_all import (
    allgather_ring,
    allreduce_rabenseifner,
    allreduce_ring,
    alltoall_pairwise,
    reduce_scatter_ring,
)
from scalecurve.laws.collectives.one_to_all import (
    broadcast_binomial,
    reduce_binomial,
    scatter_binomial,
)
from scalecurve.laws.collectives.steps import Level, Steps, block, on

Flat = Callable[[int, float], Steps]


def allreduce_two_level(nodes: int, per_node: int, n: float, across: Flat = allreduce_ring) -> Steps:
    """Reduce-scatter inside, all-reduce of n/g across on g rails, all-gather inside."""
    share = block(n, per_node)
    return (
        on(Level.INTRA, reduce_scatter_ring(per_node, n))
        + on(Level.INTER, across(nodes, share))
        + on(Level.INTRA, allgather_ring(per_node, n))
    )


def allreduce_two_level_halving(nodes: int, per_node: int, n: float) -> Steps:
    """The same with Rabenseifner's all-reduce across: logarithmic in the number of nodes."""
    return allreduce_two_level(nodes, per_node, n, allreduce_rabenseifner)


def allgather_two_level(nodes: int, per_node: int, n: float) -> Steps:
    """All-gather across on g rails (n/g each), then all-gather of those inside: (N-1)/N n/g b_e + (g-1)/g n b_i."""
    share = nodes * block(n, nodes * per_node)
    return on(Level.INTER, allgather_ring(nodes, share)) + on(Level.INTRA, allgather_ring(per_node, share * per_node))


def reduce_scatter_two_level(nodes: int, per_node: int, n: float) -> Steps:
    """The all-gather backwards: reduce-scatter inside, then across on g rails."""
    share = nodes * block(n, nodes * per_node)
    inside = on(Level.INTRA, reduce_scatter_ring(per_node, share * per_node))
    return inside + on(Level.INTER, reduce_scatter_ring(nodes, share))


def alltoall_two_level(nodes: int, per_node: int, n: float) -> Steps:
    """Swap inside by destination rail, then across: (g-1) a_i + (g-1)/g n b_i + (N-1) a_e + (N-1)/N n b_e."""
    size = block(n, nodes * per_node)
    inside = on(Level.INTRA, alltoall_pairwise(per_node, size * nodes * per_node))
    return inside + on(Level.INTER, alltoall_pairwise(nodes, size * nodes * per_node))


def broadcast_two_level(nodes: int, per_node: int, n: float) -> Steps:
    """Scatter inside the root's node, broadcast each share across on its rail, all-gather inside every node."""
    share = block(n, per_node)
    return (
        on(Level.INTRA, scatter_binomial(per_node, n))
        + on(Level.INTER, broadcast_binomial(nodes, share))
        + on(Level.INTRA, allgather_ring(per_node, n))
    )


def reduce_two_level(nodes: int, per_node: int, n: float) -> Steps:
    """Reduce-scatter inside every node, reduce each share across on its rail, gather inside the root's node."""
    share = block(n, per_node)
    return (
        on(Level.INTRA, reduce_scatter_ring(per_node, n))
        + on(Level.INTER, reduce_binomial(nodes, share))
        + on(Level.INTRA, reversed(scatter_binomial(per_node, n)))
    )
