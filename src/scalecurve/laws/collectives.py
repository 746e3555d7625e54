"""Collectives: what does exchanging n bytes among p ranks cost?

Every algorithm is a list of rounds; a round costs its largest message, alpha + beta x bytes, and gamma for every byte
reduced (one port, full duplex).  alpha is seconds per message, beta seconds per byte (1/bandwidth), gamma seconds per
byte that is added up; lg is log2, and q = 2^floor(lg p):

    all-reduce, ring                 2(p-1) alpha + 2(p-1)/p n beta + (p-1)/p n gamma
    all-reduce, recursive doubling   lg p (alpha + n beta + n gamma)
      p not a power of two           (lg q + 2)(alpha + n beta) + (lg q + 1) n gamma
    all-reduce, Rabenseifner         2 lg p alpha + 2(p-1)/p n beta + (p-1)/p n gamma
      p not a power of two           (2 lg q + 2) alpha + (2(q-1)/q + 2) n beta + ((q-1)/q + 1) n gamma
    all-reduce, double binary tree   2(F + 2(m-1))(alpha + n beta/(2m)), m segments, F about 2 lg p rounds to fill
    all-reduce, two levels           2(g-1) a_i + 2(g-1)/g n b_i + 2(N-1) a_e + 2(N-1)/N (n/g) b_e
    broadcast, binomial              ceil(lg p)(alpha + n beta)
    broadcast, chain of m segments   (p-2+m)(alpha + n beta/m)
    broadcast, scatter + all-gather  (ceil(lg p)+p-1) alpha + 2(p-1)/p n beta
    all-gather, ring / Bruck         (p-1) alpha / ceil(lg p) alpha, + (p-1)/p n beta
    all-to-all, pairwise             (p-1) alpha + (p-1)/p n beta
    all-to-all, Bruck                ceil(lg p) alpha + (n/2) lg p beta for p = 2^k, slightly less otherwise

n is the full vector in bytes; for all-to-all it is everything that one rank sends.  Blocks are ceil(n/p) bytes; p = 1
costs nothing.  With two levels, g ranks share each of N nodes; a_i and b_i hold inside a node, a_e and b_e outside.

Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005; Chan et al., 2007; Sanders, Speck, Träff, 2009; Bruck et al.,
1997.
Worked number: 350 MB among 8 GPUs over NVLink (450 GB/s): 2 x 7/8 x 350 MB / 450 GB/s = 1.36 ms at best.
Limits: links do not share wires and ranks start together; tests execute every algorithm on simulated ranks with real
data and find exactly these rounds and bytes, but a library may switch algorithms by size: measure with
`collective measure`.

Lower bounds (Chan et al. 2007; Thakur et al. 2005): ceil(lg p) alpha for every operation; in bytes n beta (broadcast,
reduce), (p-1)/p n beta (all-gather, reduce-scatter, all-to-all), 2(p-1)/p n beta (all-reduce); and (p-1)/p n gamma
where something is reduced.  The largest of the parts is a bound; their sum is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from scalecurve.document import JsonRecord
from scalecurve.errors import Fault, InputError
from scalecurve.laws import collective_algorithms as run
from scalecurve.laws.network import Level, Link, Network, Protocol, Step, Steps, Totals, ceil_lg, check, totals

__all__ = [
    "Choice", "Crossing", "Level", "Link", "LowerBound", "Network", "Operation", "Protocol", "Step", "Steps", "Totals",
    "algorithms", "as_operation", "best", "candidates", "cost", "crossings", "lower_bound", "totals",
]  # fmt: skip


LARGEST = 2.0**40  # bytes, up to which crossings are looked for


class Operation(StrEnum):
    """The modelled collectives."""

    BROADCAST = "broadcast"
    REDUCE = "reduce"
    ALLREDUCE = "allreduce"
    ALLGATHER = "allgather"
    REDUCE_SCATTER = "reduce_scatter"
    ALLTOALL = "alltoall"

    @property
    def reduces(self) -> bool:
        return self in (Operation.REDUCE, Operation.ALLREDUCE, Operation.REDUCE_SCATTER)


Segmented = Callable[[int, float, int], Steps]
Segments = Callable[[int, float, float, float], int]
TwoLevel = Callable[[int, int, float], Steps]

FLAT: dict[Operation, dict[str, run.Flat]] = {
    Operation.BROADCAST: {
        "binomial": run.broadcast_binomial,
        "scatter-allgather": run.broadcast_scatter_allgather,
    },
    Operation.REDUCE: {"binomial": run.reduce_binomial, "scatter-gather": run.reduce_scatter_gather},
    Operation.ALLREDUCE: {
        "ring": run.allreduce_ring,
        "recursive-doubling": run.allreduce_recursive_doubling,
        "rabenseifner": run.allreduce_rabenseifner,
        "binomial": run.allreduce_binomial,
    },
    Operation.ALLGATHER: {
        "ring": run.allgather_ring,
        "bruck": run.allgather_bruck,
        "recursive-doubling": run.allgather_recursive_doubling,
    },
    Operation.REDUCE_SCATTER: {"ring": run.reduce_scatter_ring, "recursive-halving": run.reduce_scatter_halving},
    Operation.ALLTOALL: {"pairwise": run.alltoall_pairwise, "bruck": run.alltoall_bruck},
}
SEGMENTED: dict[Operation, dict[str, tuple[Segmented, Segments]]] = {
    Operation.BROADCAST: {
        "chain": (run.broadcast_chain, run.chain_segments),
        "double-tree": (run.broadcast_double_tree, run.tree_segments),
    },
    Operation.REDUCE: {"double-tree": (run.reduce_double_tree, run.tree_segments)},
    Operation.ALLREDUCE: {"double-tree": (run.allreduce_double_tree, run.tree_segments)},
}
TWO_LEVEL: dict[Operation, dict[str, TwoLevel]] = {
    Operation.BROADCAST: {"two-level": run.broadcast_two_level},
    Operation.REDUCE: {"two-level": run.reduce_two_level},
    Operation.ALLREDUCE: {
        "two-level": run.allreduce_two_level,
        "two-level-halving": run.allreduce_two_level_halving,
    },
    Operation.ALLGATHER: {"two-level": run.allgather_two_level},
    Operation.REDUCE_SCATTER: {"two-level": run.reduce_scatter_two_level},
    Operation.ALLTOALL: {"two-level": run.alltoall_two_level},
}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An algorithm with its steps on this network and the seconds they cost."""

    algorithm: str
    steps: Steps
    seconds: float


def as_operation(name: str) -> Operation:
    """`all-reduce`, `AllReduce`, `bcast` ... as an Operation."""
    plain = name.lower().replace("-", "").replace("_", "").removeprefix("mpi").removesuffix("blockwise")
    aliases = {"bcast": "broadcast", "reducescatterblock": "reducescatter"}
    plain = aliases.get(plain, plain)
    for operation in Operation:
        if operation.replace("_", "") == plain:
            return operation
    raise InputError(Fault("unknown collective operation", value=name, remedy=f"one of {', '.join(Operation)}"))


def algorithms(operation: Operation) -> tuple[str, ...]:
    """Every algorithm modelled for an operation."""
    return tuple(FLAT[operation]) + tuple(SEGMENTED.get(operation, {})) + tuple(TWO_LEVEL[operation])


def candidates(operation: Operation, p: int, n: float, network: Network) -> tuple[Choice, ...]:
    """Every algorithm that p ranks of this network can run, with its cost, fastest first; one rank costs nothing."""
    check(p, n)
    steps = {name: algorithm(p, n) for name, algorithm in FLAT[operation].items()}
    link = network.wire(Level.INTER, p, rails=False)
    for name, (segmented, segments) in SEGMENTED.get(operation, {}).items():
        steps[name] = segmented(p, n, segments(p, n, link.alpha, link.beta))
    nodes = network.nodes(p)
    if nodes is not None:
        steps |= {name: two_level(nodes, network.per_node, n) for name, two_level in TWO_LEVEL[operation].items()}
    choices = [Choice(algorithm=name, steps=s, seconds=network.seconds(s, p)) for name, s in steps.items()]
    return tuple(sorted(choices, key=lambda choice: choice.seconds))


def best(operation: Operation, p: int, n: float, network: Network) -> Choice:
    """The fastest algorithm."""
    return candidates(operation, p, n, network)[0]


def cost(operation: Operation, algorithm: str, p: int, n: float, network: Network) -> Choice:
    """One named algorithm."""
    for choice in candidates(operation, p, n, network):
        if choice.algorithm == algorithm:
            return choice
    names = algorithms(operation)
    if algorithm in names:
        hint = "give a network of two levels, such as nvlink+ib400, and fill its nodes"
        raise InputError(Fault(f"{algorithm} needs whole nodes: {p} ranks, {network.per_node} a node", remedy=hint))
    raise InputError(Fault(f"unknown algorithm for {operation}", value=algorithm, remedy=f"one of {', '.join(names)}"))


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """What no algorithm can beat: the largest of the three parts."""

    latency: float
    bandwidth: float
    arithmetic: float

    @property
    def seconds(self) -> float:
        return max(self.latency, self.bandwidth, self.arithmetic)


def lower_bound(operation: Operation, p: int, n: float, network: Network) -> LowerBound:
    """Bounds in seconds; with two levels each level is a bound of its own and the larger counts."""
    check(p, n)
    arithmetic = (p - 1) / p * n * network.gamma if operation.reduces else 0.0
    nodes = network.nodes(p)
    if nodes is None:
        link = network.wire(Level.INTER, p, rails=False)
        latency, bandwidth = ceil_lg(p) * link.alpha, _least_bytes(operation, p, n) * link.beta
        return LowerBound(latency=latency, bandwidth=bandwidth, arithmetic=arithmetic)
    inside: Link = network.intra or network.inter
    rails = min(network.per_node, network.adapters or network.per_node)
    across = _least_bytes(operation, nodes, n) * network.inter.beta / rails
    if operation is Operation.ALLTOALL:  # every rank has its own n bytes to send, so a node has per_node times n
        across *= network.per_node
    within = _least_bytes(operation, network.per_node, n) * inside.beta
    fastest = min(inside.beta, network.inter.beta)
    anywhere = _least_bytes(operation, nodes * network.per_node, n) * fastest
    latency = ceil_lg(nodes) * network.inter.alpha + ceil_lg(network.per_node) * inside.alpha
    slowest = max(across, min(within, anywhere))
    return LowerBound(latency=latency, bandwidth=slowest, arithmetic=arithmetic)


def _least_bytes(operation: Operation, p: int, n: float) -> float:
    """The bytes that some rank must send or receive."""
    if p == 1:
        return 0.0
    share = (p - 1) / p
    match operation:
        case Operation.BROADCAST | Operation.REDUCE:
            return n
        case Operation.ALLREDUCE:
            return 2 * share * n
        case _:
            return share * n


@dataclass(frozen=True, kw_only=True)
class Crossing(JsonRecord):
    """From `size` bytes on, `to` is faster than `before`."""

    size: float
    before: str
    to: str

    JSON = "bytes=size before to"


def crossings(operation: Operation, p: int, network: Network) -> tuple[Crossing, ...]:
    """Sizes in bytes at which the fastest algorithm changes: double the size, then halve the bracket down to 1 %."""
    changes: list[Crossing] = []
    size, name = 1.0, best(operation, p, 1.0, network).algorithm
    while size < LARGEST:
        following = 2 * size
        after = best(operation, p, following, network).algorithm
        below, above = size, following
        while after != name and above / below > 1.01:
            middle = (below * above) ** 0.5
            if best(operation, p, middle, network).algorithm == name:
                below = middle
            else:
                above = middle
        if after != name:
            changes.append(Crossing(size=above, before=name, to=after))
        size, name = following, after
    return tuple(changes)
