"""One big machine against many small ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalecurve.errors import InputError
from scalecurve.planning.scaleup import (
    compare_scaleup,
    efficiency_of_forecast,
    efficiency_of_law,
    efficiency_of_study,
)
from scalecurve.study import Study


def test_where_each_side_wins() -> None:
    rows = efficiency_of_law("amdahl", {"serial": 0.02}, [1, 2, 4, 8, 16, 32])
    found = compare_scaleup(rows, faster=8, big_price=12, small_price=1)
    assert (found.time_from, found.cost_up_to) == (16, 16)
    assert [finding.code for finding in found.findings] == ["out-wins-both"]
    assert "faster from K = 16" in str(found)


@given(
    k=st.integers(1, 1000),
    efficiency=st.floats(0.01, 1.5),
    faster=st.floats(0.1, 100),
    ratio=st.floats(0.1, 100),
)
def test_the_two_rules(k: int, efficiency: float, faster: float, ratio: float) -> None:
    row = compare_scaleup([(k, efficiency)], faster=faster, big_price=ratio, small_price=1).rows[0]
    assert row.faster == (k * efficiency > faster)
    assert row.cheaper == (1 / efficiency < ratio / faster)


def test_a_study_gives_its_measured_efficiency() -> None:
    study = Study.from_samples({1: [10.0, 10.1], 2: [5.5, 5.4], 4: [3.0, 3.1]}, regime="strong")
    assert [k for k, _ in efficiency_of_study(study)] == [1, 2, 4]
    late = Study.from_samples({2: [5.5, 5.4], 4: [3.0, 3.1]}, regime="strong")
    with pytest.raises(InputError, match="no K = 1"):
        efficiency_of_study(late)


def test_larger_k_are_forecast_from_the_study() -> None:
    times = {k: [10.0 * (0.02 + 0.98 / k) * noise for noise in (0.99, 1.0, 1.01)] for k in (1, 2, 4, 8)}
    study = Study.from_samples(times, regime="strong")
    rows = dict(efficiency_of_forecast(study, [1, 2, 16]))
    assert set(rows) == {1, 2, 4, 8, 16}
    assert 0.5 < rows[16] < rows[8]
    assert dict(efficiency_of_forecast(study, [1, 8])) == dict(efficiency_of_study(study))


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        compare_scaleup([(1, 1.0)], faster=0, big_price=-1, small_price=0)
    assert len(caught.value.faults) == 3
    never = compare_scaleup([(2, 0.5)], faster=100, big_price=1, small_price=1)
    assert [finding.code for finding in never.findings] == ["never-faster"]
