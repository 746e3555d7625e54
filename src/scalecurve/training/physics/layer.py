"""One layer on one accelerator, for one micro-batch: seconds of its kernels and of the collectives between them.


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

from dataclasses import dataclass

import numpy as np

from scalecurve.training.inputs.layout import Grid, Recompute
from scalecurve.training.inputs.stack import Device
from scalecurve.training.inputs.transformer import Array, Shape

SEVERAL_NODES = 1.26  # waits of tensor ranks on several nodes over those on one
ACTIVATION_BYTES = 2.0
TILE = 128.0
FITTED_KEYS = 8192.0  # the longest sequences of most tables that attention was fitted to


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
    five sixths of the rate.  The rate rises with the keys as s / (s + half); it was fitted at FITTED_KEYS and below."""
    half = device.attention_half
    faster = np.maximum(keys * (FITTED_KEYS + half) / (FITTED_KEYS * (keys + half)), 1.0)
    forward = 2.0 * batch_heads * queries * keys * head / (device.attention_rate * faster)
    return forward, 3.0 * forward


def inner_rate(device: Device, ranks: Array | float) -> Array | float:
    """Bytes per second of one of `ranks` accelerators of a node: behind a switch all of its link, in a mesh only the
    wires to the others."""
    if device.pair_rate is None:
        return device.inner_rate
    return np.minimum(np.where(ranks > 1, (ranks - 1.0) * device.pair_rate, np.inf), device.inner_rate)


def ring_rate(device: Device, inner: Array, outer: Array) -> Array:
    """Bytes per second past any one rank.

    Between nodes a ring has the ports of all its ranks in the node.  Where accelerators share ports, a group that has
    only part of a node enters by one port and leaves by another: half of what its ports could carry both ways.
    """
    partial = (inner > 1) & (inner < device.node) & device.shared_ports
    ports = 1.0 if device.stack.single_port else np.where(partial, inner / 2.0, inner)
    inside = inner_rate(device, inner)
    return np.where(outer > 1, np.minimum(device.outer_rate * ports, inside), inside)


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
    inside = size * (inner - 1.0) / ranks / inner_rate(device, inner)
    hops = np.log2(np.maximum(ranks, 1.0)) * np.where(outer > 1, device.outer_hop, device.inner_hop)
    return np.where(ranks > 1, start_seconds(device, size) + hops + np.maximum(outside, inside), 0.0)


def send_seconds(device: Device, size: Array, crosses: Array) -> Array:
    """One message to the neighbouring pipeline stage; `crosses` is 1 where the stages are on different nodes."""
    between = device.outer_hop + size / device.outer_rate
    within = device.inner_hop + size / inner_rate(device, 2.0)
    return np.where(crosses > 0, between, within)


def exposed_seconds(device: Device, traffic: Array, window: Array) -> Array:
    """What is paid of traffic under compute: all that outlasts the window, and contention for the rest."""
    result: Array = np.maximum(traffic - window, 0.0) + device.contention * np.minimum(traffic, window)
    return result


@dataclass(frozen=True)
class Pass:
    """Seconds of the forward and the backward pass."""

    forward: Array
    backward: Array

    def __add__(self, other: Pass) -> Pass:
        return Pass(self.forward + other.forward, self.backward + other.backward)

    def __mul__(self, factor: Array) -> Pass:
        return Pass(self.forward * factor, self.backward * factor)

    def __sub__(self, other: Pass) -> Pass:
        return Pass(self.forward - other.forward, self.backward - other.backward)

    def under_host(self, launch: Array | float) -> Pass:
        """A layer is not faster than the host can launch it (backward twice as many kernels): an eighth-power mean,
        close to the larger of the two."""
        return Pass(soft_maximum(self.forward, launch), soft_maximum(self.backward, 2.0 * launch))

    def with_recompute(self, full: Array) -> Array:
        """Seconds of traffic in all: full recomputation repeats that of the forward pass."""
        result: Array = self.forward + self.backward + np.where(full, self.forward, 0.0)
        return result


def soft_maximum(one: Array, other: Array | float) -> Array:
    """The eighth-power mean of two times: by squares and roots, which are faster than powers."""
    powers = [np.square(np.square(np.square(value))) for value in (one, other)]
    result: Array = np.sqrt(np.sqrt(np.sqrt(powers[0] + powers[1])))
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
    waits for nobody, so the mean is raised by the imbalance.  What grouped products lose (permuting, padding, adding up
    gradients) grows with the tokens, so beyond the width that calibrates it its share falls as 1 / width."""
    local = np.maximum(shape.experts / grid.ep, 1.0)
    routed = micro_tokens(shape, grid) / grid.tp * shape.top_k * np.where(grid.ep > 1, device.imbalance, 1.0)
    rows, width = routed / local * grid.etp, shape.expert_ffn / grid.etp
    loss = device.matmul_rate / device.grouped_rate - 1.0
    narrow = 1.0 if device.stack.narrow_expert is None else np.minimum(device.stack.narrow_expert / width, 1.0)
    slower = np.asarray(1.0 + loss * narrow)
    inward = Pass(*linear_seconds(device, rows, shape.gates * width, shape.hidden, local)) * slower
    outward = Pass(*linear_seconds(device, rows, shape.hidden, width, local)) * slower
    element = device.stack.gate_traffic * shape.gates * shape.expert_ffn + device.stack.routing_traffic * shape.hidden
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
    only once to a node however many of its experts live there: N (1 - (1 - 1/N)^k) copies over N nodes, or as many as
    the router allows.  Only traffic on the fast link is hidden under products."""
    tokens = micro_tokens(shape, grid) / grid.tp
    nodes = grid.ep / grid.ep_inner
    copies = np.minimum(nodes * (1.0 - (1.0 - 1.0 / nodes) ** shape.top_k), shape.node_limit)
    inside = ACTIVATION_BYTES * tokens * shape.top_k * shape.hidden * device.imbalance
    across = ACTIVATION_BYTES * tokens * copies * shape.hidden * device.imbalance
    size = np.where(nodes > 1, np.minimum(across, inside), inside)
    share = 1.0 - np.where(nodes > 1, 0.0, device.stack.expert_overlap)
    exposed = 2.0 * exchange_seconds(device, size, grid.ep_inner, nodes) * share
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
    """Host seconds per layer and forward pass that a pipeline over nodes or a split sequence adds: by tensor ranks, and
    more where they are on several nodes."""
    if device.stack.slot_wait == 0.0:
        return 0.0
    several = grid.tp > grid.tp_inner
    between = (grid.tp > 1) & (((grid.pp > 1) & (grid.pp_crosses > 0)) | ((grid.sequence_parallel > 0) & several))
    return np.where(between, device.stack.slot_wait * grid.tp * np.where(several, SEVERAL_NODES, 1.0), 0.0)


def layer_time(device: Device, shape: Shape, grid: Grid) -> LayerTime:
    """The layer of the slowest stage: dense and MoE layers weighted by how many of each it has.  The host launches
    kernels and traffic alike, so what it waits for beyond both counts as compute."""
    launch = 0.0 if device.stack.slot_wait > 0.0 else device.launch  # else step_time has it, by stages
    core = attention_core(device, shape, grid)
    body = attention_products(device, shape, grid) + core + elementwise(device, shape, grid)
    tensor = tensor_traffic(device, shape, grid)
    context = context_traffic(device, shape, grid, core) * np.where(grid.cp > 1, 1.0, 0.0)
    traffic = tensor + context
    compute = (body + dense_ffn(device, shape, grid, shape.ffn) + traffic).under_host(launch) - traffic
    full = grid.recompute == Recompute.FULL
    expert: Array = np.zeros(())
    if shape.has_experts:
        share = slowest_moe_share(shape, grid)
        exchange = expert_traffic(device, shape, grid)
        shared = dense_ffn(device, shape, grid, np.maximum(shape.shared_ffn, 1.0)) * np.sign(shape.shared_ffn)
        traffic = traffic + exchange
        moe = body + routed_ffn(device, shape, grid) + shared + traffic
        kernels = device.stack.latent_kernels if shape.has_latent_attention else 1.0
        moe = moe.under_host(kernels * device.expert_launch) - traffic
        compute = compute * (1.0 - share) + moe * share
        expert = (exchange * share).with_recompute(full)
    selective = device.stack.selective_again * compute.forward if device.stack.fused_attention else core.forward
    partly = (grid.recompute == Recompute.SELECTIVE) | (grid.recompute == Recompute.OFFLOAD)
    again = np.where(partly, selective, 0.0)
    return LayerTime(
        compute,
        np.where(full, compute.forward, again),
        tensor.with_recompute(full),
        context.with_recompute(full),
        expert,
    )
