"""An audit tells each fact once."""

from __future__ import annotations

from pathlib import Path

from scalecurve.auditing.audit import audit
from scalecurve.auditing.claim import Claim
from scalecurve.study import Study


def test_a_fact_stands_in_its_row_or_in_a_finding_but_not_in_both() -> None:
    result = audit(Claim(workers=256, speedup=180, statement="near-linear"))

    in_rows = {code for row in result.checklist for code in row.rules}
    in_findings = {finding.code for finding in result.findings}
    assert in_rows == {finding.code for finding in result.violations}
    assert not in_rows & in_findings
    assert in_findings == {"words-overstate", "single-point", "hardware-unknown", "standing"}
    assert str(result).count("baseline program and time not stated") == 1


def test_one_question_for_each_row_that_is_not_fulfilled() -> None:
    result = audit(Claim(workers=256, speedup=180))

    assert len(result.questions) == sum(row.status != "ok" for row in result.checklist) == 6
    assert repr(result) == "Do not rely on it: nobody can check it. E = 0.70 at K = 256."


def test_a_path_is_read(tmp_path: Path) -> None:
    path = tmp_path / "claim.toml"
    path.write_text("workers = 8\nspeedup = 7\n")

    assert audit(path).claim.points[0].k == 8


def test_the_regime_of_a_study_is_its_own() -> None:
    result = audit(Study.from_samples({1: [1.0, 1.1], 2: [0.6, 0.62]}, regime="strong", name="job"))

    assert {row.item: row.status for row in result.checklist}["regime stated"] == "ok"
    assert result.to_dict()["kind"] == "study"
