"""The LaTeX of a report compiles as it is, and no figure or table runs over the edge of the page."""

import subprocess
from pathlib import Path

import pytest

import scalecurve as sc

ROOT = Path(__file__).parents[2]


@pytest.mark.engine("latex")
@pytest.mark.parametrize("study", ["examples/hosts/study.json", "examples/mpi/study.json"])
def test_a_report_compiles(study: str, tmp_path: Path) -> None:
    sc.write_report(ROOT / study, tmp_path / "report.tex", price=2.5)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
