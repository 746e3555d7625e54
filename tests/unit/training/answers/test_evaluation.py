"""A given layout: what may be written, what is refused, and what must always hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalecurve.errors import InputError
from scalecurve.training import evaluate_layout
from scalecurve.training.answers.measured import calibrate
from scalecurve.training.answers.plan import plan
from scalecurve.training.inputs.layout import Layout
from scalecurve.training.inputs.request import PlanRequest


def evaluate(**changes):
    base = {"model": "gpt3-175b", "cluster": "selene", "layout": "tp=8,pp=12,dp=4,micro=1,recompute=full"}
    return evaluate_layout(**(base | {"batch": 1536, "stack": "megatron-lm"} | changes))


def test_names_mappings_and_objects_say_the_same():
    by_text = evaluate()
    by_mapping = evaluate(layout={"tensor_parallel": 8, "pp": 12, "dp": 4, "microbatch": 1, "recompute": "full"})
    by_object = evaluate(layout=Layout(tp=8, pp=12, dp=4, micro=1, accumulation=384, recompute="full"))
    by_sizes = evaluate(
        model={"hidden": 12288, "layers": 96, "heads": 96, "vocab": 51200, "seq": 2048, "tied": True, "positions": 2048}
    )
    by_gpus = evaluate(layout="tp=8,pp=12,micro=1,recompute=full", gpus=384)
    for other in (by_mapping, by_object, by_sizes, by_gpus):
        assert other.step_seconds == pytest.approx(by_text.step_seconds)


def test_the_parts_add_up_and_the_interval_holds_the_step():
    result = evaluate().to_dict()
    assert sum(result["breakdown"].values()) == pytest.approx(result["step_seconds"])
    assert result["step_low"] < result["step_seconds"] < result["step_high"]
    assert sum(result["memory"].values()) == pytest.approx(result["memory_bytes"])
    assert json.dumps(result, allow_nan=False)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"layout": "tp=7,pp=12,dp=4"}, "heads are not divisible by tp"),
        ({"layout": "tp=8,pp=97,dp=4"}, "more pipeline stages than layers"),
        ({"layout": "tp=8,pp=12,dp=5,micro=1"}, "no whole number of micro-batches"),
        ({"layout": "tp=8,ep=4,dp=4"}, "expert parallelism on a dense model"),
        ({"model": "mixtral-8x7b", "layout": "tp=1,dp=4,ep=8", "batch": 4}, "ep does not divide the accelerators"),
        ({"layout": "tp=8,pp=12,dp=4,interleave=9"}, "more chunks than layers"),
        ({"layout": "tp=8,warp=4"}, "unknown layout field"),
        ({"layout": "banana"}, "not a layout field"),
        ({"layout": "tp=1e400"}, "must be a whole number"),
        ({"layout": "tp=nan"}, "must be a whole number"),
        ({"layout": "tp=8.9,pp=12,dp=4"}, "must be a whole number"),
        ({"layout": "tp=8,sequence_parallel=banana"}, "neither true nor false"),
        ({"layout": "tp=8,tp=4"}, "given twice"),
        ({"layout": {"tp": 8, "tensor": 4}}, "given twice"),
        ({"layout": "tp=8,tensor_overlap=2"}, "between 0 and 1"),
        ({"layout": "tp=8,interleave=2,dp=4"}, "interleaving needs pp above 1"),
        ({"layout": "tp=8,pp=12,dp=4,recompute=some"}, "unknown recomputation"),
        ({"precision": "fp8"}, "no fp8"),
        ({"layout": None}, "not a layout"),
        ({"model": 7}, "not a model"),
        ({"cluster": None}, "not a cluster"),
        ({"seq": 0}, "from 1"),
        ({"batch": float("nan")}, "a count is finite"),
        ({"batch": float("inf")}, "a count is finite"),
        ({"precision": "int3"}, "unknown precision"),
        ({"model": {"hidden": 4096, "layers": 32, "heads": 32, "top_k": 2}}, "MoE fields on a dense model"),
        ({"model": {"hidden": 4096, "layers": 32}}, "heads"),
        ({"model": {"hidden": 4096, "layers": 32, "heads": 32, "depth": 2}}, "unknown field of a model"),
        ({"cluster": {"accelerator": "a100", "speed": 3}}, "unknown field of a cluster"),
        ({"layout": "tp=8,pp=12,micro=1", "gpus": 100}, "does not divide"),
        ({"layout": "tp=8,pp=4,dp=8", "gpus": 128}, "256 by the layout .* 128 given"),
    ],
)
def test_bad_input_is_refused_with_reasons(changes, word):
    with pytest.raises(InputError, match=word):
        evaluate(**changes)


def test_a_combination_without_a_table_is_wider_and_says_so():
    calibrated = evaluate()
    other = evaluate(cluster="mi300x", stack="jax", layout="dp=64,micro=1", batch=64, model="llama3-8b")
    assert other.outcome.calibration.evidence in ("assumed", "transferred")
    assert other.outcome.calibration.half_width > 1.2 * calibrated.outcome.calibration.half_width
    assert any(finding.code == "not-calibrated" for finding in other.findings)


def test_too_little_memory_is_a_finding_not_an_error():
    result = evaluate(layout="tp=1,pp=1,dp=4,micro=1,zero=0", batch=4)
    assert not result.outcome.fits
    assert any(finding.code == "does-not-fit" for finding in result.findings)


@pytest.mark.parametrize(("share", "code"), [(0.93, None), (0.97, "tight"), (1.01, "does-not-fit")])
def test_memory_that_a_plan_would_not_count_on_is_called_tight(share, code):
    needed = evaluate().memory_bytes
    result = evaluate(cluster={"accelerator": "a100", "memory": needed / share})
    codes = {finding.code for finding in result.findings} & {"tight", "does-not-fit"}
    assert codes == ({code} if code else set())


def test_a_hugging_face_config_is_read(tmp_path):
    path = tmp_path / "config.json"
    config = {
        "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 8192,
    }  # fmt: skip
    path.write_text(json.dumps(config))
    layout = "dp=8,zero=3,micro=1"
    ours = evaluate(model="llama3-8b", layout=layout, batch=8, seq=8192, stack="fsdp", cluster="h100")
    read = evaluate(model=str(path), layout=layout, batch=8, seq=8192, stack="fsdp", cluster="h100")
    assert read.step_seconds == pytest.approx(ours.step_seconds)


def test_measured_runs_move_the_prediction_and_narrow_the_interval():
    job = {"model": "llama3-8b", "cluster": "mi300x", "stack": "fsdp"}
    layout = "dp=8,zero=3,micro=2"
    before = evaluate(**job, layout=layout, batch=16, seq=8192)
    truth = 1.3 * before.step_seconds
    rows = [{"layout": layout, "batch": "16", "seq": "8192", "step_seconds": str(truth)}]
    known = calibrate(rows, **job)
    after = evaluate(**job, layout=layout, batch=16, seq=8192, calibration=known)
    assert after.step_seconds == pytest.approx(truth, rel=0.05)
    assert known.half_width < before.outcome.calibration.half_width
    assert known.evidence == "measured here"


def test_a_measured_run_whose_count_contradicts_its_layout_is_refused():
    rows = [{"gpus": "16", "layout": "dp=8,zero=3,micro=2", "batch": "16", "seq": "8192", "step_seconds": "4"}]
    with pytest.raises(InputError, match=r"8 by the layout .* 16 given"):
        calibrate(rows, model="llama3-8b", cluster="h100", stack="fsdp")


@settings(max_examples=60, deadline=None)
@given(
    tp=st.sampled_from([1, 2, 4, 8]),
    pp=st.sampled_from([1, 2, 4, 8]),
    dp=st.sampled_from([1, 2, 8, 64]),
    micro=st.sampled_from([1, 2, 4]),
    mode=st.sampled_from(["none", "selective", "full"]),
)
def test_what_must_always_hold(tp, pp, dp, micro, mode):
    layout = {"tp": tp, "pp": pp, "dp": dp, "micro": micro, "recompute": mode, "zero": 1}
    batch = dp * micro * 8
    here = evaluate(layout=layout, batch=batch).outcome
    twice = evaluate(layout=layout, batch=2 * batch).outcome
    assert 0 < here.mfu < 1
    assert here.seconds < twice.seconds < 2.0001 * here.seconds
    assert all(value >= 0 for value in here.breakdown.values())
    full = evaluate(layout=layout | {"recompute": "full"}, batch=batch).outcome
    assert full.memory_bytes <= 1.001 * here.memory_bytes
    assert full.seconds >= 0.999 * here.seconds


def test_stages_and_chunks_may_be_uneven():
    """Meta's layout of Llama 3 405B: 126 layers over 16 stages in 7 chunks each."""
    meta = evaluate_layout("llama3-405b", "h100", "tp=8,pp=16,dp=128,interleave=7,micro=1", batch=2048, seq=8192)
    assert meta.outcome.step.low < 6.5 < meta.outcome.step.high
    plain = evaluate_layout("llama3-405b", "h100", "tp=8,pp=16,dp=128,micro=1", batch=2048, seq=8192)
    assert meta.outcome.breakdown["bubble"] < 0.4 * plain.outcome.breakdown["bubble"]


def test_split_gradients_travel_after_every_micro_batch():
    one, two = (
        evaluate_layout("llama3-8b", "h100", f"dp=64,zero={zero},micro=1", batch=1024, seq=8192, stack="megatron-core")
        for zero in (1, 2)
    )
    assert two.outcome.breakdown["data"] > one.outcome.breakdown["data"]
    assert two.memory_bytes < one.memory_bytes


def test_experts_may_be_split_over_tensor_ranks():
    whole, split = (
        evaluate_layout("mixtral-8x7b", "h100", f"tp=4,dp=16,ep=8,etp={etp}", batch=64, seq=4096) for etp in (1, 4)
    )
    assert split.outcome.memory["weights"] < whole.outcome.memory["weights"]


def test_priors_are_not_called_calibrated():
    from scalecurve.training.answers.explain import explain

    outcome = evaluate_layout("llama3-70b", "h100", "tp=8,dp=8", batch=64, seq=8192, stack="megatron-core").outcome
    said = {term.name: term.evidence for term in explain(outcome).parts}
    assert said["matrix rate"] == "calibrated"
    assert said["network"] == said["memory rate"] == "assumed"


def test_a_schedule_without_bubble_saves_time_and_dualpipe_pays_with_memory():
    def step(schedule: str):
        layout = f"pp=16,dp=64,ep=64,schedule={schedule}"
        return evaluate_layout("deepseek-v3", "h800", layout, batch="2048 sequences", seq=4096, precision="fp8",
                               stack="hai-llm").outcome  # fmt: skip

    plain, filled, dual = (step(name) for name in ("1f1b", "zb-h1", "dualpipe"))
    assert filled.breakdown["bubble"] == pytest.approx(plain.breakdown["bubble"] / 3)  # Qi et al. 2023, table 1
    assert filled.memory_bytes == plain.memory_bytes
    assert dual.breakdown["bubble"] < plain.breakdown["bubble"] / 3
    assert dual.breakdown["expert"] < plain.breakdown["expert"]
    assert dual.memory["weights"] == 2 * plain.memory["weights"]
    for wrong in ("pp=16,interleave=2,schedule=dualpipe", "pp=1,schedule=zb", "pp=4,schedule=magic"):
        with pytest.raises(InputError, match="schedule"):
            evaluate_layout("llama3-70b", "h100", wrong, gpus=64, batch="1Mi")


def test_without_a_name_the_usual_stack_is_slower_and_less_certain():
    named, unnamed = (
        evaluate_layout("llama3-70b", "h100", "tp=8,dp=8", batch=64, seq=8192, stack=stack)
        for stack in ("megatron-core", None)
    )
    assert unnamed.outcome.job.stack.name == "megatron-core"
    assert unnamed.outcome.seconds > 1.05 * named.outcome.seconds
    assert unnamed.outcome.half_width > named.outcome.half_width
    assert unnamed.outcome.memory_bytes == named.outcome.memory_bytes
    assert any("--stack" in (finding.remedy or "") for finding in unnamed.findings)
    assert not any(finding.code == "not-calibrated" for finding in named.findings)


def test_an_accelerator_with_one_stack_needs_no_name():
    named, unnamed = (
        evaluate_layout("llama3-8b", "tpu-v6e", "dp=64,zero=3", batch=64, stack=stack).outcome
        for stack in ("maxtext", None)
    )
    assert (unnamed.seconds, unnamed.half_width) == (named.seconds, named.half_width)


def test_wide_experts_lose_less_in_grouped_products():
    """Of the same work: twice as wide and half as many per token."""

    def compute(width: int, top: int) -> float:
        model = {"hidden": 4096, "layers": 32, "heads": 32, "experts": 16, "top_k": top, "expert_ffn": width}
        layout = "dp=64,ep=8,zero=3"
        outcome = evaluate_layout(model, "h100", layout, batch=64, seq=4096, stack="megatron-core").outcome
        return outcome.breakdown["compute"]

    assert compute(16384, 2) < 0.9 * compute(4096, 8)


@pytest.mark.parametrize("batch", ["4Mi", "fixed:4Mi"])
def test_a_stated_layout_has_its_cap_by_the_formula(batch):
    asked = {"model": "llama3-8b", "cluster": "h100-ib400", "layout": "tp=2,micro=2", "gpus": 256, "seq": 8192}
    result = plan(PlanRequest(**asked, global_batch=batch, critical_batch="1Mi", stack="megatron-core"))
    assert result.outcome.tokens == 2**22
    assert result.cap.replicas == 2**20 // (2 * 8192)
    assert result.cap.accelerators == 2 * result.cap.replicas
    assert result.cap.sentence in "\n".join(result.answer.lines())
    by_loss = plan(PlanRequest(**asked, global_batch=batch, critical_batch="kaplan", loss=2.0))
    assert by_loss.cap.limited_by == "the critical batch"


def test_the_first_line_of_a_layout_is_its_speed_or_what_it_lacks():
    assert f"{100 * evaluate().mfu:.1f} % MFU" in evaluate().answer.decision
    large = evaluate(layout="tp=1,pp=1,dp=4,micro=1,zero=0", batch=4)
    assert large.answer.decision.startswith("It does not fit: it needs ")


def test_measured_runs_say_their_mfu():
    job = {"model": "llama3-8b", "cluster": "h100", "stack": "fsdp"}
    predicted = evaluate_layout(**job, layout="dp=8,micro=1", gpus=8, batch=64)
    row = {
        "accels": "8",
        "parallelism": "dp=8,micro=1",
        "global_batch_seqs": "64",
        "step_s": repr(2 * predicted.step_seconds),
    }
    known = calibrate([row], **job)
    assert f"1 measured run at {50 * predicted.mfu:.1f} % MFU" in known.source
    again = evaluate_layout(**job, layout="dp=8,micro=1", gpus=8, batch=64, calibration=known)
    assert any(finding.code == "measured-runs" for finding in again.findings)
