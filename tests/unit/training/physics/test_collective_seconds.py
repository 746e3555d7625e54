"""The collectives of the planner: closed forms of the ring, and what must hold for any group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalecurve.training.inputs.cluster import cluster_preset
from scalecurve.training.inputs.stack import calibration_of, device_of, read_stack
from scalecurve.training.inputs.transformer import as_array
from scalecurve.training.physics.layer import exchange_seconds, gather_seconds, reduce_seconds, send_seconds

CLUSTER = cluster_preset("selene")
STACK = read_stack("megatron-lm")
DEVICE = device_of(CLUSTER, STACK, calibration_of(CLUSTER.accelerator, STACK).constants)


def test_one_rank_talks_to_nobody():
    one = as_array(1.0)
    for collective in (gather_seconds, reduce_seconds, exchange_seconds):
        assert float(collective(DEVICE, as_array(1e9), one, one)) == 0.0


def test_a_large_all_reduce_in_a_node_is_the_ring():
    """2 (n-1)/n bytes / rate (laws/collectives, ring); start and hops are below 1 % at 4 GB."""
    seconds = float(reduce_seconds(DEVICE, as_array(4e9), as_array(8.0), as_array(1.0)))
    assert seconds == pytest.approx(2 * 7 / 8 * 4e9 / DEVICE.inner_rate, rel=0.01)


def test_a_large_all_reduce_between_whole_nodes_has_all_ports():
    seconds = float(reduce_seconds(DEVICE, as_array(4e9), as_array(8.0), as_array(16.0)))
    assert seconds == pytest.approx(2 * 127 / 128 * 4e9 / (8 * DEVICE.outer_rate), rel=0.02)


def test_accelerators_wired_in_pairs_share_out_their_link():
    """Gaudi 2: 21 ports in the node, three to each of the seven others; four of eight reach nine of the 21."""
    cluster, stack = cluster_preset("gaudi2"), read_stack("gaudi")
    device = device_of(cluster, stack, calibration_of(cluster.accelerator, stack).constants)
    rates = [
        (n - 1) / n * 4e9 / float(gather_seconds(device, as_array(4e9), as_array(n), as_array(1.0)))
        for n in (2.0, 4.0, 8.0)
    ]
    assert [rate / device.inner_rate for rate in rates] == pytest.approx([1 / 7, 3 / 7, 1.0], rel=0.02)
    port = float(gather_seconds(device, as_array(4e9), as_array(1.0), as_array(8.0)))  # one card of each node
    assert port == pytest.approx(7 / 8 * 4e9 / device.outer_rate, rel=0.02)


def test_the_published_size_curve():
    """NCCL all-reduce on 8 x H200 (stas00/ml-engineering): algorithm bandwidth 22.8, 125.7 and 249 GB/s at 1, 16 and
    256 MiB; start, hops and ramp come from it, the rate is NVLink at its measured 482 GB/s bus bandwidth."""
    from dataclasses import replace

    device = replace(DEVICE, inner_rate=466e9, node=8.0)
    for mib, published in ((1, 22.82), (16, 125.65), (256, 249.23)):
        size = mib * 2.0**20
        seconds = float(reduce_seconds(device, as_array(size), as_array(8.0), as_array(1.0)))
        assert size / seconds / 1e9 == pytest.approx(published, rel=0.3)


@settings(max_examples=100, deadline=None)
@given(
    size=st.floats(1.0, 1e11),
    inner=st.sampled_from([1, 2, 4, 8]),
    outer=st.sampled_from([1, 2, 16, 1024, 16384]),
)
def test_more_bytes_and_more_nodes_never_take_less(size, inner, outer):
    for collective in (gather_seconds, reduce_seconds):
        here = float(collective(DEVICE, as_array(size), as_array(inner), as_array(outer)))
        more = float(collective(DEVICE, as_array(2 * size), as_array(inner), as_array(outer)))
        wider = float(collective(DEVICE, as_array(size), as_array(inner), as_array(2 * outer)))
        assert here <= more + 1e-15
        assert here <= wider + 1e-15 or outer == 1
    assert np.isfinite(float(send_seconds(DEVICE, as_array(size), as_array(1.0))))


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("size", [2.0**20, 2.0**30])
def test_in_a_node_the_forms_are_those_of_the_laws(ranks, size):
    """Without start and ramp: rounds * alpha + bytes * beta of the ring algorithms in laws/collectives."""
    from dataclasses import replace

    from scalecurve.laws.collective_algorithms import allgather_ring, allreduce_ring
    from scalecurve.laws.network import totals

    device = replace(DEVICE, start=0.0, ramp_seconds=0.0)
    for ours, steps in (
        (gather_seconds, allgather_ring(ranks, size)),
        (reduce_seconds, allreduce_ring(ranks, size)),
    ):
        counted = totals(steps)
        expected = counted.rounds * device.inner_hop + counted.sent / device.inner_rate
        seconds = float(ours(device, as_array(size), as_array(float(ranks)), as_array(1.0)))
        assert seconds == pytest.approx(expected, rel=1e-9)
