"""The import, export and completion commands, and the manual page, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scalecurve.cli.main import COMMANDS, run
from scalecurve.cli.tools import manual

SAMPLES = Path(__file__).parents[1] / "formats" / "samples"


def test_explain_shows_the_mapping_without_a_regime_and_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "--explain", str(SAMPLES / "hyperfine.json")]) == 0
    out = capsys.readouterr().out

    assert "K        `threads` (threads)" in out
    assert "regime   not stated: say --regime strong or --regime weak" in out


def test_import_writes_a_study_that_every_command_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "study.json"
    line = ["import", str(SAMPLES / "mllog"), "--k-from", r"n(\d+)_", "--regime", "strong", "-o", str(study)]

    assert run(line) == 0
    assert "MLPerf log: 2 runs each" in capsys.readouterr().err
    assert run(["table", str(study), "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert [row["k"] for row in table["rows"]] == [8, 16]
    assert {"imported", "batch-changes"} <= {finding["code"] for finding in table["findings"]}


def test_import_without_a_regime_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", str(SAMPLES / "hyperfine.json")]) == 2
    assert "never guessed" in capsys.readouterr().err


def test_every_command_reads_foreign_files_directly(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", str(SAMPLES / "sacct.txt"), "--regime", "strong", "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("1,2,13.5,")


def test_export_gives_out_and_lists(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    sacct = str(SAMPLES / "sacct.txt")
    assert run(["export", sacct, "--regime", "strong", "--to", "extra-p", "-o", str(tmp_path / "a.txt")]) == 0
    assert "DATA 14.0 13.0" in (tmp_path / "a.txt").read_text()
    assert run(["export", sacct, "--regime", "strong", "--to", "csv"]) == 0
    assert b"cores,seconds\n1,14.0" in capfdbinary.readouterr().out
    assert run(["export", "--list"]) == 0
    assert b"openmetrics" in capfdbinary.readouterr().out
    assert run(["export", sacct, "--regime", "strong", "--to", "excel"]) == 2
    assert b"one of csv" in capfdbinary.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_SCALECURVE_COMPLETE" in capsys.readouterr().out


def test_the_manual_page_names_every_command() -> None:
    page = manual()

    assert page.startswith(".TH SCALECURVE 1")
    for name in COMMANDS:
        assert f".SS scalecurve {name}".replace("-", r"\-") in page
