"""One layer on one accelerator, for one micro-batch: compute, and the traffic that tensor, context and expert
parallelism put between its kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.training import kernels
from scalecurve.training.arrays import Array
from scalecurve.training.communication import exchange_seconds, gather_seconds, reduce_seconds
from scalecurve.training.grid import Grid, Recompute, TensorTraffic
from scalecurve.training.machine import Machine
from scalecurve.training.shape import Shape

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


def attention_core(machine: Machine, shape: Shape, grid: Grid) -> Pass:
    """Scores, softmax and context; context parallelism shares the queries out evenly (zigzag)."""
    seconds = kernels.flash_attention_seconds if machine.fused_attention else kernels.unfused_attention_seconds
    heads = grid.micro * shape.heads / grid.tp
    head = (shape.head + shape.value_head) / 2.0
    return Pass(*seconds(machine, heads, shape.seq / grid.cp, shape.span, head))


def attention_products(machine: Machine, shape: Shape, grid: Grid) -> Pass:
    """The projections of one layer's attention."""
    if shape.has_latent_attention:
        return _latent_products(machine, shape, grid)
    tokens = grid.micro * shape.seq / grid.cp
    keys = np.maximum(shape.kv_heads / grid.tp, 1.0)
    wide = shape.heads / grid.tp * shape.head + keys * (shape.head + shape.value_head)
    inward = Pass(*kernels.linear_seconds(machine, tokens, wide, shape.hidden))
    return inward + Pass(
        *kernels.linear_seconds(machine, tokens, shape.hidden, shape.heads / grid.tp * shape.value_head)
    )


def _latent_products(machine: Machine, shape: Shape, grid: Grid) -> Pass:
    """Multi-head latent attention (DeepSeek-V2, section 2.1): down to the ranks, up to the heads, out."""
    tokens = grid.micro * shape.seq / grid.cp
    heads = shape.heads / grid.tp
    plain = shape.head - shape.rope
    sizes = [
        (shape.q_rank + shape.kv_rank + shape.rope, shape.hidden),
        (heads * shape.head, shape.q_rank),
        (heads * (plain + shape.value_head), shape.kv_rank),
        (shape.hidden, heads * shape.value_head),
    ]
    parts = [Pass(*kernels.linear_seconds(machine, tokens, columns, depth)) for columns, depth in sizes]
    return parts[0] + parts[1] + parts[2] + parts[3]


def dense_ffn(machine: Machine, shape: Shape, grid: Grid, width: Array) -> Pass:
    """Two matrix products, or three with a gate, and the activation between them."""
    tokens = grid.micro * shape.seq / grid.cp
    inward = Pass(*kernels.linear_seconds(machine, tokens, shape.gates * width / grid.tp, shape.hidden))
    outward = Pass(*kernels.linear_seconds(machine, tokens, shape.hidden, width / grid.tp))
    gate = kernels.traffic_seconds(machine, machine.gate_traffic * shape.gates * tokens * width / grid.tp)
    return inward + outward + Pass(gate, 2.0 * gate)


def routed_ffn(machine: Machine, shape: Shape, grid: Grid) -> Pass:
    """The experts a rank holds: top_k tokens' worth of work, spread over experts / ep products; the busiest rank
    waits for nobody, so the mean is raised by the imbalance."""
    tokens = grid.micro * shape.seq / grid.cp / grid.tp
    local = np.maximum(shape.experts / grid.ep, 1.0)
    routed = tokens * shape.top_k * np.where(grid.ep > 1, machine.imbalance, 1.0)
    rows = routed / local
    slower = np.asarray(machine.matmul_rate / machine.grouped_rate)
    inward = Pass(*kernels.linear_seconds(machine, rows, shape.gates * shape.expert_ffn, shape.hidden, local)) * slower
    outward = Pass(*kernels.linear_seconds(machine, rows, shape.hidden, shape.expert_ffn, local)) * slower
    moved = routed * (machine.gate_traffic * shape.gates * shape.expert_ffn + 4.0 * ACTIVATION_BYTES * shape.hidden)
    gate = kernels.traffic_seconds(machine, moved)
    return inward + outward + Pass(gate, 2.0 * gate)


def elementwise(machine: Machine, shape: Shape, grid: Grid) -> Pass:
    """Norms, residuals, dropout (whole, or split by sequence parallelism) and the copies around the heads (split)."""
    tokens = grid.micro * shape.seq / grid.cp
    split = np.where(grid.traffic == TensorTraffic.SEQUENCE, grid.tp, 1.0)
    heads = (shape.heads + 2.0 * shape.kv_heads) * shape.head / grid.tp
    forward = kernels.traffic_seconds(
        machine, tokens * (machine.norm_traffic * shape.hidden / split + 2.0 * ACTIVATION_BYTES * heads)
    )
    return Pass(forward, 2.0 * forward)


def tensor_traffic(machine: Machine, shape: Shape, grid: Grid) -> Pass:
    """Two all-reduces of b s h forward and two backward (Shoeybi et al. 2019); with sequence parallelism each is a
    reduce-scatter and an all-gather of the same size, and backward gathers once more per pair unless it was kept.
    Hiding it under the products needs the fast link, so nothing is hidden between nodes."""
    size = ACTIVATION_BYTES * grid.micro * shape.seq / grid.cp * shape.hidden
    outer = grid.tp / grid.tp_inner
    half = gather_seconds(machine, size, grid.tp_inner, outer)
    whole = np.where(
        grid.traffic == TensorTraffic.ALL_REDUCE, reduce_seconds(machine, size, grid.tp_inner, outer), 2.0 * half
    )
    again = np.where((grid.traffic == TensorTraffic.SEQUENCE) & (grid.regather > 0), 2.0 * half, 0.0)
    exposed = 1.0 - np.where(outer > 1, 0.0, grid.tensor_overlap)
    return Pass(2.0 * whole * exposed, (2.0 * whole + again) * exposed)


def context_traffic(machine: Machine, shape: Shape, grid: Grid, core: Pass) -> Pass:
    """Ring attention: keys and values go round the ring under the attention of the chunk before; what is longer than
    that attention is exposed."""
    size = ACTIVATION_BYTES * grid.micro * shape.seq * 2.0 * np.maximum(shape.kv_heads / grid.tp, 1.0) * shape.head
    ring = gather_seconds(machine, size, grid.cp_inner, grid.cp / grid.cp_inner)
    forward = np.maximum(ring - core.forward, 0.0) + machine.contention * np.minimum(ring, core.forward)
    backward = np.maximum(2.0 * ring - core.backward, 0.0) + machine.contention * np.minimum(2.0 * ring, core.backward)
    return Pass(forward, backward)


def expert_traffic(machine: Machine, shape: Shape, grid: Grid) -> Pass:
    """Dispatch and combine, forward and backward: an all-to-all of tokens * top_k * hidden each.  A token goes
    only once to a node however many of its experts live there: N (1 - (1 - 1/N)^k) copies over N nodes."""
    tokens = grid.micro * shape.seq / grid.cp / grid.tp
    nodes = grid.ep / grid.ep_inner
    copies = nodes * (1.0 - (1.0 - 1.0 / nodes) ** shape.top_k) / nodes
    inside = ACTIVATION_BYTES * tokens * shape.top_k * shape.hidden * machine.imbalance
    across = ACTIVATION_BYTES * tokens * nodes * copies * shape.hidden * machine.imbalance
    size = np.where(nodes > 1, np.minimum(across, inside), inside)
    once = exchange_seconds(machine, size, grid.ep_inner, nodes)
    exposed = 2.0 * once * (1.0 - machine.expert_overlap)
    return Pass(exposed, exposed)


@dataclass(frozen=True)
class LayerTime:
    """One layer and micro-batch: seconds computing, seconds recomputing, and exposed traffic by axis."""

    compute: Pass
    recompute: Array
    tensor: Array
    context: Array
    expert: Array


def layer_time(machine: Machine, shape: Shape, grid: Grid) -> LayerTime:
    """The layer of the slowest stage: dense and MoE layers weighted by how many of each it has."""
    core = attention_core(machine, shape, grid)
    products = attention_products(machine, shape, grid)
    body = products + core + elementwise(machine, shape, grid)
    compute = _compute(machine, shape, grid, body)
    tensor = tensor_traffic(machine, shape, grid)
    full = grid.recompute == Recompute.FULL
    selective = grid.recompute == Recompute.SELECTIVE
    some = machine.selective_again * compute.forward if machine.fused_attention else core.forward
    again = np.where(full, compute.forward, np.where(selective, some, 0.0))
    context = context_traffic(machine, shape, grid, core)
    expert = _expert_share(machine, shape, grid)
    return LayerTime(
        compute,
        again,
        _with_recompute(tensor, full),
        np.where(grid.cp > 1, _with_recompute(context, full), 0.0),
        _with_recompute(expert, full),
    )


def _compute(machine: Machine, shape: Shape, grid: Grid, body: Pass) -> Pass:
    dense = _with_host(body + dense_ffn(machine, shape, grid, shape.ffn), machine.launch)
    if not shape.has_experts:
        return dense
    share = slowest_moe_share(shape, grid)
    shared = dense_ffn(machine, shape, grid, np.maximum(shape.shared_ffn, 1.0)) * np.sign(shape.shared_ffn)
    moe = _with_host(body + routed_ffn(machine, shape, grid) + shared, machine.expert_launch)
    return dense * (1.0 - share) + moe * share


def slowest_moe_share(shape: Shape, grid: Grid) -> Array:
    """Dense layers come first, so the last stage has the most MoE layers."""
    result: Array = np.minimum(shape.moe_layers / np.ceil(shape.layers / grid.pp), 1.0)
    return result


def _expert_share(machine: Machine, shape: Shape, grid: Grid) -> Pass:
    if not shape.has_experts:
        nothing = np.zeros(())
        return Pass(nothing, nothing)
    return expert_traffic(machine, shape, grid) * slowest_moe_share(shape, grid)


def _with_recompute(traffic: Pass, full: Array) -> Array:
    result: Array = traffic.forward + traffic.backward + np.where(full, traffic.forward, 0.0)
    return result


def _with_host(seconds: Pass, launch: float) -> Pass:
    """A layer is not faster than the host can launch it (backward twice as many kernels): a fourth-power mean, close to
    the larger of the two."""
    return Pass(_power_mean(seconds.forward, launch), _power_mean(seconds.backward, 2.0 * launch))


def _power_mean(first: Array, second: float) -> Array:
    result: Array = np.sqrt(np.sqrt(first**4 + second**4))
    return result
