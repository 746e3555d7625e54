"""The report word for word: its text as Markdown and LaTeX, and every word and number its plots carry.

`SCALECURVE_UPDATE_GOLDEN=1 pytest tests/golden` rewrites the files; read the diff.
"""

import os
import re
from pathlib import Path

import pytest

from scalecurve import api
from scalecurve.render.report import Material, write

FILES = Path(__file__).parent / "files"
EXAMPLES = Path(__file__).parents[2] / "examples"


def material(regime: str) -> Material:
    study = api.load(EXAMPLES / "reference" / f"{regime}.csv", regime=regime)
    return Material(study=study, table=api.tabulate(study), command="scalecurve report study.json", made="scalecurve")


def compare(name: str, seen: str) -> None:
    path = FILES / name
    if os.environ.get("SCALECURVE_UPDATE_GOLDEN"):
        path.write_text(seen)
    assert path.read_text() == seen


@pytest.mark.parametrize("kind", ["md", "tex"])
@pytest.mark.parametrize("regime", ["strong", "weak"])
def test_the_text(regime: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"report.{kind}"
    write(path, [material(regime)])
    compare(f"report-{regime}.{kind}", path.read_text())


@pytest.mark.parametrize("regime", ["strong", "weak"])
def test_what_the_plot_says(regime: str, tmp_path: Path) -> None:
    """Words and the points of the measured line, rounded to whole pixels so that fonts do not decide."""
    path = tmp_path / "report.svg"
    write(path, [material(regime)])
    drawn = path.read_text()
    words = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    lines = re.findall(r'id="line2d_\d+">\s*<path d="([^"]+)"', drawn)
    points = [" ".join(str(round(float(number))) for number in re.findall(r"-?\d+\.?\d*", line)) for line in lines]
    compare(f"report-{regime}-plot.txt", "\n".join([*words, *points]) + "\n")
