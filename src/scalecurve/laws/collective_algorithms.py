"""What each collective algorithm does, as rounds of messages: flat, rooted, double binary tree, two levels.

Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH" (2005); Chan,
Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience" (2007); Bruck et al.
(1997) for the log-round forms; Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and
scan" (2009), which NCCL follows.

Where p is not a power of two, q = 2^floor(lg p) ranks take part and r = p - q fold into a neighbour first.  MPICH's own
comment writes (p-1)/p in the folded Rabenseifner cost; execution gives (q-1)/q, which is used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from scalecurve.laws.network import Level, Step, Steps, block, ceil_lg, floor_power, on

Flat = Callable[[int, float], Steps]

# All-gather, reduce-scatter, all-reduce and all-to-all on one kind of wire.


def allgather_ring(p: int, n: float) -> Steps:
    """(p-1) alpha + (p-1)/p n beta."""
    return (Step(rounds=p - 1, message=block(n, p)),)


def allgather_bruck(p: int, n: float) -> Steps:
    """ceil(lg p) alpha + (p-1)/p n beta: round k sends min(2^k, p - 2^k) blocks."""
    size = block(n, p)
    return tuple(Step(rounds=1, message=min(1 << k, p - (1 << k)) * size) for k in range(ceil_lg(p)))


def allgather_recursive_doubling(p: int, n: float) -> Steps:
    """Time: lg p alpha + (p-1)/p n beta for p = 2^k.

    Otherwise r ranks hand their block to a neighbour and get the other p-1 back at the end: round k of the doubling
    carries 2^k + min(2^k, r) blocks.
    """
    size = block(n, p)
    doubling = tuple(Step(rounds=1, message=count * size) for count in _doubled_blocks(p))
    if p == floor_power(p):
        return doubling
    return (Step(rounds=1, message=size), *doubling, Step(rounds=1, message=(p - 1) * size))


def _doubled_blocks(p: int) -> list[int]:
    """Blocks the fullest participant holds before each round of doubling among q participants, r of them with two."""
    q = floor_power(p)
    return [(1 << k) + min(1 << k, p - q) for k in range(q.bit_length() - 1)]


def reduce_scatter_ring(p: int, n: float) -> Steps:
    """(p-1) alpha + (p-1)/p n beta + (p-1)/p n gamma."""
    return (Step(rounds=p - 1, message=block(n, p), reduced=block(n, p)),)


def reduce_scatter_halving(p: int, n: float) -> Steps:
    """Recursive halving: lg p alpha + (p-1)/p n (beta + gamma) for p = 2^k.

    Otherwise r ranks first fold their whole vector into a neighbour, which sends their block back at the end.
    """
    size = block(n, p)
    halving = tuple(
        Step(rounds=1, message=count * size, reduced=count * size) for count in reversed(_doubled_blocks(p))
    )
    if p == floor_power(p):
        return halving
    return (Step(rounds=1, message=p * size, reduced=p * size), *halving, Step(rounds=1, message=size))


def allreduce_ring(p: int, n: float) -> Steps:
    """2(p-1) alpha + 2(p-1)/p n beta + (p-1)/p n gamma."""
    return reduce_scatter_ring(p, n) + allgather_ring(p, n)


def allreduce_recursive_doubling(p: int, n: float) -> Steps:
    """Time: lg p (alpha + n beta + n gamma) for p = 2^k, else (lg q + 2)(alpha + n beta) + (lg q + 1) n gamma."""
    q = floor_power(p)
    doubling = Step(rounds=q.bit_length() - 1, message=n, reduced=n)
    if p == q:
        return (doubling,)
    return (Step(rounds=1, message=n, reduced=n), doubling, Step(rounds=1, message=n))


def allreduce_rabenseifner(p: int, n: float) -> Steps:
    """Halving-doubling: 2 lg p alpha + 2(p-1)/p n beta + (p-1)/p n gamma for p = 2^k.

    Otherwise (2 lg q + 2) alpha + (2(q-1)/q + 2) n beta + ((q-1)/q + 1) n gamma.
    """
    q = floor_power(p)
    inner = reduce_scatter_halving(q, n) + allgather_recursive_doubling(q, n)
    if p == q:
        return inner
    return (Step(rounds=1, message=n, reduced=n), *inner, Step(rounds=1, message=n))


def allreduce_binomial(p: int, n: float) -> Steps:
    """Binomial reduce, then broadcast: 2 ceil(lg p)(alpha + n beta) + ceil(lg p) n gamma."""
    rounds = ceil_lg(p)
    return (Step(rounds=rounds, message=n, reduced=n), Step(rounds=rounds, message=n))


def alltoall_pairwise(p: int, n: float) -> Steps:
    """(p-1) alpha + (p-1)/p n beta."""
    return (Step(rounds=p - 1, message=block(n, p)),)


def alltoall_bruck(p: int, n: float) -> Steps:
    """ceil(lg p) alpha + (n/2) lg p beta for p = 2^k, slightly less otherwise.

    Round k sends the blocks whose distance has bit k set: floor(p/2^(k+1)) 2^k + max(0, p mod 2^(k+1) - 2^k) of them.
    """
    size = block(n, p)
    counts = [(p >> k + 1 << k) + max(0, p % (2 << k) - (1 << k)) for k in range(ceil_lg(p))]
    return tuple(Step(rounds=1, message=count * size) for count in counts)


# Broadcast and reduce, which have a root.


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


# Double binary tree: two trees, each carrying half of the vector.  Rank 0 feeds both trees over the ranks 1 .. p-1.  In
# the first tree a rank's parent follows from its lowest set bit, so every odd rank is a leaf; the second is its mirror
# (p odd) or its shift (p even), so every even rank is a leaf and no rank is interior in both.
#
# A rank has at most two receivers and two senders over both trees together, so the messages can be two-coloured (a
# bipartite graph of degree two): odd rounds carry one colour, even rounds the other, and no rank sends or receives
# twice in a round.


def broadcast_double_tree(p: int, n: float, segments: int = 1) -> Steps:
    """(fill + 2(m-1)) rounds of n/(2m) bytes, m segments in each tree: about 2 lg p alpha + n beta + filling."""
    if p == 1:
        return ()
    return (Step(rounds=fill_rounds(p) + 2 * (segments - 1), message=block(n, 2 * segments)),)


def reduce_double_tree(p: int, n: float, segments: int = 1) -> Steps:
    """The broadcast run backwards: the same rounds, every message combined where it arrives."""
    return tuple(replace(step, reduced=step.message) for step in broadcast_double_tree(p, n, segments))


def allreduce_double_tree(p: int, n: float, segments: int = 1) -> Steps:
    """Reduce, then broadcast: 2(fill + 2(m-1))(alpha + n beta/(2m)), so 2 n beta and a logarithmic latency."""
    return reduce_double_tree(p, n, segments) + broadcast_double_tree(p, n, segments)


def tree_segments(p: int, n: float, alpha: float, beta: float) -> int:
    """The m minimising (F - 2 + 2m)(alpha + n beta/(2m)), F = fill: m = sqrt((F-2) n beta / (4 alpha))."""
    spare = fill_rounds(p) - 2 if p > 1 else 0
    if alpha <= 0:
        return max(1, int(min(n, 1e6)))
    return max(1, min(round(math.sqrt(spare * n * beta / (4 * alpha))), int(n) or 1))


def fill_rounds(p: int) -> int:
    """Rounds until the first segment of both trees has reached every rank: 2 lg p, rounded up, or one less.

    The trees are built and coloured edge by edge in tests/fakes/simulated_ranks.py, which agree for every p tried.
    """
    if p == 1:
        return 0
    twice = 2 * (p - 1).bit_length()
    return twice if p % 4 == 3 or p & (p - 1) == 0 else twice - 1


# Two levels: N nodes of g ranks, p = N g, one step inside the nodes and one between them.  Between nodes every rank of
# a node talks to its namesakes on the other nodes (one rail each), so a rail carries 1/g of the vector; `Network` slows
# the rails down where a node has fewer adapters than ranks.


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
