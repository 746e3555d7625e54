"""Positive combinations against scipy's non-negative least squares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from scalecurve.fitting.models import design, fit_positive, solve_positive

K = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.05, 20.0), min_size=6, max_size=6))
def test_the_solution_is_scipys(times: list[float]) -> None:
    matrix = design(("1/K", "1", "log2(K)", "K"), K) / np.array(times)[:, None]
    weights = np.linspace(0.2, 1.0, 6)

    ours = solve_positive(matrix[None], weights[None])[0]
    theirs, _ = nnls(matrix * np.sqrt(weights)[:, None], np.sqrt(weights))

    assert np.all(ours >= 0)
    loss = [float(np.sum(weights * (1 - matrix @ c) ** 2)) for c in (ours, theirs)]
    assert loss[0] <= loss[1] * (1 + 1e-6) + 1e-7  # 0.03 % of T: nearly constant times have nearly equal solutions


def test_exact_data_gives_exact_coefficients() -> None:
    log_time = np.log(0.04 + 0.96 / K + 0.01 * np.log2(K))

    result = fit_positive(("1/K", "1", "log2(K)"), K[None], log_time[None], np.ones((1, 6)))

    assert np.exp(result.log_time(np.array([[1024.0]]))) == pytest.approx(0.04 + 0.96 / 1024 + 0.1, rel=1e-6)


def test_many_curves_at_once_are_each_as_alone() -> None:
    rng = np.random.default_rng(0)
    log_time = np.log(1 / K) + 0.1 * rng.standard_normal((20, 6))
    weights = np.ones((20, 6))
    k = np.tile(K, (20, 1))

    together = fit_positive(("1/K", "1", "sqrt(K)"), k, log_time, weights).coefficients
    alone = [
        fit_positive(("1/K", "1", "sqrt(K)"), k[:1], log_time[i : i + 1], weights[:1]).coefficients[0]
        for i in range(20)
    ]

    assert together == pytest.approx(np.array(alone))


def test_a_point_without_weight_does_not_count() -> None:
    log_time = np.log(1 / K)
    spoiled = log_time.copy()
    spoiled[0] = 9.0
    weights = np.ones((1, 6))
    weights[0, 0] = 0.0

    fits = [
        fit_positive(("1/K", "1"), K[None], own[None], weights).log_time(np.array([[64.0]]))
        for own in (log_time, spoiled)
    ]

    assert fits[0] == pytest.approx(fits[1])
