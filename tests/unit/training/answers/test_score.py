"""The planner against measured steps: the schema, blanks as sets, repeats, feasibility, ranking, bad files."""

from __future__ import annotations

import csv
import json
import math

import pytest

from scalecurve.errors import FormatError, InputError
from scalecurve.training.answers.measurements import measurement, read_measurements, recompute_modes
from scalecurve.training.answers.score import Score, by_configuration, plausible, ranking, score, score_rows
from scalecurve.training.inputs.stack import read_stack

COLUMNS = [
    "model",
    "params_b",
    "hidden",
    "layers",
    "heads",
    "kv_heads",
    "head_dim",
    "ffn",
    "moe_ffn",
    "vocab",
    "experts",
    "topk",
    "seq",
    "global_batch_seqs",
    "micro_batch",
    "grad_accum",
    "tp",
    "pp",
    "vp",
    "cp",
    "ep",
    "etp",
    "dp",
    "fsdp",
    "zero",
    "sp",
    "recompute",
    "precision",
    "attention_impl",
    "optimizer",
    "accelerator",
    "accels",
    "node_size",
    "network",
    "framework",
    "release",
    "step_s",
    "tokens_per_s_per_accel",
    "tflops_per_accel",
    "mfu_pct",
    "mem_gb",
    "provenance",
    "note",
]
RUN = {
    "model": "llama3-8b", "params_b": "8", "hidden": "4096", "layers": "32", "heads": "32", "kv_heads": "8",
    "head_dim": "128", "ffn": "14336", "vocab": "128256", "seq": "8192", "global_batch_seqs": "128",
    "micro_batch": "1", "tp": "1", "pp": "1", "cp": "2", "dp": "4", "zero": "1", "sp": "false",
    "recompute": "none", "precision": "bf16", "accelerator": "H100", "accels": "8", "node_size": "8",
    "framework": "NeMo2", "step_s": "12.0",
}  # fmt: skip


def write(path, *rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(RUN | row for row in rows)
    return path


def test_the_json_has_what_the_issue_asks_for(tmp_path):
    failed = {"step_s": "", "micro_batch": "32", "note": "run failed (metrics nan)"}
    path = write(tmp_path / "runs.csv", {}, {"step_s": "13"}, failed, {"hidden": "", "model": "unheard-of"})
    data = json.loads(json.dumps(score([path]).to_dict(), allow_nan=False))
    assert set(data["dense"]) == set(data["moe"]) == {"n", "median", "p90", "bias"}
    assert data["dense"]["n"] == 1  # two measurements of one configuration
    assert data["moe"]["median"] is None
    assert data["feasible"] == {"ran_and_fits": 1.0, "failed_and_does_not_fit": 1.0}
    assert {"kendall_tau", "regret_median"} <= set(data["ranking"])
    assert data["unread"] == {"the sizes of the model are not published": 1}
    assert data["by_source"][0]["source"] == "runs"
    assert {"n", "median", "p90", "bias", "coverage", "ran_and_fits"} <= set(data["by_source"][0])
    assert 0.0 <= data["coverage"] <= 1.0


def test_a_score_is_readable_text(tmp_path):
    text = str(score([write(tmp_path / "runs.csv", {}, {"accelerator": "abacus"})]))
    assert "dense 1 configurations" in text
    assert "no catalogue entry for abacus (1)" in text
    assert "nemo" in text


def test_the_error_is_that_of_the_one_evaluation(tmp_path):
    from scalecurve.training import evaluate_layout

    [row] = read_measurements([write(tmp_path / "runs.csv", {})])
    [one] = score_rows([row])
    job = row.jobs[0]
    alone = evaluate_layout(job.model, job.cluster, job.layout, seq=job.seq, stack="nemo")
    assert one.predicted == pytest.approx(alone.step_seconds)
    assert one.error == pytest.approx(math.log(alone.step_seconds / 12.0))


def test_blanks_are_evaluated_as_a_set_and_named():
    row = measurement(RUN | {"recompute": "", "tp": "2", "pp": "4", "cp": "1", "dp": "1", "vp": ""}, "here")
    assert row.assumed == ("interleave", "recompute")
    assert {job.layout.recompute for job in row.jobs} == {"none", "selective", "full"}
    assert {job.layout.interleave for job in row.jobs} == {1, 4, 8}
    [one] = score_rows([row])
    assert one.half_width > one.outcome.half_width  # the spread of the set is added


def test_what_fits_with_the_least_recomputation_is_plausible():
    [one] = score_rows([measurement(RUN | {"recompute": ""}, "here")])
    assert one.outcome.layout.recompute == "none"
    assert one.fits
    assert plausible([one.outcome]) == [one.outcome]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"seq": ""}, "the sequence length is not published"),
        ({"tp": "", "pp": "", "dp": "", "global_batch_seqs": ""}, "neither layout nor batch is published"),
        ({"accels": ""}, "the number of accelerators is not published"),
        ({"tp": "3"}, "the layout and the number of accelerators disagree"),
        ({"step_s": ""}, "no step time measured"),
        ({"precision": "fp32"}, "fp32 recipes are not calibrated"),
        ({"zero": "3 + CPU AdamW offload"}, "optimiser states on the host are not modelled"),
        ({"accelerator": ""}, "the accelerator is not named"),
    ],
)
def test_a_row_that_cannot_be_evaluated_says_why(changes, reason):
    row = measurement(RUN | changes, "here")
    assert row.reason == reason
    assert not row.jobs


def test_ranks_that_are_half_a_chip_halve_the_accelerator():
    trainium = {"accelerator": "Trainium1", "accels": "16", "tp": "32", "cp": "", "dp": "1", "framework": "NeuronX"}
    job = measurement(RUN | trainium, "here").jobs[0]
    assert job.layout.gpus == 32
    assert job.stack.name == "neuron"
    assert job.cluster.accelerator.peak == pytest.approx(95e12)


def test_adapters_have_no_weight_gradients():
    whole, adapted = score_rows([measurement(RUN, "here"), measurement(RUN | {"model": "llama3-8b-LoRA"}, "here")])
    assert 0.6 < adapted.predicted / whole.predicted < 0.8
    assert adapted.outcome.memory["optimizer"] < 0.01 * whole.outcome.memory["optimizer"]


def test_words_for_recomputation():
    stack = read_stack("nemo")
    assert recompute_modes("full (--checkpoint-activations)", stack) == ("full",)
    assert recompute_modes("null null null", stack) == ("none",)
    assert recompute_modes("HL_CKP_ACT=2 (selective)", stack) == ("selective",)
    assert recompute_modes("", read_stack("nanotron")) == ("none",)


def test_a_sweep_ranks_its_layouts():
    degrees = [(1, 8), (2, 4), (4, 2), (8, 1)]
    rows = [
        measurement(RUN | {"tp": str(tp), "dp": str(dp), "cp": "1", "step_s": str(10 + tp), "zero": zero}, "here")
        for tp, dp in degrees
        for zero in "12"
    ]
    figures = ranking(score_rows(rows))
    assert figures["sweeps"] == 1
    assert figures["kendall_tau"] > 0.5


def test_all_faults_of_all_files_at_once(tmp_path):
    (tmp_path / "b.csv").write_text("model,hidden\nx,1\n")
    with pytest.raises(FormatError) as caught:
        score([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert len(caught.value.faults) == 2
    assert "columns missing" in str(caught.value)


def test_repeats_count_once_at_their_median(tmp_path):
    path = write(tmp_path / "runs.csv", {"step_s": "10"}, {"step_s": "12"}, {"step_s": "20"})
    [one] = by_configuration(score_rows(read_measurements([path])))
    assert one.row.seconds == 12.0
    assert isinstance(score([path]), Score)


def test_measured_runs_in_the_schema_calibrate_a_plan(tmp_path):
    from scalecurve.training.answers.plan import plan
    from scalecurve.training.inputs.request import PlanRequest

    path = write(tmp_path / "runs.csv", {"step_s": "13"}, {"step_s": "25.9", "global_batch_seqs": "256"})
    layout = "cp=2,dp=4,zero=1,micro=1"
    asked = {"model": "llama3-8b", "cluster": "h100", "layout": layout, "global_batch": 128 * 8192, "stack": "nemo"}
    before, after = plan(PlanRequest(**asked)), plan(PlanRequest(**asked, measured=path))
    assert after.outcome.calibration.evidence == "measured here"
    assert after.step.high - after.step.low < before.step.high - before.step.low
    other = write(tmp_path / "other.csv", {"accelerator": "A100-80GB"})
    with pytest.raises(InputError, match="no row can be calibrated on"):
        plan(PlanRequest(**asked, measured=other))


@pytest.mark.parametrize(
    "changes",
    [
        {"accelerator": "NVIDIA H100 80GB SXM5"},
        {"accelerator": "8xH100"},
        {"framework": "nemo_2.0 (25.02)"},
        {"precision": "bf16-mixed"},
        {"model": "meta-llama/Meta-Llama-3-8B"},
        {"model": "meta-llama/Llama-3.1-8B", "hidden": "", "layers": "", "heads": "", "kv_heads": "", "ffn": ""},
        {"seq": "8k", "global_batch_seqs": "128.0", "vocab": "128,256"},
        {"global_batch_seqs": "1048576 tokens"},
        {"step_s": "12000 ms"},
        {"step_s": "1.2e1"},
        {"step_s": "", "tokens_per_s_per_accel": "10,922.667"},
        {"step_s": "", "tokens_per_s": "87381.33"},
        {"zero": "ZeRO-1", "sp": "no", "recompute": "off", "fsdp": "no"},
        {"zero": "distributed optimizer"},
        {"pp": "", "tp": ""},
        {"pp": "", "tp": "", "cp": "", "dp": "", "layout": "TP1, PP=1, CP 2, DP4"},
        {"global_batch_seqs": "", "tokens_per_s_per_accel": "10922"},
    ],
)
def test_spellings_of_one_run_are_one_run(changes):
    plain, other = (score_rows([measurement(row, "here")])[0] for row in (RUN, RUN | changes))
    assert other.row.configuration == plain.row.configuration
    assert other.error == pytest.approx(plain.error, abs=1e-4)


def test_a_framework_that_is_not_calibrated_is_evaluated_with_the_interval_of_a_stack_never_seen():
    known, other, unnamed = (
        score_rows([measurement(RUN | {"framework": name}, "here")])[0] for name in ("NeMo2", "SuperTrainer 3", "")
    )
    assert "stack" in other.row.assumed
    assert other.half_width > known.half_width
    assert other.outcome.calibration.evidence == "transferred"
    assert unnamed.predicted == other.predicted


def test_degrees_that_are_not_published_follow_from_the_others_or_from_a_search():
    [job] = measurement(RUN | {"tp": "", "cp": "1", "dp": "2", "pp": "2"}, "here").jobs[:1]
    assert (job.layout.tp, job.layout.pp, job.layout.dp) == (2, 2, 2)
    searched = measurement(RUN | {"tp": "", "pp": "", "dp": "", "cp": ""}, "here")
    assert "layout" in searched.assumed
    assert searched.jobs[0].layout.gpus == 8
    assert searched.jobs[0].layout.sequences == 128
    assert score_rows([searched])[0].half_width > score_rows([measurement(RUN, "here")])[0].half_width


def test_a_share_of_the_peak_makes_a_step_with_the_range_of_its_count(tmp_path):
    [one] = score_rows([measurement(RUN | {"step_s": "", "mfu_pct": "40"}, "here")])
    [share] = read_measurements([write(tmp_path / "runs.csv", {"step_s": "", "mfu_pct": "0.40"})])
    assert one.row.seconds == share.seconds
    assert one.row.assumed == ("FLOP count",)
    assert one.row.spread == pytest.approx(0.06, abs=0.03)


@pytest.mark.parametrize(("separator", "decimal"), [(",", "."), ("\t", "."), (";", ",")])
def test_other_headings_and_separators_are_read(tmp_path, separator, decimal):
    names = {
        "accels": "Num GPUs",
        "accelerator": "GPU",
        "seq": "Seq Len",
        "global_batch_seqs": "GBS",
        "step_s": "Step time (s)",
    }
    keys = [*reversed(RUN)]
    cells = [(RUN | {"step_s": "12" + decimal + "0"})[key] for key in keys]
    lines = [separator.join(names.get(key, key) for key in keys), separator.join(cells), separator * (len(keys) - 1)]
    path = tmp_path / "runs.csv"
    path.write_bytes(("\ufeff" + "\r\n".join(lines)).encode())
    [row] = read_measurements([path])
    assert row.configuration[1:] == measurement(RUN, "runs").configuration[1:]
    assert row.seconds == pytest.approx(12.0)


def test_out_of_memory_in_any_words_is_a_run_that_failed():
    for changes in ({"step_s": "OOM"}, {"step_s": "", "note": "out of memory"}, {"step_s": "nan", "note": "crashed"}):
        assert measurement(RUN | changes, "here").failed


@pytest.mark.parametrize("cell", ["1e400", "nan", "0", "-1", "8x8", "999999999999999999", "4M", "½", "?"])
@pytest.mark.parametrize("column", ["heads", "params_b", "micro_batch", "accels", "seq", "tp", "vocab", "step_s"])
def test_no_cell_ends_in_a_traceback(column, cell):
    row = measurement(RUN | {column: cell}, "here")
    assert row.jobs or row.reason
    score_rows([row])


def test_the_ends_of_a_pipeline_may_be_chunks_without_layers():
    split = {"model": "cut", "layers": "30", "tp": "2", "pp": "4", "cp": "1", "dp": "1", "vp": "8"}
    assert measurement(RUN | split, "here").jobs
    assert measurement(RUN | split | {"vp": "9"}, "here").reason == "more chunks than layers"
