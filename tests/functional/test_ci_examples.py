"""The pipelines of examples/ci, run as written in a fresh git repository with the job they ship."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_the_steps_are_found() -> None:
    assert any("scalecurve check" in step for step in github_steps((CI / "scaling.yml").read_text()))
    assert any("scalecurve report" in step for step in gitlab_steps((CI / "gitlab-ci.yml").read_text()))
