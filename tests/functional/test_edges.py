"""What no command line may do: overwrite its input, print an infinity, run for ever, leave a traceback."""

import shutil
from pathlib import Path

import pytest

from scalecurve.cli.main import run
from scalecurve.document import spreadsheet_safe

STRONG = Path(__file__).parents[2] / "examples" / "reference" / "strong.csv"


def test_an_output_never_replaces_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(STRONG, "in.csv")
    before = Path("in.csv").read_bytes()
    Path("link.csv").symlink_to("in.csv")
    for name in ("in.csv", "./in.csv", "link.csv"):
        assert run(["table", "in.csv", "--regime", "strong", "--csv", "-o", name]) == 2
        assert "would replace its own input" in capsys.readouterr().err
    assert Path("in.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cost --law amdahl --serial 5% --workers 256,512 --price 1e308", "not a finite number"),
        ("latency replicas --rate 1e12 --service 10ms --slo 50ms", "check the units"),
        ("law logcomm --comm 1e-320 --serial 0.1", "too large or too small"),
        ("collective cost --bytes 1e308 --ranks 8..64 --network nvlink+ib400", "too large or too small"),
        (f"table {STRONG} --regime strong -o /dev/full", "No space left"),
        (f"table {STRONG} --regime strong -o .", "-o names no file"),
        (f"table {STRONG} --regime strong -o /", "Is a directory"),
    ],
)
def test_extremes_are_refused_with_a_sentence(line: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 2
    assert words in capsys.readouterr().err


def test_no_cell_of_a_csv_is_a_formula() -> None:
    assert [spreadsheet_safe(cell) for cell in ("=1+1", "@x", "-2", 2.5, "plain")] == [
        "'=1+1",
        "'@x",
        "'-2",
        2.5,
        "plain",
    ]
