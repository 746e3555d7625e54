"""Own runs as anchors: steps made by known constants give them back, and the interval shrinks."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

import scalecurve as sc
from scalecurve.cli.main import run
from scalecurve.errors import InputError
from scalecurve.training import evaluate_layout
from scalecurve.training.answers.evaluation import calibration_notes, evaluate_jobs
from scalecurve.training.answers.explain import explain
from scalecurve.training.answers.measured import MeasuredStep, anchored, calibrate, mfu_of_study
from scalecurve.training.answers.measurements import next_run
from scalecurve.training.answers.score import score
from scalecurve.training.inputs.cluster import cluster_preset
from scalecurve.training.inputs.stack import DOUBTS, calibration_of, moved_by, read_stack


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


def test_an_interval_is_wider_where_a_step_hangs_on_its_host():
    """A tiny model waits for launches, which differ more between sources than products do."""
    small = evaluate_layout({"hidden": 512, "layers": 8, "heads": 8}, "h100", "dp=1", batch=1, seq=1024, stack="fsdp")
    large = evaluate_layout("llama3-8b", "h100", "dp=8,zero=3,micro=2", batch=16, seq=8192, stack="fsdp")
    slopes = dict(zip(DOUBTS, small.outcome.slopes, strict=True))
    assert slopes["everything"] == 1.0
    assert slopes["host"] > 0.5
    assert abs(slopes["experts"]) < 1e-6
    assert small.outcome.half_width > 1.2 * large.outcome.half_width


def test_slopes_are_how_much_longer_a_step_is():
    one = job("tp=8,dp=8", 64)
    known = calibration_of(one.cluster.accelerator, one.stack)
    [base] = evaluate_jobs([one], known)
    for place, doubt in enumerate(DOUBTS):
        moved = replace(known, constants=moved_by(known.constants, {doubt: 0.02}))
        [other] = evaluate_jobs([one], moved)
        assert math.log(other.seconds / base.seconds) / 0.02 == pytest.approx(base.slopes[place], abs=0.02)


def test_the_next_run_narrows_as_much_as_it_says():
    """Calibrated on the run it names, as predicted, the step's interval is the one that was promised."""
    asked, cheap = (evaluate_layout("llama3-70b", "h100", f"tp=8,dp={dp}", batch=8 * dp, seq=8192,
                                    stack="megatron-core").outcome for dp in (32, 1))  # fmt: skip
    run = next_run(asked, [asked, cheap])
    assert run is not None
    assert run.outcome.gpus == 8  # as telling as the large one, and cheaper
    steps = [MeasuredStep(job=run.outcome.job, seconds=run.outcome.seconds)]
    known = anchored(asked.calibration, steps)
    [after] = evaluate_jobs([asked.job], known)
    assert after.half_width == pytest.approx(run.after, rel=0.03)
    assert after.half_width < run.before
    assert f"{math.exp(run.after):.2f}" in run.sentence


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


def test_a_run_faster_than_any_leaves_no_share_above_the_peak_and_is_doubted():
    rows = [{"tp": 8, "pp": 4, "micro_batch": 1, "gpus": 256, "global_batch": 1024, "seq": 4096, "step_seconds": 9.81}]
    job = {"model": "llama3-70b", "cluster": "h100-ib400", "stack": None}
    known = calibrate(rows, **job)
    assert max(known.constants.matmul, known.constants.memory, known.constants.inner, known.constants.outer) <= 1.0
    assert "check its batch and step_seconds" in known.source
    [said] = calibration_notes(read_stack("megatron-core"), cluster_preset("h100"), known)
    assert said.severity == "warning"
    usual = calibrate([rows[0] | {"step_seconds": 17.0}], **job)
    assert "check its batch" not in usual.source


def test_an_own_run_of_an_unnamed_stack_tells_which_stack_it_is():
    """What is left in doubt is what differs between sources of one stack, not between stacks."""
    row = {"tp": 8, "pp": 4, "micro_batch": 1, "gpus": 256, "global_batch": 1024, "seq": 4096, "step_seconds": 17.0}
    named, unnamed = (
        calibrate([row], model="llama3-70b", cluster="h100-ib400", stack=stack) for stack in ("megatron-core", None)
    )
    assert unnamed.half_width < 1.35 * named.half_width


def test_a_plan_on_own_runs_says_their_mfu_and_how_much_of_it_was_useful(tmp_path, capsys) -> None:
    """8B on 64 GPUs at a batch of the critical size: half of its tokens would not have been needed."""
    runs = tmp_path / "runs.csv"
    runs.write_text('layout,batch,seq,step_seconds\n"dp=64,zero=1,micro=1",512 sequences,8192,7.6\n')
    asked = ("plan", "--model", "llama3-8b", "--cluster", "h100-ib400", "--gpus", "64", "--measured", str(runs))
    assert run([*asked, "--global-batch", "4Mi", "--critical-batch", "4Mi"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    told = re.search(r"by 1 measured run at ([\d.]+) % MFU \(([\d.]+) % of useful work\)", text)
    assert told is not None
    assert float(told[2]) == pytest.approx(float(told[1]) / 2, abs=0.1)
    runs.write_text('layout,batch,seq,step_seconds\n"dp=64,zero=1,micro=1",100 sequences,8192,7.6\n')
    assert run([*asked]) == 2
    assert "run 1: batch: no whole number of micro-batches" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["tokens_per_s_per_gpu", "tokens_per_s"])
def test_a_table_of_a_training_study_has_the_mfu(column: str, tmp_path) -> None:
    """9,800 tokens/s of 6 x 8.03B FLOP and the attention's are 57 % of 989 TFLOP/s."""
    path = tmp_path / "study.csv"
    for chip, known in (("H100", True), ("abacus", False)):
        rows = [f"{k},llama3-8b,{chip},8192,{9800 * (1 if 'per_gpu' in column else k)}" for k in (8, 16)]
        path.write_text("\n".join([f"gpus,model,accelerator,seq,{column}", *rows]) + "\n")
        study = sc.load(path)
        use = mfu_of_study(study, {row.k: row.mean.value for row in sc.tabulate(study).rows})
        assert use == ({8: pytest.approx(0.574, abs=0.005), 16: pytest.approx(0.574, abs=0.005)} if known else None)


def test_a_run_tells_most_of_jobs_like_it():
    """The same layout comes out near the run and narrow; one with other tensor ranks and micro-batches less so."""
    here = {"model": "llama3-70b", "cluster": "h100-ib400", "stack": "megatron-core"}
    row = {"tp": 8, "pp": 4, "micro_batch": 1, "gpus": 256, "global_batch": 1024, "seq": 4096, "step_seconds": 19.5}
    known = calibrate([row], **here)
    same, other = (
        evaluate_layout(**here, layout=layout, batch="1024 sequences", seq=4096, gpus=256, calibration=known).outcome
        for layout in ("tp=8,pp=4,micro=1", "tp=2,pp=8,micro=4")
    )
    assert same.seconds == pytest.approx(19.5, rel=0.03)
    assert same.half_width < 0.8 * other.half_width
    assert abs(math.log(same.longer)) > abs(math.log(other.longer))
    assert any("as like runs took" in part.numbers for part in explain(same).parts)
