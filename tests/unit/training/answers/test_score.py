"""The planner against measured steps: the schema, blanks as sets, repeats, feasibility, ranking, bad files."""

from __future__ import annotations

import csv
import json
import math

import pytest

from scalecurve.errors import FormatError, InputError
from scalecurve.training.answers.measured import calibrate
from scalecurve.training.answers.measured_layouts import recompute_modes
from scalecurve.training.answers.measurements import measurement, read_measurements
from scalecurve.training.answers.score import Score, by_configuration, plausible, ranking, score, score_rows
from scalecurve.training.inputs.measured_table import column_of, read_table
from scalecurve.training.inputs.stack import read_stack

NANOTRON = {
    "model": "nanotron-8b", "hidden": "4096", "layers": "32", "heads": "32", "kv_heads": "32", "head_dim": "",
    "ffn": "14336", "vocab": "131072", "seq": "4096", "global_batch_seqs": "256", "micro_batch": "16", "tp": "16",
    "cp": "1", "dp": "4", "zero": "0", "sp": "", "recompute": "", "accels": "64", "framework": "nanotron",
}  # fmt: skip
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
    assert after.outcome.step.high - after.outcome.step.low < before.outcome.step.high - before.outcome.step.low
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


MARKDOWN = """
| Model | # GPUs | GPU | Seq Length | Global Batch Size | TP | PP | Step time (ms) | Framework |
|:--|--:|---|---|---|---|---|---|---|
| Llama 3 8B | 8 | H100 SXM | 8K | 128 | 1 | 1 | 12,000 | NeMo |
"""
RECORD = {"Model": "Llama 3 8B", "GPU": "H100", "num_nodes": 1, "gpus_per_node": 8, "ctx": "8k", "GBS (tokens)": "1M",
          "tensor_parallel_size": 1, "pipeline_parallel_size": 1, "samples/s": 128 / 12, "stack": "NeMo"}  # fmt: skip
DIALECTS = {
    "runs.md": MARKDOWN, "runs.json": json.dumps({"runs": [RECORD]}), "runs.jsonl": json.dumps(RECORD) + "\n",
    "runs.csv": "# by hand\nmodel;gpu;gpus;seq;gbs;tp;pp;step_time;mfu;framework\n"
                "llama3-8b;H100;8;8192;128;1;1;12,0;;nemo\n",
}  # fmt: skip


@pytest.mark.parametrize("name", DIALECTS)
def test_tables_of_other_kinds_are_the_same_run(name, tmp_path):
    path = tmp_path / name
    path.write_text(DIALECTS[name])
    [row] = read_measurements([path])
    assert row.reason is None
    assert row.seconds == pytest.approx(12.0)
    assert row.jobs[0].layout.sequences == 128
    assert (row.jobs[0].model.name, row.jobs[0].stack.name) == ("llama3-8b", "nemo")


def test_a_file_of_something_else_is_counted_and_does_not_hide_the_others(tmp_path):
    other = tmp_path / "prices.csv"
    other.write_text("name,price\nx,1\ny,2\n")
    data = score([write(tmp_path / "runs.csv", {}), other]).to_dict()
    assert data["dense"]["n"] == 1
    assert data["unread"] == {"no column accelerator, accels": 2}


def test_a_blank_share_is_no_measurement(tmp_path):
    path = tmp_path / "runs.csv"
    run = "llama3-8b,H100,8,8192,128,1,1"
    path.write_text(f"model,gpu,gpus,seq,gbs,tp,pp,step_s,mfu\n{run},,.5\n{run},OOM,\n")
    assert [row.failed for row in read_measurements([path])] == [False, True]


def test_equal_steps_rank_nothing():
    rows = [measurement(RUN | {"micro_batch": str(size), "cp": "1", "dp": "8"}, "same") for size in (1, 2, 4, 8, 16)]
    assert ranking(score_rows(rows))["kendall_tau"] == 0.0


def test_own_runs_are_read_in_every_dialect(tmp_path):
    for text in (
        "layout,batch,seq,step_seconds\ntp8 dp1,64,8192,9.5\n",
        "TP;GPUs;GBS;Seq Len;Step time (ms)\n8;8;64;8192;9500\n",
        "tp,gpus,gbs,seq,tokens/s/gpu\n8,8,64,8192,6898.5\n",
    ):
        path = tmp_path / "own.csv"
        path.write_text(text)
        calibration = calibrate(read_table(path), model="llama3-8b", cluster="h100", stack="megatron-core")
        assert calibration.evidence == "measured here"
    path.write_text("tp,gpus,gbs,seq,loss\n8,8,64,8192,2.5\n")
    with pytest.raises(InputError, match="no step time"):
        calibrate(read_table(path), model="llama3-8b", cluster="h100", stack="megatron-core")


@pytest.mark.parametrize(("memory", "split"), [("41.5", True), ("75", False)])
def test_the_memory_of_a_run_tells_whether_sequences_were_split(memory, split):
    """Where a table does not say; the same run takes less memory with them split, and more time over nodes."""
    [one] = score_rows([measurement(RUN | NANOTRON | {"mem_gb": memory, "step_s": "7.1"}, "sweep")])
    assert "sequence parallelism" in one.row.assumed
    assert one.outcome.layout.sequence_parallel is split


def test_a_memory_that_tells_nothing_leaves_the_habit_of_the_stack():
    small = {"micro_batch": "1", "mem_gb": "14.1", "step_s": "17.4"}
    [one] = score_rows([measurement(RUN | NANOTRON | small, "sweep")])
    assert not one.outcome.layout.sequence_parallel


HEADINGS = {
    "tokens_per_s_per_accel": ("Throughput (tok/s/gpu)", "Tokens / sec / GPU", "Tok/s/device", "tokens/sec/chip"),
    "accels": ("# GPUs", "#-GPUs", "Number of GPUs", "GPU Count", "num_chips", "world_size", "Anzahl GPUs"),
    "accelerator": ("GPU", "GPU Type", "chip", "hw", "device_type"),
    "seq": ("SeqLen (T)", "max_target_length", "ctx", "Sequenzlänge", "sequence length"),
    "micro_batch": ("MicroBatchSize", "mbsz", "Micro-batch"), "grad_accum": ("GradAccum", "grad_acc"),
    "global_batch_seqs": ("GlobalBatchSize", "Globale Batchgröße", "Batch size"),
    "tp": ("Tensor model-parallel size", "tensor parallel"), "cp": ("context parallel",), "ep": ("expert parallel",),
    "step_s": ("s/it", "step (s)", "Avg. step time"), "step_ms": ("ms/step", "Iter time [ms]"),
    "steps_per_s": ("it/s", "train steps per second"), "samples_per_s": ("seqs/sec", "Samples/s"),
    "tflops_per_accel": ("Achieved teraFLOP/s per GPU", "TFLOPs/GPU", "Model TFLOP / sec / GPU"),
    "mfu_pct": ("MFU (%)", "Percentage of theoretical peak FLOP/s", "Model FLOPs Utilization"),
    "mem_gb": ("mem (GB)", "peak_memory_gib", "GPU memory"), "params_b": ("params(B)", "num_params"),
    "recompute": ("ActCkpt", "activation checkpointing"), "node_size": ("gpus/node",), "accel_hours": ("gpu_hours",),
}  # fmt: skip
OTHERS = (
    "loss",
    "learning rate",
    "peak TFLOPS",
    "Est. time to train in days (10T tokens, 1K GPUs)",
    "HFU",
)


@pytest.mark.parametrize(("column", "headings"), HEADINGS.items())
def test_a_heading_is_read_by_its_words(column, headings):
    assert {column_of(heading) for heading in headings} == {column}


@pytest.mark.parametrize("heading", OTHERS)
def test_a_heading_of_something_else_is_none_of_the_schema(heading):
    assert column_of(heading) not in HEADINGS


def test_a_caption_names_the_accelerator_and_the_stack(tmp_path):
    path = tmp_path / "runs.md"
    table = MARKDOWN.replace("| GPU ", "").replace("| H100 SXM ", "").replace("| Framework ", "").replace("| NeMo ", "")
    path.write_text(f"## FP8 on DGX-H100\n{table}\n## NeMo on B200\n{table}")
    first, second = read_measurements([path])
    assert (first.jobs[0].cluster.accelerator.name, first.jobs[0].precision) == ("h100", "fp8")
    assert (second.jobs[0].cluster.accelerator.name, second.jobs[0].stack.name) == ("b200", "nemo")


@pytest.mark.parametrize(
    "cells",
    [
        {"TP/PP/CP": "1/1/2", "tp": "", "pp": "", "cp": ""},
        {"strategy": "TP1-PP1-CP2", "tp": "", "pp": "", "cp": ""},
        {"it/s": str(1 / 12), "step_s": ""},
        {"gpu": "8x H100 SXM", "accelerator": "", "accels": ""},
        {"accelerators": "H100", "count": "8", "accelerator": "", "accels": ""},
        {"samples/s/GPU": str(128 / 12 / 8), "step_s": ""},
        {"tokens/day": str(87381.33 * 86400 / 1e9) + "B", "step_s": ""},
        {"dev": "H100", "n_dev": "8", "accelerator": "", "accels": ""},
        {"gpu_hours": str(1e12 / 87381.33 / 3600 * 8), "tokens": "1e12", "step_s": ""},
    ],
)
def test_other_ways_to_say_the_same_run(cells):
    plain, other = (score_rows([measurement(row, "here")])[0] for row in (RUN, RUN | cells))
    assert other.row.configuration == plain.row.configuration
    assert other.error == pytest.approx(plain.error, abs=1e-4)


@pytest.mark.parametrize(
    "content",
    [
        {"first": RECORD, "second": RECORD},
        {"hardware": "H100", "runs": [{key: value for key, value in RECORD.items() if key != "GPU"}] * 2},
        {key: [value, value] for key, value in RECORD.items()},
        [{**RECORD, "parallelism": {"tp": 1, "pp": 1}, "Model": {"name": "Llama 3 8B"}}] * 2,
    ],
)
def test_json_in_other_shapes(tmp_path, content):
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(content))
    rows = read_measurements([path])
    assert [row.reason for row in rows] == [None, None]
    assert [row.seconds for row in rows] == pytest.approx([12.0, 12.0])


TITAN = """model,gpus,parallelism,seq,local_batch,technique,tokens_per_s_per_gpu,hardware
Llama3.1-70B,256,"FSDP 32, TP 8",8192,16,2D+compile+Float8,829,"H100 96GB, 400Gb/s"
Llama3.1-70B,256,"FSDP 32, TP 8",8192,16,2D+compile,597,same
"""


def test_a_ditto_mark_repeats_and_words_tell_the_precision(tmp_path):
    path = tmp_path / "torchtitan.csv"
    path.write_text(TITAN)
    rows = read_measurements([path])
    assert [{job.precision for job in row.jobs} for row in rows] == [{"fp8"}, {"bf16"}]
    assert {row.jobs[0].cluster.accelerator.name for row in rows} == {"h100-96gb"}


def test_a_column_of_precisions_leaves_its_blanks_open(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("model,gpu,gpus,gbs,mbs,seq,tp,pp,precision,step_s\n" + "".join(
        f"llama3-8b,H100,8,128,1,8192,1,1,{kind},12\n" for kind in ("fp8", "")))  # fmt: skip
    first, second = read_measurements([path])
    assert {job.precision for job in first.jobs} == {"fp8"}
    assert {job.precision for job in second.jobs} == {"bf16", "fp8"}


@pytest.mark.parametrize(("cells", "kinds"), [
    ({"tflops_per_accel": "408.8", "mfu_pct": "41"}, {"bf16"}), ({"tflops_per_accel": "800", "mfu_pct": "40"}, {"fp8"}),
    ({"tflops_per_accel": "500", "mfu_pct": "20"}, {"bf16", "fp8"}), ({"bf16_tflops_per_gpu": "430"}, {"bf16"}),
])  # fmt: skip
def test_the_peak_that_a_table_counts_against_tells_the_precision(cells, kinds):
    row = measurement(RUN | {"precision": "", "step_s": ""} | cells, "here")
    assert {job.precision for job in row.jobs} == kinds


def test_a_system_may_be_the_software():
    row = RUN | {"accelerator": "", "framework": ""}
    [first, *_] = measurement({"system": "Megatron-LM", "hardware": "H100 SXM"} | row, "here").jobs
    assert (first.cluster.accelerator.name, first.stack.name) == ("h100", "megatron-core")


def test_sizes_may_stand_in_words():
    told = measurement(RUN | {"seq": "", "accelerator": "H100 SXM (Eos); seq 4096, vocab 131072"}, "here")
    assert told.jobs[0].seq == 4096


def test_short_sequences_may_be_many_to_a_micro_batch():
    blank = {"micro_batch": "", "global_batch_seqs": "1024", "recompute": "none", "precision": "bf16"}
    sizes = [
        {job.layout.micro for job in measurement(RUN | blank | {"seq": seq}, "x").jobs} for seq in ("2048", "8192")
    ]
    assert sizes == [{1, 2, 4, 8}, {1, 2, 4}]


def test_a_strategy_says_how_weights_are_sharded():
    fsdp, ddp = (measurement(RUN | {"zero": "", "ShardStrategy": name}, "x") for name in ("FULL_SHARD", "DDP"))
    assert (fsdp.jobs[0].layout.zero, ddp.jobs[0].layout.zero) == (3, 0)
    titan = {"framework": "torchtitan", "parallelism": "FSDP 4, TP 2", "local_bs": "16", "tp": "", "pp": "", "cp": "",
             "dp": "", "micro_batch": "", "global_batch_seqs": "", "recompute": "full"}  # fmt: skip
    [job] = measurement(RUN | titan, "x").jobs
    assert (job.layout.tp, job.layout.dp, job.layout.micro, job.layout.sequences) == (2, 4, 16, 64)


def test_a_large_vocabulary_speaks_for_gates_where_the_parameter_count_cannot_tell():
    """1.34 billion weights are both a gated model with a tied output layer and a plain one without."""
    sizes = {
        "model": "small",
        "params_b": "1.34",
        "hidden": "2048",
        "layers": "16",
        "ffn": "8192",
        "tp": "8",
        "dp": "8",
    }
    model = measurement(RUN | NANOTRON | sizes | {"micro_batch": "1"}, "here").jobs[0].model
    assert (model.gated, model.tied) == (True, True)


def test_the_first_submission_on_gaudi_had_plain_attention_and_whole_sequences():
    run = RUN | {
        "accelerator": "Habana Gaudi2",
        "framework": "PyTorch 1.13.1a0",
        "sp": "",
        "tp": "8",
        "dp": "1",
        "cp": "1",
    }
    first, later = (measurement(run | {"release": f"MLPerf {name}"}, "here").jobs[0] for name in ("v3.0", "v3.1"))
    assert (first.stack.fused_attention, first.layout.sequence_parallel) == (False, False)
    assert (later.stack.fused_attention, later.layout.sequence_parallel) == (True, True)


def test_a_note_of_the_collector_marks_a_row_as_doubtful():
    assert measurement(RUN | {"note": "CHECK two rows print the same figure"}, "here").doubtful
    assert not measurement(RUN | {"note": "checked"}, "here").doubtful


def test_a_pipeline_without_a_published_batch_is_full():
    row = {
        "model": "mixtral-8x22b", "accelerator": "MI355X", "accels": "64", "framework": "Primus-Megatron", "tp": "1",
        "pp": "4", "ep": "8", "dp": "16", "micro_batch": "2", "seq": "8192", "precision": "bf16",
        "tokens_per_s_per_accel": "3534",
    }  # fmt: skip
    read = measurement(row, "table")
    assert "accumulation" in read.assumed
    assert min(job.layout.accumulation for job in read.jobs) == 8
