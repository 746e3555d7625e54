"""The closed forms people quote, the choice between algorithms, bounds and bad input."""

from __future__ import annotations

from math import ceil, floor, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalecurve.errors import InputError
from scalecurve.laws.collectives import (
    Link,
    Network,
    Operation,
    Protocol,
    algorithms,
    as_operation,
    best,
    candidates,
    cost,
    crossings,
    lower_bound,
    totals,
)

A, B, G = 2e-6, 1e-10, 3e-11
FLAT = Network(inter=Link.of(A, 1 / B), gamma=G)
NODES = Network(inter=Link.of(5e-6, 50e9), intra=Link.of(1e-6, 450e9), per_node=8)


@pytest.mark.parametrize("p", [2, 3, 5, 8, 12, 16, 100])
@pytest.mark.parametrize(
    ("operation", "algorithm", "formula"),
    [
        ("broadcast", "binomial", lambda p, q, n: ceil(log2(p)) * (A + n * B)),
        ("broadcast", "scatter-allgather", lambda p, q, n: (ceil(log2(p)) + p - 1) * A + 2 * (p - 1) / p * n * B),
        ("reduce", "binomial", lambda p, q, n: ceil(log2(p)) * (A + n * B + n * G)),
        ("allgather", "ring", lambda p, q, n: (p - 1) * A + (p - 1) / p * n * B),
        ("allgather", "bruck", lambda p, q, n: ceil(log2(p)) * A + (p - 1) / p * n * B),
        ("reduce_scatter", "ring", lambda p, q, n: (p - 1) * A + (p - 1) / p * n * (B + G)),
        ("allreduce", "ring", lambda p, q, n: 2 * (p - 1) * A + 2 * (p - 1) / p * n * B + (p - 1) / p * n * G),
        (
            "allreduce",
            "recursive-doubling",
            lambda p, q, n: (
                log2(p) * (A + n * B + n * G) if p == q else (log2(q) + 2) * (A + n * B) + (log2(q) + 1) * n * G
            ),
        ),
        (
            "allreduce",
            "rabenseifner",
            lambda p, q, n: (
                2 * log2(p) * A + 2 * (p - 1) / p * n * B + (p - 1) / p * n * G
                if p == q
                else (2 * log2(q) + 2) * A + (2 * (q - 1) / q + 2) * n * B + ((q - 1) / q + 1) * n * G
            ),
        ),
        ("allreduce", "binomial", lambda p, q, n: 2 * ceil(log2(p)) * (A + n * B) + ceil(log2(p)) * n * G),
        ("alltoall", "pairwise", lambda p, q, n: (p - 1) * A + (p - 1) / p * n * B),
    ],
)
def test_the_formulas_of_the_literature(operation: str, algorithm: str, formula, p: int) -> None:  # type: ignore[no-untyped-def]
    n = 64 * 3 * 5 * 25 * 1000
    q = 2 ** floor(log2(p))
    assert cost(Operation(operation), algorithm, p, n, FLAT).seconds == pytest.approx(formula(p, q, n), rel=1e-12)


def test_bruck_alltoall_of_a_power_of_two_sends_half_the_vector_per_round() -> None:
    sent = totals(cost(Operation.ALLTOALL, "bruck", 16, 16_000, FLAT).steps)
    assert (sent.rounds, sent.sent) == (4, 16_000 / 2 * 4)


def test_hierarchy_beats_the_flat_ring_over_the_slow_link() -> None:
    # N = 4, g = 8, unit costs as in the reference sheet: RS and AG inside on fast wires, n/g across on each rail.
    network = Network(inter=Link.of(1.0, 1.0 / 0.25), intra=Link.of(0.1, 1.0 / 0.01), per_node=8)
    flat = cost(Operation.ALLREDUCE, "ring", 32, 1024, network)
    two = cost(Operation.ALLREDUCE, "two-level", 32, 1024, network)
    assert two.seconds == pytest.approx(2 * 7 * 0.1 + 2 * 7 / 8 * 1024 * 0.01 + 2 * 3 + 2 * 3 / 4 * 128 * 0.25)
    assert two.seconds < flat.seconds / 4


def test_one_adapter_per_node_multiplies_the_network_slope_by_the_ranks_of_a_node() -> None:
    shared = Network(inter=NODES.inter, intra=NODES.intra, per_node=8, adapters=1)
    n = 8 * 4 * 10**7
    plain, slow = (cost(Operation.ALLREDUCE, "two-level", 32, n, each).seconds for each in (NODES, shared))
    across = 2 * 3 / 4 * n / 8 / 50e9
    assert slow - plain == pytest.approx(7 * across)


def test_small_messages_take_the_protocol_with_less_latency() -> None:
    link = Link(protocols=(Protocol(alpha=1e-6, beta=2e-10), Protocol(alpha=4e-6, beta=1e-10)))
    assert link.seconds(100) == pytest.approx(1e-6 + 2e-8)
    assert link.seconds(1e6) == pytest.approx(4e-6 + 1e-4)
    assert link.seconds(30_000) == pytest.approx(1e-6 + 30_000 * 2e-10)  # where they meet
    assert link.peak == pytest.approx(1e10)


@pytest.mark.parametrize("operation", list(Operation))
def test_one_rank_costs_nothing_and_no_bytes_cost_latency_only(operation: Operation) -> None:
    assert all(choice.seconds == 0 for choice in candidates(operation, 1, 1e6, FLAT))
    for choice in candidates(operation, 6, 0, FLAT):
        assert choice.seconds == pytest.approx(totals(choice.steps).rounds * A)


@given(
    operation=st.sampled_from(list(Operation)),
    p=st.integers(1, 300),
    n=st.integers(0, 10**9),
    network=st.sampled_from([FLAT, NODES]),
)
def test_nothing_beats_the_lower_bound(operation: Operation, p: int, n: int, network: Network) -> None:
    bound = lower_bound(operation, p, n, network).seconds
    assert best(operation, p, n, network).seconds >= bound * (1 - 1e-9)


@given(p=st.integers(2, 300), n=st.integers(0, 10**8), more=st.integers(1, 10**6))
def test_more_bytes_never_cost_less(p: int, n: int, more: int) -> None:
    for operation in (Operation.ALLREDUCE, Operation.ALLGATHER, Operation.ALLTOALL):
        assert best(operation, p, n + more, FLAT).seconds >= best(operation, p, n, FLAT).seconds * (1 - 1e-9)


def test_crossings_separate_the_winners() -> None:
    found = crossings(Operation.ALLREDUCE, 64, FLAT)
    assert found
    assert found[0].before == "recursive-doubling"
    for crossing in found:
        assert best(Operation.ALLREDUCE, 64, crossing.size / 1.02, FLAT).algorithm == crossing.before
        assert best(Operation.ALLREDUCE, 64, crossing.size * 1.001, FLAT).algorithm == crossing.to


@pytest.mark.parametrize("name", ["all-reduce", "AllReduce", "MPI_Allreduce", "allreduce"])
def test_operations_are_known_by_their_usual_names(name: str) -> None:
    assert as_operation(name) is Operation.ALLREDUCE


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="at least one rank"):
        best(Operation.ALLREDUCE, 0, 10, FLAT)
    with pytest.raises(InputError, match="finite number from 0"):
        best(Operation.ALLREDUCE, 2, -1, FLAT)
    with pytest.raises(InputError, match="unknown collective"):
        as_operation("gossip")
    with pytest.raises(InputError, match="whole nodes"):
        cost(Operation.ALLREDUCE, "two-level", 12, 10, NODES)
    with pytest.raises(InputError, match="unknown algorithm"):
        cost(Operation.ALLREDUCE, "magic", 12, 10, NODES)
    with pytest.raises(InputError, match="positive number of bytes per second"):
        Link.of(1e-6, 0)
    with pytest.raises(InputError, match="latency and slope"):
        Link.of(-1e-6, 1e9)


def test_every_operation_lists_its_algorithms() -> None:
    assert algorithms(Operation.ALLREDUCE) == (
        "ring",
        "recursive-doubling",
        "rabenseifner",
        "binomial",
        "double-tree",
        "two-level",
        "two-level-halving",
    )
