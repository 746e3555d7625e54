"""One big machine against many small ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalecurve.errors import InputError
from scalecurve.planning.scaleup import (
    KnownEfficiency,
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
    assert "cheaper up to K = 16" in str(found)


def test_a_side_that_wins_in_between_only() -> None:
    rows = efficiency_of_law("usl", {"contention": 0.02, "coherency": 0.002}, [1, 2, 4, 8, 16, 32, 64, 128])
    found = compare_scaleup(rows, faster=6, big_price=12, small_price=1)
    assert "faster at K = 8..64" in str(found)


@given(
    k=st.integers(1, 1000),
    efficiency=st.floats(0.01, 1.5),
    faster=st.floats(0.1, 100),
    ratio=st.floats(0.1, 100),
)
def test_the_two_rules(k: int, efficiency: float, faster: float, ratio: float) -> None:
    row = compare_scaleup([KnownEfficiency(k, efficiency)], faster=faster, big_price=ratio, small_price=1).rows[0]
    assert row.faster == (k * efficiency > faster)
    assert row.cheaper == (1 / efficiency < ratio / faster)


def test_a_study_gives_its_measured_efficiency() -> None:
    study = Study.from_samples({1: [10.0, 10.1], 2: [5.5, 5.4], 4: [3.0, 3.1]}, regime="strong")
    assert [known.k for known in efficiency_of_study(study)] == [1, 2, 4]
    late = Study.from_samples({2: [5.5, 5.4], 4: [3.0, 3.1]}, regime="strong")
    with pytest.raises(InputError, match="no K = 1"):
        efficiency_of_study(late)


def test_other_k_are_forecast_from_the_study_and_only_those_asked_for_are_listed() -> None:
    times = {k: [10.0 * (0.02 + 0.98 / k) * noise for noise in (0.99, 1.0, 1.01)] for k in (1, 2, 4, 8)}
    study = Study.from_samples(times, regime="strong")
    rows, notes = efficiency_of_forecast(study, [1, 2, 16, 1024])
    assert [(row.k, row.kind) for row in rows] == [(1, "measured"), (2, "measured"), (16, "forecast")]
    last = rows[-1]
    assert (last.low or 0) < last.efficiency < (last.high or 0)
    assert "forecast-refused" in {finding.code for finding in notes}
    found = compare_scaleup(rows, faster=8, big_price=12, small_price=1, notes=notes)
    assert "1024" in str(found)
    assert "forecast" in str(found)
    assert efficiency_of_forecast(study)[0] == efficiency_of_study(study)


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        compare_scaleup([KnownEfficiency(1, 1.0)], faster=0, big_price=-1, small_price=0)
    assert len(caught.value.faults) == 3
    never = compare_scaleup([KnownEfficiency(2, 0.5)], faster=100, big_price=1, small_price=1)
    assert [finding.code for finding in never.findings] == ["never-faster"]
