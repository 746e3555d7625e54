"""Randomised blocks and the stopping rule."""

from __future__ import annotations

import math
import random
import tracemalloc

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from scalecurve.measurement.schedule import (
    Made,
    Planned,
    SweepPoint,
    block,
    is_precise,
    points_of,
    relative_halfwidth,
    repeats_needed,
    runs_to_make,
    spread_of,
)
from scalecurve.measurement.settings import MeasureSettings, make_settings
from scalecurve.study import Run, RunStatus


def settings(**more: object) -> MeasureSettings:
    return make_settings({"regime": "strong", "workers": "1,2,4", "command": ["x", "{workers}"], **more})


@given(st.sets(st.integers(1, 1000), min_size=1, max_size=8), st.integers(0, 50), st.integers())
def test_a_block_holds_every_point_once_and_only_the_seed_decides(ks: set[int], repeat: int, seed: int) -> None:
    points = [SweepPoint("scaling", k) for k in ks]

    assert sorted(each.point for each in block(points, repeat, seed)) == sorted(points)
    assert block(points, repeat, seed) == block(points[::-1], repeat, seed)


def run_of(planned: Planned, value: float | None) -> Run:
    status = RunStatus.WARMUP if planned.is_warmup else RunStatus.OK
    return Run(k=planned.point.k, repeat=planned.repeat, value=value, status=status)


def test_ten_thousand_launches_take_a_few_bytes_each() -> None:
    asked = settings(repeats=10_000, workers="1", warmup_launches=1)
    tracemalloc.start()
    made = Made(asked)
    for planned in runs_to_make(asked, made):
        made.add(run_of(planned, 1.0))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert made.rows[SweepPoint("scaling", 1)].made_below(10_000) == 10_001
    assert held < 10_000 * 20


def test_a_launch_out_of_order_or_without_a_time_is_made_but_gives_no_time() -> None:
    asked = settings(repeats=3)
    point = SweepPoint("scaling", 2)
    made = Made(asked)
    made.add(run_of(Planned(point, 2), 1.0))
    made.add(run_of(Planned(point, 0), None))

    assert [Planned(point, repeat) in made for repeat in (-1, 0, 1, 2)] == [False, True, False, True]
    assert (list(made.times(point)), made.rows[point].failed, made.rows[point].made_below(3)) == ([1.0], 1, 2)


def test_blocks_differ_so_that_drift_does_not_become_scaling() -> None:
    points = [SweepPoint("scaling", k) for k in (1, 2, 4, 8)]
    orders = {tuple(each.point.k for each in block(points, repeat, 7)) for repeat in range(12)}

    assert len(orders) > 4


def test_warm_ups_first_then_blocks_with_the_candidates() -> None:
    asked = settings(repeats=2, baseline={"serial": {"command": ["y"]}})
    made = list(runs_to_make(asked, Made(asked)))

    assert all(each.is_warmup for each in made[:4])
    assert {each.point for each in made[4:8]} == set(points_of(asked))
    assert [each.repeat for each in made[4:]] == [0] * 4 + [1] * 4


def test_what_is_done_is_not_made_again() -> None:
    asked = settings(repeats=3)
    everything = list(runs_to_make(asked, Made(asked)))
    some = [run_of(planned, 1.0) for planned in everything[::2]]

    assert list(runs_to_make(asked, Made.of(asked, some))) == everything[1::2]


def test_only_unsettled_points_go_on_until_they_are_precise_or_the_budget_ends() -> None:
    asked = settings(repeats=3, precision=0.05, max_repeats=10, warmup_launches=0)
    random_numbers = random.Random(1)
    made = Made(asked)
    for planned in runs_to_make(asked, made):
        noise = {1: 0.0, 2: 0.02, 4: 0.5}[planned.point.k]
        made.add(run_of(planned, 1.0 + noise * random_numbers.uniform(-1, 1)))
    counts = {point.k: len(row.times) for point, row in made.rows.items()}

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
