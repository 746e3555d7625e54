"""The lost worker-time K T(K) - T(1) by component, from where each worker's time went; and the POP efficiencies.

At each K the worker-seconds K * span are compute, collectives, data loading, waiting and time outside all phases.
Against the baseline they give components, and each component may have one cause or several:

    transfer   what no worker is spared in collectives                             communication
    alone      a worker whose extra seconds do not shrink with K                   serial, or one heavy share
    uneven     waiting for workers that did more of the counted work               imbalance
    lasting    waiting for workers that are always slow                            imbalance, or a slow host
    passing    the rest of the waiting, for workers that are slow now and then     straggler, or new shares each step
    alike      waiting of all workers alike in totals of a run                     noise at barriers, or queueing
    queueing   waiting that nobody's longer busy time explains                     locks, a busy master, pipelines
    growth     compute beyond what the same work took at the baseline              contention, work done again, noise
    again      compute for more counted work than at the baseline                  work done again
    loading    the same of data loading
    outside    the same of time that no phase covers                               a fixed cost of a launch, or others

Compute of worker i in repeat r at one K is taken as mean + lasting effect of i + passing effect.  Analysis of variance
over the repeats tells whether there is a lasting effect, and shrinks it so that the largest of K noisy means is not
mistaken for one (best linear unbiased prediction; C. R. Henderson, Biometrics 31, 1975).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
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
MOST_TOPS = 3  # workers that stand out at one K or another, where one works alone
NEARLY = 0.6  # the power of K by which the seconds of one worker must grow to be work for all of them
SAME_WORK = 0.01
ALLOWANCE = 1.3  # of waiting over what the longest busy time of each step explains
NEGLIGIBLE_WAIT = 0.02  # of the useful time
MOST_BARRIERS = 1000.0
FEW_FREEDOM = 10
LEAST_SPREAD = 0.002
SINGLE_RUN_SPREAD = 0.02
MEDIAN_TO_SPREAD = 1.4826 * 1.25  # the spread of normal noise, and that of a median over that of a mean
DISTINCT = 0.5  # of the extra seconds of a worker that works alone must be above those of every other worker
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

    transfer: float = 0.0
    alone: float = 0.0
    named_serial: float = 0.0
    uneven: float = 0.0
    lasting: float = 0.0
    host: float = 0.0
    passing: float = 0.0
    alike: float = 0.0
    queueing: float = 0.0
    growth: float = 0.0
    again: float = 0.0
    loading: float = 0.0
    outside: float = 0.0
    spent: float = 0.0
    p_lasting: float | None = None


COMPONENTS = tuple(field.name for field in fields(Components) if field.name not in ("spent", "p_lasting"))


@dataclass(frozen=True, eq=False)
class Split:
    """Components at each K, and who is behind them."""

    components: dict[int, Components]
    alone: Alone | None
    slow_host: SlowHost | None

    @property
    def table(self) -> FloatArray:
        """Worker-seconds lost (axes: component in the order of COMPONENTS, K)."""
        return np.array([[getattr(own, name) for own in self.components.values()] for name in COMPONENTS])


def group(runs: Iterable[Account]) -> Runs:
    """Runs by K, rising; runs of one K must have the same number of workers."""
    grouped: Runs = {}
    for run in sorted(runs, key=lambda account: account.k):
        grouped.setdefault(run.k, []).append(run)
    return grouped


def split_gap(by_k: Runs, *, weak: bool, surely_lost: bool = False) -> Split:
    """The components of the loss at each K against the first.

    Growth of compute counts where it is beyond the noise of the runs that it is a difference of, half as far beyond
    where T itself says that something is `surely_lost`.
    """
    alone = works_alone(by_k) if not weak else None
    slow_host = find_slow_host(by_k)
    base = next(iter(by_k))
    first, spread = by_k[base], _run_spread(by_k)
    waits_at_base = _waiting(first, alone, slow_host)
    components = {}
    for k, runs in by_k.items():
        factor = k / base if weak else 1.0
        slowed = slow_host.own_excess(runs) if slow_host is not None else 0.0
        error = spread * np.hypot(len(runs) ** -0.5, len(first) ** -0.5) * useful_seconds(runs)
        again = _done_again(runs, first, factor) if k != base else 0.0
        everywhere = max(0.0, _seconds(runs, "serial") - _seconds(first, "serial") * factor)
        growth = _seconds(runs, "compute") - slowed - again - _seconds(first, "compute") * factor
        waits = _beyond(_waiting(runs, alone, slow_host), waits_at_base, factor)
        components[k] = replace(
            waits,
            named_serial=waits.named_serial + everywhere,
            host=waits.host + slowed,
            growth=growth if k != base and growth > (1.5 if surely_lost else 3.0) * error else 0.0,
            again=again,
            loading=max(0.0, _seconds(runs, "data") - _seconds(first, "data") * factor),
            outside=max(0.0, _outside(runs) - _outside(first) * factor),
            spent=float(np.mean([len(a.compute) * a.span for a in runs])),
        )
    return Split(components, alone, slow_host)


def _beyond(waits: Components, at_base: Components, factor: float) -> Components:
    """Transfer and waiting beyond what the same work cost at a baseline of several workers; none for one worker."""
    lost = {name: max(0.0, getattr(waits, name) - factor * getattr(at_base, name)) for name in COMPONENTS}
    return replace(waits, **lost)


def _done_again(runs: list[Account], first: list[Account], factor: float) -> float:
    """Worker-seconds of compute for work beyond that of the baseline, as counted, or by the number of steps; else 0."""
    amounts = [float(np.sum(a.work)) for a in runs if a.work is not None]
    before = [float(np.sum(a.work)) for a in first if a.work is not None]
    more = 1.0
    if len(amounts) == len(runs) and len(before) == len(first) and any(before):
        more = float(np.mean(amounts)) / (float(np.mean(before)) * factor)
    if more <= 1.0 + SAME_WORK and all(a.steps and a.transfer is not None for a in (*runs, *first)):
        more = float(np.mean([a.steps for a in runs])) / float(np.mean([a.steps for a in first]))
    return _seconds(runs, "compute") * (1.0 - 1.0 / more) if more > 1.0 + SAME_WORK else 0.0


def _seconds(runs: list[Account], kind: str) -> float:
    """Worker-seconds of one kind, median over runs: a rare slow run is no growth."""
    return float(np.median([getattr(account, kind).sum() for account in runs]))


def _outside(runs: list[Account]) -> float:
    return float(np.mean([a.outside * len(a.compute) for a in runs]))


def _useful_totals(runs: list[Account]) -> FloatArray:
    return np.array([(a.compute + a.data + a.serial).sum() + a.outside * len(a.compute) for a in runs])


def useful_seconds(runs: list[Account]) -> float:
    """Worker-seconds of compute, loading, serial work and time outside phases, median over runs."""
    return float(np.median(_useful_totals(runs)))


def _run_spread(by_k: Runs) -> float:
    """Relative spread of a run's useful seconds about the median of its K, from the median deviation of all K.

    That of rare slow runs is not in it.  One run of each K shows none: then it is SINGLE_RUN_SPREAD.
    """
    rest = [_useful_totals(runs) / useful_seconds(runs) - 1.0 for runs in by_k.values() if len(runs) > 1]
    if not rest:
        return SINGLE_RUN_SPREAD
    freedom = sum(len(own) - 1 for own in rest) / sum(len(own) for own in rest)  # a median takes one from each K
    typical = float(np.quantile(np.abs(np.concatenate(rest)), 1.0 - 0.5 * freedom))
    return max(MEDIAN_TO_SPREAD * typical, LEAST_SPREAD)


def _waiting(runs: list[Account], alone: Alone | None, slow_host: SlowHost | None) -> Components:
    """The components of one K that are transfer or waiting."""
    workers = len(runs[0].compute)
    if workers == 1:
        return Components()
    transfer = float(np.mean([least_in_collectives(a) for a in runs])) * workers
    every = float(np.mean([a.inside.sum() for a in runs])) - transfer
    # Named serial work: every worker's span contains the longest of it, whoever did it.
    named = float(np.mean([a.serial.max() * workers - a.serial.sum() for a in runs]))
    matrix = compute_matrix(runs)
    extra = 0.0
    if alone is not None and alone.rank < workers:
        above = max(0.0, float(matrix[:, alone.rank].mean() - matrix.mean())) * workers / (workers - 1)
        extra = min(alone.seconds, above)
        matrix[:, alone.rank] -= extra
    queueing = every - explained_waiting(runs)
    queueing = queueing if queueing > NEGLIGIBLE_WAIT * useful_seconds(runs) else 0.0
    waited = every - queueing
    named, extra = min(named, waited), min(extra * (workers - 1), max(waited - named, 0.0))
    waited = max(waited - named - extra, 0.0)
    alike = min(waited, workers * waits_alike(runs))
    waited -= alike
    excess, p_value = lasting_excess(matrix)
    lasting = min(workers * excess, waited)
    by_host = min(lasting, slow_host.loss(workers, matrix)) if slow_host is not None else 0.0
    lasting, passing = lasting - by_host, waited - lasting
    always, now = more_work(runs, matrix)
    return Components(
        transfer=transfer,
        alone=extra,
        named_serial=named,
        uneven=always * lasting + now * passing,
        lasting=(1.0 - always) * lasting,
        host=by_host,
        passing=(1.0 - now) * passing,
        alike=alike,
        queueing=queueing,
        p_lasting=p_value,
    )


def explained_waiting(runs: list[Account]) -> float:
    """Most worker-seconds of waiting that the differences between the workers' busy times can have brought about.

    Where phases of steps are there, it is the longest busy time of each step less the mean.  Totals of a run hide how
    often the workers meet: then it is that of MOST_BARRIERS meetings and of the spread between repeats.
    """
    workers = len(runs[0].compute)
    uneven = [a.uneven for a in runs if a.uneven is not None]
    if len(uneven) == len(runs):
        return ALLOWANCE * float(np.mean(uneven)) * workers
    busy = [a.compute + a.data + a.serial for a in runs]
    visible = float(np.mean([own.max() - own.mean() for own in busy]))
    few = (len(runs) - 1) * (workers - 1) < FEW_FREEDOM  # then the spread may be far larger than it looks
    spread = (3.0 if few else 1.0) * max(passing_spread(runs), LEAST_SPREAD) * float(np.mean(busy))
    steps = [a.steps for a in runs if a.steps]
    meetings = 3.0 * min(steps) if len(steps) == len(runs) else MOST_BARRIERS
    largest = 2.0 * np.sqrt(2.0 * np.log(workers + 1.0))
    return workers * (visible + float(np.sqrt(meetings) * spread * largest))


def waits_alike(runs: list[Account]) -> float:
    """Seconds of a worker's waiting, recorded apart, beyond its distance to the busiest; 0 where steps are known."""
    if any(a.uneven is not None or not a.waits_apart for a in runs):
        return 0.0
    busy = [a.compute + a.data + a.serial for a in runs]
    beyond = [(a.wait - (own.max() - own)).mean() for a, own in zip(runs, busy, strict=True)]
    return max(0.0, float(np.mean(beyond)))


def more_work(runs: list[Account], matrix: FloatArray) -> tuple[float, float]:
    """The shares of lasting and of passing slowness that counted work explains; 0 where it was not counted."""
    works = [a.work for a in runs if a.work is not None and a.work.sum() > 0]
    if len(works) < len(runs):
        return 0.0, 0.0
    work = np.array([own / own.mean() for own in works])
    busy = matrix / matrix.mean(axis=1, keepdims=True)
    slowest = int(np.argmax(busy.mean(axis=0)))
    above = float(busy[:, slowest].mean()) - 1.0
    always = float(np.clip((work[:, slowest].mean() - 1.0) / above, 0.0, 1.0)) if above > 0 else 0.0
    usual = (work.mean(axis=0), busy.mean(axis=0)) if len(runs) > 1 else (1.0, 1.0)
    own, other = work - usual[0], busy - usual[1]
    power = float((other**2).sum())
    now = float(np.clip((own * other).sum() / power, 0.0, 1.0)) if power > 0 else 0.0
    return always, now


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
    tops = {k: int(np.argmax(values)) for k, values in means.items() if _stands_out(values)}
    if len(means) < 2 or list(means)[-1] not in tops:
        return None
    rank = tops[max(tops)]
    if [tops.get(k) for k in means][-LARGEST_K:].count(rank) < ALONE_AT:
        return None
    if len(set(tops.values())) > MOST_TOPS:  # a heavy share that lies elsewhere at other K
        return None
    usable = dict(takewhile(lambda item: tops.get(item[0]) == rank, reversed(means.items())))
    if len(usable) < LEAST_K:  # at small K its own share, which may be less than others have, hides what it does alone
        usable = {k: values for k, values in reversed(means.items()) if rank < len(values)}
    workers = np.array(list(usable), dtype=np.float64)
    others = np.array([np.delete(values, rank).mean() for values in usable.values()])
    extra = np.array([values[rank] for values in usable.values()]) - others
    if len(workers) < LEAST_K:
        return None
    ones = np.ones_like(workers)
    if np.all(extra > 0):  # a heavier share grows and shrinks with what the others compute; work done alone does not
        basis = np.column_stack([ones, others, np.log2(workers) * others])
        parts, _ = nnls(basis / extra[:, None], ones)
    else:
        typical = np.array([values.mean() for values in usable.values()])
        basis = np.column_stack([ones, 1.0 / workers])
        parts = np.linalg.lstsq(basis / typical[:, None], extra / typical, rcond=None)[0]
    constant = float(parts[0])
    share = min(constant / float(extra[0]), 1.0)  # the largest K comes first
    return Alone(rank, constant, share) if share > CONSTANT else None


def grows_alone(by_k: Runs) -> bool:
    """Whether one worker is slowest at the largest two K, by seconds that grow nearly as K does."""
    before, last = (compute_matrix(runs).mean(axis=0) for runs in list(by_k.values())[-2:])
    fewer, more, rank = len(before), len(last), int(np.argmax(last))
    if not 2 <= fewer < more or int(np.argmax(before)) != rank or not _stands_out(last):
        return False
    extra = [float(values[rank] - np.delete(values, rank).mean()) for values in (before, last)]
    return extra[0] > 0 and bool(extra[1] / extra[0] > (more / fewer) ** NEARLY)


def _stands_out(seconds: FloatArray) -> bool:
    """Whether the slowest worker is slow by itself; several that share the largest part were given more work."""
    slowest = int(np.argmax(seconds))
    others = np.delete(seconds, slowest)
    above = float(seconds[slowest] - others.mean())
    return above > 0 and float(seconds[slowest] - others.max()) >= DISTINCT * above


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
    """POP efficiencies of the runs of one K, against the useful worker-seconds of the same work at the baseline."""
    useful = [(own.compute + own.data + own.serial + own.outside, own.span) for own in runs]
    parallel = float(np.mean([seconds.mean() / span for seconds, span in useful]))
    scalability = useful_at_baseline / float(np.mean([seconds.sum() for seconds, _ in useful]))
    efficiency = float(np.mean([seconds.max() / span for seconds, span in useful]))
    moved = [least_in_collectives(a) for a in runs if tells_apart(a)]
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


def least_in_collectives(account: Account) -> float:
    """Seconds in collectives that no worker is spared: by the least of each step where steps are known."""
    least = float(account.communication.min())
    return least if account.transfer is None else min(account.transfer, least)


def tells_apart(account: Account) -> bool:
    """Whether transfer and waiting are known apart: by steps, by a barrier before the collective, or for one worker."""
    return account.transfer is not None or account.waits_apart or len(account.compute) == 1
