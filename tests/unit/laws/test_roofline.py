"""The roofline in its rate and time forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalecurve.errors import InputError
from scalecurve.laws.roofline import Ceilings, attainable, least_time

H100 = Ceilings(peak=989e12, bandwidths={"memory": 3.35e12, "network": 50e9})


def test_the_ridge_of_an_h100() -> None:
    assert H100.ridge("memory") == pytest.approx(295.2, abs=0.1)


def test_below_the_ridge_memory_bounds_and_above_it_compute() -> None:
    assert least_time(1e12, {"memory": 1e12}, H100).limited_by == "memory"
    assert least_time(1e15, {"memory": 1e12}, H100).limited_by == "compute"


def test_copies_and_pure_arithmetic_have_a_time() -> None:
    assert least_time(0, {"memory": 3.35e12}, H100).seconds == pytest.approx(1.0)
    assert least_time(989e12, {}, H100).seconds == pytest.approx(1.0)


def test_the_network_is_one_more_level() -> None:
    bound = least_time(1e12, {"memory": 1e9, "network": 1e9}, H100)
    assert bound.limited_by == "network"
    assert bound.seconds <= bound.at_most <= 3 * bound.seconds


def test_a_launch_floor_counts_where_work_is_tiny() -> None:
    machine = Ceilings(peak=1e12, bandwidths={"memory": 1e12}, floor=5e-6)
    assert least_time(10, {"memory": 10}, machine).limited_by == "launch"


@given(flops=st.floats(1, 1e18), volume=st.floats(1, 1e15))
def test_both_forms_agree(flops: float, volume: float) -> None:
    rate = attainable(flops / volume, H100, "memory")
    assert least_time(flops, {"memory": volume}, H100).seconds == pytest.approx(flops / rate)


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        Ceilings(peak=-1, bandwidths={"memory": 0})
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError, match="finite numbers from 0"):
        least_time(-1, {}, H100)
    with pytest.raises(InputError, match="no bandwidth for disk"):
        least_time(1, {"disk": 1}, H100)
