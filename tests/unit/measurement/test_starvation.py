"""T without waiting for cores: against schedules whose quiet time is known, made by a small scheduler."""

from __future__ import annotations

import random

import pytest

from scalecurve.measurement.settings import MeasureSettings, make_settings
from scalecurve.measurement.starvation import COLD, SHARING, quiet_efficiency, quiet_rows
from scalecurve.study import Run

SLICE = 0.01


def shared(
    work: float, k: int, burners: float, rng: random.Random, *, spins: bool
) -> tuple[float, float, float, float]:
    """A job of `work` seconds over K threads that meet at a barrier every 50 ms of work, beside burners on K cores.

    Returns T, CPU seconds, and the least and the whole waiting of its threads; each thread runs in a slice with the
    chance that a fair scheduler gives it.  A thread that waits at the barrier spins, or sleeps.
    """
    chance = min(1.0, 2.0 / (k + burners)) if burners else 1.0
    ran, waited, t = [0.0] * k, [0.0] * k, 0.0
    for _ in range(round(work / k / 0.05)):
        left = [round(0.05 / SLICE)] * k
        while any(left):
            t += SLICE
            for i in range(k):
                if not left[i] and not spins:
                    continue
                if rng.random() < chance:
                    ran[i] += SLICE
                    left[i] = max(0, left[i] - 1)
                else:
                    waited[i] += SLICE
    return t, sum(ran), min(waited), sum(waited)


def settings() -> MeasureSettings:
    return make_settings({"regime": "strong", "workers": "1,2", "command": ["x", "{workers}"]})


def run_of(k: int, burners: float, rng: random.Random, *, spins: bool) -> Run:
    seconds, cpu, least, most = shared(4.0, k, burners, rng, spins=spins)
    observed = {"cpu_seconds": cpu, "lost_seconds": [least, min(seconds, most)], "timing": "wall"}
    return Run(k=k, value=seconds, wall_seconds=seconds, observed=observed)


@pytest.mark.parametrize("spins", [False, True])
@pytest.mark.parametrize("burners", [0.5, 1, 4, 15])
def test_the_bounds_hold_the_quiet_time_and_efficiency(burners: float, spins: bool) -> None:
    rng = random.Random(f"{burners} {spins}")
    for _ in range(10):
        runs = [run_of(k, burners, rng, spins=spins) for k in (1, 2) for _ in range(3)]
        rows = quiet_rows(runs, settings())
        for k in set(rows) & {1, 2}:
            assert rows[k].low <= 4.0 / k <= rows[k].high
        assert 1 in rows
        low, high = quiet_efficiency(rows, settings()).get(2, (0.0, 9.0))
        assert low <= 1.0 <= high


def test_one_thread_that_waited_is_known_exactly() -> None:
    observed = {"cpu_seconds": 2.0, "lost_seconds": [3.0, 3.0], "timing": "wall"}
    row = quiet_rows([Run(k=1, value=5.0, wall_seconds=5.0, observed=observed)], settings())[1]
    assert (row.low, row.high) == pytest.approx((2.0 / (SHARING + COLD * 0.6), 2.0 * SHARING))
    assert row.starved == (0.6, 0.6)


def test_waiting_before_the_timed_part_is_not_taken_off() -> None:
    observed = {"cpu_seconds": 5.0, "lost_seconds": [3.0, 3.0], "timing": "probe"}
    row = quiet_rows([Run(k=1, value=5.0, wall_seconds=8.0, observed=observed)], settings())[1]
    assert row.low <= 2.0
    assert row.high >= 5.0


def test_workers_that_share_cores_among_themselves_have_no_bounds() -> None:
    observed = {"cpu_seconds": 5.0, "lost_seconds": [3.0, 3.0], "timing": "wall"}
    assert quiet_rows([Run(k=1, value=5.0, wall_seconds=8.0, oversubscribed=True, observed=observed)], settings()) == {}
