"""Worker time is counted: parts add up, lasting slowness is told from noise, hosts are found over all their ranks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scalecurve.diagnosis.accounting import Accounting
from scalecurve.diagnosis.evidence_in_phases import evidence, lasting, lost_parts, more_work
from scalecurve.diagnosis.phases import Account, accounts, find_slow_host
from scalecurve.study import RankRecord, Regime, Run, Study

WORKERS = (1, 2, 4, 8)


def recorded(
    *,
    steps: int = 10,
    slow_ranks: dict[int, float] | None = None,
    hosts_of: int = 1,
    work: bool = True,
    more_steps: float = 0.0,
    collectives: float = 0.0,
) -> dict[int, list[Account]]:
    """A job of one second in even steps that end together; some ranks need so many times as long."""
    by_k: dict[int, list[Account]] = {}
    runs = []
    for k in WORKERS:
        for repeat in range(3):
            count = round(steps * (1 + more_steps * np.log2(k)))
            pace = np.array([(slow_ranks or {}).get(rank, 1.0) for rank in range(k)]) * (1 + 0.001 * repeat)
            own = pace / k / steps
            ranks = tuple(
                RankRecord(
                    rank=i,
                    host=f"h{i // hosts_of}",
                    work=count / k if work else None,
                    steps=(float(own.max()) + collectives,) * count,
                    phases={"compute": own[i] * count, "mpi": (own.max() - own[i] + collectives * (k > 1)) * count},
                    step_phases={
                        "compute": (float(own[i]),) * count,
                        "mpi": (float(own.max() - own[i]) + collectives * (k > 1),) * count,
                    },
                )
                for i in range(k)
            )
            runs.append(Run(k=k, value=count * (float(own.max()) + collectives * (k > 1)), repeat=repeat, ranks=ranks))
    for account in accounts(Study(regime=Regime.STRONG, runs=tuple(runs))):
        by_k.setdefault(account.k, []).append(account)
    return by_k


def test_the_largest_of_many_noisy_workers_is_not_lasting() -> None:
    rng = np.random.default_rng(1)
    falsely = sum(lasting(rng.lognormal(0, 0.3, size=(5, 64)))[0].max() > 0 for _ in range(200))

    assert falsely <= 8  # the test behind it errs in 1 % of cases


def test_a_lasting_effect_is_found_and_not_overstated() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.normal(1.0, 0.05, size=(5, 16))
    matrix[:, 3] += 0.5

    excess, p_value = lasting(matrix)

    assert excess.max() == pytest.approx(0.47, abs=0.06)
    assert p_value is not None
    assert p_value < 0.01


def test_shares_of_worker_time_add_up_and_are_those_of_the_program() -> None:
    """Eight workers compute 1 s in all; each is 10 x 0.025 s in collectives: 2 s of 3 worker-seconds."""
    counted = Accounting(recorded(collectives=0.025), weak=False).worker_time(8)

    assert sum(own[0] for own in counted.values()) == pytest.approx(1.0)
    assert counted["collectives"][0] == pytest.approx(2 / 3, abs=0.002)
    for share, low, high in counted.values():
        assert low <= share <= high


def test_what_a_baseline_of_several_workers_sends_is_no_loss() -> None:
    by_k = recorded(collectives=0.0)
    sending = {
        k: [replace(own, communication=own.communication + 0.2 / k, span=own.span + 0.2 / k) for own in runs]
        for k, runs in by_k.items()
        if k > 1
    }
    sending = {k: [replace(own, transfer=None) for own in runs] for k, runs in sending.items()}

    assert lost_parts(sending, weak=False)[-1][0] == pytest.approx(0.0, abs=1e-9)


def test_a_slow_host_with_four_ranks_is_found_over_all_of_them() -> None:
    host = find_slow_host(recorded(slow_ranks=dict.fromkeys(range(4, 8), 1.6), hosts_of=4))

    assert host is not None
    assert (host.host, host.ranks) == ("h1", frozenset(range(4, 8)))
    assert host.factor == pytest.approx(1.6, rel=0.02)


def test_more_steps_are_more_work_also_where_no_work_was_counted() -> None:
    """30 % more steps with each doubling: at 8 workers 1.9 times the steps."""
    for work in (True, False):
        by_k = recorded(more_steps=0.3, work=work)
        assert more_work(by_k, weak=False) == pytest.approx(1.9)
        assert evidence(by_k, weak=False)["compute: more work or steps"] == pytest.approx(1.0, abs=0.05)


def test_equal_work_in_unequal_time_and_more_work_are_opposites() -> None:
    slow = evidence(recorded(slow_ranks={5: 1.5}), weak=False)
    uncounted = evidence(recorded(slow_ranks={5: 1.5}, work=False), weak=False)

    assert slow["waiting: equal work, unequal time"] == pytest.approx(slow["waiting: always the same worker"])
    assert slow["waiting: counted work explains it"] == pytest.approx(0.0, abs=1e-9)
    assert uncounted["waiting: equal work, unequal time"] == 0.0
