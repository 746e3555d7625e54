"""Closed forms of work and depth."""

from scalecurve.laws import workdepth


def test_bounds_meet_at_one_worker_and_at_the_depth() -> None:
    assert workdepth.least_time(100, 10, 1) == workdepth.greedy_time(100, 10, 1) == 100
    assert workdepth.least_time(100, 10, 1000) == 10
    assert workdepth.greedy_time(100, 10, 10) < 2 * workdepth.least_time(100, 10, 10)


def test_speedup_is_capped_by_the_parallelism() -> None:
    assert workdepth.most_speedup(100, 10, 64) == 10
    assert workdepth.slack(100, 10, 5) == 2
    assert workdepth.parallelism(0, 0) is None
