"""Closed forms of work and depth."""

import pytest

from scalecurve.errors import InputError
from scalecurve.laws import workdepth


def test_bounds_meet_at_one_worker_and_at_the_depth() -> None:
    assert workdepth.least_time(100, 10, 1) == workdepth.greedy_time(100, 10, 1) == 100
    assert workdepth.least_time(100, 10, 1000) == 10
    assert workdepth.greedy_time(100, 10, 10) < 2 * workdepth.least_time(100, 10, 10)


def test_speedup_is_capped_by_the_parallelism() -> None:
    assert workdepth.most_speedup(100, 10, 64) == 10
    assert workdepth.slack(100, 10, 5) == 2
    assert workdepth.parallelism(0, 0) is None


def test_pipeline_bubble() -> None:
    counts = workdepth.pipeline(stages=4, microbatches=16)
    assert 1 - counts.work / (4 * counts.depth) == pytest.approx(3 / 19)


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match="cannot exceed"):
        workdepth.check(1, 2)
    with pytest.raises(InputError, match="power of two"):
        workdepth.prefix_sum(12)
    with pytest.raises(InputError, match="from 1"):
        workdepth.reduction_tree(0)
