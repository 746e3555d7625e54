"""T = 0.04 + 0.96/K + 0.01 log2 K, 5 repeats, 2 % noise, K to 64: few trials here, 2,000 in bench/forecast.py."""

import numpy as np

import scalecurve as sc
from scalecurve.forecasting.forecast import forecast_all

TRIALS = 150


def _truth(k: np.ndarray) -> np.ndarray:
    return 0.04 + 0.96 / k + 0.01 * np.log2(k)


def test_the_family_is_recognised_and_its_mean_covered() -> None:
    rng = np.random.default_rng(41)
    k, at = 2 ** np.arange(7), np.array([128, 1024])
    noise = 1 + 0.02 * rng.standard_normal((TRIALS, len(k), 5))
    studies = [
        sc.Study.from_samples(dict(zip(k.tolist(), own.tolist(), strict=True)), regime="strong")
        for own in _truth(k)[:, None] * noise
    ]

    made = forecast_all(studies, at=at, level=0.95)

    values = np.array([[row.seconds for row in one] for one in made])
    inside = [[row.low <= truth <= row.high for row, truth in zip(one, _truth(at), strict=True)] for one in made]
    errors = np.median(np.abs(values / _truth(at) - 1), axis=0)
    assert errors[0] <= 0.03
    assert errors[1] <= 0.075  # 0.06 when a law that fits took over alone; measured 0.070 with its share capped at half
    assert np.mean(inside) >= 0.93
