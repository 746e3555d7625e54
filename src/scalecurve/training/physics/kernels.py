"""Seconds of one kernel and of one collective.

A matrix product of M x N x K runs as tiles of 128 x 128 over the accelerator's cores:

    seconds = (ceil(M/128) ceil(N/128) + tail * cores) * 2 * 128 * 128 * (K + ramp) / (peak * matmul)

`tail` is the part of a wave lost at the end, `ramp` the depth of K spent filling and draining the pipeline, `matmul`
the share of the peak a long product reaches; the time is never below the traffic of its operands.  The form is the
tile and wave quantisation of NVIDIA's "Matrix Multiplication Background User's Guide".

Collectives run over a group with `inner` ranks in a node and `outer` nodes: the ring forms of laws/collectives with two
kinds of link.  A ring crosses each node once, so its bandwidth is the smaller of one rank's fast link and the node's
network ports.  Bandwidth builds up with size: start + ramp * n/(n + n_half) + n/rate, fitted to NCCL's size curve.
"""

from __future__ import annotations

import numpy as np

from scalecurve.training.inputs.stack import Device
from scalecurve.training.inputs.transformer import Array

TILE = 128.0


def matmul_seconds(device: Device, rows: Array, columns: Array, depth: Array, copies: Array | float = 1.0) -> Array:
    """`copies` independent products of one shape in one launch (attention heads, experts)."""
    tiles = np.maximum(np.ceil(rows / TILE), 1.0) * np.maximum(np.ceil(columns / TILE), 1.0) * copies
    work = (tiles + device.tail * device.cores) * (2.0 * TILE * TILE) * (depth + device.ramp)
    traffic = device.operand_bytes * copies * (rows * columns + depth * (rows + columns))
    return np.maximum(work / device.matmul_rate, traffic / device.memory_rate)


def linear_seconds(
    device: Device, rows: Array, columns: Array, depth: Array, copies: Array | float = 1.0
) -> tuple[Array, Array]:
    """Forward, and backward as the gradients by input (rows x depth x columns) and weight (depth x columns x rows);
    frozen weights have none."""
    forward = matmul_seconds(device, rows, columns, depth, copies)
    by_input = matmul_seconds(device, rows, depth, columns, copies)
    if device.frozen:
        return forward, by_input
    by_weight = matmul_seconds(device, depth, columns, rows, copies)
    return forward, by_input + by_weight


def unfused_attention_seconds(
    device: Device, batch_heads: Array, queries: Array, keys: Array, head: Array
) -> tuple[Array, Array]:
    """Scores and context as batched products, and the s x s matrix written and read by softmax, mask and dropout:
    11 bytes a score forward, 15 backward (Korthikanti et al. 2022 count 5 a s^2 b stored: 2 + 1 + 2)."""
    scores = matmul_seconds(device, queries, keys, head, batch_heads)
    context = matmul_seconds(device, queries, head, keys, batch_heads)
    traffic = batch_heads * queries * keys / device.memory_rate
    return scores + context + 11.0 * traffic, 2.0 * (scores + context) + 15.0 * traffic


def flash_attention_seconds(
    device: Device, batch_heads: Array, queries: Array, keys: Array, head: Array
) -> tuple[Array, Array]:
    """4 b a s_q s_k d FLOP, half of them under a causal mask; backward 2.5 times as many (it recomputes the scores) at
    five sixths of the rate."""
    forward = 2.0 * batch_heads * queries * keys * head / device.attention_rate
    return forward, 3.0 * forward


def ring_rate(device: Device, inner: Array, outer: Array) -> Array:
    """Bytes per second past any one rank.

    Between nodes a ring has the ports of all its ranks in the node.  Where accelerators share ports, a group that has
    only part of a node enters by one port and leaves by another: half of what its ports could carry both ways.
    """
    partial = (inner > 1) & (inner < device.node) & device.shared_ports
    ports = 1.0 if device.stack.single_port else np.where(partial, inner / 2.0, inner)
    return np.where(outer > 1, np.minimum(device.outer_rate * ports, device.inner_rate), device.inner_rate)


def start_seconds(device: Device, size: Array) -> Array:
    """Kernel start, and the ramp from the low-latency protocols to full bandwidth."""
    return device.start + device.ramp_seconds * size / (size + device.ramp_bytes)


def gather_seconds(device: Device, size: Array, inner: Array, outer: Array) -> Array:
    """All-gather or reduce-scatter of `size` bytes in all: (n-1) hops + (n-1)/n size/rate; nothing for one rank."""
    ranks = inner * outer
    hops = (ranks - outer) * device.inner_hop + np.where(outer > 1, outer, 0.0) * device.outer_hop
    moved = (ranks - 1.0) / ranks * size / ring_rate(device, inner, outer)
    return np.where(ranks > 1, start_seconds(device, size) + hops + moved, 0.0)


def reduce_seconds(device: Device, size: Array, inner: Array, outer: Array) -> Array:
    """All-reduce: twice the ring's traffic; the latency of the better of ring (n-1 hops) and tree (lg n hops)."""
    ranks = inner * outer
    ring = (ranks - outer) * device.inner_hop + np.where(outer > 1, outer, 0.0) * device.outer_hop
    tree = (inner - 1.0) * device.inner_hop + np.log2(outer) * device.outer_hop * 2.0
    moved = 2.0 * (ranks - 1.0) / ranks * size / ring_rate(device, inner, outer)
    return np.where(ranks > 1, start_seconds(device, size) + 2.0 * np.minimum(ring, tree) + moved, 0.0)


def exchange_seconds(device: Device, size: Array, inner: Array, outer: Array) -> Array:
    """All-to-all where each rank sends `size` bytes in all; what leaves the node goes through the rank's own port."""
    ranks = inner * outer
    outside = size * (ranks - inner) / ranks / device.outer_rate
    inside = size * (inner - 1.0) / ranks / device.inner_rate
    hops = np.log2(np.maximum(ranks, 1.0)) * np.where(outer > 1, device.outer_hop, device.inner_hop)
    return np.where(ranks > 1, start_seconds(device, size) + hops + np.maximum(outside, inside), 0.0)


def send_seconds(device: Device, size: Array, crosses: Array) -> Array:
    """One message to the neighbouring pipeline stage; `crosses` is 1 where the stages are on different nodes."""
    between = device.outer_hop + size / device.outer_rate
    within = device.inner_hop + size / device.inner_rate
    return np.where(crosses > 0, between, within)


def exposed_seconds(device: Device, traffic: Array, window: Array) -> Array:
    """What is paid of traffic under compute: all that outlasts the window, and contention for the rest."""
    result: Array = np.maximum(traffic - window, 0.0) + device.contention * np.minimum(traffic, window)
    return result
