"""The numeric core: shapes, slopes, laws within noise, widths, learning."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import laplace

from scalecurve.forecasting.calibration import Residuals, balance, learn_width, shipped, weighted_quantile
from scalecurve.forecasting.curves import LogCurve, damped, last_slope, pack, roughness, weighted_slope
from scalecurve.forecasting.panel import STRONG_FAMILIES, consult, smooth_laws
from scalecurve.forecasting.shapes import grid, learn_shapes, log_shape, shape_evidence, shape_quantiles

K = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def curve(performance: np.ndarray, k: np.ndarray = K, error: np.ndarray | None = None) -> LogCurve:
    return LogCurve(k, np.log(performance), error)


def test_curves_are_aligned_at_their_last_point() -> None:
    packed = pack([curve(K), curve(K[:3], K[:3])])

    assert packed.k[:, -1].tolist() == [16.0, 4.0]
    assert packed.mask.sum(axis=1).tolist() == [5, 3]
    assert packed.weights()[1].tolist() == [0, 0, 0.25, 0.5, 1.0]
    assert packed.without_first()[1].tolist() == [0, 0, 0, 1, 1]


def test_slopes_of_power_laws_are_exact() -> None:
    packed = pack([curve(K**0.7), curve(K**-0.3)])

    assert last_slope(packed) == pytest.approx([0.7, -0.3])
    assert weighted_slope(packed) == pytest.approx([0.7, -0.3])
    at = np.array([[32.0], [32.0]])
    assert damped(packed, at, last_slope(packed), 0.999999)[:, 0] == pytest.approx(np.log([32**0.7, 32**-0.3]))


def test_concave_curves_are_not_rough_and_dips_are() -> None:
    smooth, dip = curve(K / (1 + 0.1 * (K - 1))), curve(np.array([1.0, 2.0, 1.0, 8.0, 16.0]))

    rough = roughness(pack([smooth, dip]))

    assert rough[0] == pytest.approx(0.0, abs=1e-9)
    assert rough[1] > 0.3


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

    made = shape_quantiles(packed, np.array([[2 * k[-1], 8 * k[-1]]]), shipped().shapes, (0.15, 0.5, 0.85))

    assert made.shape == (1, 2, 3)
    assert np.all(np.diff(made, axis=-1) >= 0)


def test_a_smooth_law_is_trusted_and_a_kink_is_not() -> None:
    k = 2.0 ** np.arange(7)
    law = curve(1 / (0.04 + 0.96 / k + 0.01 * np.log2(k)), k)
    kink = curve(np.where(k <= 8, k, 8 + 0.2 * (k - 8)), k)

    made = smooth_laws(pack([law, kink]), np.array([[1024.0], [1024.0]]))

    assert made.trust[0] > 0.99
    assert made.trust[1] < 0.01
    assert np.exp(-made.ahead[0, 0]) == pytest.approx(0.04 + 0.96 / 1024 + 0.1, rel=0.01)


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

    made = smooth_laws(pack([curve(noisy, k), curve(noisy, k, np.full(7, 0.04))]), np.array([[128.0], [128.0]]))

    assert made.trust[1] > made.trust[0]


def test_the_verdict_lies_between_the_families() -> None:
    packed = pack([curve(np.array([1, 1.9, 3.0, 5.6, 6.0]))])
    at = np.array([[32.0, 64.0]])
    shapes = shape_quantiles(packed, at, shipped().shapes, (0.5,))[..., 0]
    verdict = consult(packed, at, STRONG_FAMILIES, shapes=shapes)

    assert len(verdict.families) == len(STRONG_FAMILIES) + 1
    assert np.all(verdict.ahead[0] <= np.maximum(verdict.families.max(axis=0), packed.last)[0])
    assert np.all(verdict.spread > 0)


def test_the_shipped_calibration_is_whole() -> None:
    learned = shipped()

    assert learned.shapes.prior.sum() == pytest.approx(1.0)
    assert set(learned.widths) == {"weak", "collective"}
    for width in learned.widths.values():
        assert np.all(np.diff(width.quantiles) >= 0)
        assert width.quantile(0.0) == 0.0
    assert all(len(digest) == 64 for digest in learned.provenance["sha256"].values())
    assert learned.provenance["curves"] >= sum(learned.provenance["judged"].values()) > 900


def test_learned_widths_follow_the_scale_and_cover() -> None:
    rng = np.random.default_rng(1)
    feature = rng.uniform(-1, 1, 4000)
    features = np.column_stack([np.ones(4000), feature, np.zeros((4000, 3))])
    error = laplace.rvs(scale=np.exp(-1 + 0.8 * feature), random_state=rng)
    residuals = Residuals(error, features, np.ones(4000))

    made = learn_width(residuals, sources=10_000)

    assert made.coefficients[:2] == pytest.approx([-1.0, 0.8], abs=0.08)
    assert made.quantile(0.9) == pytest.approx(np.log(10), rel=0.06)


def test_few_sources_make_the_interval_wider() -> None:
    rng = np.random.default_rng(2)
    residuals = Residuals(rng.standard_normal(500), np.ones((500, 1)), np.ones(500))

    assert learn_width(residuals, 15).quantile(0.9) > learn_width(residuals, 1000).quantile(0.9)


def test_balance_and_quantiles() -> None:
    assert balance(["a", "a", "a", "a", "b"]).tolist() == [0.5, 0.5, 0.5, 0.5, 1.0]
    assert weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0]), 0.5) == 2.0


def test_the_prior_learns_what_curves_look_like() -> None:
    def mass_near_zero(performance: np.ndarray) -> float:
        made = learn_shapes(shape_evidence([curve(performance)] * 6), np.ones(6))
        ends = made.parameters[:, 0] - made.parameters[:, 1]
        return float(made.prior[np.abs(ends) < 0.2].sum())

    assert mass_near_zero(np.minimum(K, 4.0)) > 3 * mass_near_zero(K)
