"""Own runs as anchors: steps made by known constants give them back, and the interval shrinks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scalecurve.errors import InputError
from scalecurve.training import evaluate_layout
from scalecurve.training.answers.evaluation import evaluate_jobs
from scalecurve.training.answers.measured import MeasuredStep, anchored, calibrate
from scalecurve.training.answers.score import score
from scalecurve.training.inputs.stack import calibration_of


def job(layout: str, batch: int):
    return evaluate_layout("llama3-70b", "h100", layout, batch=batch, seq=8192, stack="megatron-core").outcome.job


def test_two_runs_of_a_slower_machine_predict_a_third():
    """The machine's matrix products are 8 % slower than the prior's."""
    small, other, large = job("tp=8,dp=1", 8), job("tp=8,pp=2,dp=1", 16), job("tp=8,pp=4,dp=32", 512)
    prior = calibration_of(small.cluster.accelerator, small.stack)
    true = replace(prior, constants=replace(prior.constants, matmul=0.92 * prior.constants.matmul))
    steps = [
        MeasuredStep(job=one, seconds=evaluate_jobs([one], true)[0].seconds) for one in (small, other)
    ]  # fmt: skip
    known = anchored(prior, steps)
    before, after, truth = (evaluate_jobs([large], one)[0].seconds for one in (prior, known, true))
    assert abs(after / truth - 1.0) < 0.25 * abs(before / truth - 1.0)
    assert known.half_width < prior.half_width
    assert known.fitted
    assert "grouped" not in known.fitted  # a dense model says nothing of experts


def test_anchors_are_a_count_or_the_smallest(tmp_path):
    with pytest.raises(InputError, match="smallest"):
        score([tmp_path / "none.csv"], anchors="some")


def test_a_run_faster_than_the_peak_is_no_anchor() -> None:
    row = {"layout": "tp=8,pp=2,dp=4,micro=1", "gpus": "64", "batch": "256", "seq": "8192", "step_seconds": "4.9"}
    with pytest.raises(InputError, match=r"faster than the peak: 3\d\d % MFU"):
        calibrate([row], model="llama3-70b", cluster="h100-ib400", stack="megatron-core")
    assert calibrate(
        [row | {"step_seconds": "40"}], model="llama3-70b", cluster="h100-ib400", stack="megatron-core"
    ).fitted
