"""Stalls of pipelines, and what launches cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scalecurve.hardware.accelerators import accelerator
from scalecurve.training.answers.evaluation import TrainingJob, evaluate_jobs
from scalecurve.training.inputs.cluster import cluster_preset
from scalecurve.training.inputs.layout import Layout
from scalecurve.training.inputs.stack import calibration_of, host_factor, prior_constants, read_stack
from scalecurve.training.inputs.transformer import model_preset

H100 = cluster_preset("h100")
NANOTRON = read_stack("nanotron")


def host_seconds(stack=NANOTRON, **layout):
    job = TrainingJob(
        model=replace(model_preset("llama3-8b"), seq=4096), cluster=H100, stack=stack, layout=Layout(**layout), seq=4096
    )
    [one] = evaluate_jobs([job], calibration_of(H100.accelerator, stack))
    return one.breakdown["host"]


SMALL = {"tp": 4, "pp": 4, "dp": 4, "zero": 1, "accumulation": 16}


@pytest.mark.parametrize("change", [{"dp": 32}, {"dp": 16, "micro": 2, "sequence_parallel": True}, {"zero": 0}])
def test_large_jobs_split_sequences_and_reduced_gradients_stall(change):
    assert host_seconds(**SMALL | change) > host_seconds(**SMALL) + 4.0


HALF = {"tp": 8, "pp": 4, "dp": 8, "zero": 1, "accumulation": 16}  # half of the nodes from which all jobs stall


@pytest.mark.parametrize(
    "change",
    [
        {"micro": 2, "sequence_parallel": True},  # split sequences over more than two stages
        {"tp": 2, "dp": 32},  # many replicas that share the optimiser's states
        {"tp": 32, "pp": 2, "dp": 1, "zero": 0, "sequence_parallel": True},  # tensor ranks on more than two nodes
    ],
)
def test_what_stalls_below_the_largest_jobs(change):
    stalled = replace(NANOTRON, stall=0.0)
    assert host_seconds(**HALF) == pytest.approx(host_seconds(stalled, **HALF))
    assert host_seconds(**HALF | change) > host_seconds(stalled, **HALF | change) + 4.0


@pytest.mark.parametrize(
    "change", [{"pp": 2, "dp": 16, "micro": 2, "sequence_parallel": True}, {"zero": 0}, {"tp": 2, "dp": 32, "zero": 0}]
)
def test_two_stages_and_reduced_gradients_do_not_stall_there(change):
    assert host_seconds(**HALF | change) == pytest.approx(host_seconds(replace(NANOTRON, stall=0.0), **HALF | change))


def test_tensor_ranks_on_many_nodes_wait_at_the_output_layer():
    patient = replace(NANOTRON, head_wait=0.0)

    def compute(stack, tp):
        job = TrainingJob(
            model=model_preset("llama3-8b"), cluster=H100, stack=stack, layout=Layout(tp=tp, accumulation=8), seq=8192
        )
        [one] = evaluate_jobs([job], calibration_of(H100.accelerator, stack))
        return one.seconds

    assert compute(NANOTRON, 16) == compute(patient, 16)
    assert compute(NANOTRON, 32) == pytest.approx(compute(patient, 32) + 8 * NANOTRON.head_wait, rel=1e-4)


def test_without_a_pipeline_nothing_stalls():
    assert host_seconds(**SMALL | {"pp": 1, "dp": 128}) == pytest.approx(host_seconds(**SMALL | {"pp": 1}))


def test_a_stall_counts_the_messages_of_a_stage():
    """Four a micro-batch in the middle and two at an end; filling the pipeline takes one for each further stage."""

    def stalled(**layout):
        return host_seconds(**layout) - host_seconds(replace(NANOTRON, stall=0.0), **layout)

    assert stalled(**SMALL | {"dp": 32}) == pytest.approx(NANOTRON.stall * (4 * 16 + 3))
    assert stalled(**SMALL | {"dp": 64, "pp": 2}) == pytest.approx(NANOTRON.stall * (2 * 16 + 1))


def test_a_pipeline_over_nodes_waits_for_its_host_and_fills_by_forward_passes():
    """Waits grow with the tensor ranks and do not repeat in full while the pipeline fills."""

    def outcome(**layout):
        job = TrainingJob(
            model=model_preset("llama3-8b"), cluster=H100, stack=NANOTRON, layout=Layout(**layout), seq=8192
        )
        [one] = evaluate_jobs([job], calibration_of(H100.accelerator, NANOTRON))
        return one.breakdown

    two, eight = (outcome(tp=tp, pp=4, dp=16 // tp, accumulation=8) for tp in (2, 8))
    assert eight["host"] > two["host"]
    assert eight["bubble"] < 3 / 8 * (eight["host"] + eight["compute"])


def test_recipes_without_graphs_pay_every_launch():
    gb200 = accelerator("gb200")
    assert host_factor(gb200, read_stack("megatron-core")) == gb200.host < 1.0
    assert host_factor(gb200, read_stack("nemo")) == 1.0
    ratio = (
        prior_constants(gb200, read_stack("nemo")).launch / prior_constants(gb200, read_stack("megatron-core")).launch
    )
    assert ratio == pytest.approx(1.0 / gb200.host)
