"""Replicas for an SLO."""

import pytest

from scalecurve.errors import InputError, Refused
from scalecurve.mechanisms.replicas import plan_replicas


def test_the_fewest_replicas_and_their_neighbours() -> None:
    plan = plan_replicas(rate=1000, service=0.02, slo=0.1)
    within = {row.replicas: row.within for row in plan.rows}
    assert (within[plan.replicas] or 0) >= 0.99 > (within[plan.replicas - 1] or 0)
    assert "replicas keep" in str(plan)
    assert plan.to_dict()["replicas"] == plan.replicas


def test_too_slow_a_service_is_refused() -> None:
    with pytest.raises(Refused, match="service alone takes longer"):
        plan_replicas(rate=10, service=0.1, slo=0.1)
    with pytest.raises(InputError, match="between 0 and 1"):
        plan_replicas(rate=10, service=0.1, slo=0.1, share=1.5)


def test_few_requests_show_an_unstable_neighbour() -> None:
    plan = plan_replicas(rate=150, service=0.01, slo=10.0)
    assert plan.rows[0].mean is None
