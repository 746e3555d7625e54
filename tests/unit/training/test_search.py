"""The search: exhaustive, memory first, ties to the simpler layout, and equal to one evaluation at a time."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from scalecurve.training import presets
from scalecurve.training.calibration import calibration_of
from scalecurve.training.evaluation import Job
from scalecurve.training.grid import Grid
from scalecurve.training.layout import Layout, layout_faults
from scalecurve.training.machines import resolve
from scalecurve.training.outcome import evaluate_job
from scalecurve.training.search import CHUNKS, MICRO, Task, complexity, degrees, evaluate_grid, search, space


def make_task(model="llama2-7b", cluster="a100-80gb", stack="megatron-core", seq=2048, **settings):
    machine, software = presets.cluster(cluster), presets.stack(stack)
    known = calibration_of(machine.accelerator, software)
    return Task(model=presets.model(model), cluster=machine, stack=software, calibration=known, seq=seq, **settings)


def brute_force(task: Task, gpus: int, sequences: int) -> list[tuple[float, Layout]]:
    """Every layout one at a time, by the plain rules, without the grid."""
    found = []
    for (tp, pp, cp, ep, dp), micro, mode, split, chunks, (zero, hybrid) in product(
        list(degrees(task, gpus, sequences)),
        MICRO,
        ("none", "selective", "full"),
        (False, True),
        CHUNKS,
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
        job = Job(model=task.model, cluster=task.cluster, stack=task.stack, layout=layout, seq=task.seq)
        outcome = evaluate_job(job, task.calibration)
        if outcome.memory_bytes <= task.usable * task.cluster.accelerator.capacity:
            found.append((outcome.seconds, layout))
    return sorted(found, key=lambda entry: (entry[0], complexity(entry[1])))


@pytest.mark.parametrize(
    ("model", "gpus", "sequences"), [("llama2-7b", 4, 8), ("mpt-1b", 8, 16), ("mixtral-8x7b", 16, 16)]
)
def test_the_search_finds_the_optimum_of_brute_force(model, gpus, sequences):
    task = make_task(model)
    best, layout = brute_force(task, gpus, sequences)[0]
    found = search(task, [(gpus, sequences)])[0].layouts[0]
    job = Job(model=task.model, cluster=task.cluster, stack=task.stack, layout=found, seq=task.seq)
    assert evaluate_job(job, task.calibration).seconds == pytest.approx(best, rel=1e-4)
    assert complexity(found) <= complexity(layout)


def test_random_entries_of_a_space_equal_one_evaluation_at_a_time():
    task = make_task()
    places = space(task, [(16, 64), (32, 64)])
    machine = resolve(task.cluster, task.stack, task.calibration.constants)
    shape = task.model.shape(task.seq)
    whole = evaluate_grid(machine, shape, places.grid)
    size = places.valid.shape
    seconds, held = np.broadcast_to(whole.seconds, size).ravel(), np.broadcast_to(whole.bytes, size).ravel()
    rng = np.random.default_rng(3)
    for index in rng.choice(np.flatnonzero(places.valid), 200):
        one = Grid(
            **{
                name: np.broadcast_to(getattr(places.grid, name), size).flat[index].reshape(())
                for name in Grid.__dataclass_fields__
            }
        )
        alone = evaluate_grid(machine, shape, one)
        assert float(alone.seconds) == pytest.approx(seconds[index], rel=1e-12)
        assert float(alone.bytes) == pytest.approx(held[index], rel=1e-12)


def test_every_layout_found_is_allowed_and_fits():
    task = make_task("llama3-70b", "h100-ib400", seq=8192)
    for found in search(task, [(64, 512), (512, 512), (4096, 512)], top=20):
        assert found.layouts
        for layout in found.layouts:
            assert layout.gpus == found.gpus
            assert layout.sequences == 512
            assert not layout_faults(layout, task.model)
            job = Job(model=task.model, cluster=task.cluster, stack=task.stack, layout=layout, seq=task.seq)
            assert evaluate_job(job, task.calibration).memory_bytes <= task.cluster.accelerator.capacity


def test_a_tie_goes_to_the_simpler_layout():
    task = make_task("mpt-125m")
    layout = search(task, [(1, 8)])[0].layouts[0]
    assert (layout.tp, layout.pp, layout.zero, layout.recompute) == (1, 1, 0, "none")


def test_a_model_that_fits_nowhere_has_no_layout_but_says_what_it_needs():
    found = search(make_task("megatron-1t"), [(8, 8)])[0]
    assert found.layouts == ()
    assert found.least_bytes > 80e9
