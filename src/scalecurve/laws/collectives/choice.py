"""Which algorithm is fastest, where they cross, and what no algorithm can beat.

Lower bounds (Chan et al. 2007; Thakur et al. 2005): ceil(lg p) alpha for every operation; in bytes n beta (broadcast,
reduce), (p-1)/p n beta (all-gather, reduce-scatter, all-to-all), 2(p-1)/p n beta (all-reduce); and (p-1)/p n gamma
where something is reduced.  The largest of the parts is a bound; their sum is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from scalecurve.errors import Fault, InputError
from scalecurve.laws.collectives import all_to_all as flat
from scalecurve.laws.collectives import double_tree as tree
from scalecurve.laws.collectives import one_to_all as rooted
from scalecurve.laws.collectives import two_level as two
from scalecurve.laws.collectives.network import Link, Network
from scalecurve.laws.collectives.steps import Level, Steps, ceil_lg, check


class Operation(StrEnum):
    """The collectives that have a model here."""

    BROADCAST = "broadcast"
    REDUCE = "reduce"
    ALLREDUCE = "allreduce"
    ALLGATHER = "allgather"
    REDUCE_SCATTER = "reduce_scatter"
    ALLTOALL = "alltoall"

    @property
    def reduces(self) -> bool:
        return self in (Operation.REDUCE, Operation.ALLREDUCE, Operation.REDUCE_SCATTER)


Flat = Callable[[int, float], Steps]
Segmented = Callable[[int, float, int], Steps]
Segments = Callable[[int, float, float, float], int]
TwoLevel = Callable[[int, int, float], Steps]

FLAT: dict[Operation, dict[str, Flat]] = {
    Operation.BROADCAST: {
        "binomial": rooted.broadcast_binomial,
        "scatter-allgather": rooted.broadcast_scatter_allgather,
    },
    Operation.REDUCE: {"binomial": rooted.reduce_binomial, "scatter-gather": rooted.reduce_scatter_gather},
    Operation.ALLREDUCE: {
        "ring": flat.allreduce_ring,
        "recursive-doubling": flat.allreduce_recursive_doubling,
        "rabenseifner": flat.allreduce_rabenseifner,
        "binomial": flat.allreduce_binomial,
    },
    Operation.ALLGATHER: {
        "ring": flat.allgather_ring,
        "bruck": flat.allgather_bruck,
        "recursive-doubling": flat.allgather_recursive_doubling,
    },
    Operation.REDUCE_SCATTER: {"ring": flat.reduce_scatter_ring, "recursive-halving": flat.reduce_scatter_halving},
    Operation.ALLTOALL: {"pairwise": flat.alltoall_pairwise, "bruck": flat.alltoall_bruck},
}
SEGMENTED: dict[Operation, dict[str, tuple[Segmented, Segments]]] = {
    Operation.BROADCAST: {
        "chain": (rooted.broadcast_chain, rooted.chain_segments),
        "double-tree": (tree.broadcast_double_tree, tree.tree_segments),
    },
    Operation.REDUCE: {"double-tree": (tree.reduce_double_tree, tree.tree_segments)},
    Operation.ALLREDUCE: {"double-tree": (tree.allreduce_double_tree, tree.tree_segments)},
}
TWO_LEVEL: dict[Operation, dict[str, TwoLevel]] = {
    Operation.BROADCAST: {"two-level": two.broadcast_two_level},
    Operation.REDUCE: {"two-level": two.reduce_two_level},
    Operation.ALLREDUCE: {
        "two-level": two.allreduce_two_level,
        "two-level-halving": two.allreduce_two_level_halving,
    },
    Operation.ALLGATHER: {"two-level": two.allgather_two_level},
    Operation.REDUCE_SCATTER: {"two-level": two.reduce_scatter_two_level},
    Operation.ALLTOALL: {"two-level": two.alltoall_two_level},
}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An algorithm with the steps it takes here and the seconds they cost."""

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
    known = ", ".join(Operation)
    raise InputError(Fault("unknown collective operation", seen=name, remedy=f"one of {known}"))


def algorithms(operation: Operation) -> tuple[str, ...]:
    """Every algorithm known for an operation."""
    return tuple(FLAT[operation]) + tuple(SEGMENTED.get(operation, {})) + tuple(TWO_LEVEL[operation])


def candidates(operation: Operation, p: int, n: float, network: Network) -> tuple[Choice, ...]:
    """Every algorithm that can run here with its cost, fastest first; one rank costs nothing."""
    check(p, n)
    found = {name: law(p, n) for name, law in FLAT[operation].items()}
    link = network.wire(Level.INTER, p, rails=False)
    for name, (law, segments) in SEGMENTED.get(operation, {}).items():
        found[name] = law(p, n, segments(p, n, link.alpha, link.beta))
    nodes = network.nodes(p)
    if nodes is not None:
        found |= {name: law(nodes, network.per_node, n) for name, law in TWO_LEVEL[operation].items()}
    choices = [Choice(algorithm=name, steps=s, seconds=network.seconds(s, p)) for name, s in found.items()]
    return tuple(sorted(choices, key=lambda choice: choice.seconds))


def best(operation: Operation, p: int, n: float, network: Network) -> Choice:
    """The fastest algorithm."""
    return candidates(operation, p, n, network)[0]


def cost(operation: Operation, algorithm: str, p: int, n: float, network: Network) -> Choice:
    """One named algorithm."""
    for choice in candidates(operation, p, n, network):
        if choice.algorithm == algorithm:
            return choice
    known = algorithms(operation)
    if algorithm in known:
        why = f"{algorithm} needs whole nodes: {p} ranks, {network.per_node} a node"
        raise InputError(Fault(why, remedy="give a network of two levels, such as nvlink+ib400, and fill its nodes"))
    raise InputError(Fault(f"unknown algorithm for {operation}", seen=algorithm, remedy=f"one of {', '.join(known)}"))


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What no algorithm can beat: the largest of the three parts."""

    latency: float
    bandwidth: float
    arithmetic: float

    @property
    def seconds(self) -> float:
        return max(self.latency, self.bandwidth, self.arithmetic)


def lower_bound(operation: Operation, p: int, n: float, network: Network) -> Bound:
    """Bounds of the operation on this network; with two levels each level bounds alone and the larger counts."""
    check(p, n)
    if p == 1:
        return Bound(latency=0.0, bandwidth=0.0, arithmetic=0.0)
    share = (p - 1) / p
    arithmetic = share * n * network.gamma if operation.reduces else 0.0
    nodes = network.nodes(p)
    if nodes is None:
        link = network.wire(Level.INTER, p, rails=False)
        latency, bandwidth = ceil_lg(p) * link.alpha, _least_bytes(operation, p, n) * link.beta
        return Bound(latency=latency, bandwidth=bandwidth, arithmetic=arithmetic)
    return _two_level_bound(operation, nodes, n, network, arithmetic)


def _two_level_bound(operation: Operation, nodes: int, n: float, network: Network, arithmetic: float) -> Bound:
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
    return Bound(latency=latency, bandwidth=slowest, arithmetic=arithmetic)


def _least_bytes(operation: Operation, p: int, n: float) -> float:
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
class Crossing:
    """From `size` bytes on, `to` is faster than `before`."""

    size: float
    before: str
    to: str


def crossings(
    operation: Operation, p: int, network: Network, smallest: float = 1.0, largest: float = 2.0**40
) -> tuple[Crossing, ...]:
    """Sizes at which the fastest algorithm changes, by doubling and then halving the bracket to 1 %."""
    found: list[Crossing] = []
    size, name = smallest, best(operation, p, smallest, network).algorithm
    while size < largest:
        following = min(2 * size, largest)
        after = best(operation, p, following, network).algorithm
        if after != name:
            found.append(_locate(operation, p, network, (size, name), (following, after)))
        size, name = following, after
    return tuple(found)


def _locate(
    operation: Operation, p: int, network: Network, low: tuple[float, str], high: tuple[float, str]
) -> Crossing:
    (below, before), (above, to) = low, high
    while above / below > 1.01:
        middle = (below * above) ** 0.5
        if best(operation, p, middle, network).algorithm == before:
            below = middle
        else:
            above = middle
    return Crossing(size=above, before=before, to=to)
