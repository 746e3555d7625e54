"""The histogram: never more than 0.05 % off, whatever the samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalecurve.errors import InputError
from scalecurve.study import latency_record
from scalecurve.study.latency_record import CHUNK, Histogram, LatencyRecord, merged

times = st.lists(st.floats(1e-8, 1e5), min_size=1, max_size=200)


@given(samples=times)
def test_every_order_statistic_is_within_a_thousandth(samples: list[float]) -> None:
    histogram = Histogram.of(samples)
    values, counts = histogram.nonzero()
    assert np.repeat(values, counts) == pytest.approx(np.sort(samples), rel=5e-4)
    assert (histogram.n, histogram.least, histogram.most) == (len(samples), min(samples), max(samples))


@given(first=times, second=times)
def test_adding_histograms_is_counting_together(first: list[float], second: list[float]) -> None:
    both = Histogram.of(first) + Histogram.of(second)
    assert np.array_equal(both.counts, Histogram.of(first + second).counts)


@settings(deadline=None)
@given(seed=st.integers(0, 50))
def test_chunks_below_the_first_guess_are_counted_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples = np.concatenate([rng.uniform(1, 2, CHUNK), rng.lognormal(-12, 2, 1000), [0.0, 3e7]])
    histogram = Histogram.of(samples)
    assert histogram.n == len(samples)
    assert (histogram.least, histogram.most) == (0.0, 3e7)


@pytest.mark.parametrize("bad", [[-1.0], [float("nan")], [float("inf"), 1.0], []])
def test_what_is_no_time_is_refused(bad: list[float]) -> None:
    with pytest.raises(InputError):
        Histogram.of(bad)


def test_memory_is_bounded_however_many_samples() -> None:
    assert latency_record.BUCKETS * 8 < 1_000_000


def test_stated_percentiles_are_never_merged() -> None:
    stated = LatencyRecord(name="wrk", stated={0.99: 0.1}, count=1000)
    known = LatencyRecord(name="log", histogram=Histogram.of([0.1]))
    with pytest.raises(InputError, match="cannot be merged or averaged"):
        merged([stated, known])
    assert (merged([known, known]).n, known.n) == (2, 1)
