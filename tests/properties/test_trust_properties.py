"""What must always hold of diagnoses, gates and audits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.simulated_studies import draw_truth, simulate
from scalecurve.auditing import Claim, ClaimPoint
from scalecurve.auditing.audit import audit
from scalecurve.auditing.gate import check
from scalecurve.diagnosis import diagnose
from scalecurve.diagnosis.regimes import classify_regime
from scalecurve.fitting.fit import fit
from scalecurve.study import Study

WORKERS = (1, 2, 4, 8)
causes = st.sets(st.sampled_from(["communication", "straggler", "imbalance", "contention", "serial"]), max_size=2)


@settings(max_examples=25, deadline=None)
@given(causes=causes, seed=st.integers(0, 10_000))
def test_shares_of_worker_time_and_of_the_loss_add_up(causes: set[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    study = simulate(draw_truth(tuple(sorted(causes)), rng), rng, workers=WORKERS, repeats=3)

    for row in diagnose(study).by_k:
        assert sum(own[0] for own in row.worker_time.values()) == pytest.approx(1.0)
        assert min(own[1] for own in row.worker_time.values()) >= 0.0
        assert sum(row.shares.values()) == pytest.approx(1.0)


@settings(max_examples=15, deadline=None)
@given(
    serial=st.floats(0.01, 0.15), comm=st.sampled_from((0.0, 0.005, 0.02)), last=st.sampled_from((16, 32, 64)),
    seed=st.integers(0, 10_000),
)  # fmt: skip
def test_the_causes_of_a_law_that_explains_the_curve_are_among_those_of_the_diagnosis(
    serial: float, comm: float, last: int, seed: int
) -> None:
    """`fit` and `diagnose` do not contradict each other."""
    rng = np.random.default_rng(seed)
    workers = [2**i for i in range(int(np.log2(last)) + 1)]
    times = {k: 100 * (serial + (1 - serial) / k + comm * np.log2(k)) * rng.normal(1, 0.01, 4) for k in workers}
    study = _study(times, 1.0)
    fits, found = fit(study), diagnose(study)
    if len(fits.tied) == 1 and fits.best.name in ("amdahl", "logcomm"):
        sizes = {name: fits.best.parameters[name].value for name in fits.best.parameters if name in ("serial", "comm")}
        lost = {
            "serial": sizes.get("serial", 0.0) * (1 - 1 / last),
            "communication": sizes.get("comm", 0.0) * np.log2(last),
        }
        assert max(lost, key=lambda name: lost[name]) in found.candidates


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), factor=st.floats(1e-6, 1e6))
def test_the_gate_does_not_see_the_unit_of_time(seed: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    new, old = ({k: rng.lognormal(0, 0.1, 4) / k for k in WORKERS} for _ in range(2))

    one, other = (check(_study(new, f), against=_study(old, f)) for f in (1.0, factor))

    assert [row.passed for row in one.regressions] == [row.passed for row in other.regressions]
    np.testing.assert_allclose([r.loss for r in one.regressions], [r.loss for r in other.regressions], atol=1e-9)


def _study(samples: dict[int, np.ndarray], factor: float) -> Study:
    return Study.from_samples({k: (factor * v).tolist() for k, v in samples.items()}, regime="strong", name="job")


points = st.lists(
    st.builds(
        ClaimPoint,
        k=st.integers(1, 4096),
        seconds=st.none() | st.floats(1e-3, 1e6),
        speedup=st.none() | st.floats(1e-2, 1e5),
        efficiency=st.none() | st.floats(1e-3, 10),
        std=st.none() | st.floats(0, 10),
        n=st.none() | st.integers(1, 50),
        batch=st.none() | st.floats(1, 1e6),
    ),
    max_size=6,
    unique_by=lambda point: point.k,
)


@settings(max_examples=100, deadline=None)
@given(points=points, regime=st.none() | st.sampled_from(["strong", "weak"]))
def test_any_claim_gets_a_verdict_and_six_rows(points: list[ClaimPoint], regime: str | None) -> None:
    found = audit(Claim(name="any", regime=regime, points=tuple(points)))

    assert len(found.checklist) == 6
    assert found.verdict in ("sound", "warnings", "not publishable")
    assert str(found)


@given(base=st.floats(1, 1e9), workers=st.sets(st.integers(1, 1000), min_size=2, max_size=6))
def test_fixed_work_is_strong_and_proportional_work_is_weak(base: float, workers: set[int]) -> None:
    assert classify_regime(work=dict.fromkeys(workers, base)).regime == "strong"
    assert classify_regime(work={k: base * k for k in workers}).regime == "weak"
