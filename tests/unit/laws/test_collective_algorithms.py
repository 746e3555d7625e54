"""Every algorithm is executed with real data; rounds, bytes and reductions must equal the formula exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalecurve.laws import collective_algorithms as run
from scalecurve.laws.network import Step
from tests.fakes import simulated_ranks as sim

# Ranks and bytes: one rank, powers of two and not, nothing to send, fewer bytes than ranks, divisible and not.
GRID = [(1, 7), (2, 64), (3, 1), (5, 257), (6, 64), (8, 3), (8, 64), (12, 257), (16, 0), (17, 64), (33, 7), (64, 257)]
ALLREDUCES = [
    (run.allreduce_recursive_doubling, sim.recursive_doubling_allreduce),
    (run.allreduce_rabenseifner, sim.rabenseifner_allreduce),
    (run.allreduce_binomial, sim.binomial_allreduce),
]


def _vectors(p: int, n: int) -> sim.Data:
    rng = np.random.default_rng(p * 1000 + n)
    return {rank: rng.integers(0, 256, n, dtype=np.uint8) for rank in range(p)}


def _padded(data: sim.Data, parts: int) -> sim.Data:
    return {rank: sim.padded(vector, parts) for rank, vector in data.items()}


def _agree(steps: tuple[Step, ...], counter: sim.Counter) -> None:
    for level in ("intra", "inter"):
        mine = [step for step in steps if step.level == level]
        assert sum(step.rounds for step in mine) == counter.rounds.get(level, 0)
        assert sum(step.rounds * step.message for step in mine) == counter.sent.get(level, 0)
        assert sum(step.rounds * step.reduced for step in mine) == counter.reduced.get(level, 0)


def _run(group: Callable[..., sim.Group], data: sim.Data, *more: Any) -> sim.Counter:
    counter = sim.Counter()
    sim.run([group(list(data), data, *more)], counter)
    return counter


def _sum(data: sim.Data) -> sim.Vector:
    return np.sum(list(data.values()), axis=0, dtype=np.uint8)


@pytest.mark.parametrize(("p", "n"), GRID)
@pytest.mark.parametrize(("law", "group"), ALLREDUCES)
def test_allreduce(law: Any, group: Any, p: int, n: int) -> None:
    data = _vectors(p, n)
    total = _sum(data)
    counter = _run(group, data)
    assert all(np.array_equal(vector, total) for vector in data.values())
    _agree(law(p, n), counter)


@given(p=st.integers(1, 80), n=st.integers(0, 300), pair=st.sampled_from(ALLREDUCES))
@settings(max_examples=60, deadline=None)
def test_allreduce_for_any_number_of_ranks(p: int, n: int, pair: tuple[Any, Any]) -> None:
    test_allreduce(pair[0], pair[1], p, n)


@pytest.mark.parametrize(("p", "n"), GRID)
def test_ring_allreduce(p: int, n: int) -> None:
    data = _padded(_vectors(p, n), p)
    wanted, counter = _sum(data), sim.Counter()
    sim.run([sim.ring_reduce_scatter(list(data), data)], counter)
    sim.run([sim.ring_allgather(list(data), data)], counter)
    assert all(np.array_equal(vector, wanted) for vector in data.values())
    _agree(run.allreduce_ring(p, n), counter)


@pytest.mark.parametrize(("p", "n"), GRID)
@pytest.mark.parametrize(
    ("law", "group"),
    [
        (run.allgather_ring, sim.ring_allgather),
        (run.allgather_bruck, sim.bruck_allgather),
        (run.allgather_recursive_doubling, sim.doubling_allgather),
    ],
)
def test_allgather(law: Any, group: Any, p: int, n: int) -> None:
    wanted = sim.padded(_vectors(1, n)[0], p)
    data = {rank: np.zeros_like(wanted) for rank in range(p)}
    for rank in data:
        data[rank][sim.block(wanted, p, rank)] = wanted[sim.block(wanted, p, rank)]
    counter = _run(group, data)
    assert all(np.array_equal(vector, wanted) for vector in data.values())
    _agree(law(p, n), counter)


@pytest.mark.parametrize(("p", "n"), GRID)
@pytest.mark.parametrize(
    ("law", "group"),
    [
        (run.reduce_scatter_ring, sim.ring_reduce_scatter),
        (run.reduce_scatter_halving, sim.halving_reduce_scatter),
    ],
)
def test_reduce_scatter(law: Any, group: Any, p: int, n: int) -> None:
    data = _padded(_vectors(p, n), p)
    wanted = _sum(data)
    counter = _run(group, data)
    for rank, vector in data.items():
        assert np.array_equal(vector[sim.block(vector, p, rank)], wanted[sim.block(wanted, p, rank)])
    _agree(law(p, n), counter)


@pytest.mark.parametrize(("p", "n"), GRID)
@pytest.mark.parametrize(
    ("law", "group"),
    [(run.alltoall_pairwise, sim.pairwise_alltoall), (run.alltoall_bruck, sim.bruck_alltoall)],
)
def test_alltoall(law: Any, group: Any, p: int, n: int) -> None:
    data = _padded(_vectors(p, n), p)
    given_data = {rank: vector.copy() for rank, vector in data.items()}
    counter = _run(group, data)
    for rank, vector in data.items():
        for other in range(p):
            sent = given_data[other][sim.block(vector, p, rank)]
            assert np.array_equal(vector[sim.block(vector, p, other)], sent)
    _agree(law(p, n), counter)


@pytest.mark.parametrize(("p", "n"), GRID)
def test_rooted_binomial(p: int, n: int) -> None:
    data = _vectors(p, n)
    wanted = data[0].copy()
    counter = _run(sim.binomial_broadcast, data)
    assert all(np.array_equal(vector, wanted) for vector in data.values())
    _agree(run.broadcast_binomial(p, n), counter)

    data = _vectors(p, n)
    wanted = _sum(data)
    counter = _run(sim.binomial_reduce, data)
    assert np.array_equal(data[0], wanted)
    _agree(run.reduce_binomial(p, n), counter)


@pytest.mark.parametrize("segments", [1, 2, 5])
@pytest.mark.parametrize(("p", "n"), GRID)
def test_segmented_broadcasts_and_reduce(p: int, n: int, segments: int) -> None:
    data = _padded(_vectors(p, n), segments)
    wanted = data[0].copy()
    _agree(
        run.broadcast_chain(p, n, segments),
        _run(sim.chain_broadcast, data, segments) if p > 1 else sim.Counter(),
    )
    assert all(np.array_equal(vector, wanted) for vector in data.values())

    data = _padded(_vectors(p, n), 2 * segments)
    total = _sum(data)
    counter = _run(sim.double_tree_reduce, data, segments) if p > 1 else sim.Counter()
    assert np.array_equal(data[0], total)
    _agree(run.reduce_double_tree(p, n, segments), counter)
    if p > 1:
        sim.run([sim.double_tree_broadcast(list(data), data, segments)], counter)
    assert all(np.array_equal(vector, total) for vector in data.values())
    _agree(run.allreduce_double_tree(p, n, segments), counter)


@pytest.mark.parametrize(("p", "n"), GRID)
def test_scatter_allgather_broadcast_and_its_reverse(p: int, n: int) -> None:
    data = _padded(_vectors(p, n), p)
    wanted, total, counter = data[0].copy(), _sum(data), sim.Counter()
    reduced = {rank: vector.copy() for rank, vector in data.items()}
    sim.run([sim.binomial_scatter(list(data), data)], counter)
    sim.run([sim.ring_allgather(list(data), data)], counter)
    assert all(np.array_equal(vector, wanted) for vector in data.values())
    _agree(run.broadcast_scatter_allgather(p, n), counter)

    counter = sim.Counter()
    sim.run([sim.ring_reduce_scatter(list(reduced), reduced)], counter)
    sim.run([sim.binomial_gather(list(reduced), reduced)], counter)
    assert np.array_equal(reduced[0], total)
    _agree(run.reduce_scatter_gather(p, n), counter)


# Nodes, ranks per node, bytes.
SHAPES = [(2, 2, 64), (2, 3, 1), (3, 2, 257), (4, 8, 257), (5, 4, 7), (3, 7, 64), (2, 1, 3), (8, 4, 0)]


def _nodes(nodes: int, per_node: int) -> list[list[int]]:
    return [list(range(node * per_node, (node + 1) * per_node)) for node in range(nodes)]


def _rails(nodes: int, per_node: int) -> list[list[int]]:
    return [[node * per_node + rank for node in range(nodes)] for rank in range(per_node)]


def _on_rails(data: sim.Data, nodes: int, per_node: int, group: Any, counter: sim.Counter) -> None:
    """Run a flat collective on the share each rank owns, over its rail."""
    share = {rank: vector[sim.block(vector, per_node, rank % per_node)].copy() for rank, vector in data.items()}
    parts = {rank: sim.padded(vector, nodes) for rank, vector in share.items()}
    groups = [group(rail, parts) for rail in _rails(nodes, per_node)]
    sim.run(groups, counter, "inter")
    for rank, vector in data.items():
        vector[sim.block(vector, per_node, rank % per_node)] = parts[rank][: len(share[rank])]


def _ring_allreduce(ranks: Any, data: sim.Data) -> sim.Group:
    yield from sim.ring_reduce_scatter(ranks, data)
    yield from sim.ring_allgather(ranks, data)


@pytest.mark.parametrize(("nodes", "per_node", "n"), SHAPES)
def test_two_level_allreduce_broadcast_reduce(nodes: int, per_node: int, n: int) -> None:
    p = nodes * per_node
    data = _padded(_vectors(p, n), per_node)
    total, counter = _sum(data), sim.Counter()
    sim.run([sim.ring_reduce_scatter(node, data) for node in _nodes(nodes, per_node)], counter, "intra")
    _on_rails(data, nodes, per_node, _ring_allreduce, counter)
    sim.run([sim.ring_allgather(node, data) for node in _nodes(nodes, per_node)], counter, "intra")
    assert all(np.array_equal(vector, total) for vector in data.values())
    _agree(run.allreduce_two_level(nodes, per_node, n), counter)

    data, counter = _padded(_vectors(p, n), per_node), sim.Counter()
    root = data[0].copy()
    sim.run([sim.binomial_scatter(list(range(per_node)), data)], counter, "intra")
    shares = {rank: vector[sim.block(vector, per_node, rank % per_node)].copy() for rank, vector in data.items()}
    sim.run([sim.binomial_broadcast(rail, shares) for rail in _rails(nodes, per_node)], counter, "inter")
    for rank, vector in data.items():
        vector[sim.block(vector, per_node, rank % per_node)] = shares[rank]
    sim.run([sim.ring_allgather(node, data) for node in _nodes(nodes, per_node)], counter, "intra")
    assert all(np.array_equal(vector, root) for vector in data.values())
    _agree(run.broadcast_two_level(nodes, per_node, n), counter)

    data, counter = _padded(_vectors(p, n), per_node), sim.Counter()
    sim.run([sim.ring_reduce_scatter(node, data) for node in _nodes(nodes, per_node)], counter, "intra")
    shares = {rank: vector[sim.block(vector, per_node, rank % per_node)].copy() for rank, vector in data.items()}
    sim.run([sim.binomial_reduce(rail, shares) for rail in _rails(nodes, per_node)], counter, "inter")
    for rank in range(per_node):
        data[rank][sim.block(data[rank], per_node, rank)] = shares[rank]
    sim.run([sim.binomial_gather(list(range(per_node)), data)], counter, "intra")
    assert np.array_equal(data[0], total)
    _agree(run.reduce_two_level(nodes, per_node, n), counter)


@pytest.mark.parametrize(("nodes", "per_node", "n"), SHAPES)
def test_two_level_allreduce_by_halving_across(nodes: int, per_node: int, n: int) -> None:
    data = _padded(_vectors(nodes * per_node, n), per_node)
    total, counter = _sum(data), sim.Counter()
    sim.run([sim.ring_reduce_scatter(node, data) for node in _nodes(nodes, per_node)], counter, "intra")
    shares = {rank: vector[sim.block(vector, per_node, rank % per_node)].copy() for rank, vector in data.items()}
    sim.run([sim.rabenseifner_allreduce(rail, shares) for rail in _rails(nodes, per_node)], counter, "inter")
    for rank, vector in data.items():
        vector[sim.block(vector, per_node, rank % per_node)] = shares[rank]
    sim.run([sim.ring_allgather(node, data) for node in _nodes(nodes, per_node)], counter, "intra")
    assert all(np.array_equal(vector, total) for vector in data.values())
    _agree(run.allreduce_two_level_halving(nodes, per_node, n), counter)


def _by_rail(vector: sim.Vector, nodes: int, per_node: int) -> sim.Vector:
    """Blocks reordered from (node, rank) to (rank, node): what a rail moves then lies together."""
    return vector.reshape(nodes, per_node, -1).swapaxes(0, 1).reshape(-1).copy()


@pytest.mark.parametrize(("nodes", "per_node", "n"), SHAPES)
def test_two_level_allgather_and_reduce_scatter(nodes: int, per_node: int, n: int) -> None:
    p = nodes * per_node
    wanted = _by_rail(sim.padded(_vectors(1, n)[0], p), nodes, per_node)
    place = {rank: rank % per_node * nodes + rank // per_node for rank in range(p)}
    data, counter = {rank: np.zeros_like(wanted) for rank in range(p)}, sim.Counter()
    for rank in data:
        data[rank][sim.block(wanted, p, place[rank])] = wanted[sim.block(wanted, p, place[rank])]
    _on_rails(data, nodes, per_node, sim.ring_allgather, counter)
    sim.run([sim.ring_allgather(node, data) for node in _nodes(nodes, per_node)], counter, "intra")
    assert all(np.array_equal(vector, wanted) for vector in data.values())
    _agree(run.allgather_two_level(nodes, per_node, n), counter)

    data, counter = {r: _by_rail(v, nodes, per_node) for r, v in _padded(_vectors(p, n), p).items()}, sim.Counter()
    total = _sum(data)
    sim.run([sim.ring_reduce_scatter(node, data) for node in _nodes(nodes, per_node)], counter, "intra")
    _on_rails(data, nodes, per_node, sim.ring_reduce_scatter, counter)
    for rank, vector in data.items():
        mine = sim.block(vector, p, place[rank])
        assert np.array_equal(vector[mine], total[mine])
    _agree(run.reduce_scatter_two_level(nodes, per_node, n), counter)


@pytest.mark.parametrize(("nodes", "per_node", "n"), SHAPES)
def test_two_level_alltoall(nodes: int, per_node: int, n: int) -> None:
    p = nodes * per_node
    given_data = _padded(_vectors(p, n), p)
    data, counter = {r: _by_rail(v, nodes, per_node) for r, v in given_data.items()}, sim.Counter()
    sim.run([sim.pairwise_alltoall(node, data) for node in _nodes(nodes, per_node)], counter, "intra")
    # now rank (a, j) holds, by source rank i on its node, the blocks for (every node, j): regroup by target node
    data = {r: v.reshape(per_node, nodes, -1).swapaxes(0, 1).reshape(-1).copy() for r, v in data.items()}
    sim.run([sim.pairwise_alltoall(rail, data) for rail in _rails(nodes, per_node)], counter, "inter")
    for rank, vector in data.items():
        sent = [given_data[source][sim.block(vector, p, rank)] for source in range(p)]
        assert np.array_equal(vector, np.concatenate(sent))
    _agree(run.alltoall_two_level(nodes, per_node, n), counter)


@given(p=st.integers(1, 200), n=st.integers(0, 2000), segments=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_double_tree_for_any_number_of_ranks(p: int, n: int, segments: int) -> None:
    data = _padded({rank: np.full(n, rank % 251, np.uint8) for rank in range(p)}, 2 * segments)
    data[0] = sim.padded(np.arange(n, dtype=np.uint64).astype(np.uint8), 2 * segments)
    wanted = data[0].copy()
    counter = _run(sim.double_tree_broadcast, data, segments) if p > 1 else sim.Counter()
    assert all(np.array_equal(vector, wanted) for vector in data.values())
    _agree(run.broadcast_double_tree(p, n, segments), counter)


def test_rounds_that_fill_the_double_tree_are_those_of_the_trees_built_edge_by_edge() -> None:
    for p in (*range(2, 300), 1023, 1024, 1025, 4095, 4096, 4097):
        assert run.fill_rounds(p) == max(sim.tree_arrivals(p).values()), p


@pytest.mark.parametrize(
    ("p", "n", "alpha", "beta"), [(64, 1e6, 1e-6, 1e-9), (1000, 4e3, 1e-5, 1e-10), (8, 3.0, 1e-6, 1.0)]
)
def test_a_double_tree_is_cut_where_a_search_finds_it_fastest(p: int, n: float, alpha: float, beta: float) -> None:
    def seconds(m: int) -> float:
        return (run.fill_rounds(p) - 2 + 2 * m) * (alpha + n * beta / (2 * m))

    best = min(range(1, min(int(n), 20_000) + 1), key=seconds)
    assert seconds(run.tree_segments(p, n, alpha, beta)) <= 1.001 * seconds(best)


def test_messages_that_cost_no_latency_are_cut_as_finely_as_they_can_be() -> None:
    assert run.tree_segments(8, 100.0, 0.0, 1e-9) == 100
    assert run.tree_segments(8, 1e9, 0.0, 1e-9) == 1_000_000
