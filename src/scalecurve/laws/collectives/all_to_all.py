"""All-gather, reduce-scatter, all-reduce and all-to-all on one kind of wire, any p.

Sources: Thakur, Rabenseifner, Gropp (2005); Chan et al. (2007); Bruck et al. (1997) for the log-round forms.  Where p
is not a power of two, q = 2^floor(lg p) ranks take part and r = p - q fold into a neighbour first.  MPICH's own
comment writes (p-1)/p in the folded Rabenseifner cost; execution gives (q-1)/q, and that is what stands here.
"""

from __future__ import annotations

from scalecurve.laws.collectives.steps import Step, Steps, block, ceil_lg, floor_power


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
    carries
    2^k + min(2^k, r) blocks.
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
    return tuple(Step(rounds=1, message=_with_bit(k, p) * size) for k in range(ceil_lg(p)))


def _with_bit(k: int, p: int) -> int:
    """How many of 0 .. p-1 have bit k set."""
    period = 1 << (k + 1)
    return (p // period << k) + max(0, p % period - (1 << k))
