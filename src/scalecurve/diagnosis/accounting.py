"""The lost worker-time K T(K) - T(1) by component, from where each worker's time went; and the POP efficiencies.

At each K the worker-seconds K * span are compute, collectives, data loading, waiting and time outside all phases.
Against the baseline they give components, and each component may have one cause or several:

    transfer   what no worker is spared in collectives                             communication
    alone      a worker whose extra seconds do not shrink with K                   serial, or one heavy share
    lasting    waiting for workers that are always slow                            imbalance, or a slow host
    passing    the rest of the waiting, for workers that are slow now and then     straggler, or new shares each step
    growth     compute beyond what the same work took at the baseline              contention, work done again, noise
    loading    the same of data loading
    outside    the same of time that no phase covers                               a fixed cost of a launch, or others

Compute of worker i in repeat r at one K is taken as mean + lasting effect of i + passing effect.  Analysis of variance
over the repeats tells whether there is a lasting effect, and shrinks it so that the largest of K noisy means is not
mistaken for one (best linear unbiased prediction; C. R. Henderson, Biometrics 31, 1975).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from scalecurve.diagnosis.phases import Account, SlowHost, find_slow_host
from scalecurve.document import JsonRecord
from scalecurve.study.run import FloatArray

Runs = dict[int, list[Account]]

SIGNIFICANT = 0.01
LARGEST_K = 3
LEAST_K = 3  # a constant and a shrinking part cannot be told apart from fewer
ALONE_AT = 2  # of the three largest K, the same worker must be the slowest in so many
CONSTANT = 0.3  # least constant part of the extra seconds of a worker that works alone
ACCEPTABLE = 0.8  # a POP efficiency


@dataclass(frozen=True)
class Alone:
    """A worker whose extra seconds do not shrink with K; `constant` is the part of them that stays."""

    rank: int
    seconds: float
    constant: float


@dataclass(frozen=True)
class Components:
    """Worker-seconds lost at one K by component, all worker-seconds spent there, and what the waiting looks like.

    `host` is lasting waiting that one slow host explains, with its own extra seconds; `p_lasting` the p-value behind
    lasting waiting.
    """

    transfer: float
    alone: float
    named_serial: float
    lasting: float
    host: float
    passing: float
    growth: float
    loading: float
    outside: float
    spent: float
    p_lasting: float | None


@dataclass(frozen=True, eq=False)
class Split:
    """Components at each K, and who is behind them."""

    components: dict[int, Components]
    alone: Alone | None
    slow_host: SlowHost | None


def group(runs: Iterable[Account]) -> Runs:
    """Runs by K, rising; runs of one K must have the same number of workers."""
    grouped: Runs = {}
    for run in sorted(runs, key=lambda account: account.k):
        grouped.setdefault(run.k, []).append(run)
    return grouped


def split_gap(by_k: Runs, *, weak: bool) -> Split:
    """The components of the loss at each K against the first."""
    alone = works_alone(by_k) if not weak else None
    slow_host = find_slow_host(by_k)
    base = next(iter(by_k))
    first = by_k[base]
    components = {}
    for k, runs in by_k.items():
        factor = k / base if weak else 1.0
        slowed = slow_host.own_excess(runs) if slow_host is not None else 0.0
        error = np.hypot(_relative_error(runs), _relative_error(first)) * useful_seconds(runs)
        growth = _compute(runs) - slowed - _compute(first) * factor
        waits = _waiting(runs, alone, slow_host)
        components[k] = Components(
            transfer=waits.transfer,
            alone=waits.alone,
            named_serial=waits.named_serial,
            lasting=waits.lasting,
            host=waits.host + slowed,
            passing=waits.passing,
            # Growth counts where it is beyond the noise of the runs that it is a difference of.
            growth=growth if k != base and growth > 3.0 * error else 0.0,
            loading=max(0.0, _loading(runs) - _loading(first) * factor),
            outside=max(0.0, _outside(runs) - _outside(first) * factor),
            spent=float(np.mean([len(a.compute) * a.span for a in runs])),
            p_lasting=waits.p_lasting,
        )
    return Split(components, alone, slow_host)


def _compute(runs: list[Account]) -> float:
    return float(np.mean([a.compute.sum() + a.serial.sum() for a in runs]))


def _loading(runs: list[Account]) -> float:
    return float(np.mean([a.data.sum() for a in runs]))


def _outside(runs: list[Account]) -> float:
    return float(np.mean([a.outside * len(a.compute) for a in runs]))


def _useful_totals(runs: list[Account]) -> FloatArray:
    return np.array([(a.compute + a.data + a.serial).sum() + a.outside * len(a.compute) for a in runs])


def useful_seconds(runs: list[Account]) -> float:
    """Worker-seconds of compute, loading, serial work and time outside phases, mean over runs."""
    return float(_useful_totals(runs).mean())


def _relative_error(runs: list[Account]) -> float:
    totals = _useful_totals(runs)
    return float(totals.std(ddof=1) / totals.mean() / np.sqrt(len(runs))) if len(runs) > 1 else 0.02


@dataclass(frozen=True)
class _Waits:
    """Components of one K other than growth."""

    transfer: float = 0.0
    alone: float = 0.0
    named_serial: float = 0.0
    lasting: float = 0.0
    host: float = 0.0
    passing: float = 0.0
    p_lasting: float | None = None


def _waiting(runs: list[Account], alone: Alone | None, slow_host: SlowHost | None) -> _Waits:
    workers = len(runs[0].compute)
    if workers == 1:
        return _Waits()
    least = [a.communication.min() if a.transfer is None else min(a.transfer, a.communication.min()) for a in runs]
    transfer = float(np.mean(least)) * workers
    waited = float(np.mean([a.inside.sum() for a in runs])) - transfer
    # Named serial work: every worker's span contains the longest of it, whoever did it.
    named = float(np.mean([a.serial.max() * workers - a.serial.sum() for a in runs]))
    matrix = compute_matrix(runs)
    extra = 0.0
    if alone is not None and alone.rank < workers:
        above = max(0.0, float(matrix[:, alone.rank].mean() - matrix.mean())) * workers / (workers - 1)
        extra = min(alone.seconds, above)
        matrix[:, alone.rank] -= extra
    named, extra = min(named, waited), min(extra * (workers - 1), max(waited - named, 0.0))
    waited = max(waited - named - extra, 0.0)
    excess, p_value = lasting_excess(matrix)
    lasting = min(workers * excess, waited)
    by_host = min(lasting, slow_host.loss(workers, matrix)) if slow_host is not None else 0.0
    return _Waits(transfer, extra, named, lasting - by_host, by_host, waited - lasting, p_value)


def compute_matrix(runs: list[Account]) -> FloatArray:
    """Seconds of compute and data loading; rows are repeats, columns workers."""
    return np.array([account.compute + account.data for account in runs])


def lasting_excess(matrix: FloatArray) -> tuple[float, float | None]:
    """Seconds by which the slowest worker is always above the mean (shrunk), and the p-value of the F test behind it.

    With a single repeat there is no test (None), and the whole difference counts.
    """
    from scipy.special import fdtrc

    repeats, ranks = matrix.shape
    if ranks == 1:
        return 0.0, None
    relative = matrix / matrix.mean(axis=1, keepdims=True)
    means, scale = relative.mean(axis=0), float(matrix.mean())
    most = max(0.0, float(means.max()) - 1.0) * scale
    if repeats == 1:
        return most, None
    freedom = (repeats - 1) * (ranks - 1)
    within = float(((relative - means) ** 2).sum()) / freedom
    between = repeats * float(((means - 1.0) ** 2).sum()) / (ranks - 1)
    p_value = float(fdtrc(ranks - 1, freedom, between / within)) if within > 0 else float(between <= 0)
    kept = max(0.0, 1.0 - within / between) if between > 0 and p_value < SIGNIFICANT else 0.0
    return kept * most, p_value


def passing_spread(runs: list[Account]) -> float:
    """Relative spread of a worker's compute that is not lasting: over repeats, or over workers where there is one."""
    matrix = compute_matrix(runs)
    relative = matrix / matrix.mean(axis=1, keepdims=True)
    residual = relative - (relative.mean(axis=0) if len(runs) > 1 else 1.0)
    return float(np.sqrt((residual**2).sum() / (max(len(runs) - 1, 1) * max(matrix.shape[1] - 1, 1))))


def works_alone(by_k: Runs) -> Alone | None:
    """The one worker that is slowest at the largest K by an amount that stays over all K, if there is one."""
    from scipy.optimize import nnls

    means = {}
    for k, runs in by_k.items():
        matrix = compute_matrix(runs)
        works = [account.work for account in runs if account.work is not None and account.work.sum() > 0]
        if len(works) == len(runs):  # take off what counted work explains
            shares = np.array([work / work.sum() for work in works])
            matrix = matrix - matrix.sum(axis=1, keepdims=True) * (shares - 1.0 / matrix.shape[1])
        if matrix.shape[1] > 1:
            means[k] = matrix.mean(axis=0)
    tops = {k: int(np.argmax(values)) for k, values in means.items()}
    if len(means) < 2 or list(tops.values())[-LARGEST_K:].count(tops[max(tops)]) < ALONE_AT:
        return None
    rank = tops[max(tops)]
    usable = dict(takewhile(lambda item: tops[item[0]] == rank, reversed(means.items())))
    workers = np.array(list(usable), dtype=np.float64)
    extra = np.array([values[rank] - np.delete(values, rank).mean() for values in usable.values()])
    if len(workers) < LEAST_K or not np.all(extra > 0):
        return None
    basis = np.column_stack([np.ones_like(workers), 1.0 / workers, np.log2(workers) / workers])
    parts, _ = nnls(basis / extra[:, None], np.ones_like(workers))
    constant = float(parts[0])
    share = min(constant / float(extra[0]), 1.0)  # the largest K comes first
    return Alone(rank, constant, share) if share > CONSTANT else None


@dataclass(frozen=True, kw_only=True)
class PopMetrics(JsonRecord):
    """POP efficiencies of one K, means over its runs: where parallel efficiency goes, in the terms HPC centres use.

        load balance LB = mean(useful)/max(useful)         communication efficiency CommE = max(useful)/runtime
        parallel efficiency PE = LB * CommE                computation scalability CompS = useful(K0)/useful(K) in all
        global efficiency GE = PE * CompS                  CommE = serialisation SerE * transfer TrE

    TrE = (runtime - transfer)/runtime: what an ideal network would leave of the runtime; SerE is waiting for each other
    that balances out over the run.  Both are None where transfer is not known apart from waiting.
    Under weak scaling useful(K0) is scaled by K/K0.  Exact link to speedup: E(K) = CompS(K) PE(K)/PE(K0).
    Source: POP Centre of Excellence, co-design.pop-coe.eu, Performance Metrics.  Above 0.8 is called acceptable.
    """

    load_balance: float
    communication_efficiency: float
    serialisation_efficiency: float | None
    transfer_efficiency: float | None
    parallel_efficiency: float
    computation_scalability: float
    global_efficiency: float


def pop_metrics(runs: list[Account], useful_at_baseline: float) -> PopMetrics:
    """Of the runs of one K, against the useful worker-seconds that the same work took at the baseline."""
    useful = [(own.compute + own.data + own.serial + own.outside, own.span) for own in runs]
    parallel = float(np.mean([seconds.mean() / span for seconds, span in useful]))
    scalability = useful_at_baseline / float(np.mean([seconds.sum() for seconds, _ in useful]))
    efficiency = float(np.mean([seconds.max() / span for seconds, span in useful]))
    moved = [a.communication.min() if a.transfer is None else a.transfer for a in runs if tells_apart(a)]
    transfer = None
    if len(moved) == len(runs):
        transfer = float(np.mean([1.0 - seconds / a.span for seconds, a in zip(moved, runs, strict=True)]))
    return PopMetrics(
        load_balance=float(np.mean([seconds.mean() / seconds.max() for seconds, _ in useful])),
        communication_efficiency=efficiency,
        serialisation_efficiency=None if not transfer else efficiency / transfer,
        transfer_efficiency=transfer,
        parallel_efficiency=parallel,
        computation_scalability=scalability,
        global_efficiency=parallel * scalability,
    )


def tells_apart(account: Account) -> bool:
    """Whether transfer and waiting are known apart: by steps, by a barrier before the collective, or for one worker."""
    return account.transfer is not None or account.waits_apart or len(account.compute) == 1
