"""A real sweep beside a process that burns a core: its rows are marked, its exit code says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.study.file import read_study

pytestmark = pytest.mark.engine("local")

JOB = "import sys; sum(i * i for i in range(12_000_000 // int(sys.argv[1])))"


def test_a_sweep_beside_a_process_that_burns_a_core(tmp_path: Path) -> None:
    out = tmp_path / "s.json"
    words = ["--regime", "strong", "--workers", "1", "--repeats", "3", "--warmup-launches", "0", "-o", str(out)]
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as burner:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "scalecurve", "measure", *words, "--", sys.executable, "-c", JOB, "{workers}"],
                capture_output=True, text=True, timeout=120,
            )  # fmt: skip
        finally:
            burner.kill()
    study = read_study(out)

    assert done.returncode == 1, done.stderr
    assert "disturbed" in {finding.code for finding in study.findings}
    assert all(run.observed["disturbed"] for run in study.runs)
    assert sc.tabulate(study).rows[0].disturbed
    assert "disturbed" in str(sc.tabulate(study))
