"""The shipped calibration, and how widths and the prior are learned."""

import numpy as np
import pytest
from scipy.stats import laplace

from scalecurve.forecasting.curves import LogCurve
from scalecurve.forecasting.published import shipped
from tools.crossvalidation import Residuals, learn_width
from tools.learn_shapes import learn_shapes, shape_evidence
from tools.published import balance, weighted_quantile

K = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def curve(performance: np.ndarray, k: np.ndarray = K, error: np.ndarray | None = None) -> LogCurve:
    return LogCurve(k, np.log(performance), error)


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

    result = learn_width(residuals, sources=10_000)

    assert result.coefficients[:2] == pytest.approx([-1.0, 0.8], abs=0.08)
    assert result.quantile(0.9) == pytest.approx(np.log(10), rel=0.06)


def test_few_sources_make_the_interval_wider() -> None:
    rng = np.random.default_rng(2)
    residuals = Residuals(rng.standard_normal(500), np.ones((500, 1)), np.ones(500))

    assert learn_width(residuals, 15).quantile(0.9) > learn_width(residuals, 1000).quantile(0.9)


def test_balance_and_quantiles() -> None:
    assert balance(["a", "a", "a", "a", "b"]).tolist() == [0.5, 0.5, 0.5, 0.5, 1.0]
    assert weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0]), 0.5) == 2.0


def test_the_prior_learns_what_curves_look_like() -> None:
    def mass_near_zero(performance: np.ndarray) -> float:
        result = learn_shapes(shape_evidence([curve(performance)] * 6), np.ones(6))
        ends = result.parameters[:, 0] - result.parameters[:, 1]
        return float(result.prior[np.abs(ends) < 0.2].sum())

    assert mass_near_zero(np.minimum(K, 4.0)) > 3 * mass_near_zero(K)
