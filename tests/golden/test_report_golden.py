"""The report word for word, as `scalecurve report` writes it: its text, and every word and number of its main plot.

`SCALECURVE_UPDATE_GOLDEN=1 pytest tests/golden` rewrites the files; read the diff.
"""

import os
import re
from pathlib import Path

import pytest

from scalecurve.cli.main import run

FILES = Path(__file__).parent / "files"
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report names the file it was made from: the same name on every machine."""
    monkeypatch.chdir(ROOT)


def report(path: Path, regime: str) -> str:
    """The text of a report with fits, forecast, diagnosis, audit and cost."""
    command = ["report", f"examples/reference/{regime}.csv", "--regime", regime, "--price", "2.50", "-o", str(path)]
    assert run([*command, "-q"]) == 0
    return re.sub(r"Written by scalecurve [^\n]*", "Written by scalecurve VERSION.", path.read_text())


def compare(name: str, text: str) -> None:
    path = FILES / name
    if os.environ.get("SCALECURVE_UPDATE_GOLDEN"):
        path.write_text(text)
    assert path.read_text() == text


@pytest.mark.parametrize("kind", ["md", "tex"])
@pytest.mark.parametrize("regime", ["strong", "weak"])
def test_the_text(regime: str, kind: str, tmp_path: Path) -> None:
    compare(f"report-{regime}.{kind}", report(tmp_path / f"report.{kind}", regime))


def test_the_golden_report_has_every_part() -> None:
    text = (FILES / "report-strong.md").read_text()
    for words in (
        "Use up to 4 GPUs: efficiency is 83 % there and 67 % at 8 (threshold 70 %).",
        "Next: record each worker",
        "## Laws fitted to the data",
        "## Forecast beyond the data",
        "## What it costs",
        "## The checklist",
    ):
        assert words in text
    assert "Refused" not in text


@pytest.mark.parametrize("regime", ["strong", "weak"])
def test_what_the_plot_says(regime: str, tmp_path: Path) -> None:
    """Words and the points of the lines, rounded to whole pixels so that fonts do not decide."""
    drawing = report(tmp_path / "report.svg", regime)
    words = re.findall(r"<text[^>]*>([^<]*)</text>", drawing)
    lines = re.findall(r'id="line2d_\d+">\s*<path d="([^"]+)"', drawing)
    points = [" ".join(str(round(float(number))) for number in re.findall(r"-?\d+\.?\d*", line)) for line in lines]
    compare(f"report-{regime}-plot.txt", "\n".join([*words, *points]) + "\n")
