"""The training view asks the planner: the options of one command, and the plan of exactly these options."""

from __future__ import annotations

import itertools
import shlex
import time

import pytest

from scalecurve.explorer.questions.training import (
    TrainingRequest,
    answer,
    choices,
    nearest_shape,
    published,
    shapes,
)
from scalecurve.training.answers.evaluation import evaluate_layout
from scalecurve.training.inputs.transformer import models
from scalecurve.training.physics.run import read_critical_batch


def test_the_batch_is_whole_sequences_that_replicas_divide() -> None:
    """16M tokens of 8,192 are 2,048 sequences; a batch is never cut into parts of a sequence."""
    asked = TrainingRequest(batch_tokens=16.5e6)
    assert asked.sequences == 2048
    assert "--global-batch 2048seq" in asked.command
    assert TrainingRequest(batch_tokens=62_914_560, seq=4096).sequences == 15_360  # DeepSeek-V3
    assert TrainingRequest(batch_tokens=1e3, seq=131_072).sequences == 1
    for tokens in (1e5, 3e6, 7.7e7, 2e9):
        count = TrainingRequest(batch_tokens=tokens, seq=2048).sequences
        assert count / (count & -count) in (1, 3, 5, 7, 15)
        assert count * 2048 == pytest.approx(tokens, rel=0.13)


def test_the_critical_batch_is_the_planners() -> None:
    shown = answer(TrainingRequest(exact=False))
    law = read_critical_batch("zhang", tokens=shown["tokens"])
    assert law is not None
    assert shown["critical"]["tokens"]["value"] == law.tokens.value
    own = answer(TrainingRequest(critical="measured", critical_tokens=3e6, exact=False))
    assert own["critical"]["tokens"]["value"] == 3e6
    assert {law["name"] for law in own["laws"]} >= {"zhang", "kaplan", "merrill", "deepseek"}


@pytest.mark.parametrize("exact", [False, True])
def test_numbers_shown_for_a_layout_are_those_of_its_full_evaluation(exact: bool) -> None:
    shown = answer(TrainingRequest(model="llama3-70b", exact=exact))
    for row in shown["rows"]:
        layout = {name: value for name, value in row["layout"].items() if name != "micro_batch"}
        alone = evaluate_layout("llama3-70b", "h100-ib400", layout, seq=8192)
        assert alone.step_seconds == pytest.approx(row["step_seconds"], rel=1e-12)
        assert row["efficiency"] == pytest.approx(1 / (1 + row["comm_frac"]))
        assert sum(row["breakdown"].values()) == pytest.approx(row["step_seconds"])
        low, high = row["ends"]["mfu"]
        assert low < row["mfu"] < high
        assert row["ends"]["efficiency"][1] <= 1


def test_the_published_layout_reaches_about_the_published_mfu() -> None:
    """GPT-3 in 2021 recomputed everything, which the best layout of today does not."""
    job = {"seq": 2048, "batch_tokens": 1536 * 2048, "grows": False, "tokens_per_parameter": 1.7}
    shown = answer(TrainingRequest(model="gpt3-175b", cluster="a100-ib200", stack="megatron-lm", **job))
    stated = {run["name"]: run["mfu"] for run in published() if "layout" in run}
    assert {run["name"]: run["mfu"] for run in shown["published"]} == pytest.approx(stated, abs=0.02)
    best = max(row["mfu"] for row in shown["rows"] if row["gpus"] <= 512)
    assert best > 1.4 * max(stated.values())
    assert answer(TrainingRequest())["published"] == []


def test_a_model_that_fits_nowhere_is_told_not_raised() -> None:
    shown = answer(TrainingRequest(size=3e12, cluster="own", own_memory=1.0, batch_tokens=1e3, exact=False))
    assert shown["rows"] == []
    assert "does not fit" in shown["sentences"][0] or "no layout" in shown["sentences"][0]


def test_experts_and_own_accelerators_are_planned_too() -> None:
    assert "mixtral-8x7b" in choices(None)["experts"]  # type: ignore[arg-type]  # it takes no settings
    assert answer(TrainingRequest(model="mixtral-8x7b", exact=False))["rows"]
    own = answer(TrainingRequest(cluster="own", own_tflops=500, exact=False))
    assert "bf16_tflops = 500" in own["files"]["own.toml"]
    assert "--cluster own.toml" in own["commands"][0]


def test_a_coarse_answer_takes_little_time() -> None:
    """The page allows 50 ms of CPU; the limit here is wide, since tests share the machine."""
    answer(TrainingRequest(exact=False))
    start = time.process_time()
    answer(TrainingRequest(exact=False, tokens_per_parameter=21))
    assert time.process_time() - start < 0.25


def test_a_model_by_size_is_a_shape_that_exists_with_its_true_count() -> None:
    """1B is not 1.53B: the slider moves over shapes and shows their counts."""
    counts = [shape.parameters for shape in shapes()]
    assert counts == sorted(counts)
    assert len(counts) >= 25
    assert max(b / a for a, b in itertools.pairwise(counts)) < 1.6
    shown = answer(TrainingRequest(size=1e9, exact=False))
    assert shown["model"]["parameters"] == nearest_shape(1e9).parameters == pytest.approx(1e9, rel=0.1)


def test_every_option_that_matters_is_in_the_command() -> None:
    asked = TrainingRequest(
        price=3.21, deadline_days=14, budget=2e6, precision="fp8", stack="megatron-core", critical="kaplan", loss=2.4
    )
    words = shlex.split(asked.command)
    for option, value in (
        ("--price", "3.21"), ("--deadline", "14d"), ("--budget", "2000000"), ("--precision", "fp8"),
        ("--stack", "megatron-core"), ("--critical-batch", "kaplan"), ("--loss", "2.4"), ("--gpus", "8..131072"),
    ):  # fmt: skip
        assert words[words.index(option) + 1] == value
    assert shlex.split(TrainingRequest(weak=True).command)[-1] == "--weak"


def test_published_runs_name_models_that_exist_and_their_source() -> None:
    for run in published():
        assert run["model"] in models()
        assert "arXiv" in run["source"] or "SC21" in run["source"]
        assert ("mfu" in run) != ("tokens_per_second" in run)


@pytest.mark.parametrize("weak", [False, True])
def test_every_row_has_its_own_raw_figures(weak: bool) -> None:
    asked = TrainingRequest(model="llama3-8b", weak=weak, exact=False)
    found = answer(asked)
    headers = [column["header"] for column in found["table"]["columns"]]
    assert len(headers) == len(set(headers))
    assert len(found["table"]["rows"]) == len(found["rows"])
    for line, row in zip(found["table"]["rows"], found["rows"], strict=True):
        assert f"dp{row['layout']['dp']}" in line[headers.index("layout")]["text"].replace(" ", "")
