"""The one conversion to time and efficiency; ratio intervals (a short form of bench/coverage.py, on fixed seeds)."""

import numpy as np
import pytest

from bench.coverage import coverage
from scalecurve.analysis.curve import Conversion, LogRatio, conversion_of, curve_of, times_by_k
from scalecurve.study import Quantity, Regime, Study

TRIALS = 3000
SLACK = 0.012  # three standard errors of a share near 0.95 over 3,000 trials


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("noise", [0.02, 0.20])
def test_equal_noise_covers_93_to_97_percent(n: int, noise: float) -> None:
    share = coverage(n, noise, noise, trials=TRIALS, rng=np.random.default_rng(n))

    assert 0.93 - SLACK <= share <= 0.97 + SLACK


@pytest.mark.parametrize("n", [3, 5, 10])
def test_noise_five_times_larger_at_k_covers_at_least_92_percent(n: int) -> None:
    share = coverage(n, 0.04, 0.20, trials=TRIALS, rng=np.random.default_rng(n))

    assert share >= 0.92 - SLACK


def test_an_interval_contains_its_value_and_is_bounded() -> None:
    wild = LogRatio(float(np.log(2.0)), 50.0, 4.0).estimate(0.95)

    assert wild.low is not None
    assert wild.high is not None
    assert 0 <= wild.low < 2.0 < wild.high < float("inf")


def test_a_single_sample_at_either_end_gives_no_interval() -> None:
    assert not LogRatio(0.7, 0.02, 0.0).estimate(0.95).has_interval


@pytest.mark.parametrize("regime", list(Regime))
@pytest.mark.parametrize("quantity", list(Quantity))
def test_the_conversion_is_its_own_inverse(quantity: Quantity, regime: Regime) -> None:
    conversion = Conversion(quantity, regime)
    k, values = np.array([1.0, 2.0, 8.0]), np.array([3.0, 1.7, 0.4])

    assert conversion.value(k, conversion.time(k, values)) == pytest.approx(values)


def test_every_quantity_of_the_same_runs_gives_the_same_times_and_efficiencies() -> None:
    k, times = np.array([1, 2, 8]), np.array([8.0, 4.4, 1.6])
    for regime in Regime:
        work = k if regime is Regime.WEAK else np.ones(3)  # a weak run at K does K times the work
        values = {
            "seconds": times,
            "throughput": work / times,
            "throughput_per_worker": work / times / k,
        }
        curves = []
        for quantity, own in values.items():
            samples = {int(count): [float(value)] for count, value in zip(k, own, strict=True)}
            study = Study.from_samples(samples, regime=regime, quantity=quantity)
            assert conversion_of(study) == Conversion(Quantity(quantity), regime)
            assert [float(time[0]) for time in times_by_k(study).values()] == pytest.approx(times)
            curves.append(curve_of(study))
        for curve in curves:
            assert curve.time == pytest.approx(times)
            assert curve.efficiency == pytest.approx(curves[0].efficiency)
