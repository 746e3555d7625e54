"""The pipelines of examples/ci, run as written in a fresh git repository with the job they ship."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import scalecurve as sc
import scalecurve.render.exports
from scalecurve.cli.main import run
from scalecurve.study import Provenance, Study

CI = Path(__file__).parents[2] / "examples" / "ci"
SOURCE = Path(__file__).parents[2] / "src"


def github_steps(text: str) -> list[str]:
    """The `run:` of every step that runs when all is well."""
    steps = []
    for step in re.split(r"^ {6}- ", text, flags=re.MULTILINE)[1:]:
        body = re.search(r"(?:^|\n +)run: (?:\|\n)?(.*?)(?=\n {8}\S|\Z)", step, flags=re.DOTALL)
        if body and "if: failure()" not in step:
            steps.append("\n".join(line.strip() for line in body[1].splitlines()))
    return steps


def gitlab_steps(text: str) -> list[str]:
    """`script` is one shell, `after_script` another."""
    blocks = re.findall(r"^  (?:after_)?script:\n((?: {4}- .*\n)+)", text, flags=re.MULTILINE)
    return ["\n".join(line.strip()[2:] for line in block.splitlines()) for block in blocks]


def without(words: str, steps: list[str]) -> list[str]:
    kept = ["\n".join(line for line in step.splitlines() if words not in line) for step in steps]
    return [step for step in kept if step]


@pytest.mark.parametrize(("file", "steps_of"), [("scaling.yml", github_steps), ("gitlab-ci.yml", gitlab_steps)])
def test_every_step_runs_as_written(file: str, steps_of: Callable[[str], list[str]], tmp_path: Path) -> None:
    shutil.copytree(CI / "scaling", tmp_path / "scaling")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    programs = tmp_path / ".programs"
    programs.mkdir()
    for name, module in (("scalecurve", "-m scalecurve"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        (programs / name).chmod(0o755)
    environment = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(SOURCE),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "CI_COMMIT_BRANCH": "main",
    }
    first = without("pip install", steps_of((CI / file).read_text()))
    assert len(first) >= 2
    again = without("scalecurve measure", first)  # now with a study of the main branch to compare with: this one
    for step in [*first, *again]:
        shell = ["bash", "-eo", "pipefail", "-c", step]
        done = subprocess.run(shell, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{step}\n{done.stdout}{done.stderr}"
    assert (tmp_path / "main.json").exists()
    assert len((tmp_path / "history.jsonl").read_text().splitlines()) == 2  # the first push and the second
    assert "<testsuite" in (tmp_path / "checks.xml").read_text()
    assert json.loads((tmp_path / "badge.json").read_text())["schemaVersion"] == 1
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_the_steps_are_found() -> None:
    assert any("scalecurve check" in step for step in github_steps((CI / "scaling.yml").read_text()))
    assert any("scalecurve report" in step for step in gitlab_steps((CI / "gitlab-ci.yml").read_text()))


def job(seconds: dict[int, float], cpu: str = "one") -> Study:
    """A study with five repeats that differ by 1 % at each K."""
    samples = {k: [value * (1 + 0.005 * (i - 2)) for i in range(5)] for k, value in seconds.items()}
    study = Study.from_samples(samples, regime="strong", name="job")
    return replace(study, provenance=Provenance(machine={"cpu": cpu}))


def checked(folder: Path, study: Study, *options: str) -> tuple[int, str]:
    sc.save(study, folder / "study.json")
    line = ["check", str(folder / "study.json"), "--baseline", str(folder / "main.json"), "--annotations"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = run([*line, "--junit", str(folder / "checks.xml"), *options])
    return code, printed.getvalue()


def test_the_first_push_makes_the_baseline_and_the_second_compares(tmp_path: Path) -> None:
    code, said = checked(tmp_path, job({1: 1.0, 2: 0.6}))
    assert code == 0
    assert "this study is now the baseline" in said
    assert "::notice title=scalecurve::there was no baseline" in said
    assert (tmp_path / "main.json").exists()
    assert "<skipped" in (tmp_path / "checks.xml").read_text()
    assert checked(tmp_path, job({1: 1.0, 2: 0.6}))[0] == 0
    code, said = checked(tmp_path, job({1: 1.0, 2: 0.9}))
    assert code == 1
    assert "::error title=scalecurve K = 2::" in said
    assert "<failure" in (tmp_path / "checks.xml").read_text()


def test_another_cpu_is_compared_by_efficiency(tmp_path: Path) -> None:
    checked(tmp_path, job({1: 1.0, 2: 0.6}))
    code, said = checked(tmp_path, job({1: 2.0, 2: 1.2}, cpu="half as fast"))
    assert code == 0
    assert "efficiency is compared, not seconds" in said
    code, said = checked(tmp_path, job({1: 0.5, 2: 0.45}, cpu="twice as fast"))
    assert code == 1
    assert "loss of efficiency" in said


def test_the_checks_are_written_also_where_nothing_could_be_checked(tmp_path: Path) -> None:
    printed = io.StringIO()
    line = ["check", str(tmp_path / "absent.json"), "--baseline", str(tmp_path / "main.json"), "--annotations"]
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = run([*line, "--junit", str(tmp_path / "checks.xml")])
    assert code == 2
    assert "<error message=" in (tmp_path / "checks.xml").read_text()
    assert "::error title=scalecurve::" in printed.getvalue()


def test_the_composite_action_runs_what_the_command_line_has() -> None:
    text = (CI.parents[1] / "action.yml").read_text()
    assert "using: composite" in text
    commands = set(re.findall(r"scalecurve (measure|check|export|report)\b", text))
    assert commands == {"measure", "check", "export", "report"}
    assert all("history" in block for block in re.findall(r"path: \|\n((?: {10}.*\n)+)", text)[:2])
    assert set(re.findall(r"--to (\S+)", text)) <= set(sc.render.exports.export_formats())
    assert "${{" not in "".join(re.findall(r"run: \|\n((?: {8}.*\n)+)", text))  # inputs reach the shell as variables


def test_data_for_github_action_benchmark() -> None:
    entries = json.loads(sc.export(job({1: 1.0, 2: 0.6}), "github-benchmark"))
    assert [(entry["name"], entry["unit"], round(entry["value"], 3)) for entry in entries] == [
        ("job K=1", "s", 1.0),
        ("job K=2", "s", 0.6),
    ]
