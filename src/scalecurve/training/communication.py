"""Collectives over a group that spans `inner` ranks in a node and `outer` nodes, vectorised over configurations.

The ring forms of laws/collectives with two kinds of link: a ring crosses each node once, so its bandwidth is the
smaller of one rank's fast link and the node's network ports, and its latency has inner and outer hops.  Bandwidth
builds up with size: start + ramp * n/(n + n_half) + n/rate, fitted to the published NCCL size curve.
"""

from __future__ import annotations

import numpy as np

from scalecurve.training.arrays import Array
from scalecurve.training.machine import Machine


def ring_rate(machine: Machine, inner: Array, outer: Array) -> Array:
    """Bytes per second past any one rank.

    Between nodes a ring has the ports of all its ranks in the node.  A group that has only part of a node enters by one
    port and leaves by another, so it uses half of what its ports could carry both ways.
    """
    partial = (inner > 1) & (inner < machine.node)
    ports = 1.0 if machine.single_port else np.where(partial, inner / 2.0, inner)
    crossing = machine.outer_rate * ports
    return np.where(outer > 1, np.minimum(crossing, machine.inner_rate), machine.inner_rate)


def start_seconds(machine: Machine, size: Array) -> Array:
    """Kernel start, and the ramp from the low-latency protocols to full bandwidth."""
    return machine.start + machine.ramp_seconds * size / (size + machine.ramp_bytes)


def gather_seconds(machine: Machine, size: Array, inner: Array, outer: Array) -> Array:
    """All-gather or reduce-scatter of `size` bytes in all: (n-1) hops + (n-1)/n size/rate; nothing for one rank."""
    ranks = inner * outer
    hops = (ranks - outer) * machine.inner_hop + np.where(outer > 1, outer, 0.0) * machine.outer_hop
    moved = (ranks - 1.0) / ranks * size / ring_rate(machine, inner, outer)
    return np.where(ranks > 1, start_seconds(machine, size) + hops + moved, 0.0)


def reduce_seconds(machine: Machine, size: Array, inner: Array, outer: Array) -> Array:
    """All-reduce: twice the ring's traffic; the latency of the better of ring (n-1 hops) and tree (lg n hops)."""
    ranks = inner * outer
    ring = (ranks - outer) * machine.inner_hop + np.where(outer > 1, outer, 0.0) * machine.outer_hop
    tree = (inner - 1.0) * machine.inner_hop + np.log2(outer) * machine.outer_hop * 2.0
    moved = 2.0 * (ranks - 1.0) / ranks * size / ring_rate(machine, inner, outer)
    return np.where(ranks > 1, start_seconds(machine, size) + 2.0 * np.minimum(ring, tree) + moved, 0.0)


def exchange_seconds(machine: Machine, size: Array, inner: Array, outer: Array) -> Array:
    """All-to-all where each rank sends `size` bytes in all; what leaves the node goes through the rank's own port."""
    ranks = inner * outer
    outside = size * (ranks - inner) / ranks / machine.outer_rate
    inside = size * (inner - 1.0) / ranks / machine.inner_rate
    hops = np.log2(np.maximum(ranks, 1.0)) * np.where(outer > 1, machine.outer_hop, machine.inner_hop)
    return np.where(ranks > 1, start_seconds(machine, size) + hops + np.maximum(outside, inside), 0.0)


def send_seconds(machine: Machine, size: Array, crosses: Array) -> Array:
    """One message to the neighbouring pipeline stage; `crosses` is 1 where the stages are on different nodes."""
    between = machine.outer_hop + size / machine.outer_rate
    within = machine.inner_hop + size / machine.inner_rate
    return np.where(crosses > 0, between, within)
