"""A host that is slow all the time: the same work takes longer there.

Uneven shards and a slow host look alike from times: the same worker is always last.  Work counts part them: a slow
host needs more seconds per unit of work.  Without counts a host is named only where hosts are known, one of them
alone stands out against others that agree, and the K that do without it show no imbalance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.diagnosis.phases import Account
from scalecurve.study.samples import FloatArray

SLOWER = 1.1
LEAST_HOSTS = 3
AGREEMENT = 0.25  # the other hosts' spread, as a share of the slow one's excess


@dataclass(frozen=True)
class SlowHost:
    """The host, how many times longer it needs, and the worker that ran there."""

    host: str
    factor: float
    ranks: frozenset[int]
    by_work: bool

    def own_excess(self, runs: list[Account]) -> float:
        """Seconds it spends itself beyond what it would at the others' speed, mean over the runs of one K."""
        present = [rank for rank in self.ranks if rank < len(runs[0].compute)]
        own = [float(account.compute[present].sum()) for account in runs]
        return float(np.mean(own)) * (1.0 - 1.0 / self.factor)

    def loss(self, workers: int, matrix: FloatArray) -> float:
        """Worker-seconds the others wait for it: what it needs beyond what it would at their speed."""
        present = [rank for rank in self.ranks if rank < workers]
        if not present:
            return 0.0
        own = float(matrix[:, present].mean())
        return workers * own * (1.0 - 1.0 / self.factor)


def find_slow_host(by_k: dict[int, list[Account]]) -> SlowHost | None:
    """The one lastingly slow host, if one stands out; where work was counted, a rank will do for a host."""
    runs = [account for grouped in by_k.values() for account in grouped if len(account.compute) > 1]
    by_work = bool(runs) and all(account.work is not None and np.all(account.work > 0) for account in runs)
    known = bool(runs) and all(host is not None for account in runs for host in account.hosts)
    if not (known or by_work):
        return None
    pace = _pace(runs, by_work)
    if len(pace) < LEAST_HOSTS - by_work:
        return None
    found = _outstanding(pace, by_work)
    if found is None or not (by_work or _absent_somewhere(by_k, found.host)):
        return None
    return SlowHost(found.host, found.factor, _ranks_on(runs, found.host), by_work)


def _outstanding(pace: dict[str, float], by_work: bool) -> SlowHost | None:
    """The slowest, if it is clearly slower than the others and they agree among themselves."""
    host = max(pace, key=lambda name: pace[name])
    others = np.array([value for name, value in pace.items() if name != host])
    usual = float(np.median(others))
    if pace[host] < SLOWER * usual or np.ptp(others) > AGREEMENT * (pace[host] - usual):
        return None
    return SlowHost(host, pace[host] / usual, frozenset(), by_work)


def _names(account: Account) -> list[str]:
    """Hosts, or ranks where hosts are unknown or shared: then the slow one is a worker rather than a machine."""
    distinct = len(set(account.hosts)) == len(account.hosts) and None not in account.hosts
    return [str(host) if distinct else f"of rank {i}" for i, host in enumerate(account.hosts)]


def _pace(runs: list[Account], by_work: bool) -> dict[str, float]:
    """Seconds of compute per unit of work on each host, against the median of its run; the median over runs."""
    seen: dict[str, list[float]] = {}
    for account in runs:
        pace = account.compute / account.work if by_work and account.work is not None else account.compute
        for host, value in zip(_names(account), pace / np.median(pace), strict=True):
            seen.setdefault(host, []).append(float(value))
    return {host: float(np.median(values)) for host, values in seen.items()}


def _absent_somewhere(by_k: dict[int, list[Account]], host: str) -> bool:
    """Some K with several workers ran without the host, and was balanced."""
    without = [a for grouped in by_k.values() for a in grouped if len(a.compute) > 1 and host not in _names(a)]
    return bool(without) and all(a.compute.max() < SLOWER * a.compute.mean() for a in without)


def _ranks_on(runs: list[Account], host: str) -> frozenset[int]:
    return frozenset(i for account in runs for i, name in enumerate(_names(account)) if name == host)
