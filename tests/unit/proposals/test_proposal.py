"""Proposal files: what is read, and every fault at once."""

import tomllib
from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.errors import InputError
from scalecurve.proposals.proposal import proposal_template

TEMPLATE = proposal_template()
HEAD = 'title = "x"\nworkers = 64\nregime = "strong"\n'


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "proposal.toml"
    path.write_text(text)
    return path


def test_the_template_is_a_proposal(tmp_path: Path) -> None:
    result = sc.assess(write(tmp_path, TEMPLATE))

    assert str(result.verdict) == "cannot tell"


def test_the_template_with_every_part_switched_on(tmp_path: Path) -> None:
    """Every commented line of the template is valid; the study is left out because points stand beside it."""
    lines = [line.removeprefix("# ") for line in TEMPLATE.splitlines()[3:] if "study =" not in line]
    text = "\n".join(lines)

    assert {"claim", "serial", "strong", "weak", "batch", "kernel", "collective", "price"} <= set(tomllib.loads(text))
    assert sc.assess(write(tmp_path, text)).verdict


def test_all_faults_at_once(tmp_path: Path) -> None:
    text = """
title = "x"
workers = 0
regime = "sideways"
floor = 2
colour = "red"
[serial]
share = -1
[collective]
bytes = "lots"
latency = "10us"
bandwidth = "400Gb/s"
step_time = "8s"
"""
    with pytest.raises(InputError) as caught:
        sc.assess(write(tmp_path, text))

    places = {fault.where for fault in caught.value.faults}
    assert {"workers", "regime", "floor", "colour", "serial.share", "collective.bytes"} <= places


def test_a_regime_is_never_guessed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="regime"):
        sc.assess(write(tmp_path, 'title = "x"\nworkers = 64\n'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[claim]\nworkers = 4\n", "one of speedup and efficiency"),
        ("[price]\njobs = 3\n", "one of per_worker_hour and of"),
        ("[strong]\nbaseline = 1\n", "one of study and points"),
        ("[strong]\npoints = [{ k = 4 }]\n", "exactly one of efficiency"),
        ("[strong]\npoints = [{ k = 4, efficiency = 0.9 }, { k = 4, efficiency = 0.8 }]\n", "stated twice"),
        ("[serial]\nshare = 0.1\nlow = 0.2\nhigh = 0.3\n", "low <= value <= high"),
        ("[price]\nper_worker_hour = -2.5\n", "must be a number from 0 up"),
        ('[price]\nper_worker_hour = "2.50 ABC"\n', "unknown currency"),
        ('[price]\nper_worker_hour = "2.50 USD"\nbudget = "600 EUR"\n', "different currencies"),
        ('[price]\nof = "h100"\n', "name a provider"),
        ('[strong]\nstudy = "nowhere.json"\n', "cannot be read"),
        ("[collective]\nbytes = 5\nstep_time = 1\n", "a network by name, or its latency and bandwidth"),
        ('[collective]\nbytes = 5\nstep_time = 1\nnetwork = "pigeon"\n', "unknown network"),
        ("[kernel]\nflop_per_byte = 5\n", "an accelerator by name"),
        ('[kernel]\nflop_per_byte = 5\naccelerator = "abacus"\n', "unknown accelerator"),
        ("workers = = 3", "not TOML"),
    ],
)
def test_bad_parts(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sc.assess(write(tmp_path, HEAD + text))


def test_a_missing_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read.*--init"):
        sc.assess(tmp_path / "none.toml")


def test_a_study_of_the_other_regime(tmp_path: Path) -> None:
    study = sc.Study.from_samples({1: [1.0, 1.1], 2: [1.2, 1.1]}, regime="weak")
    sc.save(study, tmp_path / "study.json")

    with pytest.raises(InputError, match="other regime"):
        sc.assess(write(tmp_path, HEAD + '[strong]\nstudy = "study.json"\n'))
