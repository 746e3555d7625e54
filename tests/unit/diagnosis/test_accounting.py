"""Lasting slowness of a worker against noise."""

from __future__ import annotations

import numpy as np
import pytest

from scalecurve.diagnosis.accounting import group, lasting_excess, split_gap
from scalecurve.diagnosis.phases import Account, accounts
from scalecurve.study import RankRecord, Regime, Run, Study


def test_the_largest_of_many_noisy_workers_is_not_lasting() -> None:
    rng = np.random.default_rng(1)
    falsely = sum(lasting_excess(rng.lognormal(0, 0.3, size=(5, 64)))[0] > 0 for _ in range(200))

    assert falsely <= 8  # the test behind it errs in 1 % of cases


def test_a_lasting_effect_is_found_and_not_overstated() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.normal(1.0, 0.05, size=(5, 16))
    matrix[:, 3] += 0.5

    excess, p_value = lasting_excess(matrix)

    assert excess == pytest.approx(0.47, abs=0.06)
    assert p_value is not None
    assert p_value < 0.01


def workers(
    waits: float, *, steps: int = 20, uneven: float = 0.0, work: bool = False, extra: float = 0.0
) -> dict[int, list[Account]]:
    """A job of one second at 1 and 4 workers: each of the 4 waits so long, and one has so much more to do."""
    runs = []
    for k in (1, 4):
        for repeat in range(3):
            share = np.full(k, 1.0 / k)
            share[-1] *= 1.0 + (uneven if k > 1 else 0.0)
            total = (share + extra * (k > 1)) * (1.0 + 0.001 * repeat)
            ranks = [
                RankRecord(
                    rank=i,
                    phases={"compute": own, "wait": waits * (k > 1) + float(total.max() - own)},
                    step_phases={"compute": (own / steps,) * steps},
                    work=float(share[i]) if work else None,
                )
                for i, own in enumerate(total.tolist())
            ]
            runs.append(Run(k=k, value=float(total.max()) + waits * (k > 1), repeat=repeat, ranks=tuple(ranks)))
    return group(accounts(Study(regime=Regime.STRONG, runs=tuple(runs))))


def test_waiting_that_no_busy_time_explains_is_a_component_of_its_own() -> None:
    own = split_gap(workers(0.3), weak=False).components[4]

    assert own.queueing == pytest.approx(1.2, rel=0.05)
    assert own.passing < 0.05


def test_counted_work_tells_more_work_from_a_slow_worker() -> None:
    counted = split_gap(workers(0.0, uneven=0.5, work=True), weak=False).components[4]
    uncounted = split_gap(workers(0.0, uneven=0.5), weak=False).components[4]

    assert counted.uneven > 0.9 * uncounted.lasting > 0.1
    assert counted.lasting < 0.1 * uncounted.lasting
