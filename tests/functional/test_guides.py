"""The guides to a launcher and to a command, followed literally in a copy of the tree.

Those to a law and to a reader: tests/unit/laws/test_adding_a_law.py and tests/formats/test_adding_a_reader.py.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = re.compile(r'^ *```python title="(.+?)"\n(.*?)^ *```', re.MULTILINE | re.DOTALL)
PRUN = """#!{python}
import os, subprocess, sys
ranks = range(int(sys.argv[2]))
jobs = [subprocess.Popen(sys.argv[3:], env={{**os.environ, "OMPI_COMM_WORLD_RANK": str(i),
        "OMPI_COMM_WORLD_SIZE": sys.argv[2]}}) for i in ranks]
sys.exit(max(job.wait() for job in jobs))
"""
JOB = "from scalecurve import probe\nwith probe.region(work=100):\n    sum(range(10**5))\n"


class Tree:
    """A copy of src with the files and rows of a guide in it, and the commands that the guide prints."""

    def __init__(self, name: str, folder: Path) -> None:
        self.guide, self.folder = (ROOT / "docs" / "guide" / f"{name}.md").read_text(), folder
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for title, text in FILE.findall(self.guide):
            self.put(title, textwrap.dedent(text))

    def put(self, title: str, text: str) -> None:
        row = re.fullmatch(r"a row of (\w+) in (\S+)", title)
        file = self.folder / (row[2] if row else title)
        if row:
            head = re.compile(rf"^{row[1]}\b.*= {{$", re.MULTILINE)
            text, changed = head.subn(lambda match: f"{match[0]}\n    {text.rstrip()}", file.read_text())
            assert changed == 1, f"{title}: no such dictionary"
        file.write_text(text)

    def commands(self) -> list[list[str]]:
        return [shlex.split(line) for line in re.findall(r"^ *\$ scalecurve (.+)$", self.guide, re.MULTILINE)]

    def run(self, *words: str) -> str:
        path = f"{self.folder}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [sys.executable, "-m", "scalecurve", *words],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder / "src"), "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return done.stdout


def test_a_command_by_its_guide(tmp_path: Path) -> None:
    tree = Tree("adding-a-command", tmp_path)
    (tmp_path / "runs.csv").write_text("K,seconds\n1,100\n2,55\n4,32\n8,25\n")
    text, answer, help_ = (tree.run(*words) for words in tree.commands())

    assert "Most is idle at K = 8: 50 %" in text  # 1 - 100/(8 x 25)
    assert [share for _, share in json.loads(answer)["rows"]] == pytest.approx([0, 1 - 100 / 110, 1 - 100 / 128, 0.5])
    assert "paid worker-hours" in help_


def test_a_launcher_by_its_guide(tmp_path: Path) -> None:
    tree = Tree("adding-a-launcher", tmp_path)
    (tmp_path / "prun").write_text(PRUN.format(python=sys.executable))
    (tmp_path / "prun").chmod(0o755)
    (tmp_path / "job.py").write_text(JOB)
    doctor, measure = tree.commands()
    at = measure.index("--")

    assert re.search(r"prun\s", tree.run(*doctor))
    tree.run(*measure[:at], "--repeats", "1", "--quiet-below", "1000", *measure[at:])
    runs = json.loads((tmp_path / "study.json").read_text())["runs"]
    assert {run["k"]: len(run["ranks"]) for run in runs if run["status"] == "ok"} == {1: 1, 2: 2}
