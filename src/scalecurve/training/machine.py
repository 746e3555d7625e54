"""What the physics needs to know of an accelerator, its links and its software, as plain numbers.

A `Machine` is made by `machines.resolve` from a cluster and a stack: published figures times achieved shares.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Rates in FLOP/s and bytes/s, times in seconds, sizes in bytes; achieved, not peak, unless the name says peak."""

    peak: float  # FLOP/s of the matrix units at the precision of the matrix products
    model_peak: float  # FLOP/s that MFU is measured against
    matmul_rate: float  # FLOP/s a long product reaches
    grouped_rate: float  # FLOP/s of the experts' grouped products
    attention_rate: float  # FLOP/s of fused attention
    memory_rate: float  # bytes/s of HBM as elementwise kernels see it
    capacity: float  # bytes of HBM
    cores: float  # streaming multiprocessors, compute units or matrix units
    tail: float  # waves lost at the end of a product
    ramp: float  # depth of a product lost to filling and draining
    operand_bytes: float  # bytes of an operand of a matrix product
    node: float  # accelerators that share the fast link
    inner_rate: float  # bytes/s one accelerator reaches in a ring on the fast link
    outer_rate: float  # bytes/s one accelerator reaches through the network
    single_port: bool  # rings between nodes use one port of the node at a time
    inner_hop: float  # seconds per ring hop inside a node
    outer_hop: float  # seconds per ring hop between nodes
    start: float  # seconds to start a collective
    ramp_seconds: float  # extra seconds while a collective's bandwidth builds up
    ramp_bytes: float  # message size at which half of `ramp_seconds` is paid
    contention: float  # share of the hidden side of an overlap that is paid all the same
    expert_launch: float  # the same for a MoE layer, whose routing and expert kernels are many and small
    launch: float  # host seconds per layer and pass that the accelerator must wait for at least
    imbalance: float  # busiest expert group over the mean
    fused_attention: bool
    data_overlap: bool  # gradient traffic of data parallelism runs under the backward pass
    tensor_overlap: float  # share of tensor-parallel traffic hidden under matrix products
    expert_overlap: float  # share of expert all-to-all traffic hidden
    pipeline_overlap: float  # share of point-to-point traffic hidden
    scatter_gather: bool  # pipeline messages are split over the tensor-parallel ranks (SC21 section 4.1)
    gradient_bytes: float  # bytes a gradient has in the data-parallel collective
    weight_bytes: float  # bytes a weight has in a parameter all-gather
    norm_traffic: float  # bytes per token and hidden element of norms, residuals and dropout, forward
    gate_traffic: float  # bytes per token and ffn element of the activation function, forward
    selective_again: float  # share of a layer's forward pass that selective recomputation repeats
    selective_kept: float  # share of a layer's activations that selective recomputation keeps
    dropout: bool  # dropout masks are kept
    logit_bytes: float  # bytes kept per token and vocabulary entry around the loss
    reserved: float  # bytes the runtime and communication libraries hold
