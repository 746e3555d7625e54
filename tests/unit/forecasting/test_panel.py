"""Published shapes, smooth laws within noise, and the verdict of the panel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalecurve.forecasting.curves import LogCurve, pack
from scalecurve.forecasting.experts import (
    COLLECTIVE_PANEL,
    STRONG_FAMILIES,
    consult,
    log_shape,
    shape_quantiles,
    smooth_laws,
)
from scalecurve.forecasting.published import shipped
from tools.learn_shapes import grid

K = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def curve(performance: np.ndarray, k: np.ndarray = K, error: np.ndarray | None = None) -> LogCurve:
    return LogCurve(k, np.log(performance), error)


def test_the_library_holds_amdahl_and_plateaus() -> None:
    u = np.log(np.array([1.0, 4.0, 64.0]))
    amdahl = log_shape(np.array([[1.0, 1.0, np.log(9.0), 1.0]]), u)[:, 0]

    assert np.exp(amdahl) == pytest.approx([x / (0.9 + 0.1 * x) for x in (1.0, 4.0, 64.0)])
    assert log_shape(grid(), np.zeros(1)) == pytest.approx(0.0)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=6))
def test_quantiles_of_shapes_rise_with_the_level(steps: list[float]) -> None:
    k = 2.0 ** np.arange(len(steps) + 1)
    packed = pack([LogCurve(k, np.r_[0.0, np.cumsum(steps)])])

    result = shape_quantiles(packed, np.array([[2 * k[-1], 8 * k[-1]]]), shipped().shapes, (0.15, 0.5, 0.85))

    assert result.shape == (1, 2, 3)
    assert np.all(np.diff(result, axis=-1) >= 0)


def test_a_smooth_law_is_trusted_and_a_kink_is_not() -> None:
    k = 2.0 ** np.arange(7)
    law = curve(1 / (0.04 + 0.96 / k + 0.01 * np.log2(k)), k)
    kink = curve(np.where(k <= 8, k, 8 + 0.2 * (k - 8)), k)

    result = smooth_laws(pack([law, kink]), np.array([[1024.0], [1024.0]]))

    assert result.trust[0] > 0.99
    assert result.trust[1] < 0.01
    assert np.exp(-result.ahead[0, 0]) == pytest.approx(0.04 + 0.96 / 1024 + 0.1, rel=0.01)


def test_a_law_that_fits_counts_for_at_most_half() -> None:
    k = 2.0 ** np.arange(7)
    packed, at = pack([curve(1 / (0.04 + 0.96 / k), k)]), np.array([[512.0]])
    shapes = np.full((1, 1), packed.last)

    verdict = consult(packed, at, STRONG_FAMILIES, shapes=shapes)

    assert verdict.trust[0] == pytest.approx(0.5, abs=0.01)


def test_three_points_prove_no_law() -> None:
    assert smooth_laws(pack([curve(K[:3], K[:3])]), np.array([[64.0]])).trust[0] == 0.0


def test_misfit_that_repeats_explain_is_forgiven() -> None:
    k = 2.0 ** np.arange(7)
    noisy = 1 / (0.04 + 0.96 / k) * np.exp(0.03 * np.array([1, -1, 1, -1, 1, -1, 1]))

    result = smooth_laws(pack([curve(noisy, k), curve(noisy, k, np.full(7, 0.04))]), np.array([[128.0], [128.0]]))

    assert result.trust[1] > result.trust[0]


def test_the_verdict_lies_between_the_families() -> None:
    packed = pack([curve(np.array([1, 1.9, 3.0, 5.6, 6.0]))])
    at = np.array([[32.0, 64.0]])
    shapes = shape_quantiles(packed, at, shipped().shapes, (0.5,))[..., 0]
    verdict = consult(packed, at, STRONG_FAMILIES, shapes=shapes)

    assert len(verdict.families) == len(STRONG_FAMILIES) + 1
    assert np.all(verdict.ahead[0] <= np.maximum(verdict.families.max(axis=0), packed.last)[0])
    assert np.all(verdict.spread > 0)


@pytest.mark.parametrize(("slope", "ahead"), [(0.2, 0.2), (0.6, 0.725), (0.95, 1.025), (1.4, 1.25), (3.0, 1.35)])
def test_the_time_of_a_collective_settles_at_the_slope_of_its_algorithm(slope: float, ahead: float) -> None:
    """A tree goes on as it was; what sends to all is drawn halfway to K^1.1."""
    verdict = consult(pack([curve(K**-slope)]), np.array([[32.0]]), COLLECTIVE_PANEL)

    assert verdict.ahead[0, 0] == pytest.approx(-slope * np.log(16) - ahead * np.log(2), rel=1e-6)
