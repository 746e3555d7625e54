"""The plugin, run by a pytest inside pytest, with a clock that makes its statistics exact."""

from __future__ import annotations

import itertools
from importlib.metadata import entry_points

import pytest

from scalecurve.integrations.pytest_plugin import measure_function

pytest_plugins = ["pytester"]
INSTALLED = any(point.name == "scalecurve" for point in entry_points(group="pytest11"))
# Where the package is installed its entry point has loaded the plugin already; a second name would be refused.
PLUGIN = ("-p", "no:cacheprovider", *(() if INSTALLED else ("-p", "scalecurve.integrations.pytest_plugin")))


class FakeClock:
    """Time passes only inside jobs: T(K) as told, with a spread of one per cent."""

    def __init__(self, times: dict[int, float]) -> None:
        self.now, self.times = 0.0, times
        self.jitter = itertools.cycle((0.99, 1.0, 1.01))

    def __call__(self) -> float:
        return self.now

    def job(self, workers: int) -> None:
        self.now += self.times[workers] * next(self.jitter)


def test_a_function_that_scales_passes_and_gives_its_table() -> None:
    clock = FakeClock({1: 8.0, 2: 4.2, 4: 2.3})

    table = measure_function(clock.job, workers=[1, 2, 4], min_efficiency=0.8, clock=clock)

    assert table.row(2).efficiency.value == pytest.approx(8.0 / 8.4, rel=0.02)


def test_a_function_that_does_not_scale_fails_with_the_numbers() -> None:
    clock = FakeClock({1: 8.0, 2: 7.0})

    with pytest.raises(pytest.fail.Exception, match=r"below 0\.8 at 95% confidence: K = 2: E = 0\.5"):
        measure_function(clock.job, workers=[2, 1], min_efficiency=0.8, clock=clock)


def test_an_interval_that_holds_the_floor_is_no_failure() -> None:
    noisy = FakeClock({1: 8.0, 2: 5.1})
    noisy.jitter = itertools.cycle((0.6, 1.0, 1.5))

    assert measure_function(noisy.job, workers=[1, 2], min_efficiency=0.8, repeats=3, clock=noisy).rows


def test_the_marker_runs_the_test_at_every_count(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        seen = []

        @pytest.mark.scaling(workers=[1, 2], min_efficiency=0.01, repeats=3)
        def test_job(workers, tmp_path):
            seen.append(workers)
            sum(range(20_000))

        def test_seen():
            assert seen == [1, 2] + [1, 2] * 3

        def test_fixture(scaling):
            table = scaling(lambda workers: sum(range(10_000)), workers=[1, 2], repeats=2)
            assert [row.k for row in table.rows] == [1, 2]

        def test_without_marker(workers):
            pass
        """
    )
    result = pytester.runpytest_subprocess(*PLUGIN)

    result.assert_outcomes(passed=3, errors=1)


def test_a_slow_test_fails_in_the_report(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import time, pytest

        @pytest.mark.scaling(workers=[1, 2], min_efficiency=0.9, repeats=4)
        def test_gets_slower(workers):
            time.sleep(0.02 * workers)
        """
    )
    pytester.makeconftest("from scalecurve.measurement import guard; guard.BUSY_CORES = 1000.0")  # whatever runs here
    result = pytester.runpytest_subprocess(*PLUGIN, "--strict-markers")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*parallel efficiency below 0.9 at 95% confidence: K = 2*"])


def test_a_marker_that_would_measure_nothing_fails_with_a_sentence(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.scaling(workers=[1, 2], min_efficiency=0.9)
        def test_without_argument():
            pass

        @pytest.mark.scaling(min_efficiency=0.9)
        def test_without_counts(workers):
            pass
        """
    )
    result = pytester.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*test_without_argument is marked `scaling` but takes no argument `workers`*"])
    result.stdout.fnmatch_lines(["*test_without_counts is marked `scaling` without worker counts*"])
