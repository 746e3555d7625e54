"""docs/guide/adding-a-reader.md, followed literally: its files are written, its entry point is installed, it is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.errors import InputError
from scalecurve.formats.detection import GROUP

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guide" / "adding-a-reader.md").read_text()


def follow(folder: Path) -> None:
    """The files of the guide, and what pip would write for its entry point."""
    files = re.findall(r'^```\w+ title="(\S+)"\n(.*?)^```', GUIDE, re.MULTILINE | re.DOTALL)
    assert {name for name, _ in files} == {"run.stopwatch", "stopwatch_reader.py"}
    for name, text in files:
        (folder / name).write_text(text)
    (entry,) = re.findall(rf'^\[project.entry-points."{GROUP}"\]\n(.+)$', GUIDE, re.MULTILINE)
    information = folder / "stopwatch_reader-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: stopwatch-reader\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[{GROUP}]\n{entry.replace(chr(34), '')}\n")


def test_a_reader_of_another_package_reads_its_file(tmp_path: Path) -> None:
    follow(tmp_path)
    (line,) = re.findall(r"^\$ scalecurve (import .*)$", GUIDE, re.MULTILINE)
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{tmp_path}"}
    command = [sys.executable, "-m", "scalecurve", *line.split()]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "stopwatch: 2 runs each, K from `threads`" in done.stdout


def test_a_broken_entry_point_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    follow(tmp_path)
    (tmp_path / "stopwatch_reader.py").write_text("raise RuntimeError('broken')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"entry point stopwatch.*broken"):
        sc.load(tmp_path / "run.stopwatch", regime="strong")
