"""Raw observations."""

import numpy as np
import pytest

from scalecurve.errors import InputError
from scalecurve.study import Samples, Study


def test_samples_are_grouped_in_order() -> None:
    samples = Samples.of([2, 1, 2], [0.5, 1.0, 0.6])

    assert {k: values.tolist() for k, values in samples.by_k().items()} == {1: [1.0], 2: [0.5, 0.6]}


def test_samples_are_read_only_and_leave_the_callers_array_alone() -> None:
    values = np.array([1.0, 2.0])
    samples = Samples.of(np.array([1, 2]), values)

    with pytest.raises(ValueError, match="read-only"):
        samples.values[0] = 3.0
    values[0] = 5.0
    assert samples.values[0] == 1.0


@pytest.mark.parametrize("k", [0, -1, 1.5, float("nan"), float("inf"), 1e12])
def test_impossible_worker_counts(k: float) -> None:
    with pytest.raises(InputError, match="worker count"):
        Samples.of([1, k], [1.0, 1.0])


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_values(value: float) -> None:
    with pytest.raises(InputError, match="sample 2"):
        Samples.of([1, 2], [1.0, value])


def test_text_and_empty_input() -> None:
    with pytest.raises(InputError, match="not all numbers"):
        Samples.of(["a"], [1.0])
    with pytest.raises(InputError, match="no samples"):
        Samples.of([], [])


def test_large_and_sparse_k_are_grouped_too() -> None:
    samples = Samples.of([10**8, 1, 10**8], [1.0, 2.0, 3.0])

    assert samples.distinct_k.tolist() == [1, 10**8]


def test_the_regime_is_never_guessed() -> None:
    with pytest.raises(InputError, match="unknown regime"):
        Study.from_samples({1: [1.0]}, regime="medium")
    with pytest.raises(InputError, match="never guessed"):
        Study.from_samples({1: [1.0]}, regime=None)  # type: ignore[arg-type]
