"""The answer of every command that reads a study, on four studies: clean, noisy, disturbed, implausible.

`SCALECURVE_UPDATE_GOLDEN=1 pytest tests/golden` rewrites answers.txt; read it aloud.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.cli.main import run
from scalecurve.findings import warning
from scalecurve.study import Study
from tests.reference_study import strong_samples, strong_study

FILE = Path(__file__).parent / "files/answers.txt"
COMMANDS = (
    "table", "fit", "forecast", "diagnose", "audit", "regime", "next", "check --min-efficiency 0.5@4", "compare STUDY",
    "cost --price 2.50", "scaleup --faster 4 --big-price 20 --small-price 2 --study",
)  # fmt: skip
LONGEST = 120  # characters of a decision


def noisy() -> Study:
    rng = np.random.default_rng(3)
    samples = {
        k: (np.mean(times) * np.exp(0.25 * rng.standard_normal(3))).tolist() for k, times in strong_samples().items()
    }
    return Study.from_samples(samples, regime="strong", k_unit="gpus", name="noisy")


def disturbed() -> Study:
    message = "Other processes used up to 1.6 cores during K = 4, K = 8"
    return strong_study().with_findings([warning("disturbed", message, k=[4, 8], cores=1.6)])


def implausible() -> Study:
    return Study.from_samples({1: [1.0], 2: [1.9], 4: [3.4], 8: [5.5]}, regime="strong", k_unit="gpus", name="speedups")


STUDIES = {"clean": strong_study, "noisy": noisy, "disturbed": disturbed, "implausible": implausible}


def said(command: str, path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], dict[str, str | None]]:
    """The lines of the terminal up to the first blank one, and the answer of the JSON; empty where it is refused."""
    words = [str(path) if word == "STUDY" else word for word in command.split()]
    words = [*words, str(path)] if words[-1] == "--study" else [words[0], str(path), *words[1:]]
    if run(words) == 2:
        return [capsys.readouterr().err.strip()], {}
    lines = capsys.readouterr().out.split("\n\n")[0].splitlines()
    run([*words, "--json"])
    return lines, json.loads(capsys.readouterr().out)["answer"]


def test_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parts = []
    for name, make in STUDIES.items():
        path = Path(f"{name}.json")
        sc.save(make(), path)
        for command in COMMANDS:
            lines, answer = said(command, path, capsys)
            parts.append("\n".join([f"## {command}: {name}", *lines]))
            if answer:
                assert " ".join(lines).startswith(str(answer["decision"])), (name, command)
                assert len(str(answer["decision"])) <= LONGEST, (name, command)
                assert re.search(r"[0-9]", str(answer["decision"])), (name, command)
    text = "\n\n".join(parts) + "\n"
    if os.environ.get("SCALECURVE_UPDATE_GOLDEN"):
        FILE.write_text(text)
    assert FILE.read_text() == text


@pytest.mark.parametrize("name", STUDIES)
def test_table_report_and_python_say_one_decision(name: str, tmp_path: Path) -> None:
    study = STUDIES[name]()
    decision = sc.tabulate(study).answer.decision
    [page, *_] = sc.write_report(study, tmp_path / "report.md")
    assert decision in page.read_text().replace("\\", "")
    assert repr(sc.tabulate(study)).startswith(decision[:60])


def test_no_k_is_recommended_from_implausible_values(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "speedups.json"
    sc.save(implausible(), path)
    for command in ("table", "cost --price 2.50", "forecast", "fit", "diagnose", "next"):
        lines, answer = said(command, path, capsys)
        assert "speedups, not times" in str(answer["decision"]), (command, lines)
        assert lines[0].startswith("No "), (command, lines)
