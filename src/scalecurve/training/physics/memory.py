"""The ledger of memory: bytes on the fullest accelerator by what holds them, under each stack's way of keeping states.

Mixed precision keeps 2 bytes of a weight beside the optimiser's fp32 copy (Megatron, DeepSpeed), or the weight once in
fp32 and casts it as it is used (FSDP, XLA).  ZeRO splits optimiser states from stage 1, gradients from stage 2 and
weights from stage 3.

Activations per layer follow Korthikanti et al. 2022 (table 2) written out by tensor, so that gated activations, grouped
heads and experts are counted too; with GELU, four times the width and dropout they give its 34 s b h + 5 a s^2 b.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from scalecurve.training.inputs.layout import Grid, Recompute, Schedule
from scalecurve.training.inputs.stack import Device
from scalecurve.training.inputs.transformer import Array, Shape

USABLE = 0.94  # share of memory a plan may count on; the rest goes to fragmentation
WEIGHT_BYTES = 2.0
ADAPTER_SHARE = 0.005  # weights of low-rank adapters over those they adapt
ROUNDING = 1e-9
FP32 = 4.0
MOMENTS = 8.0  # first and second moment of Adam in fp32
OPTIMIZERS = {  # how the states are kept: the share of MOMENTS on the accelerator
    "adamw": 1.0,
    "mixed": 0.75,  # the first moment in bf16
    "bf16": 0.5,  # weights, gradients and moments in bf16, no fp32 copy
    "8bit": 0.25,
    "host": 0.0,  # copy and moments in the memory of the host
}
LEAN = ("bf16", "host")  # of these, how weights and gradients have 2 bytes


@dataclass(frozen=True)
class Memory:
    """Bytes by what holds them; the fields add up to the total."""

    weights: Array
    gradients: Array
    optimizer: Array
    activations: Array
    logits: Array
    buffers: Array  # weights and gradients gathered for a layer, or a pipeline's stage, and fixed buckets
    working: Array  # a layer being recomputed
    runtime: Array  # context of the driver, workspaces and communicators

    @property
    def total(self) -> Array:
        states = self.weights + self.gradients + self.optimizer
        return states + self.activations + self.logits + self.buffers + self.working + self.runtime


def stage_layers(device: Device, shape: Shape, grid: Grid) -> tuple[Array, Array]:
    """Layers of the first stage and of the one with the output layer: equal shares, or where the stack weighs blocks by
    their weights, stages that end where the sum of the weights passes an equal share."""
    if not device.stack.weighs_stages:
        depth = np.ceil(shape.layers / grid.pp)
        return depth, depth
    head = shape.vocab * shape.hidden / (shape.attention_weights + shape.dense_ffn_weights)  # in layers
    share = (shape.layers + head) / grid.pp
    before = np.ceil(np.floor(shape.layers / share + ROUNDING) * share - ROUNDING)
    first = np.minimum(np.ceil(share - ROUNDING), shape.layers)
    return first, np.maximum(shape.layers - before, 0.0)


def device_parameters(device: Device, shape: Shape, grid: Grid, *, last: bool = False) -> tuple[Array, Array]:
    """Parameters of the first or last pipeline stage on one accelerator before ZeRO: (all but experts, experts)."""
    depth = stage_layers(device, shape, grid)[1 if last else 0]
    moe = np.clip(shape.moe_layers - (0.0 if last else 1.0) * (shape.layers - depth), 0.0, depth)
    mlp = (depth - moe) * shape.dense_ffn_weights + moe * shape.shared_weights
    ends = np.where(grid.pp > 1, shape.vocab * shape.hidden + shape.positions * shape.hidden, shape.embedding_weights)
    dense = (depth * shape.attention_weights + mlp + ends) / grid.tp
    return dense, moe * shape.expert_weights / (grid.ep * grid.etp)


def split_bytes(device: Device, shape: Shape) -> Array:
    """Bytes per token that tensor parallelism splits: queries, keys, values, context, and the ffn's insides.  What goes
    into a matrix product is kept in the precision of the product."""
    attention = 2.0 * (shape.heads + shape.kv_heads) * (shape.head + shape.value_head)
    inside = 2.0 * shape.gates + (0.0 if device.frozen else device.operand_bytes)  # frozen products keep no operand
    dense = inside * shape.ffn
    moe_share = shape.moe_layers / shape.layers
    routed = shape.top_k * (inside * shape.expert_ffn + (2.0 + device.operand_bytes) * shape.hidden)
    shared = inside * shape.shared_ffn
    latent = 2.0 * (shape.q_rank + shape.kv_rank + shape.rope)
    return attention + latent + (1.0 - moe_share) * dense + moe_share * (routed + shared)


def activation_bytes(device: Device, shape: Shape, grid: Grid) -> Array:
    """Bytes one layer keeps for the backward pass of one micro-batch."""
    tokens = grid.micro * shape.seq / grid.cp
    between = np.where(grid.sequence_parallel > 0, grid.tp, 1.0)  # ranks that share what tensor parallelism keeps whole
    operands = 1.0 if device.frozen else 2.0  # frozen products keep none, adapters that of the attention
    norms = device.stack.norm_held + operands * device.operand_bytes  # into and out of the two norms
    whole = tokens * shape.hidden * (norms + (2.0 if device.stack.dropout else 0.0)) / between
    scores = 5.0 * grid.micro * shape.heads * shape.seq * shape.span / grid.tp
    scores = np.where(grid.recompute == Recompute.NONE, 0.0 if device.stack.fused_attention else scores, 0.0)
    kept = whole + device.stack.copies_held * tokens * split_bytes(device, shape) / grid.tp + scores
    partly = (grid.recompute == Recompute.SELECTIVE) | (grid.recompute == Recompute.OFFLOAD)
    kept = np.where(partly, device.stack.selective_kept, 1.0) * kept
    return np.where(grid.recompute == Recompute.FULL, 2.0 * tokens * shape.hidden / between, kept)


def layers_in_flight(device: Device, shape: Shape, grid: Grid) -> Array:
    """Layers' worth of activations on the first stage: min(m, p) micro-batches of L/p layers, and the interleaved
    schedule's 1 + (p-1)/(p v) of it; DualPipe holds p + 1."""
    depth, _ = stage_layers(device, shape, grid)
    deep = grid.pp * np.where(grid.interleave > 1, 1.0 + (grid.pp - 1.0) / (grid.pp * grid.interleave), 1.0)
    deep = deep + np.where(grid.schedule == Schedule.DUALPIPE, 1.0, 0.0)
    result: Array = depth * np.minimum(grid.accumulation, deep)
    return result


def state_bytes(device: Device, grid: Grid) -> tuple[float, Array, Array]:
    """Bytes of a parameter in weights, gradients and optimiser states.  Gradients of 2 bytes are copied to fp32 where
    the optimiser holds them (Megatron: 4 + 16/d bytes, or 6 + 12/d with fp32 gradients, which ZeRO-0 has here)."""
    stack, trained = device.stack, ADAPTER_SHARE if device.frozen else 1.0
    gradient = np.asarray(stack.gradient_bytes if stack.gradient_held is None else stack.gradient_held)
    weight = FP32 if stack.weights_once else WEIGHT_BYTES
    copy = np.asarray(0.0 if stack.weights_once else FP32)
    if stack.gradients_copied:
        gradient = np.where(grid.zero == 0, FP32, gradient)
        copy = np.where(gradient < FP32, 2.0 * FP32, FP32)
    if device.optimizer in LEAN:
        weight, gradient, copy = WEIGHT_BYTES, np.asarray(WEIGHT_BYTES), np.zeros(())
    if device.frozen:
        weight = min(WEIGHT_BYTES, device.operand_bytes)
    return weight, trained * gradient, trained * (copy + MOMENTS * OPTIMIZERS[device.optimizer])


def stage_memory(device: Device, shape: Shape, grid: Grid, *, last: bool) -> Memory:
    """The first or the last stage.  Below ZeRO-3 some stacks keep a whole 2-byte copy beside weights kept once, which
    they split from ZeRO-2 on."""
    dense, experts = device_parameters(device, shape, grid, last=last)
    stack, group = device.stack, np.maximum(grid.shard * grid.cp, 1.0)
    expert_group = np.maximum(group * grid.tp / (grid.ep * grid.etp), 1.0)
    split, whole = dense / group + experts / expert_group, dense + experts
    depth = stage_layers(device, shape, grid)[1 if last else 0]
    tokens = grid.micro * shape.seq / grid.cp
    logits = stack.logit_bytes * tokens * shape.vocab / grid.tp
    again = tokens * (10.0 * shape.hidden + split_bytes(device, shape) / grid.tp)
    weight, gradient, optimizer = state_bytes(device, grid)
    layers = depth if last else layers_in_flight(device, shape, grid)
    layers = np.where(grid.recompute == Recompute.OFFLOAD, np.minimum(layers, 2.0), layers)
    twice = np.where(grid.schedule == Schedule.DUALPIPE, 2.0, 1.0)  # a stage from either end
    weights = weight * np.where(grid.zero >= (2 if stack.copy_below_zero3 else 3), split, whole)
    if stack.copy_below_zero3 and not device.frozen and device.optimizer not in LEAN:
        weights = weights + WEIGHT_BYTES * np.where(grid.zero >= 3, 0.0, whole)
    staged = grid.pp > 1  # gathered once a step, gradients whole until the last micro-batch
    at_once = np.where(staged, 1.0, stack.gathered / np.maximum(depth, 1.0))
    moved = (WEIGHT_BYTES + np.where(staged, gradient, WEIGHT_BYTES)) * whole * at_once
    buckets = np.minimum(stack.bucket_parameters, whole) * WEIGHT_BYTES
    return Memory(
        weights=twice * weights,
        gradients=twice * gradient * np.where(grid.zero >= 2, split, whole),
        optimizer=optimizer * np.where(grid.zero >= 1, split, whole),
        activations=activation_bytes(device, shape, grid) * layers,
        logits=logits if last else np.where(grid.pp > 1, 0.0, logits),
        buffers=buckets + np.where(grid.zero >= 3, moved, 0.0),
        working=np.where(grid.recompute == Recompute.FULL, again, 0.0),
        runtime=np.asarray(device.reserved),
    )


def memory(device: Device, shape: Shape, grid: Grid) -> Memory:
    """The fuller of the first stage (most micro-batches in flight) and the last (logits, most MoE layers)."""
    first = stage_memory(device, shape, grid, last=False)
    if not np.any(grid.pp > 1):
        return first
    last = stage_memory(device, shape, grid, last=True)
    fuller = last.total > first.total
    names = [entry.name for entry in fields(Memory)]
    return Memory(*(np.where(fuller, getattr(last, name), getattr(first, name)) for name in names))
