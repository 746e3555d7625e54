"""Claims with known verdicts: every rule is triggered by one and left alone by another."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from scalecurve.auditing.audit import RULES, Audit, audit
from scalecurve.auditing.claim import Claim, load_claim
from scalecurve.findings import error
from scalecurve.study import Provenance, Regime, Run, Study, Treatment, Workload

FILE = tomllib.loads((Path(__file__).parent / "claims.toml").read_text())
CASES: dict[str, dict[str, Any]] = {case["id"]: case for case in FILE["cases"]}


def audited(case: dict[str, Any]) -> Audit:
    start = dict(FILE["sound"]) if case.get("like") == "sound" else {}
    data = {**start, **case.get("claim", {})}
    for name in case.get("drop", ()):
        del data[name]
    return audit(Claim.model_validate(data))


def codes(result: Audit) -> set[str]:
    return {finding.code for finding in (*result.findings, *result.violations)}


def test_there_are_enough_of_them() -> None:
    assert len(CASES) == len(FILE["cases"]) >= 40
    assert sum("source" in case for case in CASES.values()) >= 8


@pytest.mark.parametrize("name", CASES)
def test_known_verdict(name: str) -> None:
    case = CASES[name]

    found = audited(case)

    assert set(case.get("says", ())) <= codes(found)
    assert not set(case.get("silent", ())) & codes(found)
    assert found.verdict == case["verdict"]
    assert case.get("first") in (None, found.findings[0].code if found.findings else None)
    assert len(found.checklist) == 6


FROM_STUDIES_ONLY = {"oversubscribed", "answer-changed"}


@pytest.mark.parametrize("code", sorted({rule.code for rule in RULES} - FROM_STUDIES_ONLY))
def test_every_rule_is_triggered_by_one_claim_and_not_by_another(code: str) -> None:
    assert any(code in case.get("says", ()) for case in CASES.values())
    assert any(code not in codes(audited(case)) for case in CASES.values())


def study(**more: Any) -> Study:
    over, digests = more.pop("over", False), more.pop("digests", (1.0, 1.0))
    runs = tuple(
        Run(
            k=k,
            value=8.0 / k * (1 + 0.01 * i),
            repeat=i,
            work=100.0,
            digest=digests[k > 1],
            oversubscribed=over and k > 1,
        )
        for k in (1, 2, 4)
        for i in range(6)
    )
    settings = {"warmup": Treatment.EXCLUDED, "setup": Treatment.EXCLUDED} | more
    job = Workload(name="job", command=("./job",), total=100.0)
    return Study(regime=Regime.STRONG, runs=runs, workload=job, **settings)


def test_rules_that_only_a_study_can_show() -> None:
    assert "oversubscribed" in codes(audit(study(over=True)))
    assert "answer-changed" in codes(audit(study(digests=(1.0, 2.0))))
    assert not FROM_STUDIES_ONLY & codes(audit(study()))


def test_rules_are_documented_and_unique() -> None:
    names = [rule.code for rule in RULES]

    assert len(set(names)) == len(names)
    for rule in RULES:
        assert rule.why.endswith(".")
        assert rule.remedy
        assert rule.source
        assert (rule.item is None) == (rule.effect is None)


EXAMPLES = Path(__file__).parents[2] / "examples"
NO_CLAIMS = {
    EXAMPLES / "course" / name for name in ("answers.csv", "regime_switch.csv")
}  # the second is wrong on purpose


@pytest.mark.parametrize(
    "path",
    sorted(set(EXAMPLES.rglob("*.csv")) - set(EXAMPLES.rglob("grids/*")) - NO_CLAIMS)
    + sorted(EXAMPLES.rglob("study*.json")),
    ids=lambda path: str(path.relative_to(EXAMPLES)),
)
def test_no_false_violation_on_the_examples(path: Path) -> None:
    found = audit(load_claim(path, regime="weak" if "weak" in path.name else "strong"))

    assert "violated" not in {row.status for row in found.checklist}
    assert not [finding for finding in found.findings if finding.severity == "error"]


def test_a_measured_study_is_judged_by_what_measuring_found() -> None:
    measured = Provenance(tool="scalecurve measure")
    broken = error("answer-differs", "broken: the answer was 1 at K = 1 and 2 at K = 2")

    allowed = audit(study(digests=(1.0, 1.001), provenance=measured))
    found = audit(study(provenance=measured).with_findings([broken]))

    assert "violated" not in {row.status for row in allowed.checklist}
    assert found.verdict == "not publishable"
    assert [row.item for row in found.checklist if row.status == "violated"] == ["fixed workload at all K"]


def test_the_answer_of_a_weak_job_may_grow() -> None:
    runs = tuple(Run(k=k, value=1.0 + 0.01 * i, digest=float(k)) for k in (1, 2) for i in range(5))

    assert "answer-changed" not in codes(audit(Study(regime=Regime.WEAK, runs=runs)))
