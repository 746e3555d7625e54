"""docs/guide/adding-a-law.md, followed literally in a copy of the tree: its files, its rows, its test, its page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guide" / "adding-a-law.md").read_text()
BLOCK = re.compile(r'^ *```(?:python|toml) title="(.+?)"\n(.*?)^ *```', re.MULTILINE | re.DOTALL)
PAGE = """
from tools import generate_docs as docs
print(docs.law_page(docs.every_law()[-1]))
"""
STUDY = "K,seconds\n" + "".join(f"{k},{max(100 / k, 10) * (1 + 0.01 * (k % 3))}\n" for k in (1, 2, 4, 8, 16, 32))


def test_the_guide_makes_a_law_with_its_test_and_its_page(tmp_path: Path) -> None:
    for name in ("src", "tools", "bench"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for title, text in BLOCK.findall(GUIDE):
        follow(title, textwrap.dedent(text), tmp_path)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path / 'src'}{os.pathsep}{tmp_path}"}

    def python(*words: str) -> str:
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "1 passed" in python("-m", "pytest", "-p", "no:cacheprovider", "tests/unit/laws/test_device.py")
    page = python("-c", PAGE)
    assert "# A shared device: how far does a job get" in page
    assert "\n**Limits.** the best case" in page
    assert "16  0.1000  10.0000  0.6250" in page
    (tmp_path / "runs.csv").write_text(STUDY)
    commands = re.findall(r"^ *\$ scalecurve (.+)$", GUIDE, re.MULTILINE)
    printed = [python("-m", "scalecurve", *command.split()) for command in commands]
    assert len(printed) == 4
    assert "demand" in printed[-1]
    assert re.search(r"device .* 0\.10\d+", printed[-1])


def follow(title: str, text: str, tree: Path) -> None:
    """Write a file of the guide, or put a section at the end of the file that the title names."""
    file = tree / title.removeprefix("a section of ")
    before = f"{file.read_text()}\n" if title.startswith("a section of ") else ""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(before + text)
