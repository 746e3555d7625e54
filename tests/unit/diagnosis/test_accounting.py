"""Lasting slowness of a worker against noise."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.diagnosis.accounting import lasting_excess


def test_the_largest_of_many_noisy_workers_is_not_lasting() -> None:
    rng = np.random.default_rng(1)
    falsely = sum(lasting_excess(rng.lognormal(0, 0.3, size=(5, 64)))[0] > 0 for _ in range(200))

    assert falsely <= 8  # the test behind it errs in 1 % of cases


def test_a_lasting_effect_is_found_and_not_overstated() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.normal(1.0, 0.05, size=(5, 16))
    matrix[:, 3] += 0.5

    excess, p_value = lasting_excess(matrix)

    assert excess == pytest.approx(0.47, abs=0.06)
    assert p_value is not None
    assert p_value < 0.01
