"""Randomised blocks, the stopping rule, and what a dry run foresees."""

from __future__ import annotations

import math
import random

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from scalecurve.measurement.outlook import look_ahead
from scalecurve.measurement.precision import is_precise, relative_halfwidth, repeats_needed, spread_of
from scalecurve.measurement.schedule import Planned, Point, block, points_of, runs_to_make
from scalecurve.measurement.settings import Settings, make_settings
from scalecurve.study import Run


def settings(**more: object) -> Settings:
    return make_settings({"regime": "strong", "workers": "1,2,4", "command": ["x", "{workers}"], **more})


@given(st.sets(st.integers(1, 1000), min_size=1, max_size=8), st.integers(0, 50), st.integers())
def test_a_block_holds_every_point_once_and_only_the_seed_decides(ks: set[int], repeat: int, seed: int) -> None:
    points = [Point("scaling", k) for k in ks]

    assert sorted(each.point for each in block(points, repeat, seed)) == sorted(points)
    assert block(points, repeat, seed) == block(points[::-1], repeat, seed)


def test_blocks_differ_so_that_drift_does_not_become_scaling() -> None:
    points = [Point("scaling", k) for k in (1, 2, 4, 8)]
    orders = {tuple(each.point.k for each in block(points, repeat, 7)) for repeat in range(12)}

    assert len(orders) > 4


def test_warm_ups_first_then_blocks_with_the_candidates() -> None:
    asked = settings(repeats=2, baseline={"serial": {"command": ["y"]}})
    made = list(runs_to_make(asked, {}))

    assert all(each.is_warmup for each in made[:4])
    assert {each.point for each in made[4:8]} == set(points_of(asked))
    assert [each.repeat for each in made[4:]] == [0] * 4 + [1] * 4


def test_what_is_done_is_not_made_again() -> None:
    asked = settings(repeats=3)
    everything = list(runs_to_make(asked, {}))
    some = {planned: Run(k=planned.point.k, value=1.0) for planned in everything[::2]}

    assert list(runs_to_make(asked, some)) == everything[1::2]


def test_only_unsettled_points_go_on_until_they_are_precise_or_the_budget_ends() -> None:
    asked = settings(repeats=3, precision=0.05, max_repeats=10, warmup_launches=0)
    random_numbers = random.Random(1)
    done: dict[Planned, Run] = {}
    for planned in runs_to_make(asked, done):
        noise = {1: 0.0, 2: 0.02, 4: 0.5}[planned.point.k]
        done[planned] = Run(k=planned.point.k, value=1.0 + noise * random_numbers.uniform(-1, 1))
    counts = {k: sum(each.point.k == k for each in done) for k in (1, 2, 4)}

    assert counts[1] == 3
    assert 3 <= counts[2] <= 6
    assert counts[4] == 10


def test_halfwidth_is_students() -> None:
    """Five values 1..5: t(4, 0.975) = 2.776, s = 1.5811, so the half width is 1.9634, 65.4 % of the mean 3."""
    assert relative_halfwidth([1, 2, 3, 4, 5], 0.95) == pytest.approx(0.6544, abs=1e-4)
    assert relative_halfwidth([1, 2], 0.95) is None
    assert not is_precise([1.0, 1.0], 0.1, 0.95)
    assert is_precise([1.0], None, 0.95)


@hypothesis.settings(deadline=None)
@given(st.floats(0.001, 0.5), st.floats(0.005, 0.5))
def test_repeats_needed_is_the_least_that_suffices(cv: float, precision: float) -> None:
    n = repeats_needed(cv, precision, 0.95)

    assert t.ppf(0.975, n - 1) * cv / math.sqrt(n) <= precision * (1 + 1e-9) or n == 100_000
    assert n == 3 or t.ppf(0.975, n - 2) * cv / math.sqrt(n - 1) > precision * (1 - 1e-9)


def test_spread() -> None:
    assert spread_of([9.0, 11.0]) == pytest.approx(math.sqrt(2) / 10)


def test_an_outlook_bounds_wall_time_and_cost() -> None:
    asked = settings(repeats=2, warmup_launches=0, expected_seconds=100, usd_per_worker_hour=36, precision=0.02)
    outlook = look_ahead(asked, {})

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
    first = list(runs_to_make(asked, {}))[:9]
    done = {planned: Run(k=planned.point.k, value=1.0 + 0.01 * i, wall_seconds=2.0) for i, planned in enumerate(first)}
    outlook = look_ahead(asked, done)

    assert outlook.wall is not None
    assert outlook.wall.low == outlook.wall.high == 2.0 * sum(each.launches for each in outlook.points)
    assert not any(each.cv_is_assumed for each in outlook.points)


def test_a_precision_is_priced_with_the_launches_it_needs() -> None:
    asked = settings(repeats=3, warmup_launches=2, expected_seconds=100, precision=0.05, max_repeats=50)
    outlook = look_ahead(asked, {})
    needed = repeats_needed(0.05, 0.05, 0.95)

    assert 3 < needed < 50
    assert [each.launches for each in outlook.points] == [2 + needed] * 3
    assert outlook.wall is not None
    assert outlook.wall.high == pytest.approx((2 + needed) * 300)
    assert "precision-out-of-reach" not in [finding.code for finding in outlook.findings]
    assert f"15 launches scheduled, {3 * (2 + needed)} expected" in str(outlook)


def test_a_precision_that_is_met_before_the_repeats_costs_the_repeats() -> None:
    outlook = look_ahead(settings(repeats=9, warmup_launches=1, precision=0.2), {})
    assert [each.launches for each in outlook.points] == [10] * 3
    assert "30 launches, nothing" in str(outlook)


def test_an_outlook_without_any_time_says_so() -> None:
    outlook = look_ahead(settings(), {})

    assert outlook.wall is None
    assert outlook.cost is None
    assert [finding.code for finding in outlook.findings] == ["wall-unknown"]
    assert outlook.to_dict()["wall_seconds"] is None
