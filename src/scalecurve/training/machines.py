"""From a cluster and a stack to the Machine of the physics: published figures times achieved shares.

Shares come from `calibration.json` where tables calibrate that accelerator and stack; otherwise from priors that no
table was fitted to: the measured ceiling of a matrix product, NCCL's 78 % of the link, and typical values.
"""

from __future__ import annotations

from scalecurve.training.cluster import Accelerator, Cluster
from scalecurve.training.machine import Machine
from scalecurve.training.stack import Constants, Stack

DEFAULT_CEILING = 0.80  # of peak, where no measured maximum is published
INNER_HOP = 1.5e-6
OUTER_HOP = 6e-6
START = 12e-6
RAMP_SECONDS = 35e-6
RAMP_BYTES = 8e6
RESERVED = 1.5e9


def prior_constants(accelerator: Accelerator, stack: Stack) -> Constants:
    """Nothing fitted: published ceilings and typical shares."""
    ceiling = accelerator.ceiling or DEFAULT_CEILING
    return Constants(
        matmul=ceiling,
        ramp=128.0,
        tail=1.5,
        memory=0.80,
        inner=0.82,
        outer=0.78,
        attention=0.45 * ceiling,
        contention=0.25,
        imbalance=1.3,
        launch=stack.launch * accelerator.host,
        expert_launch=2.5e-3 * accelerator.host,
        low_precision=0.75,
        grouped=0.7,
    )


def resolve(cluster: Cluster, stack: Stack, constants: Constants, precision: str = "bf16") -> Machine:
    """The achieved rates of one accelerator of this cluster under this stack."""
    chip = cluster.accelerator
    low = precision == "fp8" and chip.fp8_peak is not None
    peak = chip.fp8_peak if low and chip.fp8_peak else chip.peak
    matmul_rate = peak * constants.matmul * (constants.low_precision if low else 1.0)
    return Machine(
        peak=peak,
        model_peak=peak,
        matmul_rate=matmul_rate,
        grouped_rate=matmul_rate * constants.grouped,
        attention_rate=chip.peak * constants.attention,
        memory_rate=chip.memory_rate * constants.memory,
        capacity=chip.capacity,
        cores=float(chip.cores),
        tail=constants.tail,
        ramp=constants.ramp * peak / chip.peak,
        operand_bytes=1.0 if low else 2.0,
        node=float(cluster.node),
        inner_rate=cluster.inner_rate * constants.inner,
        outer_rate=cluster.outer_rate * constants.outer,
        single_port=stack.single_port,
        inner_hop=INNER_HOP,
        outer_hop=OUTER_HOP,
        start=START,
        ramp_seconds=RAMP_SECONDS,
        ramp_bytes=RAMP_BYTES,
        contention=constants.contention,
        launch=constants.launch,
        expert_launch=constants.expert_launch,
        imbalance=constants.imbalance,
        fused_attention=stack.fused_attention,
        data_overlap=stack.data_overlap,
        tensor_overlap=stack.tensor_overlap,
        expert_overlap=stack.expert_overlap,
        pipeline_overlap=stack.pipeline_overlap,
        scatter_gather=stack.scatter_gather,
        gradient_bytes=stack.gradient_bytes,
        weight_bytes=2.0,
        norm_traffic=stack.norm_traffic,
        gate_traffic=stack.gate_traffic,
        selective_again=stack.selective_again,
        selective_kept=stack.selective_kept,
        dropout=stack.dropout,
        logit_bytes=stack.logit_bytes,
        reserved=RESERVED,
    )
