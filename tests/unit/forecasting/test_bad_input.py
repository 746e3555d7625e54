"""Data nobody should extrapolate: a wide honest answer or a refusal with the reason, never nonsense."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalecurve as sc
from scalecurve.fitting.fit import fit
from scalecurve.forecasting.forecast import forecast

RNG = np.random.default_rng(3)
NOISE = {k: np.abs(1 / k * (1 + RNG.standard_normal(4))).tolist() for k in (1, 2, 4, 8, 16)}
HARD: dict[str, dict[int, list[float]]] = {
    "two K only": {1: [10.0], 2: [6.0]},
    "all equal in time": {1: [5.0], 2: [5.0], 4: [5.0], 8: [5.0]},
    "a single sample each": {1: [10.0], 2: [5.2], 4: [2.9], 8: [1.7], 16: [1.2]},
    "gaps of 1000x": {1: [1000.0], 1000: [1.5], 1_000_000: [0.01]},
    "twelve decades": {1: [1e6], 2: [1e3], 4: [1.0], 8: [1e-3], 16: [1e-6]},
    "rises then falls": {1: [1.0], 2: [2.0], 4: [3.0], 8: [1.5], 16: [0.7]},
    "noise of 100 %": NOISE,
    "worse from the start": {1: [1.0], 2: [4.0], 4: [9.0], 8: [30.0]},
    "superlinear": {1: [100.0], 2: [30.0], 4: [8.0], 8: [2.0]},
    "one outlier of 1e9": {1: [10.0], 2: [5e9], 4: [2.5], 8: [1.3]},
    "smallest numbers": {1: [9e-99], 2: [6e-99], 4: [4e-99]},
    "largest numbers": {1: [9e98], 2: [6e98], 4: [4e98]},
    "neighbouring K": {999_999: [1.0], 1_000_000: [1.0]},
}


def _sound(result: object) -> None:
    for row in result:  # type: ignore[attr-defined]
        if row.refused:
            assert row.value is None
            continue
        assert all(math.isfinite(x) for x in (row.low, row.high))
        assert 0 < row.low <= row.high
        if row.value is None:
            assert "interval-only" in [finding.code for finding in row.findings]
            continue
        assert all(math.isfinite(x) for x in (row.value, row.efficiency, row.speedup))
        assert row.low <= row.value <= row.high


@pytest.mark.parametrize(
    ("quantity", "regime"), [("seconds", "strong"), ("throughput", "weak"), ("throughput_per_worker", "strong")]
)
@pytest.mark.parametrize("name", HARD)
def test_hard_curves_get_a_sound_answer(name: str, quantity: str, regime: str) -> None:
    study = sc.Study.from_samples(HARD[name], regime=regime, quantity=quantity)
    largest = max(HARD[name])
    at = [k for k in (1, largest, 2 * largest, 4 * largest, 16 * largest, 100 * largest) if k <= 10**9]

    for kind in (None, "strong", "weak", "collective"):
        result = forecast(study, at=at, extrapolate=True, kind=kind)
        _sound(result)
        assert str(result)
    _sound(forecast(study, at=at))
    fits = fit(study)
    loose = {law for finding in fits.findings if finding.code == "not-identified" for law in finding.evidence["laws"]}
    for own in fits:
        for estimate in own.parameters.values():
            assert own.name in loose or estimate.low <= estimate.value <= estimate.high
            assert estimate.value >= 0
    assert str(fits)


def test_noise_gives_a_wide_answer_and_says_why() -> None:
    study = sc.Study.from_samples(NOISE, regime="strong")
    result = forecast(study, at=[64], extrapolate=True)

    assert result[0].high / result[0].low > 3
    assert "noisy-curve" in [finding.code for finding in result.findings]


def test_two_points_give_a_wide_answer_and_say_why() -> None:
    result = forecast(sc.Study.from_samples({1: [10.0], 2: [6.0]}, regime="strong"), at=[8])

    assert result[0].value is None
    assert result[0].efficiency is None
    assert result[0].high / result[0].low > 2
    assert {"few-points", "no-repeats", "interval-only"} <= {finding.code for finding in result.findings}
    assert "interval only" in str(result)


def test_a_curve_that_jumps_up_and_down_gets_an_interval_alone() -> None:
    study = sc.Study.from_samples({1: [10.0], 2: [1.0], 4: [9.0], 8: [0.2]}, regime="strong")

    row = forecast(study, at=[64], extrapolate=True)[0]

    assert row.value is None
    assert row.high / row.low > 10
    assert "measure a K in between" in row.findings[0].remedy


def test_an_interval_that_decides_nothing_is_refused_with_the_k_that_can_be_answered() -> None:
    study = sc.Study.from_samples({1: [10.0], 2: [1.0], 4: [9.0], 8: [0.2]}, regime="strong")

    row = forecast(study, at=[64])[0]

    assert row.refused
    assert "within a factor of" in row.findings[0].message


def test_one_worker_count_is_refused_with_the_way_out() -> None:
    with pytest.raises(sc.InputError, match="measure at least two"):
        forecast(sc.Study.from_samples({4: [1.0, 1.1]}, regime="strong"), at=[8])


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.integers(1, 10**6), st.floats(1e-9, 1e9), min_size=2, max_size=12),
    st.sampled_from(["strong", "weak"]),
    st.sampled_from(["seconds", "throughput"]),
)
def test_any_positive_curve_gets_a_sound_answer(curve: dict[int, float], regime: str, quantity: str) -> None:
    study = sc.Study.from_samples({k: [v] for k, v in curve.items()}, regime=regime, quantity=quantity)
    largest = max(curve)

    _sound(forecast(study, at=[largest, 2 * largest, 8 * largest]))
