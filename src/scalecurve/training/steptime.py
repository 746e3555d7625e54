"""The training step: micro-batches through a pipeline of layers, then gradients and optimiser.

    step = m (stage + head + sends) + (p - 1)/v stage + exposed data traffic + optimiser

with m micro-batches, p stages and v chunks a stage (Narayanan et al. 2021, section 2.2).  All terms are seconds on the
slowest accelerator and broadcast over configurations.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from scalecurve.training import kernels
from scalecurve.training.arrays import Array
from scalecurve.training.communication import gather_seconds, reduce_seconds, send_seconds
from scalecurve.training.grid import Grid, TensorTraffic
from scalecurve.training.layer import ACTIVATION_BYTES, LayerTime, layer_time
from scalecurve.training.machine import Machine
from scalecurve.training.memory import device_parameters
from scalecurve.training.shape import Shape

OPTIMIZER_TRAFFIC = 38.0  # bytes per parameter: read gradient 4+4 (norm, update), states 12 read and 12 written, weight
LOSS_TRAFFIC = 18.0  # bytes per score of the output layer: fp32 cast, max, exp, gradient


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

    @property
    def exposed(self) -> Array:
        """Communication that is not hidden, and the bubble."""
        return self.tensor + self.context + self.expert + self.data + self.pipeline + self.bubble

    @property
    def total(self) -> Array:
        return self.compute + self.recompute + self.exposed + self.optimizer


def terms() -> tuple[str, ...]:
    return tuple(entry.name for entry in fields(StepTime))


def head_seconds(machine: Machine, shape: Shape, grid: Grid) -> Array:
    """Output layer and loss of one micro-batch, forward and backward, on the last stage."""
    tokens = grid.micro * shape.seq / grid.cp
    forward, backward = kernels.linear_seconds(machine, tokens, shape.vocab / grid.tp, shape.hidden)
    return forward + backward + kernels.traffic_seconds(machine, LOSS_TRAFFIC * tokens * shape.vocab / grid.tp)


def step_time(machine: Machine, shape: Shape, grid: Grid) -> StepTime:
    """Seconds of one optimiser step."""
    layer = layer_time(machine, shape, grid)
    head = head_seconds(machine, shape, grid)
    depth = np.ceil(shape.layers / grid.pp)
    last = np.maximum(shape.layers - depth * (grid.pp - 1.0), 0.0)
    sharded = sharded_traffic(machine, shape, grid, layer)
    work = layer.compute.forward + layer.compute.backward
    traffic = layer.tensor + layer.context + layer.expert + sharded
    a_layer = work + layer.recompute + traffic
    ends = np.maximum(head - (depth - last) * a_layer, 0.0)
    fill = (grid.pp - 1.0) / grid.interleave
    send = pipeline_seconds(machine, shape, grid)
    many = grid.accumulation
    return StepTime(
        compute=many * (depth * work + ends),
        recompute=many * depth * layer.recompute,
        tensor=many * depth * layer.tensor,
        context=many * depth * layer.context,
        expert=many * depth * layer.expert,
        data=many * depth * sharded + data_traffic(machine, shape, grid, layer),
        pipeline=(many * grid.interleave + grid.pp - 1.0) * send * (1.0 - machine.pipeline_overlap),
        bubble=fill * depth * a_layer,
        optimizer=optimizer_seconds(machine, shape, grid),
    )


def pipeline_seconds(machine: Machine, shape: Shape, grid: Grid) -> Array:
    """A micro-batch's activations to the next stage and its gradients back; split over the tensor ranks where the
    stack does so (scatter/gather, SC21 section 4.1) or where the sequence is split already."""
    size = ACTIVATION_BYTES * grid.micro * shape.seq / grid.cp * shape.hidden
    split = grid.sequence_parallel > 0 if not machine.scatter_gather else grid.tp > 1
    sent = np.where(split, size / grid.tp, size)
    back = np.where(split & (grid.traffic != TensorTraffic.SEQUENCE), size, 0.0)
    gather = np.where(back > 0, gather_seconds(machine, size, grid.tp_inner, grid.tp / grid.tp_inner), 0.0)
    return np.where(grid.pp > 1, 2.0 * (send_seconds(machine, sent, grid.pp_crosses) + gather), 0.0)


def sharded_traffic(machine: Machine, shape: Shape, grid: Grid, layer: LayerTime) -> Array:
    """ZeRO-3 or FSDP, exposed per layer and micro-batch: weights gathered forward and backward, gradients scattered;
    each runs under its pass and disturbs it by `contention` of the shorter."""
    if not np.any(grid.zero >= 3):
        return np.zeros(())
    dense, experts = device_parameters(shape, grid)
    one = (dense + experts) / np.ceil(shape.layers / grid.pp)
    inner = np.minimum(grid.dp_inner * grid.cp_inner, grid.shard)
    outer = np.maximum(grid.shard * grid.cp / inner, 1.0)
    gather = gather_seconds(machine, machine.weight_bytes * one, inner, outer)
    scatter = gather_seconds(machine, machine.gradient_bytes * one, inner, outer)
    forward = _exposed(machine, gather, layer.compute.forward)
    backward = _exposed(machine, gather + scatter, layer.compute.backward + layer.recompute)
    return np.where(grid.zero >= 3, forward + backward, 0.0)


def _exposed(machine: Machine, traffic: Array, window: Array) -> Array:
    result: Array = np.maximum(traffic - window, 0.0) + machine.contention * np.minimum(traffic, window)
    return result


def data_traffic(machine: Machine, shape: Shape, grid: Grid, layer: LayerTime) -> Array:
    """Gradients once a step; where it overlaps, only what outlasts the last micro-batch's backward pass is exposed."""
    seconds = gradient_seconds(machine, shape, grid)
    return np.where(grid.data_overlap > 0, _exposed(machine, seconds, backward_window(shape, grid, layer)), seconds)


def backward_window(shape: Shape, grid: Grid, layer: LayerTime) -> Array:
    """The last micro-batch's backward pass on one stage, under which gradients may travel."""
    result: Array = np.ceil(shape.layers / grid.pp) * (layer.compute.backward + layer.recompute)
    return result


def gradient_seconds(machine: Machine, shape: Shape, grid: Grid) -> Array:
    """All-reduce of the gradients, or reduce-scatter and gather of weights with ZeRO 1 and 2.  ZeRO-3 has paid per
    layer, and with hybrid sharding reduces its shard over the replicas."""
    dense, experts = device_parameters(shape, grid)
    ranks = grid.dp * grid.cp
    inner = grid.dp_inner * grid.cp_inner
    plain = _reduction(machine, grid, dense, inner, ranks / inner)
    if not shape.has_experts:
        return plain
    spread = np.maximum(ranks * grid.tp / grid.ep, 1.0)
    expert_inner = np.clip(machine.node / grid.ep_inner, 1.0, spread)
    routed = _reduction(machine, grid, experts, expert_inner, spread / expert_inner)
    result: Array = plain + np.where(experts > 0, routed, 0.0)
    return result


def _reduction(machine: Machine, grid: Grid, count: Array, inner: Array, outer: Array) -> Array:
    whole = reduce_seconds(machine, machine.gradient_bytes * count, inner, outer)
    halves = gather_seconds(machine, machine.gradient_bytes * count, inner, outer) + gather_seconds(
        machine, machine.weight_bytes * count, inner, outer
    )
    replicas = np.maximum(grid.dp / grid.shard, 1.0)
    hybrid = reduce_seconds(machine, machine.gradient_bytes * count / grid.shard, np.ones(()), replicas)
    return np.where(grid.zero >= 3, hybrid, np.where(grid.zero >= 1, halves, whole))


def optimizer_seconds(machine: Machine, shape: Shape, grid: Grid) -> Array:
    """Adam reads and writes every state it holds."""
    dense, experts = device_parameters(shape, grid)
    group = np.where(grid.zero >= 1, grid.shard * grid.cp, 1.0)
    held = (dense + experts) / np.maximum(group, 1.0)
    return kernels.traffic_seconds(machine, OPTIMIZER_TRAFFIC * held)
