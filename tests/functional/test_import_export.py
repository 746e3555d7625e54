"""The import, export and completion commands, and the manual page, as a user runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scalecurve.cli.main import COMMANDS, run

SAMPLES = Path(__file__).parents[1] / "formats" / "samples"
SOURCE = Path(__file__).parents[2] / "src"


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
    assert "regime is not stated" in capsys.readouterr().err


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


ASKED = {  # what each shell does when `scalecurve TYPED` and Tab are typed, its answers printed one a line
    "bash": """. ./script; COMP_WORDS=(scalecurve TYPED); COMP_CWORD=1; _scalecurve_completion scalecurve
        printf '%s\\n' "${COMPREPLY[@]}" """,
    "zsh": """compdef() { :; }; compadd() { print -l -- "$@"; }; _describe() { print -l -- ${(P)3}; }
        . ./script; words=(scalecurve TYPED); CURRENT=2; _scalecurve_completion""",
    "fish": "source ./script; complete -C 'scalecurve TYPED'",
}


@pytest.mark.parametrize("shell", list(ASKED))
def test_a_shell_completes_commands(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here; tools/engines-install debian installs it")
    program = tmp_path / "scalecurve"
    program.write_text(f"#!{sys.executable}\nfrom scalecurve.cli.main import main\nmain()\n")
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path), "PYTHONPATH": str(SOURCE)}
    words = [shell, *(("-f",) if shell == "zsh" else ()), "-c", ASKED[shell].replace("TYPED", "fore")]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert any(line.startswith("forecast") for line in done.stdout.splitlines()), done.stdout + done.stderr
    assert "diagnose" not in done.stdout
    if shell == "fish":
        assert "predict T, S and E at larger K, with intervals" in done.stdout, "a comma does not end the description"


def test_the_manual_page_names_every_command() -> None:
    from tools.man_pages import manual

    page = manual()

    assert page.startswith(".TH SCALECURVE 1")
    for name in COMMANDS:
        assert f".SS scalecurve {name}".replace("-", r"\-") in page


def test_every_command_and_subcommand_has_a_manual_page() -> None:
    from tools.man_pages import man_pages

    pages = dict(man_pages())
    assert {f"scalecurve-{name}.1" for name in COMMANDS} < set(pages)
    assert r"\fB\-\-network TEXT\fR" in pages["scalecurve-collective-cost.1"]
    assert all(page.startswith('.TH "SCALECURVE') and ".SH OPTIONS" in page for page in pages.values())
