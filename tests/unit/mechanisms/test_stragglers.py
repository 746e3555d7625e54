"""Stragglers: formulas against simulation, samples and published numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from scalecurve.errors import InputError, Refused
from scalecurve.laws.formula import harmonic
from scalecurve.mechanisms import straggler_cost
from scalecurve.mechanisms.stragglers import (
    DRAWS,
    SMALL,
    StragglerRow,
    costs_at_end,
    delays_from,
    delays_of,
    limit_holds,
    maximum,
    maximum_interval,
    order_statistic,
    simulate_maximum,
)


@pytest.mark.parametrize(("backups", "time"), [(0, 2.05), (1, 1.83), (4, 1.60), (10, 1.42)])
def test_backup_workers_of_the_reference_sheet(backups: int, time: float) -> None:
    delays = delays_of("lognorm", s=0.3)
    assert order_statistic(delays, 100, backups) / delays.mean == pytest.approx(time, abs=0.01)


def test_exponential_delays_give_the_harmonic_number() -> None:
    assert maximum(delays_of("expon"), 50) == pytest.approx(harmonic(50.0), rel=1e-6)


def test_a_barrier_every_step_costs_more_than_one_at_the_end() -> None:
    row = straggler_cost(64, shape={"s": 0.3}, steps=100).rows[0]
    assert row.slowest == pytest.approx(1.95, abs=0.01)
    assert row.at_end is not None
    assert row.at_end.value == pytest.approx(1.07, abs=0.01)


@pytest.mark.parametrize("k", [1, 10, 1000, 100_000])
def test_simulation_agrees_with_the_formula(k: int) -> None:
    delays = delays_of("gamma", a=4.0)
    simulated = simulate_maximum(delays, k, np.random.default_rng(3))
    assert simulated == pytest.approx(maximum(delays, k), rel=0.05)


def test_the_simulation_draws_no_more_than_its_budget_over_all_workers() -> None:
    drawn = 0

    def count(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
        nonlocal drawn
        drawn += math.prod(size)
        return np.ones(size)

    delays = replace(delays_of("expon"), draw=count)
    assert simulate_maximum(delays, DRAWS, np.random.default_rng(1)) is None
    assert drawn == 0
    rows = straggler_cost("1..100000000", shape={"s": 0.1}).rows
    assert rows[4].simulated == pytest.approx(rows[4].slowest, rel=0.05)
    assert rows[-1].simulated is None
    assert rows[-1].slowest > rows[-2].slowest


def test_own_samples_are_used_while_there_are_enough() -> None:
    samples = np.random.default_rng(1).exponential(1.0, 20_000)
    delays = delays_from(samples)
    assert maximum(delays, 100) == pytest.approx(harmonic(100.0) * samples.mean(), rel=0.03)
    with pytest.raises(Refused, match="no tail beyond their largest"):
        maximum(delays, 10_000)


def test_persistent_slowness_is_said() -> None:
    found = straggler_cost([100], distribution="norm", shape={"loc": 1.0, "scale": 0.01}, slow_share=0.01)
    assert found.rows[0].any_slow == pytest.approx(0.634, abs=1e-3)
    assert "persistent-slowness" in [finding.code for finding in found.findings]
    assert found.to_dict()["seed"] == 20261115
    assert "barrier" in str(found)


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match="unknown distribution"):
        delays_of("no_such")
    with pytest.raises(InputError, match="wrong parameters"):
        delays_of("gamma", b=1.0)
    with pytest.raises(InputError, match="positive finite mean"):
        delays_of("pareto", b=0.5)
    with pytest.raises(InputError, match="between 0 and 1"):
        straggler_cost([2], distribution="expon", slow_share=2)
    with pytest.raises(InputError, match="two or more"):
        delays_from([1.0])


def rows_of(name: str, workers: list[int], steps: int, **shape: float) -> tuple[StragglerRow, ...]:
    return straggler_cost(workers, distribution=name, shape=shape, steps=steps, backups=[0]).rows


def brute_force(name: str, k: int, steps: int, rounds: int, **shape: float) -> tuple[float, float]:
    """The mean of the slowest of K means and its standard error, without any of the tool's own code."""
    from scipy import stats

    frozen = getattr(stats, name)(**shape)
    rng = np.random.default_rng(99)
    found = frozen.rvs(size=(rounds, k, steps), random_state=rng).mean(axis=2).max(axis=1)
    return float(np.mean(found) / frozen.mean()), float(np.std(found) / frozen.mean() / math.sqrt(rounds))


@pytest.mark.parametrize("k", [1, 8, 1024])
def test_after_one_step_it_is_the_slowest_of_k(k: int) -> None:
    row = rows_of("lognorm", [k], 1, s=1.0)[0]
    assert row.at_end is not None
    assert row.at_end.value == row.slowest
    assert row.at_end.method == "exact"


@pytest.mark.parametrize(
    ("name", "shape", "k", "steps", "rounds"),
    [("lognorm", {"s": 1.0}, 8, 10, 4000), ("lognorm", {"s": 1.0}, 1024, 100, 150), ("expon", {}, 64, 4, 4000)],
)
def test_a_skewed_tail_agrees_with_brute_force(
    name: str, shape: dict[str, float], k: int, steps: int, rounds: int
) -> None:
    end = rows_of(name, [k], steps, **shape)[0].at_end
    truth, error = brute_force(name, k, steps, rounds, **shape)
    assert end is not None
    assert end.low is not None
    assert end.high is not None
    assert end.method.startswith("simulation")
    # Both are random with fixed seeds: five standard errors of each, so that only a wrong method fails.
    assert abs(end.value - truth) < 5 * error + 2.5 * (end.high - end.low) / 2


def test_a_tail_without_variance_is_simulated_and_has_no_interval() -> None:
    found = straggler_cost([8], distribution="pareto", shape={"b": 2.0}, steps=100, backups=[0])
    end = found.rows[0].at_end
    assert end is not None
    # Brute force gives about 1.24; its spread has no bound, so the tolerance is wide; single steps would give 2.5.
    assert end.value == pytest.approx(brute_force("pareto", 8, 100, 4000, b=2.0)[0], rel=0.1)
    assert end.low is None
    assert "end-without-interval" in [finding.code for finding in found.findings]


def test_the_normal_limit_is_used_where_it_holds() -> None:
    assert limit_holds(delays_of("norm", loc=1.0, scale=0.1), 10_000, 2)
    assert limit_holds(delays_of("lognorm", s=0.3), 64, 100)
    assert not limit_holds(delays_of("lognorm", s=1.0), 8, 100)
    assert not limit_holds(delays_of("pareto", b=2.5), 8, 10_000)
    end = rows_of("lognorm", [64], 100, s=0.3)[0].at_end
    truth, error = brute_force("lognorm", 64, 100, 400, s=0.3)
    assert end is not None
    assert end.method == "normal limit"
    # The limit may be wrong by SMALL of the excess in each of its two checked terms.
    assert abs(end.value - truth) < 5 * error + 2 * SMALL * (truth - 1)


def test_what_would_need_too_many_draws_is_refused_with_a_finding() -> None:
    found = straggler_cost([8], distribution="pareto", shape={"b": 2.0}, steps=10_000_000, backups=[0])
    assert found.rows[0].at_end is None
    assert found.to_dict()["rows"][0]["end_efficiency"] is None
    assert "end-unknown" in [finding.code for finding in found.findings]
    assert "at end" in str(found)


def test_own_samples_keep_their_skewness() -> None:
    samples = np.random.default_rng(1).lognormal(0.0, 1.0, 20_000)
    (end,) = costs_at_end(delays_from(samples), [8], [math.nan], 10, np.random.default_rng(2))
    truth, error = brute_force("lognorm", 8, 10, 4000, s=1.0)
    assert end is not None
    # 20,000 samples know the tail of their source to a few percent only.
    assert end.value == pytest.approx(truth, rel=0.05, abs=5 * error)


def test_equal_seeds_give_equal_numbers() -> None:
    assert rows_of("lognorm", [8], 10, s=1.0) == rows_of("lognorm", [8], 10, s=1.0)


@pytest.mark.parametrize(
    ("name", "draw"),
    [
        ("lognormal", lambda rng, n: rng.lognormal(0.0, 1.0, n)),
        ("pareto", lambda rng, n: 1.0 + rng.pareto(2.5, n)),
        ("exponential", lambda rng, n: 1.0 + rng.exponential(1.0, n)),
    ],
)
def test_the_interval_of_the_slowest_of_k_holds_the_truth(name: str, draw: Callable[..., np.ndarray]) -> None:
    """At n = 3 K the tail decides; a bootstrap covers 50 to 70 % here."""
    rng = np.random.default_rng(5)
    every = draw(rng, 600_000)
    truth = float(every.reshape(-1, 20).max(axis=1).mean() / every.mean())
    held = 0
    for _ in range(20):
        low, high = maximum_interval(delays_from(draw(rng, 60)), 20, rng) or (0.0, 0.0)
        held += low <= truth <= high
    assert held >= 17, name
