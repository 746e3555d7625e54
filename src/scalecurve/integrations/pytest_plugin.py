"""pytest: a test that fails when a function stops scaling.

    @pytest.mark.scaling(workers=[1, 2], min_efficiency=0.8)
    def test_solver_scales(workers):
        solve(workers)

The test body is the job: it runs `repeats` times at each count, in turn, after one warm-up each.  It fails where the
interval of the efficiency lies below the floor; where the interval holds the floor the test passes and its report
says so.  Where other processes disturbed runs below the floor, the test is skipped and says why.  With the fixture
`scaling` a test measures any function itself:

    def test_sum(scaling):
        table = scaling(lambda workers: job(workers), workers=[1, 2], min_efficiency=0.5)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from scalecurve.analysis import SpeedupTable
    from scalecurve.estimate import Estimate
    from scalecurve.units import WorkersLike

MARK = (
    "scaling(workers, min_efficiency, repeats=5, regime='strong', level=0.95): run the test at several worker counts "
    "and fail where the interval of its parallel efficiency is below the floor"
)
REPEATS = 5
SECTION = "scaling"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARK)


@pytest.fixture
def workers(request: pytest.FixtureRequest) -> int:
    """The worker count of the run; set by the `scaling` marker."""
    if request.node.get_closest_marker("scaling") is None:
        pytest.fail("the fixture `workers` needs @pytest.mark.scaling(workers=[...])", pytrace=False)
    return 1


@pytest.fixture
def scaling(request: pytest.FixtureRequest) -> Callable[..., SpeedupTable]:
    """Measure a function of the worker count; the test fails when its efficiency is below the floor."""

    def measure(
        function: Callable[[int], Any],
        workers: WorkersLike,
        min_efficiency: float | None = None,
        *,
        repeats: int = REPEATS,
        regime: str = "strong",
        level: float = 0.95,
    ) -> SpeedupTable:
        table = measure_function(
            function,
            workers=workers,
            min_efficiency=min_efficiency,
            repeats=repeats,
            regime=regime,
            level=level,
            name=request.node.name,
        )
        request.node.add_report_section("call", SECTION, str(table))
        return table

    return measure


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A marked test is run here, as often as its statistics need."""
    mark = pyfuncitem.get_closest_marker("scaling")
    if mark is None or {"workers", "scaling"} & set(pyfuncitem.fixturenames) == {"scaling"}:
        return None
    settings = {**dict(zip(("workers", "min_efficiency"), mark.args, strict=False)), **mark.kwargs}
    if "workers" not in pyfuncitem.fixturenames:
        text = "is marked `scaling` but takes no argument `workers`, so nothing would be measured"
        pytest.fail(f"{pyfuncitem.name} {text}: write def {pyfuncitem.name}(workers)", pytrace=False)
    if settings.get("workers") is None:
        text = "is marked `scaling` without worker counts"
        pytest.fail(f"{pyfuncitem.name} {text}: write @pytest.mark.scaling(workers=[1, 2])", pytrace=False)
    fixtures = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    def job(count: int) -> None:
        pyfuncitem.obj(**{**fixtures, "workers": count})

    table = measure_function(job, name=pyfuncitem.name, **settings)
    pyfuncitem.add_report_section("call", SECTION, str(table))
    return True


def measure_function(
    function: Callable[[int], Any],
    *,
    workers: WorkersLike,
    min_efficiency: float | None = None,
    repeats: int = REPEATS,
    regime: str = "strong",
    level: float = 0.95,
    name: str = "test",
    clock: Callable[[], float] | None = None,
) -> SpeedupTable:
    """T, S and E of a function at several worker counts; fails the test where the interval of E is below the floor.

    Where other processes disturbed the runs the test is skipped instead: nothing can be said.  `clock` stands for the
    time in tests.
    """
    from scalecurve.analysis import tabulate
    from scalecurve.measurement.guard import LoadWatch
    from scalecurve.study import Study
    from scalecurve.units import as_workers

    counts = as_workers(workers)
    for count in counts:
        function(count)  # warm-up
    watch, now = None if clock else LoadWatch(), clock or time.perf_counter
    samples: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(max(2, repeats)):  # in turn, so that a drift of the machine meets every count alike
        for count in counts:
            begin = now()
            function(count)
            samples[count].append(now() - begin)
    disturbed = watch.findings("these times") if watch else ()
    study = replace(Study.from_samples(samples, regime=regime, name=name), findings=disturbed)
    table = tabulate(study, threshold=min_efficiency or 0.7, level=level)
    if min_efficiency is None:
        return table
    below = [text for row in table.rows if (text := words_below(row.k, row.efficiency, min_efficiency))]
    if below and disturbed:
        pytest.skip(f"whether it scales cannot be said: {disturbed[0].message}")
    if below:
        text = f"parallel efficiency below {min_efficiency:g} at {table.level:.0%} confidence: {'; '.join(below)}"
        pytest.fail(f"{text}\n\n{table}", pytrace=False)
    return table


def words_below(k: int, efficiency: Estimate, floor: float) -> str | None:
    """The efficiency in words where its whole interval is below the floor; else None."""
    low, high = efficiency.low, efficiency.high
    if (high if high is not None else efficiency.value) >= floor:
        return None
    interval = f" ({low:.2f} to {high:.2f})" if low is not None and high is not None else ""
    return f"K = {k}: E = {efficiency.value:.2f}{interval}"
