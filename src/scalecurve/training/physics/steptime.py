"""The training step: micro-batches through a pipeline of layers, then gradients and optimiser.

    step = m (stage + head + sends) + (p - 1) chunk + exposed data traffic + optimiser + host

with m micro-batches, p stages and v chunks a stage (Narayanan et al. 2021, section 2.2); the slowest stage sets the
pace where stages differ in depth, and the longest chunk passes through the bubble.  All terms are seconds on the
slowest accelerator and broadcast over configurations.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from scalecurve.training.inputs.layout import Grid, Schedule
from scalecurve.training.inputs.stack import Device
from scalecurve.training.inputs.transformer import Array, Shape
from scalecurve.training.physics.layer import (
    ACTIVATION_BYTES,
    LayerTime,
    Pass,
    exposed_seconds,
    gather_seconds,
    layer_time,
    linear_seconds,
    micro_tokens,
    reduce_seconds,
    send_seconds,
    soft_maximum,
    waiting,
)
from scalecurve.training.physics.memory import device_parameters, stage_layers

LOSS_TRAFFIC = 18.0  # bytes per score of the output layer: fp32 cast, max, exp, gradient
LOSS_BYTES = 4.0  # of a token's maximum, sum or score
OPTIMIZER_TRAFFIC = 38.0  # bytes per parameter: read gradient 4+4 (norm, update), states 12 read and 12 written, weight
HOST_OPTIMIZER = (
    2.7e-9  # seconds per parameter held: Adam on the host and the way there (stas00/ml-engineering, 8B at 8k)
)
LONG_PIPELINE = 16  # micro-batches from which pipelines with gradients all-reduced were measured to stall
MANY_REPLICAS = 32  # replicas from which pipelines with split optimiser states were measured to stall
FEW_NODES = 2.0  # nodes of a tensor group beyond which it waits at the output layer and at messages
HEAD_LAYERS = 1.0  # layers' worth of host waits at the output layer and its loss
FORWARD_SHARE = 1.0 / 3.0  # of a layer's kernels; filling a pipeline waits for these alone
LOSS_REDUCTIONS = 3.0  # over the vocabulary split between tensor ranks: maximum, sum and the score of the target


@dataclass(frozen=True)
class StepTime:
    """Where a step goes, in seconds; the fields add up to it."""

    compute: Array
    recompute: Array
    tensor: Array
    context: Array
    expert: Array
    data: Array
    pipeline: Array
    bubble: Array
    optimizer: Array
    host: Array

    @property
    def total(self) -> Array:
        exposed = self.tensor + self.context + self.expert + self.data + self.pipeline + self.bubble
        return self.compute + self.recompute + exposed + self.optimizer + self.host


STEP_TERMS = tuple(entry.name for entry in fields(StepTime))


def step_time(device: Device, shape: Shape, grid: Grid) -> StepTime:
    """Seconds of one optimiser step, by term."""
    layer = layer_time(device, shape, grid)
    depth, last = stage_layers(device, shape, grid)
    spare = depth - last
    if not device.stack.weighs_stages:  # uneven stages: ends have fewer
        spare = np.minimum(np.ceil((depth * grid.pp - shape.layers) / 2.0), depth - 1.0)
    sharded = sharded_seconds(device, shape, grid, layer)
    work = layer.compute.forward + layer.compute.backward
    expert = exposed_expert(device, grid, layer)
    a_layer = work + layer.recompute + (layer.tensor + layer.context + expert + sharded)
    head = head_seconds(device, shape, grid)
    further = shape.mtp_layers * (head + a_layer)  # further tokens: a layer and a pass through the output layer each
    ends = np.maximum(head + further - spare * a_layer, 0.0)
    many = grid.accumulation
    sends = (many * grid.interleave + grid.pp - 1.0) * pipeline_seconds(device, shape, grid)
    stage = depth * a_layer + ends
    if device.stack.weighs_stages:
        bubble = np.where(grid.pp > 1, np.maximum(shape.layers * a_layer + head - stage, 0.0), 0.0)
    else:
        mean = shape.layers / grid.pp
        chunk = np.where(grid.interleave > 1, np.ceil(shape.layers / (grid.pp * grid.interleave)), mean)
        bubble = bubble_passes(grid) * chunk * a_layer
    host = host_seconds(device, grid)
    if device.stack.slot_wait > 0.0:
        layers = np.maximum(depth, depth - spare + HEAD_LAYERS)
        waits = soft_maximum(stage, layers * (device.launch + waiting(device, grid)) / FORWARD_SHARE) - stage
        bound = waits / (stage + waits)  # the share of a stage's time that it waits for its host
        filled = FORWARD_SHARE * (grid.pp - 1.0) * (stage + waits)
        bubble, host = bubble * (1.0 - bound) + bound * filled, host + many * waits
    return StepTime(
        compute=many * (depth * work + ends),
        recompute=many * depth * layer.recompute,
        tensor=many * depth * layer.tensor,
        context=many * depth * layer.context,
        expert=many * depth * expert,
        data=many * depth * sharded + data_seconds(device, shape, grid, layer),
        pipeline=sends * (1.0 - device.stack.pipeline_overlap),
        bubble=bubble,
        optimizer=optimizer_seconds(device, shape, grid),
        host=host,
    )


def bubble_passes(grid: Grid) -> Array:
    """Forward and backward passes of a chunk that the slowest stage stands still: p - 1 under 1F1B; a third of it where
    the gradients by weight, a third of the work, fill the bubble (Qi et al. 2023, table 1: (p-1)(F + B - W)); with
    DualPipe (p/2 - 1)(F&B + B - 3W), two thirds of p/2 - 1 (DeepSeek-V3, table 2)."""
    usual = grid.pp - 1.0
    if not np.any(grid.schedule > 0):
        return usual
    both_ends = np.maximum(grid.pp / 2.0 - 1.0, 0.0) * 2.0 / 3.0
    filled = np.where(grid.schedule == Schedule.ZERO_BUBBLE, usual / 3.0, both_ends)
    return np.where(grid.schedule == Schedule.ONE_F_ONE_B, usual, filled)


def exposed_expert(device: Device, grid: Grid, layer: LayerTime) -> Array:
    """Exposed expert traffic of a layer: DualPipe runs all of it under another micro-batch's compute."""
    if not np.any(grid.schedule == Schedule.DUALPIPE):
        return layer.expert
    inside = grid.ep <= grid.ep_inner
    whole = layer.expert / np.where(inside, 1.0 - device.stack.expert_overlap, 1.0)
    window = layer.compute.forward + layer.compute.backward
    return np.where(grid.schedule == Schedule.DUALPIPE, exposed_seconds(device, whole, window), layer.expert)


def host_seconds(device: Device, grid: Grid) -> Array:
    """What no other term has: a fixed time per step, and a fixed time for every micro-batch in the pipeline."""
    result: Array = device.step + device.micro * (grid.accumulation + grid.pp - 1.0)
    return result if device.stack.stall == 0.0 else result + stall_seconds(device, grid)


def stall_seconds(device: Device, grid: Grid) -> Array:
    """Some stacks stall at each message between stages: in large jobs; from half as many nodes with split sequences of
    several to a micro-batch over more than two stages, and with many replicas that share the optimiser's states; below
    that in pipelines over nodes whose gradients are all-reduced after many micro-batches; and wherever split sequences
    have tensor ranks on more than two nodes.  A stage in the middle has four messages a micro-batch, one at an end two,
    and filling the pipeline takes one for each further stage."""
    nodes = grid.tp * grid.pp * grid.dp * grid.cp / device.node
    split, large = grid.sequence_parallel > 0, 2.0 * nodes >= device.stack.stall_nodes
    shared = (grid.zero > 0) & (grid.dp >= MANY_REPLICAS)
    reduced = (grid.zero == 0) & (grid.dp > 1) & (grid.pp_crosses > 0)
    reduced = reduced & (grid.accumulation >= LONG_PIPELINE) & (grid.tp * grid.dp >= device.node)
    stalls = np.where(large, (split & (grid.micro > 1) & (grid.pp > 2)) | shared, reduced)
    stalls = stalls | (split & (grid.tp > FEW_NODES * grid.tp_inner)) | (nodes >= device.stack.stall_nodes)
    messages = 2.0 * np.minimum(grid.pp - 1.0, 2.0) * grid.accumulation + (grid.pp - 1.0)
    return np.where(stalls & (grid.pp > 1), device.stack.stall * messages, 0.0)


def head_seconds(device: Device, shape: Shape, grid: Grid) -> Array:
    """Output layer and loss of one micro-batch, forward and backward, on the last stage, with the traffic between
    tensor ranks: the gradient of its input, the loss, and without a pipeline the embedding."""
    tokens = micro_tokens(shape, grid)
    forward, backward = linear_seconds(device, tokens, shape.vocab / grid.tp, shape.hidden)
    outer = grid.tp / grid.tp_inner
    whole = reduce_seconds(device, ACTIVATION_BYTES * tokens * shape.hidden, grid.tp_inner, outer)
    scores = reduce_seconds(device, LOSS_BYTES * tokens, grid.tp_inner, outer)
    traffic = np.where(grid.pp > 1, 1.0, 2.0) * whole + LOSS_REDUCTIONS * scores
    loss = LOSS_TRAFFIC * tokens * shape.vocab / grid.tp / device.memory_rate
    waits = np.where(outer > FEW_NODES, device.stack.head_wait, 0.0)
    return forward + backward + loss + traffic + waits


def pipeline_seconds(device: Device, shape: Shape, grid: Grid) -> Array:
    """A micro-batch's activations to the next stage and its gradients back; split over the tensor ranks where the
    stack does so (scatter/gather, SC21 section 4.1) or where the sequence is split already."""
    size = ACTIVATION_BYTES * micro_tokens(shape, grid) * shape.hidden
    sequence = grid.sequence_parallel > 0
    split = grid.tp > 1 if device.stack.scatter_gather else sequence
    gather = gather_seconds(device, size, grid.tp_inner, grid.tp / grid.tp_inner)
    once = send_seconds(device, np.where(split, size / grid.tp, size), grid.pp_crosses)
    return np.where(grid.pp > 1, 2.0 * (once + np.where(split & ~sequence, gather, 0.0)), 0.0)


def sharded_seconds(device: Device, shape: Shape, grid: Grid, layer: LayerTime) -> Array:
    """ZeRO-3 or FSDP, exposed per layer and micro-batch: weights gathered forward and backward, gradients scattered;
    each runs under its pass and disturbs it by `contention` of the shorter.  In a pipeline weights stay gathered and
    gradients whole until the last micro-batch (torchtitan: no resharding after the forward pass), so once a step."""
    if not np.any(grid.zero >= 3):
        return np.zeros(())
    dense, experts = device_parameters(device, shape, grid)
    one = (dense + experts) / stage_layers(device, shape, grid)[0]
    inner = np.minimum(grid.dp_inner * grid.cp_inner, grid.shard)
    outer = np.maximum(grid.shard * grid.cp / inner, 1.0)
    gather = gather_seconds(device, device.weight_bytes * one, inner, outer)
    scatter = gather_seconds(device, device.stack.gradient_bytes * one, inner, outer)
    forward = exposed_seconds(device, gather, layer.compute.forward)
    backward = exposed_seconds(device, gather + scatter, layer.compute.backward + layer.recompute)
    once = np.where(grid.pp > 1, grid.accumulation, 1.0)
    return np.where(grid.zero >= 3, (forward + backward) / once, 0.0)


def data_seconds(device: Device, shape: Shape, grid: Grid, layer: LayerTime) -> Array:
    """Gradients once a step.  Where traffic overlaps, gradients travel under the last backward passes and gathered
    weights under the first forward passes; what outlasts its window is exposed."""
    traffic = gradient_traffic(device, shape, grid)
    whole, end = data_windows(device, shape, grid, layer)
    often = np.where(grid.zero == 2, grid.accumulation, 1.0)  # split gradients cannot wait for the last micro-batch
    outermost = 1.0 / grid.interleave  # the chunk whose gradients come last and whose weights are needed first
    hidden: Array = np.zeros(())
    for share, window in ((1.0 - outermost, whole), (outermost, end)):
        hidden = hidden + often * exposed_seconds(device, share * traffic.backward, window.backward)
        hidden = hidden + exposed_seconds(device, share * traffic.forward, window.forward)
    return np.where(grid.data_overlap > 0, hidden, traffic.forward + often * traffic.backward)


def data_windows(device: Device, shape: Shape, grid: Grid, layer: LayerTime) -> tuple[Pass, Pass]:
    """The passes on one stage under which weights and gradients may travel: of p micro-batches for all chunks but the
    outermost, of one micro-batch for the outermost (the whole stage where it is not cut into chunks); no pass is left
    for the outermost layer."""
    depth, _ = stage_layers(device, shape, grid)
    passes = Pass(layer.compute.forward, layer.compute.backward + layer.recompute)
    inner = depth * (1.0 - 1.0 / grid.interleave) * np.minimum(grid.pp, grid.accumulation)
    return passes * inner, passes * np.maximum(depth / grid.interleave - 1.0, 0.0)


def gradient_traffic(device: Device, shape: Shape, grid: Grid) -> Pass:
    """Seconds of the gradients' all-reduce (backward), or of their reduce-scatter (backward) and the weights' gather
    (forward) with ZeRO 1 and 2.  ZeRO-3 has paid per layer, and with hybrid sharding reduces its shard over the
    replicas."""
    nothing = np.zeros(())
    if device.frozen:
        return Pass(nothing, nothing)
    dense, experts = device_parameters(device, shape, grid)
    ranks = grid.dp * grid.cp
    inner = grid.dp_inner * grid.cp_inner
    layers, _ = stage_layers(device, shape, grid)
    plain = reduction_traffic(device, grid, dense, layers, inner, ranks / inner)
    if not shape.has_experts:
        return plain
    spread = np.maximum(ranks * grid.tp / (grid.ep * grid.etp), 1.0)
    expert_inner = np.clip(device.node / grid.ep_inner, 1.0, spread)
    routed = reduction_traffic(device, grid, experts, layers, expert_inner, spread / expert_inner)
    return plain + routed * np.where(experts > 0, 1.0, 0.0)


def reduction_traffic(device: Device, grid: Grid, parameters: Array, layers: Array, inner: Array, outer: Array) -> Pass:
    """Gradients of `parameters` over a group of `inner` ranks a node and `outer` nodes, by ZeRO stage."""
    size = device.stack.gradient_bytes * parameters
    weights = gather_seconds(device, device.weight_bytes * parameters, inner, outer)
    scatter = gather_seconds(device, size, inner, outer)
    if device.stack.tensor_wait > 0.0:
        each = device.stack.tensor_wait * layers * inner * outer
        weights, scatter = weights + each, scatter + each
    replicas = np.maximum(grid.dp / grid.shard, 1.0)
    hybrid = reduce_seconds(device, size / grid.shard, np.ones(()), replicas)
    split = (grid.zero >= 1) & (grid.zero < 3)
    whole = np.where(grid.zero >= 3, hybrid, reduce_seconds(device, size, inner, outer))
    return Pass(np.where(split, weights, 0.0), np.where(split, scatter, whole))


def optimizer_seconds(device: Device, shape: Shape, grid: Grid) -> Array:
    """Adam reads and writes every state it holds; copying, clipping and clearing gradients is not split by ZeRO."""
    dense, experts = device_parameters(device, shape, grid)
    if device.frozen:
        return np.zeros(())
    group = np.where(grid.zero >= 1, grid.shard * grid.cp, 1.0)
    group = np.maximum(group, 1.0)
    if device.optimizer == "host":
        return HOST_OPTIMIZER * (dense + experts) / group
    element = OPTIMIZER_TRAFFIC / group + device.stack.gradient_traffic
    return element * (dense + experts) / device.memory_rate
