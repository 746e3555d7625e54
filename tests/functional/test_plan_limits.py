"""What `scalecurve plan` says first: the run of one layout, limits kept or missed, sizes that bound and count."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from scalecurve.cli.main import run as run_command


@pytest.fixture
def run(capsys):
    """Runs a command that must end with `code` and returns what it wrote."""

    def asked(*words, code=0):
        assert run_command(list(words)) == code
        written = capsys.readouterr()
        return SimpleNamespace(stdout=written.out, stderr=written.err)

    return asked


@pytest.mark.parametrize("limit", [[], ["--tokens", "300B"], ["--deadline", "1d"], ["--deadline", "90d"]])
def test_a_layout_takes_the_batch_of_a_sweep_and_answers_for_the_run(run, limit):
    said = run("plan", "--model", "llama2-13b", "--cluster", "h100-ib400", "--layout", "tp=4,pp=3,dp=4", *limit).stdout
    assert "No batch is given: 4.1" in " ".join(said.split())
    first = " ".join(said.split("The step")[0].split())
    assert (" d, $" in first) == bool(limit)
    kept = {"1d": "missing the deadline of 24 h (chance below 1 %)", "90d": "keeping the deadline of 90 d (chance"}
    assert kept.get((limit or [""])[-1], "") in first
    if "1d" in limit:
        assert "`scalecurve plan --model llama2-13b --cluster h100-ib400 --gpus 48 --deadline 1d`" in said.replace(
            "\n", " "
        )


def test_options_of_a_sweep_are_refused_with_a_layout(run):
    told = run("plan", "--model", "llama2-13b", "--cluster", "h100", "--layout", "dp=8", "--objective", "cost", code=2)
    assert "scalecurve plan --model llama2-13b --cluster h100 --layout dp=8" in told.stderr


def test_a_size_names_the_preset_and_sizes_are_counted(run):
    told = run("plan", "--model", "13b", "--cluster", "h100", "--gpus", "8", code=2).stderr
    assert "did you mean llama2-13b" in told
    assert "gated=true" in told
    sizes = "hidden=5120,layers=40,heads=40,kv_heads=40,ffn=13824,vocab=32000"
    said = run("plan", "--model", sizes, "--cluster", "h100", "--gpus", "64").stdout
    assert "B parameters (13.02B with gated=true" in " ".join(said.split())
    said = run("plan", "--model", sizes + ",gated=true", "--cluster", "h100", "--layout", "tp=2,dp=8").stdout
    assert "13.02B parameters." in " ".join(said.split())


def test_the_size_of_a_cluster_is_the_usual_p_and_bounds_the_sweep(run, tmp_path):
    place = tmp_path / "ours.toml"
    place.write_text('accelerator = "h100"\ngpus = 64\nouter = 50\n', encoding="utf-8")
    asked = ("plan", "--model", "llama2-13b", "--cluster", str(place), "--tokens", "300B")
    assert run(*asked).stdout.startswith("64 GPUs: ")
    beyond = run(*asked, "--gpus", "64,128").stdout
    assert beyond.startswith("64 GPUs: ")
    assert "[beyond-cluster]" in beyond
    late = run(*asked, "--gpus", "32..64", "--deadline", "5d").stdout
    assert "--gpus 64" in late.replace("\n", " ")
    assert "128" not in late.partition("Next:")[2].partition("\n\n")[0]
    assert "--gpus 64" in run(*asked, "--gpus", "128", code=2).stderr
    assert "[beyond-cluster]" in run(*asked, "--layout", "dp=128").stdout


@pytest.mark.parametrize(
    "limit", [["--deadline", "20d"], ["--deadline", "1d"], ["--budget", "1M"], ["--deadline", "20d", "--weak"]]
)
@pytest.mark.parametrize("gpus", ["128", "64,128"])
def test_the_first_line_says_whether_limits_are_kept_and_with_what_chance(run, limit, gpus):
    asked = ("plan", "--model", "llama2-13b", "--cluster", "h100-ib400", "--tokens", "300B", "--gpus", gpus)
    answer = json.loads(run(*asked, *limit, "--json").stdout)["answer"]
    assert "(chance " in answer["decision"]
    assert " expect a run of " in answer["confidence"]


def test_a_deadline_without_an_end_of_the_run_asks_for_tokens(run):
    asked = ("plan", "--model", "llama3-8b", "--cluster", "h100", "--gpus", "8", "--adapters", "--deadline", "1d")
    assert "--tokens 1B" in run(*asked, code=2).stderr
