"""A fitted law drawn over the data starts where the table does."""

import pytest

from scalecurve import api
from scalecurve.fitting.curve import fitted_curve
from scalecurve.forecasting.band import band
from scalecurve.study import Study


def amdahl_study() -> Study:
    samples = {k: [(0.05 + 0.95 / k) * (1 + 0.001 * i) for i in range(3)] for k in (1, 2, 4, 8, 16, 32)}
    return Study.from_samples(samples, regime="strong")


def test_the_curve_is_one_at_the_baseline_and_follows_the_law() -> None:
    study = amdahl_study()
    fits = api.fit(study, law="amdahl")
    rows = fitted_curve(study, fits["amdahl"], [1, 8, 32])
    assert rows[0]["efficiency"] == pytest.approx(1)
    assert rows[2]["speedup"] == pytest.approx(1 / (0.05 + 0.95 / 32), rel=0.01)
    assert rows[2]["speedup"] == pytest.approx(32 * rows[2]["efficiency"])


def test_a_forecast_band_holds_its_own_middle() -> None:
    for row in api.forecast(amdahl_study(), at=[64, 128]):
        made = band(row)
        assert made is not None
        assert made["speedup_low"] < made["speedup"] < made["speedup_high"]
        assert made["speedup"] == pytest.approx(row.k * made["efficiency"])
        assert row.low is not None
        assert row.value is not None
        assert made["speedup_high"] / made["speedup"] == pytest.approx(row.value / row.low)
