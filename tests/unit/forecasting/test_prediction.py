"""Siblings: curves of the same study that were measured further."""

from pathlib import Path

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.forecasting.curves import LogCurve
from scalecurve.forecasting.forecast import forecast
from scalecurve.forecasting.prediction import Residual, cut_of, likeness, pooled_shift, siblings_in


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

    assert pooled_shift([one], ahead) == pytest.approx([-0.08, -0.16, -0.32, -0.32])
    assert pooled_shift([one, one, one], ahead) == pytest.approx(np.array([-0.1, -0.2, -0.4, -0.4]) * 3 / 3.25)
    assert pooled_shift([wild], ahead).max() == pytest.approx(1.5 * 0.8)


def test_a_sibling_of_another_shape_hardly_counts() -> None:
    k = 2.0 ** np.arange(4)
    own, same, flat = (LogCurve(k, level + slope * np.log(k)) for level, slope in ((0.0, 0.9), (5.0, 0.9), (0.0, 0.1)))
    below, above = (np.array([sign * 0.3]) for sign in (-1, 1))
    one = np.array([1.0])

    assert likeness(own, same) == pytest.approx(1.0)
    assert likeness(own, flat) == likeness(flat, own) < 0.02
    assert likeness(own, LogCurve(k * 64, own.log_performance)) == 1.0  # no K in common: nothing against it
    unlike = Residual(one, above, likeness(own, flat))
    assert abs(pooled_shift([unlike], one)[0]) < 0.03
    assert pooled_shift([Residual(one, below), unlike], one) == pytest.approx([-0.24], abs=0.01)


def test_curves_of_one_file_that_went_further_are_siblings(tmp_path: Path) -> None:
    rows = ["size,ranks,time_s"]
    rows += [f"100,{k},{100 * (0.1 + 0.9 / k)}" for k in (1, 2, 4, 8, 16, 32)]
    rows += [f"200,{k},{200 * (0.1 + 0.9 / k)}" for k in (1, 2, 4, 8)]
    file = tmp_path / "set.csv"
    file.write_text("\n".join(rows))
    studies = sc.load_all(file, regime="strong")
    assert isinstance(studies, sc.StudySet)
    short, far = studies["200"], studies["100"]
    assert siblings_in(studies, short) == (far,)
    assert siblings_in(studies, far) == ()
    alone, helped = (forecast(short, at=[32], like=like)[0] for like in ((), (far,)))
    truth = 200 * (0.1 + 0.9 / 32)
    assert abs(helped.value / truth - 1) < abs(alone.value / truth - 1)
