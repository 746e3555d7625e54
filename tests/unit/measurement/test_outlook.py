"""What a dry run foresees."""

from __future__ import annotations

import pytest

from scalecurve.measurement.outlook import outlook_of
from scalecurve.measurement.schedule import Made, repeats_needed, runs_to_make
from scalecurve.measurement.settings import MeasureSettings, make_settings
from scalecurve.study import Run


def settings(**more: object) -> MeasureSettings:
    return make_settings({"regime": "strong", "workers": "1,2,4", "command": ["x", "{workers}"], **more})


def test_an_outlook_bounds_wall_time_and_cost() -> None:
    asked = settings(repeats=2, warmup_launches=0, expected_seconds=100, usd_per_worker_hour=36, precision=0.02)
    outlook = outlook_of(asked, Made(asked))

    assert len(outlook.runs) == 6
    assert outlook.wall is not None
    assert outlook.cost is not None
    assert asked.most_repeats == 8  # the 27 launches needed are more than the limit, which is what is paid for
    assert (outlook.wall.low, outlook.wall.high) == (8 * (100 + 50 + 25), 8 * 300)
    assert outlook.cost.low == pytest.approx(8 * (100 + 2 * 50 + 4 * 25) * 0.01)
    assert outlook.cost.high == pytest.approx(8 * (100 + 200 + 400) * 0.01)
    assert all(each.needed == repeats_needed(0.05, 0.02, 0.95) for each in outlook.points)
    assert {finding.code for finding in outlook.findings} == {
        "wall-bounds",
        "spread-assumed",
        "precision-out-of-reach",
    }
    assert "wall time: 350 s to" not in str(outlook)
    assert "K = 4" in str(outlook)


def test_an_outlook_from_what_was_measured_has_no_guesses() -> None:
    asked = settings(repeats=4, warmup_launches=0, precision=0.02)
    first = list(runs_to_make(asked, Made(asked)))[:9]
    runs = [
        Run(k=planned.point.k, repeat=planned.repeat, value=1.0 + 0.01 * i, wall_seconds=2.0)
        for i, planned in enumerate(first)
    ]
    outlook = outlook_of(asked, Made.of(asked, runs))

    assert outlook.wall is not None
    assert outlook.wall.low == outlook.wall.high == 2.0 * sum(each.launches for each in outlook.points)
    assert not any(each.cv_is_assumed for each in outlook.points)


def test_a_precision_is_priced_with_the_launches_it_needs() -> None:
    asked = settings(repeats=3, warmup_launches=2, expected_seconds=100, precision=0.05, max_repeats=50)
    outlook = outlook_of(asked, Made(asked))
    needed = repeats_needed(0.05, 0.05, 0.95)

    assert 3 < needed < 50
    assert [each.launches for each in outlook.points] == [2 + needed] * 3
    assert outlook.wall is not None
    assert outlook.wall.high == pytest.approx((2 + needed) * 300)
    assert "precision-out-of-reach" not in [finding.code for finding in outlook.findings]
    assert f"15 launches scheduled, {3 * (2 + needed)} expected" in str(outlook)


def test_a_precision_that_is_met_before_the_repeats_costs_the_repeats() -> None:
    asked = settings(repeats=9, warmup_launches=1, precision=0.2)
    outlook = outlook_of(asked, Made(asked))
    assert [each.launches for each in outlook.points] == [10] * 3
    assert "30 launches are to be made" in str(outlook)


def test_an_outlook_without_any_time_says_so() -> None:
    outlook = outlook_of(settings(), Made(settings()))

    assert outlook.wall is None
    assert outlook.cost is None
    assert [finding.code for finding in outlook.findings] == ["wall-unknown"]
    assert outlook.to_dict()["wall_seconds"] is None
