"""A user's type checker sees the public names and keywords as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import scalecurve as sc

study = sc.load("runs.csv", regime="strong")
sc.tabulate(study, treshold=0.7)
sc.tabluate(study)
print(sc.__version__.upper(), sc.mechanisms, sc.tabulate(study, threshold=0.7).bend)
"""


def test_a_type_checker_finds_a_misspelt_keyword(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    script = tmp_path / "user.py"
    script.write_text(SCRIPT)
    mypy = [sys.executable, "-m", "mypy", "--config-file=", "--follow-imports=silent", "--ignore-missing-imports"]

    done = subprocess.run(
        [*mypy, "--cache-dir", str(tmp_path / "cache"), str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={"MYPYPATH": str(ROOT / "src"), "PATH": "", "HOME": str(tmp_path)},
    )

    assert 'Unexpected keyword argument "treshold" for "tabulate"' in done.stdout
    assert 'Module has no attribute "tabluate"' in done.stdout
    assert "Found 2 errors" in done.stdout
