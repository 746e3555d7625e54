"""What must always hold of a cost."""

from hypothesis import given, settings
from hypothesis import strategies as st

import scalecurve as sc
from scalecurve.estimate import Estimate
from scalecurve.planning.cost import Cost
from scalecurve.planning.curve import CurvePoint, TimeCurve, TimeSource
from scalecurve.planning.tariff import Energy, Reserved, Spot, Tariff

PRICES = st.floats(0.01, 1e4)
SECONDS = st.floats(1e-3, 1e7)
WORKERS = st.integers(1, 10_000)


@st.composite
def curves(draw: st.DrawFn) -> TimeCurve:
    workers = draw(st.lists(WORKERS, min_size=1, max_size=8, unique=True))
    points = tuple(CurvePoint(k=k, seconds=Estimate(draw(SECONDS)), kind=TimeSource.LAW) for k in workers)
    return TimeCurve(name="drawn", points=points, baseline_k=min(workers))


@st.composite
def tariffs(draw: st.DrawFn) -> Tariff:
    """Any tariff but one with spot losses, under which some drawn jobs would never finish."""
    maybe = st.none() | st.floats(0, 1e4)
    return Tariff(
        per_hour=draw(PRICES),
        workers_per_unit=draw(st.integers(1, 16)),
        minimum_seconds=draw(maybe),
        setup_seconds=draw(maybe),
        spot=draw(st.none() | st.builds(Spot, per_hour=PRICES, interruptions_per_hour=st.just(0.0))),
        reserved=draw(st.none() | st.builds(Reserved, units=st.integers(1, 100), per_hour=PRICES)),
        energy=draw(st.none() | st.builds(Energy, watts=st.floats(0, 1e4), per_kwh=st.none() | st.floats(0, 10))),
    )


def close(left: float, right: float) -> bool:
    return abs(left - right) <= 1e-9 * max(abs(left), abs(right))


@settings(deadline=None)
@given(curves(), tariffs(), st.floats(0.01, 100))
def test_cost_is_linear_in_price(curve: TimeCurve, tariff: Tariff, factor: float) -> None:
    once, scaled = sc.cost(curve, tariff), sc.cost(curve, tariff.scaled(factor))

    for row, other in zip(once.rows, scaled.rows, strict=True):
        assert close(row.cost.value * factor, other.cost.value)


@settings(deadline=None)
@given(curves(), tariffs(), st.integers(1, 10_000))
def test_cost_is_linear_in_jobs(curve: TimeCurve, tariff: Tariff, jobs: int) -> None:
    one, many = sc.cost(curve, tariff), sc.cost(curve, tariff, jobs=jobs)

    for row, other in zip(one.rows, many.rows, strict=True):
        assert close(row.cost.value * jobs, other.cost.value)
        assert close(row.job_cost.value, other.job_cost.value)


@settings(deadline=None)
@given(curves(), tariffs())
def test_doubling_the_price_changes_no_ranking(curve: TimeCurve, tariff: Tariff) -> None:
    once, twice = sc.cost(curve, tariff), sc.cost(curve, tariff.scaled(2.0))

    assert ranking(once) == ranking(twice)
    assert once.cheapest.k == twice.cheapest.k
    assert [row.k for row in once.front] == [row.k for row in twice.front]


def ranking(table: Cost) -> list[int]:
    return [row.k for row in sorted(table.rows, key=lambda row: row.cost.value)]


@settings(deadline=None)
@given(curves(), tariffs(), st.integers(1, 50), st.none() | st.integers(10_000, 50_000))
def test_the_front_has_no_dominated_row(curve: TimeCurve, tariff: Tariff, jobs: int, fleet: int | None) -> None:
    table = sc.cost(curve, tariff, jobs=jobs, fleet=fleet)
    places = {row.k: (row.elapsed.value, row.cost.value) for row in table.rows}

    for row in table.rows:
        beaten = any(dominates(other, places[row.k]) for k, other in places.items() if k != row.k)
        assert row.on_front != beaten


def dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[0] and one[1] <= other[1] and one != other


@settings(deadline=None)
@given(st.lists(st.integers(1, 100_000), min_size=2, max_size=8, unique=True), PRICES)
def test_with_perfect_efficiency_cost_does_not_depend_on_k(workers: list[int], price: float) -> None:
    table = sc.cost(sc.law("amdahl"), price, at=workers, parameters={"serial": 0.0})

    for row in table.rows:
        assert close(row.cost.value, table.rows[0].cost.value)
        assert close(row.relative_cost, 1.0)


@settings(max_examples=200, deadline=None)
@given(curves(), PRICES, st.floats(1.0, 1e9), st.floats(1.0, 1e9))
def test_choices_are_optimal(curve: TimeCurve, price: float, more_time: float, more_money: float) -> None:
    plain = sc.cost(curve, price)
    deadline = min(row.elapsed.value for row in plain.rows) + more_time
    budget = min(row.cost.value for row in plain.rows) + more_money
    table = sc.cost(curve, price, deadline=deadline, budget=budget)

    assert table.cheapest_in_time is not None
    assert table.fastest_in_budget is not None
    for row in table.rows:
        if row.elapsed.value <= deadline:
            assert table.cheapest_in_time.cost.value <= row.cost.value
        if row.cost.value <= budget:
            assert table.fastest_in_budget.elapsed.value <= row.elapsed.value


@settings(deadline=None)
@given(st.lists(WORKERS, min_size=2, max_size=6, unique=True), st.floats(0.0, 1.0), PRICES)
def test_relative_cost_is_one_over_efficiency(workers: list[int], serial: float, price: float) -> None:
    base = min(workers)
    table = sc.cost(sc.law("amdahl"), price, at=workers, parameters={"serial": serial})
    law = sc.law("amdahl")

    for row in table.rows:
        expected = law.efficiency(base, serial=serial) / law.efficiency(row.k, serial=serial)
        assert abs(row.relative_cost - expected) <= 1e-9 * expected
