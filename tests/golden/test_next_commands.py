"""Every command that an answer proposes is complete and works: those of answers.txt are run as they stand there.

Programs of other people cannot be started here: `measure` counts its launches only, and commands that load a network
or a server show their help.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.cli.main import run
from tests.golden.test_answers import FILE, PROPOSAL, ROOT, STUDIES

NEXT = re.compile(r"^Next: (.*?)(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)
ELSEWHERE = ("collective measure", "latency measure", "doctor")
SILENT = ("check", "explain", "import", "report")  # they answer a gate or a code, or write a file


def proposed() -> list[str]:
    """What answers.txt says to do next, a line each."""
    return [re.sub(r"\s+", " ", text) for text in NEXT.findall(FILE.read_text())]


def commands() -> list[str]:
    return sorted({command for text in proposed() for command in re.findall(r"`(scalecurve [^`]*)`", text)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("next")
    (folder / "examples").symlink_to(ROOT / "examples")
    for name, make in STUDIES.items():
        sc.save(make(), folder / f"{name}.json")
        (folder / f"{name}.toml").write_text(PROPOSAL.format(study=f"{name}.json"))
    return folder


@pytest.mark.parametrize("command", commands())
def test_a_proposed_command_works(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    words = shlex.split(command)[1:]
    if any(command.startswith(f"scalecurve {name}") for name in ELSEWHERE):
        words = [*words, "--help"]
    elif words[0] == "measure" and "--init" not in words:
        words.insert(1, "--dry-run")
    Path("study.toml").unlink(missing_ok=True)  # --init replaces no file
    code = run(words)
    assert code in (0, 1), capsys.readouterr().err


def test_no_option_stands_outside_a_command() -> None:
    loose = [text for text in proposed() if re.search(r"(^|\s)--[a-z]", re.sub(r"`[^`]*`", "", text))]
    assert not loose


def test_every_answer_says_what_to_do_next() -> None:
    sections = re.split(r"^## ", FILE.read_text(), flags=re.MULTILINE)[1:]
    missing = [section.splitlines()[0] for section in sections if "\nNext: " not in section]
    refused = [section.splitlines()[0] for section in sections if "\nscalecurve: " in section]
    assert [name for name in missing if name not in refused and name.split()[0].strip(":") not in SILENT] == []
