"""Gates and audits by another route: the promised rate of false alarms, and rules on claims made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from scalecurve.auditing.audit import audit
from scalecurve.auditing.gate import check
from scalecurve.auditing.history import append_entry, history
from scalecurve.study import Regime, Run, Study


def test_floors_share_the_false_alarm() -> None:
    """E(2) lies 2.6 standard errors below its floor: beyond 2.33, the 1 % point, but not beyond 2.88, that of 1 %/5."""
    spread = 0.02 * np.tile([-1.0, 1.0], 200) * np.sqrt(399 / 400)  # a standard deviation of 2 %, 400 runs
    samples = {k: (10.0 / k * (1 + spread)).tolist() for k in (1, 2, 4, 8, 16, 32)}
    study = Study.from_samples(samples, regime="strong")
    floor = 1.0 + 2.6 * 0.02 * np.sqrt(2 / 400)  # E is a ratio of two means
    easy = dict.fromkeys((4, 8, 16, 32), 0.5)

    assert not check(study, min_efficiency={2: floor}).passed
    assert check(study, min_efficiency={2: floor, **easy}).passed
    assert not check(study, min_efficiency={2: floor + 0.0006, **easy}).passed  # 3.0 standard errors


def test_a_weak_job_may_answer_otherwise_at_another_k_but_not_at_the_same() -> None:
    def told(regime: str, answers: list[tuple[int, float]]) -> str:
        runs = tuple(Run(k=k, value=1.0, digest=answer, repeat=i) for i, (k, answer) in enumerate(answers))
        return json.dumps(audit(Study(regime=Regime(regime), runs=runs)).to_dict())

    grows, torn = [(1, 5.0), (1, 5.0), (4, 20.0), (4, 20.0)], [(1, 5.0), (1, 5.0), (4, 20.0), (4, 21.0)]
    assert "answer-changed" not in told("weak", grows)
    assert "answer-changed" in told("weak", torn)
    assert "answer-changed" in told("strong", grows)
    assert "answer-changed" not in told("strong", [(1, 5.0), (4, 5.0 * (1 + 1e-12))])


def test_a_noisy_k_is_judged_by_its_own_noise() -> None:
    """K = 8 varies by 10 %, the others by 0.5 %: 12 % are 1.9 standard errors there, but 3.8 by the pooled noise."""

    def study(factor: float) -> Study:
        pattern = np.array([-1.2649, -0.6325, 0.0, 0.6325, 1.2649])  # five runs, a standard deviation of 1
        spread = {1: 0.005, 2: 0.005, 4: 0.005, 8: 0.1}
        times = {k: 10 / k * np.exp(sigma * pattern) * (factor if k == 8 else 1.0) for k, sigma in spread.items()}
        return Study.from_samples({k: list(values) for k, values in times.items()}, regime="strong")

    old = study(1.0)
    assert check(study(1.12), against=old).passed
    assert not check(study(1.5), against=old).passed  # 6.4 standard errors


def test_a_history_tells_the_largest_shift_of_a_single_k(tmp_path: Path) -> None:
    """Thirty sessions in which K = 8 alone moves by 5 % (standard deviation) beside a noise of 0.2 %."""
    rng, path = np.random.default_rng(3), tmp_path / "checks.jsonl"
    for _ in range(30):
        moved = np.exp(0.05 * rng.standard_normal())
        samples = {
            k: (10 / k * (moved if k == 8 else 1.0) * np.exp(0.002 * rng.standard_normal(5))).tolist()
            for k in (1, 2, 4, 8)
        }
        append_entry(Study.from_samples(samples, regime="strong"), path, passed=True, line="", drift=False)

    assert history(path).own_shift == pytest.approx(0.05, rel=0.35)


@pytest.mark.parametrize(("first", "second", "odd"), [(1.3, 2.5, True), (8.0, 15.0, False), (1.0, 1.9, False)])
def test_the_speedup_of_the_first_k_is_1_or_near_k(first: float, second: float, odd: bool) -> None:
    """A table from K = 8 on is relative to K = 8 or to one worker; 1.3 that then doubles is neither."""
    points = [{"k": 8, "speedup": first}, {"k": 16, "speedup": second}]
    told = json.dumps(audit({"points": points, "regime": "strong"}).to_dict())

    assert ("baseline-speedup-odd" in told) is odd
