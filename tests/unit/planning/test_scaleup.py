"""One big machine against many small ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalecurve.errors import InputError
from scalecurve.laws import law
from scalecurve.planning.scaleup import ScaleRow, compare_scaleup
from scalecurve.study import Study


def test_where_each_side_wins() -> None:
    result = compare_scaleup(
        law("amdahl"), parameters={"serial": 0.02}, at="1..32", faster=8, big_price=12, small_price=1
    )
    assert (result.time_from, result.cost_up_to) == (16, 16)
    assert [finding.code for finding in result.findings] == ["out-wins-both"]
    assert "faster from K = 16" in str(result)
    assert "cheaper up to K = 16" in str(result)
    assert repr(result) == "Scale out: 16 small machines are 1.54x as fast at 0.87x the cost of the big one."


def test_a_side_that_wins_in_between_only() -> None:
    parameters = {"contention": 0.02, "coherency": 0.002}
    result = compare_scaleup(law("usl"), parameters=parameters, at="1..128", faster=6, big_price=12, small_price=1)
    assert "faster at K = 8..64" in str(result)


@given(
    k=st.integers(1, 1000),
    efficiency=st.floats(0.01, 1.5),
    faster=st.floats(0.1, 100),
    ratio=st.floats(0.1, 100),
)
def test_the_two_rules(k: int, efficiency: float, faster: float, ratio: float) -> None:
    row = ScaleRow(workers=k, efficiency=efficiency, big_faster=faster, price_ratio=ratio)
    assert row.faster == (k * efficiency > faster)
    assert row.cheaper == (1 / efficiency < ratio / faster)


def test_a_study_gives_its_measured_efficiency() -> None:
    study = Study.from_samples({1: [10.0, 10.1], 2: [5.5, 5.4], 4: [3.0, 3.1]}, regime="strong")
    result = compare_scaleup(study, faster=3, big_price=4, small_price=1)
    assert [(row.workers, row.kind) for row in result.rows] == [(1, "measured"), (2, "measured"), (4, "measured")]
    late = Study.from_samples({2: [5.5, 5.4], 4: [3.0, 3.1]}, regime="strong")
    with pytest.raises(InputError, match="no K = 1"):
        compare_scaleup(late, faster=3, big_price=4, small_price=1)


def test_other_k_are_forecast_from_the_study_and_only_those_asked_for_are_listed() -> None:
    times = {k: [10.0 * (0.02 + 0.98 / k) * noise for noise in (0.99, 1.0, 1.01)] for k in (1, 2, 4, 8)}
    study = Study.from_samples(times, regime="strong")
    result = compare_scaleup(study, at=[1, 2, 16, 1024], faster=8, big_price=12, small_price=1)
    assert [(row.workers, row.kind) for row in result.rows] == [(1, "measured"), (2, "measured"), (16, "forecast")]
    last = result.rows[-1]
    assert (last.low or 0) < last.efficiency < (last.high or 0)
    assert "forecast-refused" in {finding.code for finding in result.findings}
    assert "1024" in str(result)
    assert "forecast" in str(result)


def test_nonsense_is_refused() -> None:
    amdahl = law("amdahl")
    with pytest.raises(InputError) as caught:
        compare_scaleup(amdahl, parameters={"serial": 0.1}, faster=0, big_price=-1, small_price=0)
    assert len(caught.value.faults) == 3
    never = compare_scaleup(amdahl, parameters={"serial": 0.5}, faster=100, big_price=1, small_price=1)
    assert [finding.code for finding in never.findings] == ["never-faster"]
