"""The ceiling of training in useful work: what must hold for any job, and how the curve moves with the model."""

from __future__ import annotations

import os
import runpy
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalecurve.errors import InputError
from scalecurve.explorer.questions.training import nearest_shape
from scalecurve.training import plan_training
from scalecurve.training.search.search import COARSE

MODELS = ("llama3-8b", "llama3-70b", "mixtral-8x7b", "llama3.2-1b", "llama2-13b", "qwen3-30b-a3b")
CLUSTERS = ("h100-ib400", "a100-ib200", "gb200", "mi300x", "tpu-v5p", "gaudi2")
DOUBLING = tuple(16 << power for power in range(9))
SPARSE = (3, 96, 384, 12288)  # no count is twice another
ODD = (24, 100, 1000, 1023, 4000)
ROUNDING = 1 - 1e-9
JOBS = int(os.environ.get("SCALECURVE_CEILING_JOBS", "100"))  # 300 before a release
EXAMPLE = Path(__file__).parents[2] / "examples" / "course" / "training_sizes.py"

jobs = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "cluster": st.sampled_from(CLUSTERS),
        "batch": st.sampled_from(("256Ki", "1Mi", "16Mi", "3Mi", "96Mi")),
        "seq": st.sampled_from((2048, 8192)),
        "reliability": st.booleans(),
    }
)
critical_batches = st.floats(4.5, 8.5).map(lambda power: 10.0**power)


def plan(job, **others):
    """The plan of a job, of fewer layouts so that many are quick; None where nothing fits."""
    try:
        return plan_training(**job, **others, axes=COARSE)
    except InputError:
        return None


@settings(max_examples=JOBS, deadline=None)
@given(
    job=jobs,
    counts=st.sampled_from((DOUBLING, DOUBLING, SPARSE, ODD)),
    critical=st.tuples(critical_batches, critical_batches),
    at=st.integers(0, 99),
)
def test_a_smaller_critical_batch_never_helps_and_one_p_has_one_answer(job, counts, critical, at):
    large, small = (plan(job, gpus=counts, critical_batch=size) for size in sorted(critical, reverse=True))
    if large is None or small is None:
        return
    for row, less in zip(large.rows, small.rows, strict=True):
        assert less.run_seconds >= row.run_seconds * ROUNDING
        assert row.run_usd is None or less.run_usd >= row.run_usd * ROUNDING
    assert small.cap.accelerators <= large.cap.accelerators
    assert small.cost_effective_gpus <= large.cost_effective_gpus
    assert small.cost_effective.peak <= large.cost_effective.peak
    never_less = 0.98 if counts is ODD else ROUNDING  # not every count below an odd one is tried with the rest idle
    for swept in (large, small):
        assert swept.cost_effective_gpus in {row.gpus for row in swept.rows}
        assert all(after.useful_work >= row.useful_work * never_less for row, after in pairwise(swept.rows))
    gpus = counts[at % len(counts)]
    alone = plan(job, gpus=[gpus], critical_batch=max(critical))
    row = large.row(gpus)
    if alone is not None and row is not None:
        [same] = alone.rows
        assert (same.outcome, same.run_seconds, same.run_usd) == (row.outcome, row.run_seconds, row.run_usd)


@settings(max_examples=JOBS if JOBS > 100 else 40, deadline=None)
@given(job=jobs, power=st.integers(6, 11))
def test_twice_the_critical_batch_costs_half_as_many_tokens_again(job, power):
    """1 + 2 is 1.5 times 1 + 1 (McCandlish et al. 2018)."""
    sequences = 2**power
    rows = [
        plan(job | {"batch": f"fixed:{size}seq"}, gpus=[512], critical_batch=float(sequences * job["seq"]))
        for size in (sequences, 2 * sequences)
    ]
    if all(rows):
        at, twice = (one.rows[0].run_tokens for one in rows)
        assert twice / at == pytest.approx(1.5)


@pytest.fixture(scope="module")
def sizes():
    """7B to 1T on h100-ib400, with the batch chosen up to 16Mi tokens, at some P to 32,768."""
    return list(runpy.run_path(str(EXAMPLE))["plans"]().values())


def test_the_sizes_are_a_picture(sizes, tmp_path):
    names = runpy.run_path(str(EXAMPLE))
    names["draw"](dict(zip(names["SIZES"], sizes, strict=True)), str(tmp_path / "sizes.png"))
    assert (tmp_path / "sizes.png").read_bytes().startswith(b"\x89PNG")


def test_a_larger_model_moves_the_cap_to_the_right_and_lifts_the_curve(sizes):
    caps = [one.cap.accelerators for one in sizes]
    assert caps == sorted(caps)
    at_cap = [one.row(one.cap.accelerators).useful_efficiency for one in sizes]
    assert at_cap == sorted(at_cap)
    scales = [one.cost_effective_gpus for one in sizes]
    assert scales == sorted(scales)
    for gpus in (2048, 8192, 32768):
        lifted = [one.row(gpus).useful_efficiency for one in sizes]
        assert all(after > before - 0.01 for before, after in pairwise(lifted))


@pytest.mark.parametrize("cluster", ["h200-ib400", "b200-ib800"])
def test_on_clusters_and_sizes_that_shaped_no_rule_the_cap_rises_with_the_model_too(cluster):
    job = {"gpus": (256, 4096, 32768), "batch": "16Mi", "critical_batch": "zhang", "seq": 8192, "axes": COARSE}
    swept = [plan_training(nearest_shape(size), cluster, **job) for size in (3e9, 20e9, 120e9, 300e9, 2e12)]
    for values in ([one.cap.accelerators for one in swept], [one.rows[-1].useful_efficiency for one in swept]):
        assert values == sorted(values)


@pytest.mark.parametrize(("size", "cluster"), [(7e9, "h100-ib400"), (70e9, "h100-ib400"), (20e9, "gb200")])
def test_the_weak_curve_does_not_zigzag(size, cluster):
    """The largest rise after a fall, in points of useful efficiency."""
    job = {"gpus": "256..16384", "batch": "16Mi", "critical_batch": "zhang", "seq": 8192}
    shares = [100 * row.useful_efficiency for row in plan_training(nearest_shape(size), cluster, **job, weak=True).rows]
    lowest, zigzag, highest = shares[0], 0.0, shares[0]
    for share in shares:
        if share > highest:
            highest = lowest = share
        lowest = min(lowest, share)
        zigzag = max(zigzag, min(highest - lowest, share - lowest))
    assert zigzag <= 5.0
