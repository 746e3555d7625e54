"""Siblings: curves of the same study that were measured further."""

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.forecasting.forecast import forecast
from scalecurve.forecasting.siblings import Residual, cut_of, pooled_shift


def saturating(size: float, last: int, ceiling: float = 12.0) -> sc.Study:
    """A job of some size whose speedup stops abruptly at `ceiling`, as memory bandwidth makes it."""
    samples = {2**i: [size / min(2.0**i, ceiling)] for i in range(last + 1)}
    return sc.Study.from_samples(samples, regime="strong", name=f"size {size:g}")


def test_siblings_that_went_flat_pull_the_forecast_down() -> None:
    study, like = saturating(100.0, 3), [saturating(40.0, 6), saturating(300.0, 6), saturating(900.0, 5)]

    alone, helped = forecast(study, at=[16, 32, 64]), forecast(study, at=[16, 32, 64], like=like)

    truth = 100.0 / 12
    for before, after in zip(alone, helped, strict=True):
        assert abs(np.log(after.seconds / truth)) < 0.6 * abs(np.log(before.seconds / truth))
        assert after.high / after.low == pytest.approx(before.high / before.low)
    used = next(finding for finding in helped.findings if finding.code == "siblings-used")
    assert used.evidence["siblings"] == 3
    assert used.evidence["moved"]["64"] < 0
    assert helped.backtest.rows[-1].predicted > 0


def test_a_sibling_that_cannot_help_is_named_with_the_reason() -> None:
    study = saturating(100.0, 3)

    result = forecast(study, at=[16], like=[saturating(40.0, 3)])

    assert result[0].seconds == forecast(study, at=[16])[0].seconds
    assert "size 40 cannot correct" in next(f.message for f in result.findings if f.code == "sibling-not-used")


def test_a_sibling_is_cut_where_the_study_ends() -> None:
    k = 2.0 ** np.arange(7)

    assert cut_of(k, 8.0) == 4
    assert cut_of(k, 11.0) == 4
    assert cut_of(k, 2.0) is None  # two points are too few
    assert cut_of(k, 64.0) is None  # nothing beyond
    assert cut_of(k, 1000.0) is None


def test_residuals_are_pooled_partially_and_bounded() -> None:
    one = Residual(np.array([1.0, 2.0]), np.array([-0.2, -0.4]))
    wild = Residual(np.array([1.0]), np.array([9.0]))
    ahead = np.array([0.5, 1.0, 2.0, 3.0])

    assert pooled_shift([one], ahead) == pytest.approx([-0.05, -0.1, -0.2, -0.2])
    assert pooled_shift([one, one, one], ahead) == pytest.approx([-0.075, -0.15, -0.3, -0.3])
    assert pooled_shift([wild], ahead).max() == pytest.approx(0.75)
