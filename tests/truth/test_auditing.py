"""Gates and audits by another route: the promised rate of false alarms, and rules on claims made by hand."""

from __future__ import annotations

import json

import numpy as np

from scalecurve.auditing.audit import audit
from scalecurve.auditing.gate import check
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
