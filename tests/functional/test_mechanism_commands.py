"""The mechanism commands as people type them: answers, files, and exit code 2 with one message for bad input."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from scalecurve.cli.main import run

FORMATS = Path(__file__).parents[1] / "formats"


def _json(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert run([*arguments, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        (
            ["collective", "cost", "--bytes", "350MB", "--ranks", "8..64", "--network", "nvlink+ib400"],
            ["rows", "network"],
        ),
        (
            [
                "collective",
                "cost",
                "--per-step",
                "--compute",
                "1s",
                "--bytes",
                "1GB",
                "--ranks",
                "1..8",
                "--network",
                "eth10",
            ],
            ["rows", "communication_exceeds_compute_at", "communication_terms"],
        ),
        (["collective", "fit", str(FORMATS / "collectives/imb.txt"), "--op", "allreduce"], ["systems"]),
        (["latency", "summary", str(FORMATS / "latency/hey.csv"), "--slo", "50ms"], ["records"]),
        (["latency", "tails", str(FORMATS / "latency/hey.csv")], ["fan_out", "hedge"]),
        (["straggler", "--distribution", "lognorm:s=0.3", "--workers", "1..16"], ["rows", "backups"]),
        (
            ["scaleup", "--faster", "4", "--big-price", "6", "--small-price", "1", "--law", "amdahl:serial=0.05"],
            ["rows"],
        ),
        (
            ["roofline", "place", "--machine", "h100", "--precision", "bf16", "--kernel", "g:1T:1GB"],
            ["kernels", "ridge"],
        ),
    ],
)
def test_answers_as_json(arguments: list[str], keys: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(arguments, capsys)
    assert set(keys) <= set(found)


def test_a_graph_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "g.dot").write_text("digraph { a -> b; a -> c; b -> d; c -> d }")
    found = _json(["workdepth", str(tmp_path / "g.dot"), "--workers", "1,2"], capsys)
    assert (found["work"], found["depth"]) == (4, 3)


@pytest.mark.parametrize(
    "arguments",
    [
        ["collective", "cost", "--bytes", "1MB", "--ranks", "2..8", "--network", "ib400"],
        ["straggler", "--workers", "1..8"],
        ["roofline", "place", "--machine", "a100", "--kernel", "g:1T:1GB:0.2"],
    ],
)
def test_pictures_are_written(arguments: list[str], tmp_path: Path) -> None:
    assert run([*arguments, "-q", "--plot", str(tmp_path / "p.svg")]) == 0
    assert (tmp_path / "p.svg").read_text().lstrip().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["collective", "cost", "--bytes", "-3", "--ranks", "8", "--network", "ib400"], "message size"),
        (["collective", "cost", "--bytes", "3Mb", "--ranks", "8", "--network", "ib400"], "capital B"),
        (["collective", "cost", "--bytes", "3MB", "--ranks", "0", "--network", "ib400"], "from 1"),
        (["collective", "cost", "--bytes", "3MB", "--ranks", "8", "--network", "warp"], "unknown network"),
        (["collective", "cost", "--bytes", "3MB", "--network", "ib400", "--per-step"], "--compute"),
        (["collective", "cost", "--op", "gossip", "--bytes", "3MB", "--network", "ib400"], "unknown collective"),
        (["collective", "fit", "no-such-file"], "cannot be read"),
        (["collective", "measure", "--ranks", "1"], "two ranks"),
        (["straggler", "--distribution", "lognorm:s"], "write the distribution"),
        (["straggler", "--distribution", "nope:s=1"], "unknown distribution"),
        pytest.param(
            ["latency", "measure", "http://127.0.0.1:1/", "-o", "never.json"],
            "does not answer",
            marks=pytest.mark.skipif(find_spec("h11") is None, reason="needs scalecurve[load]"),
        ),
        (["latency", "measure", "gopher://x/"], "not an address"),
        (
            ["scaleup", "--faster", "0", "--big-price", "1", "--small-price", "1", "--law", "amdahl:serial=0.1"],
            "positive",
        ),
        (["scaleup", "--faster", "2", "--big-price", "1", "--small-price", "1"], "law or from a study"),
        (["roofline", "place", "--machine", "abacus"], "unknown accelerator"),
        (["roofline", "place", "--machine", "h100", "--kernel", "x:-1:1MB"], "not negative"),
        (["workdepth", "no-such-graph.json"], "cannot be read"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""
    assert "Traceback" not in shown.err
    assert list(tmp_path.iterdir()) == []


def test_a_cyclic_graph_prints_its_cycle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "g.dot").write_text("digraph { a -> b -> c -> a }")
    assert run(["workdepth", str(tmp_path / "g.dot")]) == 2
    assert "a -> b -> c -> a" in capsys.readouterr().err


def test_bits_and_bytes_differ_by_eight(capsys: pytest.CaptureFixture[str]) -> None:
    def at(rate: str) -> float:
        arguments = ["collective", "cost", "--bytes", "1GB", "--ranks", "2", "--network", f"1us/{rate}"]
        rows = _json(arguments, capsys)["rows"]
        assert isinstance(rows, list)
        return float(rows[0]["seconds"])

    assert at("400Gb/s") / at("400GB/s") == pytest.approx(8, rel=1e-3)
