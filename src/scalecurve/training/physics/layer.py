"""One layer on one accelerator, for one micro-batch: compute, and the traffic that tensor, context and expert
parallelism put between its kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.training.inputs.layout import Grid, Recompute
from scalecurve.training.inputs.stack import Device
from scalecurve.training.inputs.transformer import Array, Shape
from scalecurve.training.physics.kernels import (
    exchange_seconds,
    exposed_seconds,
    flash_attention_seconds,
    gather_seconds,
    linear_seconds,
    reduce_seconds,
    unfused_attention_seconds,
)

ACTIVATION_BYTES = 2.0


@dataclass(frozen=True)
class Pass:
    """Seconds of the forward and the backward pass."""

    forward: Array
    backward: Array

    def __add__(self, other: Pass) -> Pass:
        return Pass(self.forward + other.forward, self.backward + other.backward)

    def __mul__(self, factor: Array) -> Pass:
        return Pass(self.forward * factor, self.backward * factor)

    def under_host(self, launch: Array | float) -> Pass:
        """A layer is not faster than the host can launch it (backward twice as many kernels): a fourth-power mean,
        close to the larger of the two."""
        forward, backward = self.forward**4 + launch**4, self.backward**4 + (2.0 * launch) ** 4
        return Pass(np.sqrt(np.sqrt(forward)), np.sqrt(np.sqrt(backward)))

    def with_recompute(self, full: Array) -> Array:
        """Seconds of traffic in all: full recomputation repeats that of the forward pass."""
        result: Array = self.forward + self.backward + np.where(full, self.forward, 0.0)
        return result


def micro_tokens(shape: Shape, grid: Grid) -> Array:
    """Tokens of a micro-batch on one rank of the context group."""
    return grid.micro * shape.seq / grid.cp


def attention_core(device: Device, shape: Shape, grid: Grid) -> Pass:
    """Scores, softmax and context; context parallelism shares the queries out evenly (zigzag)."""
    seconds = flash_attention_seconds if device.stack.fused_attention else unfused_attention_seconds
    heads = grid.micro * shape.heads / grid.tp
    head = (shape.head + shape.value_head) / 2.0
    return Pass(*seconds(device, heads, shape.seq / grid.cp, shape.span, head))


def attention_products(device: Device, shape: Shape, grid: Grid) -> Pass:
    """The projections of one layer's attention; with multi-head latent attention (DeepSeek-V2, section 2.1) down to the
    ranks, up to the heads, and out.  Layers with a state instead count by their weights."""
    tokens, heads = micro_tokens(shape, grid), shape.heads / grid.tp
    if shape.has_latent_attention:
        sizes = [
            (shape.q_rank + shape.kv_rank + shape.rope, shape.hidden),
            (heads * shape.head, np.where(shape.q_rank > 0, shape.q_rank, shape.hidden)),
            (heads * (shape.head - shape.rope + shape.value_head), shape.kv_rank),
        ]
    else:
        keys = np.maximum(shape.kv_heads / grid.tp, 1.0)
        sizes = [(heads * shape.head + keys * (shape.head + shape.value_head), shape.hidden)]
    sizes.append((shape.hidden, heads * shape.value_head))
    parts = [Pass(*linear_seconds(device, tokens, columns, depth)) for columns, depth in sizes]
    return sum(parts[1:], start=parts[0]) * (shape.attention_weights / shape.softmax_weights)


def dense_ffn(device: Device, shape: Shape, grid: Grid, width: Array) -> Pass:
    """Two matrix products, or three with a gate, and the activation between them."""
    tokens = micro_tokens(shape, grid)
    inward = Pass(*linear_seconds(device, tokens, shape.gates * width / grid.tp, shape.hidden))
    outward = Pass(*linear_seconds(device, tokens, shape.hidden, width / grid.tp))
    gate = device.stack.gate_traffic * shape.gates * tokens * width / grid.tp / device.memory_rate
    return inward + outward + Pass(gate, 2.0 * gate)


def routed_ffn(device: Device, shape: Shape, grid: Grid) -> Pass:
    """The experts a rank holds: top_k tokens' worth of work, spread over experts / ep products; the busiest rank
    waits for nobody, so the mean is raised by the imbalance."""
    local = np.maximum(shape.experts / grid.ep, 1.0)
    routed = micro_tokens(shape, grid) / grid.tp * shape.top_k * np.where(grid.ep > 1, device.imbalance, 1.0)
    rows, width = routed / local * grid.etp, shape.expert_ffn / grid.etp
    slower = np.asarray(device.matmul_rate / device.grouped_rate)
    inward = Pass(*linear_seconds(device, rows, shape.gates * width, shape.hidden, local)) * slower
    outward = Pass(*linear_seconds(device, rows, shape.hidden, width, local)) * slower
    element = device.stack.gate_traffic * shape.gates * shape.expert_ffn + 4.0 * ACTIVATION_BYTES * shape.hidden
    gate = routed * element / device.memory_rate
    return inward + outward + Pass(gate, 2.0 * gate)


def elementwise(device: Device, shape: Shape, grid: Grid) -> Pass:
    """Norms, residuals, dropout (whole, or split by sequence parallelism) and the copies around the heads (split)."""
    split = np.where(grid.sequence_parallel > 0, grid.tp, 1.0)
    heads = (shape.heads + 2.0 * shape.kv_heads) * shape.head / grid.tp
    element = device.stack.norm_traffic * shape.hidden / split + 2.0 * ACTIVATION_BYTES * heads
    forward = micro_tokens(shape, grid) * element / device.memory_rate
    return Pass(forward, 2.0 * forward)


def tensor_traffic(device: Device, shape: Shape, grid: Grid) -> Pass:
    """Two all-reduces of b s h forward and two backward (Shoeybi et al. 2019); with sequence parallelism each is a
    reduce-scatter and an all-gather of the same size, and backward gathers once more per pair unless it was kept.
    Hiding it under the products needs the fast link, so nothing is hidden between nodes."""
    size = ACTIVATION_BYTES * micro_tokens(shape, grid) * shape.hidden
    outer = grid.tp / grid.tp_inner
    split = grid.sequence_parallel > 0
    half = gather_seconds(device, size, grid.tp_inner, outer)
    whole = np.where(split, 2.0 * half, reduce_seconds(device, size, grid.tp_inner, outer))
    again = np.where(split & (grid.regather > 0), 2.0 * half, 0.0)
    exposed = 1.0 - np.where(outer > 1, 0.0, grid.tensor_overlap)
    return Pass(2.0 * whole * exposed, (2.0 * whole + again) * exposed)


def context_traffic(device: Device, shape: Shape, grid: Grid, core: Pass) -> Pass:
    """Ring attention: keys and values go round the ring under the attention of the chunk before; what is longer than
    that attention is exposed."""
    size = ACTIVATION_BYTES * grid.micro * shape.seq * 2.0 * np.maximum(shape.kv_heads / grid.tp, 1.0) * shape.head
    ring = gather_seconds(device, size, grid.cp_inner, grid.cp / grid.cp_inner)
    return Pass(exposed_seconds(device, ring, core.forward), exposed_seconds(device, 2.0 * ring, core.backward))


def expert_traffic(device: Device, shape: Shape, grid: Grid) -> Pass:
    """Dispatch and combine, forward and backward: an all-to-all of tokens * top_k * hidden each.  A token goes
    only once to a node however many of its experts live there: N (1 - (1 - 1/N)^k) copies over N nodes."""
    tokens = micro_tokens(shape, grid) / grid.tp
    nodes = grid.ep / grid.ep_inner
    copies = nodes * (1.0 - (1.0 - 1.0 / nodes) ** shape.top_k) / nodes
    inside = ACTIVATION_BYTES * tokens * shape.top_k * shape.hidden * device.imbalance
    across = ACTIVATION_BYTES * tokens * nodes * copies * shape.hidden * device.imbalance
    size = np.where(nodes > 1, np.minimum(across, inside), inside)
    exposed = 2.0 * exchange_seconds(device, size, grid.ep_inner, nodes) * (1.0 - device.stack.expert_overlap)
    return Pass(exposed, exposed)


def slowest_moe_share(shape: Shape, grid: Grid) -> Array:
    """Share of MoE layers on the last stage: dense layers come first, so it has the most."""
    result: Array = np.minimum(shape.moe_layers / np.ceil(shape.layers / grid.pp), 1.0)
    return result


@dataclass(frozen=True)
class LayerTime:
    """One layer and micro-batch: seconds computing, seconds recomputing, and exposed traffic by axis."""

    compute: Pass
    recompute: Array
    tensor: Array
    context: Array
    expert: Array


def waiting(device: Device, grid: Grid) -> Array | float:
    """Host seconds per layer and forward pass that a pipeline over nodes adds; more with more tensor ranks."""
    if device.stack.slot_wait == 0.0:
        return 0.0
    between = (grid.pp > 1) & (grid.pp_crosses > 0) & (grid.tp > 1)
    return np.where(between, device.stack.slot_wait * grid.tp**1.2, 0.0)


def layer_time(device: Device, shape: Shape, grid: Grid) -> LayerTime:
    """The layer of the slowest stage: dense and MoE layers weighted by how many of each it has."""
    wait = waiting(device, grid)
    core = attention_core(device, shape, grid)
    body = attention_products(device, shape, grid) + core + elementwise(device, shape, grid)
    compute = (body + dense_ffn(device, shape, grid, shape.ffn)).under_host(device.launch + wait)
    full = grid.recompute == Recompute.FULL
    expert: Array = np.zeros(())
    if shape.has_experts:
        share = slowest_moe_share(shape, grid)
        shared = dense_ffn(device, shape, grid, np.maximum(shape.shared_ffn, 1.0)) * np.sign(shape.shared_ffn)
        moe = (body + routed_ffn(device, shape, grid) + shared).under_host(device.expert_launch + wait)
        compute = compute * (1.0 - share) + moe * share
        expert = (expert_traffic(device, shape, grid) * share).with_recompute(full)
    selective = device.stack.selective_again * compute.forward if device.stack.fused_attention else core.forward
    again = np.where(grid.recompute == Recompute.SELECTIVE, selective, 0.0)
    context = context_traffic(device, shape, grid, core).with_recompute(full)
    return LayerTime(
        compute,
        np.where(full, compute.forward, again),
        tensor_traffic(device, shape, grid).with_recompute(full),
        np.where(grid.cp > 1, context, 0.0),
        expert,
    )
