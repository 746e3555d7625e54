"""Lasting slowness of a worker against noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from scalecurve.diagnosis.accounting import group, lasting_excess, split_gap
from scalecurve.diagnosis.causes import COMMUNICATION, OTHER
from scalecurve.diagnosis.from_phases import in_collectives
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


def totals(k0: int, busy: Callable[[int], np.ndarray], collectives: Callable[[int], float]) -> dict[int, list[Account]]:
    """Three runs at four K from k0 on: seconds of compute of each worker, and of collectives on every worker."""
    rng = np.random.default_rng(3)
    runs = []
    for k in (k0, 2 * k0, 4 * k0, 8 * k0):
        for repeat in range(3):
            own = busy(k) * (1 + 0.002 * rng.standard_normal())
            inside = collectives(k) + own.max() - own
            ranks = [
                RankRecord(rank=i, phases={"compute": float(own[i]), "mpi": float(inside[i])}) for i in range(len(own))
            ]
            runs.append(Run(k=k, value=float(own.max()) + collectives(k), repeat=repeat, ranks=tuple(ranks)))
    return group(accounts(Study(regime=Regime.STRONG, runs=tuple(runs))))


def units(k: int, count: int = 123) -> np.ndarray:
    """Whole units of work, as evenly as they go."""
    share = np.full(k, count // k, dtype=np.float64)
    share[: count % k] += 1
    return share / count


def test_several_workers_with_one_unit_more_do_not_work_alone() -> None:
    split = split_gap(totals(6, units, lambda _: 0.0), weak=False)

    assert split.alone is None
    assert split.components[48].alone == 0


def test_what_a_baseline_of_several_workers_sends_is_no_loss() -> None:
    by_k = totals(6, lambda k: np.full(k, 1 / k), lambda k: 0.2 / k)

    assert split_gap(by_k, weak=False).components[48].transfer == pytest.approx(0.0, abs=1e-9)


def test_a_rare_slow_run_does_not_hide_compute_that_grows() -> None:
    by_k = totals(1, lambda k: np.full(k, 1 / k) * (1 + 0.1 * (k > 2)), lambda _: 0.0)
    slow = by_k[8][0]
    by_k[8][0] = replace(slow, compute=3 * slow.compute, span=3 * slow.span)

    assert split_gap(by_k, weak=False).components[8].growth == pytest.approx(0.1, rel=0.2)


def test_totals_that_go_like_a_filling_pipeline_may_be_one() -> None:
    filling = totals(1, lambda k: np.full(k, 1 / k), lambda k: 0.05 * (k - 1) / k)
    tree = totals(1, lambda k: np.full(k, 1 / k), lambda k: 0.02 * np.log2(k))

    assert OTHER in in_collectives(filling, weak=False)
    assert in_collectives(tree, weak=False) == {COMMUNICATION: 1.0}
