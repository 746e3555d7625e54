"""The probability of meeting a deadline, against simulation and against its limits."""

import numpy as np
import pytest

from scalecurve.estimate import Estimate
from scalecurve.planning.cost_rows import allowed_seconds, chance_by, slowest_lane_chance
from scalecurve.planning.curve import CurvePoint, Repeats, TimeSource
from scalecurve.planning.pricing import Campaign
from scalecurve.planning.tariff import Spot, Tariff

PLAIN = Tariff(per_hour=1)


def measured(mean: float = 100.0, std: float = 5.0, n: int = 5, k: int = 4) -> CurvePoint:
    return CurvePoint(k=k, seconds=Estimate(mean, 95, 105, 0.95), kind=TimeSource.MEASURED, repeats=Repeats(n, std))


def test_at_the_estimate_it_is_a_coin_toss() -> None:
    assert chance_by(measured(), 1000.0, Campaign(jobs=10), PLAIN) == pytest.approx(0.5)


def test_it_holds_over_repeated_studies() -> None:
    """A deadline to which each study of five runs gives 90 % is met by the next ten jobs 90 % of the time."""
    from scipy.optimize import brentq

    rng = np.random.default_rng(3)
    met = []
    for _ in range(2000):
        runs = rng.normal(100, 5, 5)
        point = measured(float(runs.mean()), float(runs.std(ddof=1)))
        deadline = brentq(lambda d, p=point: (chance_by(p, d, Campaign(jobs=10), PLAIN) or 0) - 0.9, 500, 2000)
        met.append(rng.normal(100, 5, 10).sum() <= deadline)

    assert float(np.mean(met)) == pytest.approx(0.9, abs=0.02)


def test_one_lane_by_drawing_agrees_with_the_closed_form() -> None:
    drawn = slowest_lane_chance(100.0, Repeats(5, 5.0), 102.0, 10, 1)

    assert drawn == pytest.approx(chance_by(measured(), 1020.0, Campaign(jobs=10), PLAIN) or 0, abs=0.01)


def test_a_forecast_uses_its_interval() -> None:
    point = CurvePoint(k=8, seconds=Estimate(100, 50, 200, 0.9), kind=TimeSource.FORECAST)

    assert chance_by(point, 100.0, Campaign(), PLAIN) == pytest.approx(0.5)
    assert chance_by(point, 200.0, Campaign(), PLAIN) == pytest.approx(0.95)
    assert chance_by(point, 50.0, Campaign(), PLAIN) == pytest.approx(0.05)


def test_nothing_known_no_probability() -> None:
    point = CurvePoint(k=8, seconds=Estimate(100), kind=TimeSource.LAW)

    assert chance_by(point, 100.0, Campaign(), PLAIN) is None


def test_set_up_and_interruptions_leave_less_time() -> None:
    setup = Tariff(per_hour=1, setup_seconds=30)
    spot = Tariff(per_hour=1, spot=Spot(per_hour=1, interruptions_per_hour=3.6))

    assert allowed_seconds(1, 1000.0, Campaign(jobs=10), setup) == pytest.approx(70)
    left = allowed_seconds(1, 1000.0, Campaign(), spot)
    assert left == pytest.approx(1000 * np.log(2), rel=1e-6)  # (exp(L T) - 1)/L = 1/L at L T = ln 2
    assert allowed_seconds(1, 20.0, Campaign(), setup) is None
    assert chance_by(measured(), 20.0, Campaign(), setup) == 0.0
