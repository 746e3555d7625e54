"""The gap K T(K) - T(1) split by cause, from where each worker's time went.

At each K the worker-seconds K * span are compute, collectives, data loading and waiting.  Against the baseline:

    contention      compute (and loading) summed over workers beyond what the same work took at the baseline
    communication   what every worker spends in collectives
    serial          a worker that works alone: the others' waiting
    imbalance       waiting for workers that lastingly have more to do
    straggler       the rest of the waiting: slowness that comes and goes, or a lastingly slow host
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from scalecurve.diagnosis.causes import CAUSES, COMMUNICATION, CONTENTION, IMBALANCE, SERIAL, STRAGGLER
from scalecurve.diagnosis.phases import Account
from scalecurve.diagnosis.slow_hosts import SlowHost, find_slow_host
from scalecurve.diagnosis.waiting import Alone, compute_matrix, hidden_waiting, lasting_effects, works_alone

Losses = dict[str, float]


@dataclass(frozen=True, eq=False)
class Split:
    """Worker-seconds lost at each K by cause, and what was seen on the way."""

    losses: dict[int, Losses]
    spent: dict[int, float]
    alone: Alone | None
    slow_host: SlowHost | None
    p_lasting: dict[int, float | None] = field(default_factory=dict)

    def at(self, k: int) -> Losses:
        return self.losses[k]


def group(runs: Iterable[Account]) -> dict[int, list[Account]]:
    """Runs by K, rising; runs of one K must have the same number of workers."""
    grouped: dict[int, list[Account]] = {}
    for run in sorted(runs, key=lambda account: account.k):
        grouped.setdefault(run.k, []).append(run)
    return grouped


def split_gap(by_k: dict[int, list[Account]], *, weak: bool, replicated: bool) -> Split:
    """`replicated` says that workers share no machine, so that growing compute is work done again on each of them."""
    alone = works_alone(by_k) if not weak else None
    hidden = hidden_waiting(by_k) if not _waits_apart(by_k) else dict.fromkeys(by_k, 0.0)
    slow_host = find_slow_host(by_k)
    slowed = {k: slow_host.own_excess(runs) if slow_host is not None else 0.0 for k, runs in by_k.items()}
    useful = {k: useful_seconds(runs) - slowed[k] for k, runs in by_k.items()}
    base = next(iter(by_k))
    losses, lasting = {}, {}
    for k, runs in by_k.items():
        expected = useful[base] * (k / base if weak else 1.0)
        growth = _significant_growth(runs, by_k[base], useful[k] - expected, k == base)
        waits, lasting[k] = _waiting(runs, alone, hidden[k], slow_host)
        waits[STRAGGLER] += slowed[k]
        grown = SERIAL if replicated else CONTENTION
        losses[k] = _share_interaction(waits, grown, growth, expected)
    spent = {k: float(np.mean([len(a.compute) * a.span for a in runs])) for k, runs in by_k.items()}
    return Split(losses, spent, alone, slow_host, lasting)


def _share_interaction(waits: Losses, grown: str, growth: float, expected: float) -> Losses:
    """Compute that grows makes the waiting for uneven compute longer too.  What neither cause would cost by itself is
    shared among them in proportion to what each does."""
    factor = 1.0 + growth / expected
    uneven = {name: waits[name] / factor for name in (IMBALANCE, STRAGGLER)}
    together = sum(uneven.values()) * (factor - 1.0)
    alone = {**uneven, grown: growth}
    total = sum(alone.values())
    shared = {name: value + (together * value / total if total > 0 else 0.0) for name, value in alone.items()}
    return {**waits, **shared, grown: shared[grown] + waits[grown]}


def _waits_apart(by_k: dict[int, list[Account]]) -> bool:
    return any(account.waits_apart for runs in by_k.values() for account in runs)


def useful_seconds(runs: list[Account]) -> float:
    return float(np.mean([(a.compute + a.data).sum() + a.serial.sum() for a in runs]))


def _significant_growth(runs: list[Account], base: list[Account], growth: float, is_base: bool) -> float:
    """Growth of compute beyond the noise of the runs it is a difference of."""
    if is_base or growth <= 0:
        return 0.0
    error = np.hypot(_relative_error(runs), _relative_error(base)) * useful_seconds(runs)
    return growth if growth > 3.0 * error else 0.0


def _relative_error(runs: list[Account]) -> float:
    totals = np.array([(a.compute + a.data).sum() + a.serial.sum() for a in runs])
    return float(totals.std(ddof=1) / totals.mean() / np.sqrt(len(runs))) if len(runs) > 1 else 0.02


def _waiting(
    runs: list[Account], alone: Alone | None, hidden: float, slow_host: SlowHost | None
) -> tuple[Losses, float | None]:
    """Losses of one K other than growth, and the test of the lasting effect."""
    workers = len(runs[0].compute)
    losses = dict.fromkeys(CAUSES, 0.0)
    if workers == 1:
        return losses, None
    least = float(np.mean([a.communication.min() for a in runs]))
    losses[COMMUNICATION] = workers * max(0.0, least - hidden)
    # Named serial work: every worker's span contains the longest of it, whoever did it.
    named = float(np.mean([a.serial.max() * workers - a.serial.sum() for a in runs]))
    matrix = compute_matrix(runs)
    extra = 0.0
    if alone is not None and alone.rank < workers:
        extra = min(
            alone.seconds, max(0.0, float(matrix[:, alone.rank].mean() - matrix.mean())) * workers / (workers - 1)
        )
        matrix = matrix.copy()
        matrix[:, alone.rank] -= extra
    losses[SERIAL] = named + extra * (workers - 1)
    lasting = lasting_effects(matrix)
    waited = float(np.mean([a.wait.sum() + (a.communication - a.communication.min()).sum() for a in runs]))
    waited += workers * min(hidden, least) - losses[SERIAL]
    steady = min(workers * lasting.excess, max(waited, 0.0))
    by_host = min(steady, slow_host.loss(workers, matrix)) if slow_host is not None else 0.0
    losses[IMBALANCE] = steady - by_host
    losses[STRAGGLER] = max(waited - steady, 0.0) + by_host
    return losses, lasting.p_value
