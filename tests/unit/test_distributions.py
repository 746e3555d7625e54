"""The distributions that answers need at once, against scipy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from scalecurve import distributions

RNG = np.random.default_rng(3)
DEGREES = np.r_[1.0, 2.0, 3.5, 4.0, 29.0, 1e3, 1e6, RNG.uniform(1, 60, 60)]
CHANCES = np.r_[1e-9, 1e-4, 0.025, 0.5, 0.9, 0.975, 0.9995, RNG.uniform(0, 1, 60)]


def own(function: Callable[..., Any], *values: Any) -> Any:
    """The answer without scipy, which these tests load."""
    return function.__wrapped__(*values)  # type: ignore[attr-defined]


def test_normal() -> None:
    x = np.linspace(-8, 8, 201)
    assert own(distributions.ndtr, x) == pytest.approx(special.ndtr(x), rel=1e-13)
    assert own(distributions.ndtri, CHANCES) == pytest.approx(special.ndtri(CHANCES), rel=1e-12, abs=1e-15)
    assert own(distributions.ndtri, [0.0, 1.0]).tolist() == [-np.inf, np.inf]


def test_student() -> None:
    t = np.r_[-700.0, -3.0, -1e-3, 0.0, 0.3, 12.7, np.inf, RNG.normal(0, 4, 60)]
    assert own(distributions.stdtr, DEGREES, t) == pytest.approx(special.stdtr(DEGREES, t), rel=1e-10, abs=1e-14)
    expected = special.stdtrit(DEGREES[:, None], CHANCES)
    assert own(distributions.stdtrit, DEGREES[:, None], CHANCES) == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert own(distributions.stdtr, np.inf, 1.96) == pytest.approx(special.ndtr(1.96))


def test_binomial() -> None:
    for trials in (1, 5, 40):
        k = np.arange(-1, trials + 2)
        expected = [special.bdtr(min(max(i, 0), trials), trials, 0.3) if i >= 0 else 0.0 for i in k]
        assert own(distributions.bdtr, k, trials, 0.3) == pytest.approx(expected, rel=1e-11, abs=1e-14)


def test_ratio_of_variances() -> None:
    x = np.r_[0.0, 1e-3, 0.7, 1.0, 4.2, 300.0, RNG.uniform(0, 9, 40)]
    for over, under in ((1.0, 1.0), (2.5, 28.0), (5.0, 4.0), (60.0, 1.0)):
        own_values = own(distributions.fdtrc, over, under, x)
        assert own_values == pytest.approx(special.fdtrc(over, under, x), rel=1e-9, abs=1e-14)
