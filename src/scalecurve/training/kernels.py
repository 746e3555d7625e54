"""Time of the kernels of one layer on one accelerator: matrix products, attention, elementwise traffic.

A matrix product of M x N x K runs as tiles of 128 x 128 over the accelerator's cores:

    seconds = (ceil(M/128) ceil(N/128) + tail * cores) * 2 * 128 * 128 * (K + ramp) / (peak * matmul)

`tail` is the part of a wave lost at the end, `ramp` the depth of K spent filling and draining the pipeline, `matmul`
the share of the peak a long product reaches; the time is never below the traffic of its operands.  The form is the
tile and wave quantisation of NVIDIA's "Matrix Multiplication Background User's Guide".
"""

from __future__ import annotations

import numpy as np

from scalecurve.training.arrays import Array, ceiling_division
from scalecurve.training.machine import Machine

TILE = 128.0


def matmul_seconds(machine: Machine, rows: Array, columns: Array, depth: Array, copies: Array | float = 1.0) -> Array:
    """`copies` independent products of one shape in one launch (attention heads, experts)."""
    tiles = ceiling_division(rows, TILE) * ceiling_division(columns, TILE) * copies
    work = (tiles + machine.tail * machine.cores) * (2.0 * TILE * TILE) * (depth + machine.ramp)
    traffic = machine.operand_bytes * copies * (rows * columns + depth * (rows + columns))
    return np.maximum(work / machine.matmul_rate, traffic / machine.memory_rate)


def linear_seconds(
    machine: Machine, rows: Array, columns: Array, depth: Array, copies: Array | float = 1.0
) -> tuple[Array, Array]:
    """Forward, and backward as the gradients by input (rows x depth x columns) and weight (depth x columns x rows)."""
    forward = matmul_seconds(machine, rows, columns, depth, copies)
    by_input = matmul_seconds(machine, rows, depth, columns, copies)
    by_weight = matmul_seconds(machine, depth, columns, rows, copies)
    return forward, by_input + by_weight


def unfused_attention_seconds(
    machine: Machine, batch_heads: Array, queries: Array, keys: Array, head: Array
) -> tuple[Array, Array]:
    """Scores and context as batched products, and the s x s matrix written and read by softmax, mask and dropout:
    11 bytes a score forward, 15 backward (Korthikanti et al. 2022 count 5 a s^2 b stored: 2 + 1 + 2)."""
    scores = matmul_seconds(machine, queries, keys, head, batch_heads)
    context = matmul_seconds(machine, queries, head, keys, batch_heads)
    traffic = batch_heads * queries * keys / machine.memory_rate
    return scores + context + 11.0 * traffic, 2.0 * (scores + context) + 15.0 * traffic


def flash_attention_seconds(
    machine: Machine, batch_heads: Array, queries: Array, keys: Array, head: Array
) -> tuple[Array, Array]:
    """4 b a s_q s_k d FLOP, half of them under a causal mask; backward 2.5 times as many (it recomputes the scores) at
    five sixths of the rate."""
    flop = 2.0 * batch_heads * queries * keys * head
    forward = flop / machine.attention_rate
    return forward, 3.0 * forward


def traffic_seconds(machine: Machine, count: Array) -> Array:
    """Elementwise kernels are as fast as memory."""
    return count / machine.memory_rate
