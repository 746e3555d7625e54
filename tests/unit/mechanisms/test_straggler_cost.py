"""Stragglers: formulas against simulation, samples and published numbers."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.errors import InputError, Refused
from scalecurve.laws.stragglers import exponential_maximum
from scalecurve.mechanisms.straggler_cost import (
    cost_stragglers,
    delays_from,
    delays_of,
    maximum,
    order_statistic,
    simulate_maximum,
)


@pytest.mark.parametrize(("backups", "time"), [(0, 2.05), (1, 1.83), (4, 1.60), (10, 1.42)])
def test_backup_workers_of_the_reference_sheet(backups: int, time: float) -> None:
    delays = delays_of("lognorm", s=0.3)
    assert order_statistic(delays, 100, backups) / delays.mean == pytest.approx(time, abs=0.01)


def test_exponential_delays_give_the_harmonic_number() -> None:
    assert maximum(delays_of("expon"), 50) == pytest.approx(exponential_maximum(50), rel=1e-6)


def test_a_barrier_every_step_costs_more_than_one_at_the_end() -> None:
    row = cost_stragglers(delays_of("lognorm", s=0.3), [64], steps=100).rows[0]
    assert row.slowest == pytest.approx(1.95, abs=0.01)
    assert row.at_end is not None
    assert row.at_end.value == pytest.approx(1.07, abs=0.01)


@pytest.mark.parametrize("k", [1, 10, 1000, 100_000])
def test_simulation_agrees_with_the_formula(k: int) -> None:
    delays = delays_of("gamma", a=4.0)
    simulated = simulate_maximum(delays, k, np.random.default_rng(3), repeats=400)
    assert simulated == pytest.approx(maximum(delays, k), rel=0.05)


def test_own_samples_are_used_while_there_are_enough() -> None:
    samples = np.random.default_rng(1).exponential(1.0, 20_000)
    delays = delays_from(samples)
    assert maximum(delays, 100) == pytest.approx(exponential_maximum(100) * samples.mean(), rel=0.03)
    with pytest.raises(Refused, match="no tail beyond their largest"):
        maximum(delays, 10_000)


def test_persistent_slowness_is_said() -> None:
    found = cost_stragglers(delays_of("norm", loc=1.0, scale=0.01), [100], persistent_share=0.01)
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
        cost_stragglers(delays_of("expon"), [2], persistent_share=2)
    with pytest.raises(InputError, match="two or more"):
        delays_from([1.0])
