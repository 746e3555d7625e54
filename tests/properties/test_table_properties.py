"""What must always hold of a speedup table."""

import json
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from scalecurve.analysis import tabulate
from scalecurve.study import Study
from scalecurve.study.file import json_bytes, study_from_dict, study_to_dict

times = st.floats(min_value=1e-6, max_value=1e6)
sample_sets = st.dictionaries(st.integers(1, 4096), st.lists(times, min_size=1, max_size=5), min_size=2, max_size=6)
regimes = st.sampled_from(["strong", "weak"])
quantities = st.sampled_from(["seconds", "throughput", "throughput_per_worker"])


def _close(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    return math.isclose(left, right, rel_tol=1e-6, abs_tol=1e-300)


@given(sample_sets, regimes, quantities, st.floats(min_value=1e-3, max_value=1e3))
@settings(deadline=None, max_examples=60)
def test_a_change_of_unit_leaves_speedup_alone(
    samples: dict[int, list[float]], regime: str, quantity: str, factor: float
) -> None:
    plain = tabulate(Study.from_samples(samples, regime=regime, quantity=quantity))
    scaled_samples = {k: [value * factor for value in values] for k, values in samples.items()}
    scaled = tabulate(Study.from_samples(scaled_samples, regime=regime, quantity=quantity))

    for left, right in zip(plain.rows, scaled.rows, strict=True):
        assert _close(left.speedup.value, right.speedup.value)
        assert _close(left.efficiency.low, right.efficiency.low)
        assert _close(left.mean.value * factor, right.mean.value)


@given(sample_sets, regimes, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_the_order_of_samples_changes_nothing(samples: dict[int, list[float]], regime: str, random: object) -> None:
    pairs = list(samples.items())
    random.shuffle(pairs)  # type: ignore[attr-defined]
    shuffled = {k: values[::-1] for k, values in pairs}
    left = tabulate(Study.from_samples(samples, regime=regime))
    right = tabulate(Study.from_samples(shuffled, regime=regime))

    for one, other in zip(left.rows, right.rows, strict=True):
        assert _close(one.efficiency.value, other.efficiency.value)
        assert _close(one.efficiency.high, other.efficiency.high)


@given(sample_sets, regimes, quantities)
@settings(deadline=None, max_examples=60)
def test_the_study_file_is_an_identity(samples: dict[int, list[float]], regime: str, quantity: str) -> None:
    study = Study.from_samples(samples, regime=regime, quantity=quantity)
    again = study_from_dict(json.loads(json_bytes(study_to_dict(study))))

    assert {k: v.tolist() for k, v in again.samples.by_k().items()} == {
        k: v.tolist() for k, v in study.samples.by_k().items()
    }
    assert study_to_dict(again) == study_to_dict(study)


@given(sample_sets, regimes, quantities)
@settings(deadline=None, max_examples=60)
def test_intervals_contain_their_value_and_the_baseline_is_exact(
    samples: dict[int, list[float]], regime: str, quantity: str
) -> None:
    table = tabulate(Study.from_samples(samples, regime=regime, quantity=quantity))

    assert table.row(table.baseline_k).efficiency.value == 1
    for row in table.rows:
        if row.efficiency.low is not None and row.efficiency.high is not None:
            assert 0 <= row.efficiency.low <= row.efficiency.value <= row.efficiency.high
        json.dumps(row.to_dict(), allow_nan=False)
