"""pytest: a test that fails when a function stops scaling.

    @pytest.mark.scaling(workers=[1, 2], min_efficiency=0.8)
    def test_solver_scales(workers):
        solve(workers)

The test body is the job: it runs `repeats` times at each count, in turn, after one warm-up each.  It fails where the
interval of the efficiency lies below the floor, that is when chance is no excuse; where the interval holds the floor
the test passes and its report says so.  With the fixture `scaling` a test measures any function itself:

    def test_sum(scaling):
        table = scaling(lambda workers: job(workers), workers=[1, 2], min_efficiency=0.5)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from scalecurve.analysis import SpeedupTable, TableRow

MARK = (
    "scaling(workers, min_efficiency, repeats=5, regime='strong', level=0.95): run the test at several worker counts "
    "and fail where its parallel efficiency is surely below the floor"
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
    """Measure a function of the worker count, and hold it to a floor."""

    def measure(function: Callable[[int], Any], **settings: Any) -> SpeedupTable:
        table = measure_function(function, name=request.node.name, **settings)
        request.node.add_report_section("call", SECTION, str(table))
        return table

    return measure


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A marked test is run here, as often as its statistics need."""
    mark = pyfuncitem.get_closest_marker("scaling")
    if mark is None or "workers" not in pyfuncitem.fixturenames:
        return None
    names = pyfuncitem._fixtureinfo.argnames
    given = {name: pyfuncitem.funcargs[name] for name in names}

    def job(count: int) -> None:
        pyfuncitem.obj(**{**given, "workers": count})

    table = measure_function(job, name=pyfuncitem.name, **_settings(mark))
    pyfuncitem.add_report_section("call", SECTION, str(table))
    return True


def _settings(mark: pytest.Mark) -> dict[str, Any]:
    names = ("workers", "min_efficiency")
    return {**dict(zip(names, mark.args, strict=False)), **mark.kwargs}


def measure_function(
    function: Callable[[int], Any],
    *,
    workers: Sequence[int],
    min_efficiency: float | None = None,
    repeats: int = REPEATS,
    regime: str = "strong",
    level: float = 0.95,
    name: str = "test",
    clock: Callable[[], float] = time.perf_counter,
) -> SpeedupTable:
    """T, S and E of a function at several worker counts; fails the test where E is surely below the floor."""
    from scalecurve.analysis import tabulate
    from scalecurve.study import Study

    counts = sorted(set(workers))
    for count in counts:
        function(count)  # warm-up
    samples: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(max(2, repeats)):  # in turn, so that a drift of the machine meets every count alike
        for count in counts:
            begin = clock()
            function(count)
            samples[count].append(clock() - begin)
    study = Study.from_samples(samples, regime=regime, name=name)
    table = tabulate(study, threshold=min_efficiency or 0.7, level=level)
    below = [row for row in table.rows if min_efficiency is not None and _surely_below(row, min_efficiency)]
    if below:
        pytest.fail(_message(table, below, min_efficiency or 0.0), pytrace=False)
    return table


def _surely_below(row: TableRow, floor: float) -> bool:
    high = row.efficiency.high if row.efficiency.high is not None else row.efficiency.value
    return high < floor


def _message(table: SpeedupTable, below: Sequence[TableRow], floor: float) -> str:
    shown = "; ".join(
        f"K = {row.k}: E = {row.efficiency.value:.2f} ({row.efficiency.low:.2f} to {row.efficiency.high:.2f})"
        for row in below
        if row.efficiency.low is not None and row.efficiency.high is not None
    )
    return f"parallel efficiency below {floor:g} at {table.level:.0%} confidence: {shown}\n\n{table}"
