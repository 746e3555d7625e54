"""A layout against the best, and one cluster against another."""

from __future__ import annotations

import json
import math
import shlex

import pytest

from scalecurve.cli.main import run
from scalecurve.errors import InputError
from scalecurve.training import evaluate_layout, plan_training
from scalecurve.training.answers.comparisons import compare_clusters, why_not

ASKED = ("plan", "--model", "llama3-8b", "--cluster", "h100-ib400", "--global-batch", "1Mi", "--seq", "8192")


def test_what_a_layout_loses_adds_up_to_the_difference() -> None:
    plan = plan_training("llama3-8b", "h100-ib400", gpus=64, batch="1Mi", seq=8192)
    answer = why_not(plan, "tp=8,pp=4,micro=1,zero=1,recompute=full")
    assert sum(answer.seconds_lost.values()) == pytest.approx(answer.other.seconds - answer.best.seconds)
    assert sum(answer.bytes_more.values()) == pytest.approx(answer.other.memory_bytes - answer.best.memory_bytes)
    assert answer.slower > 0
    assert "as long" in answer.sentence
    alone = evaluate_layout(
        "llama3-8b", "h100-ib400", answer.other.layout, batch="1Mi", seq=8192, stack=answer.best.job.stack
    )
    assert alone.step_seconds == pytest.approx(answer.other.seconds)


def test_a_layout_that_does_not_fit_says_what_holds_the_bytes() -> None:
    plan = plan_training("llama3-70b", "h100-ib400", gpus=64, batch="1Mi", seq=8192)
    answer = why_not(plan, "dp=64,zero=0,micro=1")
    assert answer.sentence.startswith("It does not fit")
    assert answer.to_dict()["fits"] is False
    with pytest.raises(InputError, match="one P"):
        why_not(plan_training("llama3-8b", "h100", gpus=[8, 16], batch="1Mi", seq=8192), "dp=8")


def test_two_clusters_side_by_side() -> None:
    plans = [plan_training("llama3-8b", name, gpus=[8, 16], batch="1Mi", seq=8192) for name in ("a100", "h100")]
    both = compare_clusters(*plans)
    assert [row["gpus"] for row in both.records()] == [8, 16]
    assert all(1.5 < row["speed_ratio"] < 4.0 for row in both.records())
    assert "h100 reaches the target" in both.answer.decision


def test_the_command_exports_and_compares(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*ASKED, "--gpus", "8", "--export", "megatron"]) == 0
    assert capsys.readouterr().out.startswith("torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py")
    assert run([*ASKED, "--gpus", "8,16", "--export", "nemo"]) == 2
    assert "one layout" in capsys.readouterr().err
    assert run([*ASKED, "--gpus", "64", "--why-not", "tp=8,pp=8,micro=1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["slower"] > 0
    assert run(shlex.split(found["answer"]["next"].split("`")[1])[1:]) == 0
    assert "bubble" in capsys.readouterr().out
    assert run([*ASKED, "--gpus", "512", "--why-not", "dp=512"]) == 2
    assert run(shlex.split(capsys.readouterr().err.split("`")[1])[1:]) == 0
    assert "512" in capsys.readouterr().out
    assert run([*ASKED, "--gpus", "8,16", "--against", "a100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["clusters"] == ["h100-ib400", "a100"]


def test_energy_counts_the_hall_and_carbon_the_grid() -> None:
    hall = {"accelerator": "h100", "pue": 1.25, "gco2_per_kwh": 400}
    plain, here = (
        plan_training("llama3-8b", cluster, gpus=8, batch="1Mi", seq=8192).rows[0] for cluster in ("h100", hall)
    )
    assert plain.run_kg_co2 is None
    assert here.run_kwh == pytest.approx(1.25 * plain.run_kwh)
    assert here.run_kg_co2 == pytest.approx(0.4 * here.run_kwh)


def test_a_ratio_of_two_clusters_is_less_sure_than_either() -> None:
    first, second = (plan_training("llama3-8b", name, gpus=64, batch="1Mi", seq=8192) for name in ("h100", "a100"))
    both = compare_clusters(first, second)
    widths = [plan.rows[0].outcome.half_width for plan in (first, second)]
    assert both.to_dict()["ratio_factor"] == pytest.approx(math.exp(math.hypot(*widths)))
    assert f"within a factor of {both.ratio_factor:.2f}" in " ".join(str(both).split())


def test_findings_of_two_clusters_say_which_cluster_they_are_about() -> None:
    asked = {"gpus": [8, 16], "batch": "1Mi", "seq": 8192}
    both = compare_clusters(*(plan_training("llama3-8b", name, **asked) for name in ("h100", "gb200")))
    speedups = [finding.message for finding in both.findings if finding.code == "strong-scaling"]
    assert [message.partition(":")[0] for message in speedups] == ["h100", "gb200"]
