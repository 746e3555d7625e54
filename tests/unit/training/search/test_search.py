"""The search: exhaustive, memory first, ties to the layout experts prefer, and equal to one evaluation at a time."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from scalecurve.training import plan_training
from scalecurve.training.answers.curve import best_batches
from scalecurve.training.answers.evaluation import TrainingJob, evaluate_jobs
from scalecurve.training.answers.plan import read_terms
from scalecurve.training.inputs.capabilities import capability_faults
from scalecurve.training.inputs.cluster import cluster_preset
from scalecurve.training.inputs.layout import Layout, layout_faults
from scalecurve.training.inputs.request import PlanRequest
from scalecurve.training.inputs.stack import calibration_of, device_of, read_stack, stacks
from scalecurve.training.inputs.transformer import model_preset
from scalecurve.training.physics.memory import memory
from scalecurve.training.physics.steptime import step_time
from scalecurve.training.search.search import (
    COARSE,
    FULL,
    TIE,
    UNUSUAL,
    SearchTask,
    batches_of,
    degrees,
    even_batch,
    part_of,
    search,
    smallest_replica,
    space,
)


def make_task(model="llama2-7b", cluster="a100-80gb", stack="megatron-core", seq=2048, **settings):
    machine, software = cluster_preset(cluster), read_stack(stack)
    known = calibration_of(machine.accelerator, software)
    return SearchTask(
        model=model_preset(model), cluster=machine, stack=software, calibration=known, seq=seq, **settings
    )


def outcome_of(task: SearchTask, layout: Layout):
    job = TrainingJob(model=task.model, cluster=task.cluster, stack=task.stack, layout=layout, seq=task.seq)
    return evaluate_jobs([job], task.calibration)[0]


def brute_force(task: SearchTask, gpus: int, sequences: int) -> list[tuple[float, Layout]]:
    """Every layout one at a time, by the plain rules, without the grid."""
    found = []
    for (tp, pp, cp, ep, dp), micro, mode, split, chunks, (zero, hybrid) in product(
        list(degrees(task, gpus, sequences)),
        FULL.micro,
        ("none", "selective", "full"),
        (False, True),
        FULL.chunks,
        [(0, False), (1, False), (2, False), (3, False), (3, True)],
    ):
        per_replica, rest = divmod(sequences, dp * micro)
        inner = max(task.cluster.node // tp // cp, 1)
        near = min(dp, inner)
        if rest or per_replica == 0 or (split and tp == 1) or (hybrid and not 1 < near < dp) or (zero and dp * cp == 1):
            continue
        if (zero >= 2 and pp > 1) or (chunks > 1 and (pp == 1 or per_replica % pp)):
            continue
        if chunks > 1 and (pp * chunks > task.model.layers or task.model.layers % (pp * chunks)):
            continue
        layout = Layout(
            tp=tp, pp=pp, cp=cp, ep=ep, dp=dp, micro=micro, accumulation=per_replica, interleave=chunks, zero=zero,
            shard=near if hybrid else None, recompute=mode, sequence_parallel=split,
        )  # fmt: skip
        if capability_faults(task.stack, layout, task.model):
            continue
        outcome = outcome_of(task, layout)
        if outcome.memory_bytes <= task.usable_bytes:
            found.append((outcome.seconds * (1.0 if cp == 1 else 1.0 + UNUSUAL), layout))  # short sequences stay whole
    return sorted(found, key=lambda entry: entry[0])


@pytest.mark.parametrize(
    ("model", "gpus", "sequences"), [("llama2-7b", 4, 8), ("mpt-1b", 8, 8), ("mixtral-8x7b", 16, 4)]
)
def test_the_search_finds_the_optimum_of_brute_force(model, gpus, sequences):
    task = make_task(model)
    every = brute_force(task, gpus, sequences)
    best = every[0][0]
    found = search(task, [(gpus, sequences)])[0].layouts[0]
    assert outcome_of(task, found).seconds <= best * (1 + TIE)
    tied = [layout for seconds, layout in every if seconds <= best * (1 + TIE)]
    assert found in tied
    assert found.pp == min(layout.pp for layout in tied if layout.tp <= task.cluster.node)


def test_random_entries_of_a_space_equal_one_evaluation_at_a_time():
    task = make_task()
    places = space(task, [(16, 64), (32, 64)])
    device = device_of(task.cluster, task.stack, task.calibration.constants)
    shape = task.model.shape(task.seq)
    seconds, held = step_time(device, shape, places.grid).total, memory(device, shape, places.grid).total
    rng = np.random.default_rng(3)
    for index in rng.choice(len(places.place), 200):
        alone = part_of(places.grid, np.array([index]))
        assert float(step_time(device, shape, alone).total[0]) == pytest.approx(seconds[index], rel=1e-12)
        assert float(memory(device, shape, alone).total[0]) == pytest.approx(held[index], rel=1e-12)


def test_every_layout_found_is_allowed_and_fits():
    task = make_task("llama3-70b", "h100-ib400", seq=8192)
    for found in search(task, [(64, 512), (512, 512), (4096, 512)], top=20):
        assert found.layouts
        for layout in found.layouts:
            assert layout.gpus == found.gpus
            assert layout.sequences == 512
            assert not layout_faults(layout, task.model)
            assert outcome_of(task, layout).memory_bytes <= task.cluster.accelerator.capacity


def test_a_tie_goes_to_the_simpler_layout():
    task = make_task("mpt-125m")
    layout = search(task, [(1, 8)])[0].layouts[0]
    assert (layout.tp, layout.pp, layout.zero, layout.recompute) == (1, 1, 0, "none")


def test_a_model_that_fits_nowhere_has_no_layout_but_says_what_it_needs():
    found = search(make_task("megatron-1t"), [(8, 8)])[0]
    assert found.layouts == ()
    assert found.least_bytes > 80e9


def test_a_coarse_search_shows_the_numbers_of_the_full_evaluation_and_is_nearly_as_good():
    sizes = [(64, 512), (512, 512), (4096, 512)]
    full = make_task("llama3-70b", "h100-ib400", seq=8192)
    coarse = make_task("llama3-70b", "h100-ib400", seq=8192, axes=COARSE)
    for best, rough in zip(search(full, sizes), search(coarse, sizes), strict=True):
        assert rough.tried < best.tried
        exact, shown = outcome_of(full, best.layouts[0]), outcome_of(coarse, rough.layouts[0])
        assert exact.seconds <= shown.seconds <= 1.05 * exact.seconds
        assert shown == replace(outcome_of(full, rough.layouts[0]), job=shown.job)


def test_equal_layouts_go_to_the_one_experts_prefer():
    task = make_task("llama3-405b", "h100", seq=8192)
    before = None
    for found in search(task, [(4096, 2048), (8192, 2048), (16384, 2048)]):
        best = found.layouts[0]
        assert best.tp <= task.cluster.node
        assert before is None or best.tp == before.tp
        before = best


def test_a_grown_batch_is_rounded_down_to_one_that_divides():
    assert [even_batch(count) for count in (0.4, 1, 7, 488.3, 512, 731)] == [1, 1, 7, 480, 512, 704]


def test_batches_tried_are_accepted_and_shared_by_some_replicas():
    assert batches_of(64, 512) == (512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
    assert {500, 250, 125} <= set(batches_of(1000, 512))
    for gpus, largest in ((48, 500), (1001, 512), (8, 3)):
        assert all(1 <= count <= largest for count in batches_of(gpus, largest))


@pytest.mark.parametrize("critical", [16.0, 128.0, 4096.0])
def test_the_batch_chosen_reaches_the_target_soonest(critical):
    """Every batch searched whole, one at a time: none is faster to the target."""
    task = make_task("llama2-7b")
    terms = read_terms(PlanRequest(critical_batch=critical * task.seq, global_batch="1024 seq"), task.model, task.seq)
    for gpus, chosen in best_batches(task, [16, 128, 1024], terms, 1024).items():
        every = search(task, [(gpus, count) for count in batches_of(gpus, 1024)])
        best = min(one.seconds * (1 + critical / one.sequences) for one in every)
        assert chosen.seconds * (1 + critical / chosen.sequences) == pytest.approx(best)


def test_the_smallest_replica_holds_the_states():
    """ZeRO-1 keeps 2 bytes of weights and 2 to 4 of gradients a parameter on every replica: a larger model needs more
    accelerators, and fully sharded states need one."""
    names = ("llama3-8b", "llama3-70b", "llama3-405b")
    replicas = [smallest_replica(make_task(name, "h100", seq=8192)) for name in names]
    sizes = [replica.accelerators for replica in replicas]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1
    assert 405e9 * 4 / sizes[2] < 80e9
    assert [replica.sequences for replica in replicas] == [max(size // 8, 1) for size in sizes]  # stages
    assert smallest_replica(make_task("llama3-70b", "h100", stack="fsdp", seq=8192)).accelerators == 1


@pytest.mark.parametrize("stack", sorted({stack.name for stack in stacks().values()}))
def test_every_stack_can_be_searched(stack: str) -> None:
    row = plan_training("llama3-8b", "h100", gpus=64, batch="256 sequences", stack=stack).rows[0]
    assert row.outcome.fits
    assert row.step_seconds > 0
