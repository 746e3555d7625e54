"""One barrier after n steps: exact where it can be, simulated where the normal limit is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scalecurve.mechanisms import barrier_at_end
from scalecurve.mechanisms.barrier_at_end import limit_holds
from scalecurve.mechanisms.straggler_cost import StragglerRow, cost_stragglers, delays_from, delays_of


def rows_of(name: str, workers: list[int], steps: int, **shape: float) -> tuple[StragglerRow, ...]:
    return cost_stragglers(delays_of(name, **shape), workers, steps=steps, backups=[0]).rows


def brute_force(name: str, k: int, steps: int, rounds: int, **shape: float) -> tuple[float, float]:
    """The mean of the slowest of K means and its standard error, without any of the tool's own code."""
    from scipy import stats

    frozen = getattr(stats, name)(**shape)
    rng = np.random.default_rng(99)
    found = [frozen.rvs(size=(k, steps), random_state=rng).mean(axis=1).max() for _ in range(rounds)]
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
    found = cost_stragglers(delays_of("pareto", b=2.0), [8], steps=100, backups=[0])
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
    assert abs(end.value - truth) < 5 * error + 2 * barrier_at_end.SMALL * (truth - 1)


def test_what_would_need_too_many_draws_is_refused_with_a_finding() -> None:
    found = cost_stragglers(delays_of("pareto", b=2.0), [8], steps=10_000_000, backups=[0])
    assert found.rows[0].at_end is None
    assert found.to_dict()["rows"][0]["end_efficiency"] is None
    assert "end-unknown" in [finding.code for finding in found.findings]
    assert "at end" in str(found)


def test_own_samples_keep_their_skewness() -> None:
    samples = np.random.default_rng(1).lognormal(0.0, 1.0, 20_000)
    row = cost_stragglers(delays_from(samples), [8], steps=10, backups=[0]).rows[0]
    truth, error = brute_force("lognorm", 8, 10, 4000, s=1.0)
    assert row.at_end is not None
    # 20,000 samples know the tail of their source to a few percent only.
    assert row.at_end.value == pytest.approx(truth, rel=0.05, abs=5 * error)


def test_equal_seeds_give_equal_numbers() -> None:
    assert rows_of("lognorm", [8], 10, s=1.0) == rows_of("lognorm", [8], 10, s=1.0)
