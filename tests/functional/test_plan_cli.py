"""`scalecurve plan` as people type it."""

from __future__ import annotations

import csv
import io
import json

import pytest

from scalecurve.cli.main import run

SWEEP = ["plan", "--model", "llama3-8b", "--cluster", "h100-ib400", "--gpus", "8..64", "--seq", "8192"]
ONE = ["plan", "--model", "llama3-8b", "--cluster", "h100-ib400"]


def test_a_sweep_answers_as_text_json_and_csv(capsys):
    assert run([*SWEEP, "--global-batch", "1M", "--critical-batch", "4Mi", "--verbose"]) == 0
    text = capsys.readouterr().out
    assert "rounded from 1,000,000" in text
    assert "cost-effective scale" in text
    assert "Left out" in text
    assert run([*SWEEP, "--global-batch", "1Mi", "--json", "--top", "3"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [row["gpus"] for row in data["rows"]] == [8, 16, 32, 64]
    assert len(data["rows"][0]["alternatives"]) == 2
    assert run([*SWEEP, "--global-batch", "1Mi", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["gpus"] for row in rows] == ["8", "16", "32", "64"]


def test_a_given_layout_and_an_explanation(capsys):
    layout = ["plan", "--model", "gpt3-175b", "--cluster", "selene", "--stack", "megatron-lm", "--global-batch", "3Mi"]
    layout += ["--layout", "tp=8,pp=12,dp=4,micro=1,recompute=full"]
    assert run(layout) == 0
    assert "MFU" in capsys.readouterr().out
    assert run([*layout, "--explain", "384"]) == 0
    assert "bubble" in capsys.readouterr().out


def test_measured_runs_are_used(tmp_path, capsys):
    runs = tmp_path / "runs.csv"
    runs.write_text("gpus,layout,batch,seq,step_seconds\n8,dp=8 zero=3 micro=2,16,8192,4.0\n")
    assert run([*SWEEP, "--global-batch", "1Mi", "--stack", "fsdp", "--measured", str(runs), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evidence"] == "measured here"


def test_goodput_costs_tokens(capsys):
    assert run([*SWEEP, "--global-batch", "1Mi", "--goodput", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][-1]
    assert row["goodput"]["factor"] < 1
    assert row["effective_tokens_per_second"] < row["tokens_per_second"]


def test_the_picture_is_written(tmp_path, capsys):
    path = tmp_path / "plan.svg"
    assert run([*SWEEP, "--global-batch", "1Mi", "--critical-batch", "2Mi", "--plot", str(path), "-q"]) == 0
    assert "accelerators P" in path.read_text()
    assert run([*SWEEP, "--global-batch", "1Mi", "--plot", str(tmp_path / "plan.bmp")]) == 2
    assert "unknown picture format" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan"], "missing"),
        (["plan", "nothing.toml"], "nothing.toml: cannot be read"),
        (["plan", "--model", "gpt5", "--cluster", "h100", "--gpus", "8"], "unknown model"),
        (["plan", "--model", "llama3-8b", "--cluster", "h100", "--gpus", "eight"], "not a worker count"),
        ([*SWEEP, "--global-batch", "lots"], "not a count"),
        ([*SWEEP, "--global-batch", "1Mi", "--deadline", "soon"], "not a duration"),
        ([*SWEEP, "--global-batch", "1Mi", "--explain", "9"], "nothing planned at this P"),
        ([*SWEEP, "--global-batch", "1Mi", "--measured", "nowhere.csv"], "nowhere.csv: cannot be read"),
        ([*SWEEP, "--critical-batch", "kaplan"], "needs the run's loss"),
        ([*SWEEP, "--critical-batch", "kaplan", "--loss", "0"], "loss above 0"),
        ([*SWEEP, "--critical-batch", "kaplan", "--loss", "-3"], "loss above 0"),
        ([*SWEEP, "--critical-batch", "8Mi", "--definition", "optimal"], "unknown definition"),
        ([*ONE, "--layout", "tp=1e400"], "must be a whole number"),
        ([*ONE, "--layout", "tp=8,pp=4,dp=8", "--gpus", "128"], "256 by the layout"),
        ([*ONE, "--layout", "dp=8", "--seq", "0"], "from 1"),
        ([*SWEEP, "--global-batch", "1Mi", "--deadline", "0s"], "a deadline is above 0"),
        ([*SWEEP, "--global-batch", "1Mi", "--budget", "0"], "a budget is above 0"),
        ([*SWEEP, "--global-batch", "1Mi", "--tokens", "0"], "above 0"),
    ],
)
def test_bad_input_exits_2_with_one_message(arguments, words, capsys):
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert "Traceback" not in shown.err
