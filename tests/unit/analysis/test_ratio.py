"""Ratio intervals hold: a short form of bench/coverage.py, on fixed seeds."""

import numpy as np
import pytest

from bench.coverage import coverage
from scalecurve.analysis.ratio import ratio_estimate

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
    wild = ratio_estimate(2.0, 5.0, 2, 5.0, 2, 0.95)

    assert wild.low is not None
    assert wild.high is not None
    assert 0 <= wild.low < 2.0 < wild.high < float("inf")


def test_a_single_sample_at_either_end_gives_no_interval() -> None:
    assert not ratio_estimate(2.0, 0.1, 0, 0.1, 4, 0.95).has_interval
    assert not ratio_estimate(2.0, 0.1, 4, 0.1, 0, 0.95).has_interval
