"""Regimes from amounts of work."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalecurve.diagnosis.regimes import classify_regime
from scalecurve.errors import InputError
from scalecurve.study import Regime, Run, Study, Workload


@pytest.mark.parametrize(
    ("name", "work", "regime"),
    [
        ("fixed validation set of 50,000 images", {4: 5e4, 16: 5e4, 64: 5e4}, "strong"),
        ("pretraining, batch and tokens grow", {8: 8 * 4e6, 64: 64 * 4e6, 512: 512 * 4e6}, "weak"),
        ("a billion Monte Carlo samples divided", {1: 1e9, 10: 1e9, 100: 1e9}, "strong"),
        ("weather model, cells per node constant", {2: 2e6, 8: 8e6, 32: 32e6}, "weak"),
        ("batch fixed to 8, then growing", {1: 1024, 8: 1024, 64: 8192}, "mixed"),
        ("batch grows with the square root", {1: 100, 4: 200, 16: 400}, "neither"),
    ],
)
def test_scenarios(name: str, work: dict[int, float], regime: str) -> None:
    result = classify_regime(work=work, name=name)

    assert result.regime == regime
    assert result.answers["held constant"]


def test_calling_a_fixed_job_weak_makes_a_slow_result_look_like_a_success() -> None:
    times = {4: 100.0, 16: 98.0, 64: 97.0}

    result = classify_regime(work=dict.fromkeys(times, 5e4), called="weak", times=times)

    last = result.both_efficiencies[-1]
    assert last["weak"] > 1.0
    assert last["strong"] < 0.07
    assert "looks like a success" in result.findings[0].message


def test_a_study_that_counts_its_work() -> None:
    runs = tuple(Run(k=k, value=1.0, work=100.0 * k) for k in (1, 2, 4))

    result = classify_regime(Study(regime=Regime.STRONG, runs=runs))

    assert result.regime == "weak"
    assert result.findings[0].code == "regime-mislabelled"


def test_a_study_that_declares_its_work() -> None:
    study = Study.from_samples({1: [1.0], 2: [0.6]}, regime="strong", workload=Workload(total=50.0))

    assert classify_regime(study).regime == "strong"
    with pytest.raises(InputError, match="how much work"):
        classify_regime(Study.from_samples({1: [1.0], 2: [0.6]}, regime="strong"))


def test_faults_of_a_sentence() -> None:
    with pytest.raises(InputError, match="worker counts and the work"):
        classify_regime(workers=(1, 2))
    with pytest.raises(InputError, match="one number of work for each K"):
        classify_regime(workers=(1, 2, 4), total=(1.0, 2.0))
    with pytest.raises(InputError, match="positive"):
        classify_regime(workers=(1, 2), total=(0.0,))
    with pytest.raises(InputError, match="give one time for each K"):
        classify_regime(workers=(1, 2), total=5.0, times=(1.0,))


def test_worker_counts_as_text_and_one_number_for_all() -> None:
    verdict = classify_regime(workers="4..64", per_worker=128, called="weak", name="pretraining")

    assert [row.total for row in verdict.rows] == [128 * k for k in (4, 8, 16, 32, 64)]
    assert verdict.findings == ()
    assert repr(verdict) == "Weak scaling: the work per worker stays 128 from K = 4 to 64."


@pytest.mark.parametrize(
    ("text", "regime"),
    [
        ("k,seconds,work\n1,10,100\n2,5.5,100\n4,3,100\n", "strong"),
        ("gpus,time (s),batch\n1,100,32\n2,105,64\n4,110,128\n", "weak"),
        ("k,time (s),batch\n1,10,32\n2,6,32\n4,7,64\n", "mixed"),
    ],
)
def test_a_table_with_its_work_need_not_say_its_regime(text: str, regime: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)

    result = classify_regime(path)

    assert (result.regime, result.declared, result.findings) == (regime, None, ())
    assert result.times[1] in (10, 100)
    if regime == "strong":
        assert {finding.code for finding in classify_regime(path, called="weak").findings}


def test_a_table_without_work_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("k,seconds\n1,10\n2,6\n")

    with pytest.raises(InputError, match="how much work each K did"):
        classify_regime(path)
