"""What was said of a study when it was loaded is said again by every verb that uses it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc
from scalecurve.cli.main import run
from scalecurve.diagnosis.regimes import classify_regime
from scalecurve.findings import carried, info

TABLE = "threads,work,time (s),status\n" + "".join(
    f"{k},1000,{t},{status}\n"
    for k, t in ((1, 120), (2, 62.5), (4, 34), (8, 20.5))
    for t, status in ((t, "ok"), (t * 1.01, "ok"), (t * 0.99, "ok"), (9 * t, "failed"))
)

VERBS: dict[str, Callable[[Path], Any]] = {
    "tabulate": lambda path: sc.tabulate(path, regime="strong"),
    "fit": lambda path: sc.fit(path, regime="strong"),
    "forecast": lambda path: sc.forecast(path, regime="strong"),
    "diagnose": lambda path: sc.diagnose(path, regime="strong"),
    "next_runs": lambda path: sc.next_runs(path, regime="strong"),
    "compare": lambda path: sc.compare(sc.load(path, regime="strong"), sc.load(path, regime="strong")),
    "check": lambda path: sc.check(sc.load(path, regime="strong"), against=sc.load(path, regime="strong")),
    "cost": lambda path: sc.cost(sc.load(path, regime="strong"), price=2.0),
    "audit": lambda path: sc.audit(path),
    "regime": lambda path: classify_regime(path, called="strong"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_rows_left_out_are_said_by_every_verb(tmp_path: Path, verb: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(TABLE)

    said = [finding.message for finding in VERBS[verb](path).findings if finding.code == "rows-left-out"]

    assert said == ["4 of 16 rows were left out: status is failed"]


def test_an_export_says_beside_the_file_what_the_file_cannot_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(TABLE)

    assert run(["export", str(path), "--regime", "strong", "--to", "csv"]) == 0

    printed = capsys.readouterr()
    assert "rows-left-out" in printed.err
    assert "rows-left-out" not in printed.out


def test_what_one_of_two_studies_says_gets_its_name() -> None:
    both, one = info("a", "both"), info("b", "only one")
    first = sc.Study.from_samples({1: [1.0]}, regime="strong", name="old", findings=(both, one))
    second = sc.Study.from_samples({1: [1.0]}, regime="strong", name="new", findings=(both,))

    assert [finding.message for finding in carried(first, second, own=(both,))] == ["both", "old: only one"]
