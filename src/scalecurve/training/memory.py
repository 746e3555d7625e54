"""Bytes on the fullest accelerator: states (weights, gradients, optimiser), activations in flight, logits.

Activations per layer follow Korthikanti et al. 2022 (table 2) written out by tensor, so that gated activations, grouped
heads and experts are counted too; with GELU, four times the width and dropout they give its 34 s b h + 5 a s^2 b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.training.arrays import Array
from scalecurve.training.grid import Grid, Recompute
from scalecurve.training.machine import Machine
from scalecurve.training.shape import Shape

WEIGHT_BYTES = 2.0
OPTIMIZER_BYTES = 12.0  # fp32 copy, first and second moment of Adam


@dataclass(frozen=True)
class Memory:
    weights: Array
    gradients: Array
    optimizer: Array
    activations: Array
    logits: Array
    working: Array

    @property
    def total(self) -> Array:
        return self.weights + self.gradients + self.optimizer + self.activations + self.logits + self.working


def device_parameters(shape: Shape, grid: Grid) -> tuple[Array, Array]:
    """Parameters of the fullest pipeline stage on one accelerator before ZeRO: (all but experts, experts)."""
    stages = np.ceil(shape.layers / grid.pp)
    moe_share = shape.moe_layers / shape.layers
    mlp = (1.0 - moe_share) * shape.dense_ffn_weights + moe_share * shape.shared_weights
    ends = np.where(grid.pp > 1, shape.vocab * shape.hidden + shape.positions * shape.hidden, shape.embedding_weights)
    dense = (stages * (shape.attention_weights + mlp) + ends) / grid.tp
    return dense, stages * moe_share * shape.expert_weights / grid.ep


def activation_bytes(machine: Machine, shape: Shape, grid: Grid) -> Array:
    """Bytes one layer keeps for the backward pass of one micro-batch."""
    tokens = grid.micro * shape.seq / grid.cp
    whole = tokens * shape.hidden * (8.0 + (2.0 if machine.dropout else 0.0))
    split = tokens * _split_bytes(shape) / grid.tp
    whole = np.where(grid.sequence_parallel > 0, whole / grid.tp, whole)
    scores = 0.0 if machine.fused_attention else 5.0 * grid.micro * shape.heads * shape.seq * shape.span / grid.tp
    kept = whole + split + np.where(grid.recompute == Recompute.NONE, scores, 0.0)
    checkpoint = 2.0 * tokens * shape.hidden / np.where(grid.sequence_parallel > 0, grid.tp, 1.0)
    return np.where(grid.recompute == Recompute.FULL, checkpoint, kept)


def _split_bytes(shape: Shape) -> Array:
    """Bytes per token that tensor parallelism splits: queries, keys, values, context, and the ffn's insides."""
    attention = 2.0 * (shape.heads * (shape.head + shape.value_head) + shape.kv_heads * (shape.head + shape.value_head))
    dense = 2.0 * (shape.gates + 1.0) * shape.ffn
    moe_share = shape.moe_layers / shape.layers
    routed = shape.top_k * (2.0 * (shape.gates + 1.0) * shape.expert_ffn + 4.0 * shape.hidden)
    shared = 2.0 * (shape.gates + 1.0) * shape.shared_ffn
    latent = 2.0 * (shape.q_rank + shape.kv_rank + shape.rope)
    return attention + latent + (1.0 - moe_share) * dense + moe_share * (routed + shared)


def layers_in_flight(shape: Shape, grid: Grid) -> Array:
    """Layers' worth of activations on the first stage: min(m, p) micro-batches of L/p layers, and the interleaved
    schedule's 1 + (p-1)/(p v) of it."""
    depth = np.ceil(shape.layers / grid.pp)
    deep = grid.pp * np.where(grid.interleave > 1, 1.0 + (grid.pp - 1.0) / (grid.pp * grid.interleave), 1.0)
    return depth * np.minimum(grid.accumulation, deep)


def memory(machine: Machine, shape: Shape, grid: Grid) -> Memory:
    """ZeRO (Rajbhandari et al. 2020): stage 1 splits optimiser states over the group, 2 gradients, 3 weights."""
    dense, experts = device_parameters(shape, grid)
    group = np.maximum(grid.shard * grid.cp, 1.0)
    expert_group = np.maximum(group * grid.tp / grid.ep, 1.0)
    split = (dense / group + experts / expert_group, dense + experts)
    weights = WEIGHT_BYTES * np.where(grid.zero >= 3, split[0], split[1])
    gradients = machine.gradient_bytes * np.where(grid.zero >= 2, split[0], split[1])
    optimizer = OPTIMIZER_BYTES * np.where(grid.zero >= 1, split[0], split[1])
    activations = activation_bytes(machine, shape, grid) * layers_in_flight(shape, grid)
    return Memory(weights, gradients, optimizer, activations, _logits(machine, shape, grid), _working(machine, shape, grid))


def _logits(machine: Machine, shape: Shape, grid: Grid) -> Array:
    """The output layer's scores where the first stage is also the last; the pipeline's last stage has room instead."""
    tokens = grid.micro * shape.seq / grid.cp
    return np.where(grid.pp > 1, 0.0, machine.logit_bytes * tokens * shape.vocab / grid.tp)


def _working(machine: Machine, shape: Shape, grid: Grid) -> Array:
    """One layer being recomputed, and with ZeRO-3 two layers' gathered weights and one layer's gradients."""
    tokens = grid.micro * shape.seq / grid.cp
    layer = tokens * (10.0 * shape.hidden + _split_bytes(shape) / grid.tp)
    again = np.where(grid.recompute == Recompute.FULL, layer, 0.0)
    dense, experts = device_parameters(shape, grid)
    one = (dense + experts) / np.ceil(shape.layers / grid.pp)
    gathered = np.where(grid.zero >= 3, (2.0 * WEIGHT_BYTES + machine.gradient_bytes) * one, 0.0)
    return again + gathered + machine.reserved
