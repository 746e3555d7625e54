"""Fitting, extending and costing networks."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from bench.collectives import hold_out
from scalecurve.errors import InputError
from scalecurve.hardware.networks import links, network
from scalecurve.laws.collectives import Link, Network, Operation, best, cost
from scalecurve.mechanisms import collective_cost, fit_sweep, training_step_cost
from scalecurve.mechanisms.collectives import bus_factor
from scalecurve.mechanisms.network_extension import extend_sweep
from scalecurve.mechanisms.network_fit import fit_network
from scalecurve.study.message_sweep import MessageSweep, Timing

TRUE = Network(inter=Link.of(20e-6, 1.25e9))


def _sweep(algorithm: str, operation: Operation = Operation.ALLREDUCE, noise: float = 0.03) -> MessageSweep:
    rng = np.random.default_rng(5)
    timings = []
    for ranks in (2, 4, 8, 16, 32):
        for size in [4**i for i in range(2, 12)]:
            vector = size * ranks if operation in (Operation.ALLGATHER, Operation.ALLTOALL) else size
            seconds = cost(operation, algorithm, ranks, vector, TRUE).seconds * float(np.exp(rng.normal(0, noise)))
            timings.append(Timing(operation=str(operation), ranks=ranks, message=size, seconds=seconds, spread=0.0))
    return MessageSweep(timings=tuple(timings), system="simulated")


@pytest.mark.parametrize(
    ("operation", "algorithm"),
    [(Operation.ALLREDUCE, "ring"), (Operation.ALLREDUCE, "recursive-doubling"), (Operation.ALLGATHER, "bruck")],
)
def test_latency_slope_and_algorithm_are_found_again(operation: Operation, algorithm: str) -> None:
    fit = fit_network(_sweep(algorithm, operation), str(operation))
    assert fit.algorithm in (algorithm, "recursive-doubling")
    assert fit.alpha.value == pytest.approx(20e-6, rel=0.1)
    assert 1 / fit.beta.value == pytest.approx(1.25e9, rel=0.1)
    assert fit.beta.low is not None
    assert fit.beta.high is not None
    assert fit.beta.low <= fit.beta.value <= fit.beta.high
    assert fit.seconds(8, 1e6) == pytest.approx(cost(operation, algorithm, 8, 1e6, TRUE).seconds, rel=0.1)


def test_a_small_message_protocol_is_found_where_it_pays() -> None:
    eager, large = Link.of(5e-6, 0.2e9), Link.of(60e-6, 2e9)
    wires = Network(inter=Link(protocols=eager.protocols + large.protocols))
    timings = tuple(
        Timing(
            operation="allreduce", ranks=p, message=n, seconds=cost(Operation.ALLREDUCE, "ring", p, n, wires).seconds
        )
        for p in (2, 4, 8, 16)
        for n in [2**i for i in range(4, 24)]
    )
    fit = fit_network(MessageSweep(timings=timings), "allreduce")
    assert len(fit.protocols) == 2
    assert 1 / fit.beta.value == pytest.approx(2e9, rel=0.15)


def test_timings_no_algorithm_explains_say_so() -> None:
    rng = np.random.default_rng(1)
    timings = tuple(
        Timing(operation="allreduce", ranks=p, message=n, seconds=float(10 ** rng.uniform(-6, -1)))
        for p in (2, 4, 8)
        for n in (64, 4096, 65536, 1 << 20)
    )
    found = fit_network(MessageSweep(timings=timings), "allreduce")
    assert "lack-of-fit" in [finding.code for finding in found.findings]


def test_a_sweep_is_extended_with_the_growth_of_its_operation() -> None:
    sweep = _sweep("ring", Operation.ALLGATHER, noise=0.0)
    row = next(row for row in extend_sweep(sweep, "allgather", [64]).rows if row.message == 4**11)
    truth = cost(Operation.ALLGATHER, "ring", 64, 64 * 4**11, TRUE).seconds
    assert row.seconds == pytest.approx(truth, rel=0.02)
    far = extend_sweep(sweep, "allgather", [1024])
    assert [finding.code for finding in far.findings] == ["far-extrapolation"]


def test_held_out_ranks_are_predicted() -> None:
    held = hold_out(_sweep("recursive-doubling"), "allreduce")
    assert held.fitted_ranks == (2, 4, 8)
    assert statistics.median(held.errors) < 0.15


def test_all_operations_are_fitted_and_shown() -> None:
    fitted = fit_sweep(_sweep("ring"), predict=[64])
    assert "Fit of allreduce" in str(fitted)
    assert repr(fitted).startswith("simulated, allreduce: ")
    assert fitted.to_dict()["predictions"][0]["rows"]
    with pytest.raises(InputError, match="too few timings"):
        fit_network(_sweep("ring"), "alltoall")


def test_cost_over_ranks_names_algorithm_bound_and_crossings() -> None:
    found = collective_cost("allreduce", 350e6, [8, 16, 64, 4096], "nvlink+ib400")
    assert [row.choice.algorithm for row in found.rows][-1].startswith("two-level")
    assert all(row.bound <= row.choice.seconds for row in found.rows)
    assert found.crossings
    assert "NCCL" in str(found)
    assert bus_factor(Operation.ALLREDUCE, 4) == 1.5
    assert repr(found).startswith("allreduce of 350 MB takes ")


def test_unfilled_nodes_are_pointed_out() -> None:
    found = collective_cost("allreduce", 1e6, [12], network("nvlink+ib400"))
    assert [finding.code for finding in found.findings] == ["nodes-not-filled"]


@pytest.mark.parametrize("regime", ["strong", "weak"])
def test_a_step_says_from_which_k_communication_exceeds_compute(regime: str) -> None:
    wires = network("2us/1GB/s")
    found = training_step_cost(vector=1e8, compute=0.5, ranks="1..32", network=wires, regime=regime)
    if regime == "strong":
        k = found.exceeds_at
        assert k is not None
        assert best(Operation.ALLREDUCE, k, 1e8, wires).seconds > 0.5 / k
        assert best(Operation.ALLREDUCE, k - 1, 1e8, wires).seconds <= 0.5 / (k - 1)
    else:
        assert found.exceeds_at is None
    assert found.term_error < 0.2


def test_bits_and_bytes_are_kept_apart() -> None:
    bits, octets = network("1us/400Gb/s"), network("1us/400GB/s")
    assert bits.inter.peak == pytest.approx(50e9)
    assert octets.inter.peak == pytest.approx(400e9)
    assert links()["ib400"].bandwidth == pytest.approx(50e9)


@pytest.mark.parametrize("text", ["ib4000", "nvlink+ib400+eth10", "1us/400G", "2us/1GB/s+ib400"])
def test_unknown_networks_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        network(text)
