"""Load curves, and replicas for an SLO."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.errors import InputError, Refused
from scalecurve.mechanisms import load_curve, replicas_needed
from scalecurve.study.latency_record import Histogram, LatencyRecord


def _load(rate: float, mean: float, seed: int) -> LatencyRecord:
    rng = np.random.default_rng(seed)
    samples = rng.exponential(mean, int(rate * 400))
    return LatencyRecord(
        name=f"{rate}", histogram=Histogram.of(samples), seconds=400.0, intended_rate=rate, open_loop=True
    )


def test_a_load_curve_of_one_server_shows_its_knee_and_replicas() -> None:
    records = [_load(rate, 1 / (100 - rate), i) for i, rate in enumerate((5, 20, 50, 80, 95))]
    found = load_curve(records, slo=0.1, slo_share=0.9)
    assert found.knee == 50  # power X/W = rate (mu - rate) is largest at mu/2
    assert found.servers == 1
    assert found.points[2].mmc == pytest.approx(found.points[2].mean, rel=0.15)
    assert all(count is not None for count in found.replicas.values())
    assert found.records()[0]["offered"] == 5


def test_one_load_is_shown_without_a_knee_or_a_model() -> None:
    found = load_curve([_load(5, 0.01, 1)], slo=0.1)
    assert (found.knee, found.servers, found.replicas) == (None, None, {})
    assert [finding.code for finding in found.findings] == ["one-load"]
    with pytest.raises(InputError, match="latencies and a load"):
        load_curve([LatencyRecord(name="x", stated={0.5: 0.1})])


def test_the_fewest_replicas_and_their_neighbours() -> None:
    plan = replicas_needed(rate=1000, service=0.02, slo=0.1)
    within = {row.replicas: row.share_within_slo for row in plan.rows}
    assert (within[plan.replicas] or 0) >= 0.99 > (within[plan.replicas - 1] or 0)
    assert "replicas: they keep" in str(plan)
    assert plan.to_dict()["replicas"] == plan.replicas


def test_too_slow_a_service_is_refused() -> None:
    with pytest.raises(Refused, match="service alone takes longer"):
        replicas_needed(rate=10, service=0.1, slo=0.1)
    with pytest.raises(InputError, match="between 0 and 1"):
        replicas_needed(rate=10, service=0.1, slo=0.1, slo_share=1.5)


def test_few_requests_show_an_unstable_neighbour() -> None:
    plan = replicas_needed(rate=150, service=0.01, slo=10.0)
    assert plan.rows[0].mean is None
