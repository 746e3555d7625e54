"""POP efficiencies: where parallel efficiency goes, in the terms HPC centres use.

    load balance LB = mean(useful)/max(useful)         communication efficiency CommE = max(useful)/runtime
    parallel efficiency PE = LB * CommE                computation scalability CompS = useful(K0)/useful(K) in all
    global efficiency GE = PE * CompS

Under weak scaling useful(K0) is scaled by K/K0.  Exact link to speedup: E(K) = CompS(K) PE(K)/PE(K0).
Source: POP Centre of Excellence, co-design.pop-coe.eu, Performance Metrics.  Above 0.8 is called acceptable.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from scalecurve.diagnosis.phases import Account

ACCEPTABLE = 0.8


@dataclass(frozen=True, kw_only=True)
class PopMetrics:
    """The efficiencies of one K, means over its runs."""

    load_balance: float
    communication_efficiency: float
    parallel_efficiency: float
    computation_scalability: float
    global_efficiency: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def pop_metrics(runs: list[Account], useful_at_baseline: float) -> PopMetrics:
    """Of the runs of one K, against the useful worker-seconds the same work took at the baseline."""
    useful = [account.compute + account.data + account.serial for account in runs]
    balance = float(np.mean([each.mean() / each.max() for each in useful]))
    communication = float(np.mean([each.max() / account.span for each, account in zip(useful, runs, strict=True)]))
    parallel = float(np.mean([each.mean() / account.span for each, account in zip(useful, runs, strict=True)]))
    scalability = useful_at_baseline / float(np.mean([each.sum() for each in useful]))
    return PopMetrics(
        load_balance=balance,
        communication_efficiency=communication,
        parallel_efficiency=parallel,
        computation_scalability=scalability,
        global_efficiency=parallel * scalability,
    )
