"""The lost worker-time K T(K) - T(1) split by cause, from where each worker's time went; and the POP efficiencies.

At each K the worker-seconds K * span are compute, collectives, data loading and waiting.  Against the baseline:

    contention      compute (and loading) summed over workers beyond what the same work took at the baseline
    communication   what every worker spends in collectives
    serial          a worker that works alone: the others' waiting
    imbalance       waiting for workers that always have more to do
    straggler       the rest of the waiting: slowness that comes and goes, or a host that is always slow

Compute of worker i in repeat r at one K is taken as mean + lasting effect of i + passing effect.  Analysis of variance
over the repeats tells whether there is a lasting effect, and shrinks it so that the largest of K noisy means is not
mistaken for one (best linear unbiased prediction; C. R. Henderson, Biometrics 31, 1975).

A worker that works alone keeps its extra seconds whatever K is; a larger shard shrinks like 1/K.  Non-negative least
squares over K separates the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import takewhile

import numpy as np

from scalecurve.diagnosis.causes import CAUSES, COMMUNICATION, CONTENTION, IMBALANCE, SERIAL, STRAGGLER, Maxima
from scalecurve.diagnosis.phases import Account, SlowHost, find_slow_host
from scalecurve.findings import Finding, info, warning
from scalecurve.study.samples import FloatArray
from scalecurve.units import format_seconds

Losses = dict[str, float]
Runs = dict[int, list[Account]]

SIGNIFICANT = 0.01
LARGEST_K = 3
LEAST_K = 3  # a constant and a shrinking part cannot be told apart from fewer
ALONE_AT = 2  # of the three largest K, the same worker must be the slowest in so many
BARRIERS_TRIED = (1, 2, 3, 4, 6, 8, 10, 14, 20)
WIDEST = 2.0
ACCEPTABLE = 0.8  # a POP efficiency


@dataclass(frozen=True)
class Alone:
    """A worker whose extra seconds do not shrink with K: it works while the others wait."""

    rank: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Split:
    """Worker-seconds lost at each K by cause, and all worker-seconds spent there."""

    losses: dict[int, Losses]
    spent: dict[int, float]
    alone: Alone | None
    slow_host: SlowHost | None
    p_lasting: dict[int, float | None] = field(default_factory=dict)


def group(runs: Iterable[Account]) -> Runs:
    """Runs by K, rising; runs of one K must have the same number of workers."""
    grouped: Runs = {}
    for run in sorted(runs, key=lambda account: account.k):
        grouped.setdefault(run.k, []).append(run)
    return grouped


def split_gap(by_k: Runs, *, weak: bool, replicated: bool) -> Split:
    """`replicated` says that workers share no machine, so that growing compute is work done again on each of them."""
    alone = works_alone(by_k) if not weak else None
    waits_apart = any(account.waits_apart for runs in by_k.values() for account in runs)
    hidden = dict.fromkeys(by_k, 0.0) if waits_apart else hidden_waiting(by_k)
    slow_host = find_slow_host(by_k)
    slowed = {k: slow_host.own_excess(runs) if slow_host is not None else 0.0 for k, runs in by_k.items()}
    useful = {k: useful_seconds(runs) - slowed[k] for k, runs in by_k.items()}
    base = next(iter(by_k))
    losses: dict[int, Losses] = {}
    lasting: dict[int, float | None] = {}
    for k, runs in by_k.items():
        expected = useful[base] * (k / base if weak else 1.0)
        growth = useful[k] - expected
        # Growth of compute counts where it is beyond the noise of the runs that it is a difference of.
        error = float(np.hypot(_relative_error(runs), _relative_error(by_k[base]))) * useful_seconds(runs)
        growth = growth if k != base and growth > max(3.0 * error, 0.0) else 0.0
        waits, lasting[k] = _waiting(runs, alone, hidden[k], slow_host)
        waits[STRAGGLER] += slowed[k]
        losses[k] = _share_interaction(waits, SERIAL if replicated else CONTENTION, growth, expected)
    spent = {k: float(np.mean([len(a.compute) * a.span for a in runs])) for k, runs in by_k.items()}
    return Split(losses, spent, alone, slow_host, lasting)


def _share_interaction(waits: Losses, grown: str, growth: float, expected: float) -> Losses:
    """Compute that grows also lengthens the waiting for uneven compute.

    What neither cause would cost by itself is shared among them in proportion to what each costs alone.
    """
    factor = 1.0 + growth / expected
    uneven = {name: waits[name] / factor for name in (IMBALANCE, STRAGGLER)}
    together = sum(uneven.values()) * (factor - 1.0)
    alone = {**uneven, grown: growth}
    total = sum(alone.values())
    shared = {name: value + (together * value / total if total > 0 else 0.0) for name, value in alone.items()}
    return {**waits, **shared, grown: shared[grown] + waits[grown]}


def _useful_totals(runs: list[Account]) -> FloatArray:
    return np.array([(a.compute + a.data).sum() + a.serial.sum() for a in runs])


def useful_seconds(runs: list[Account]) -> float:
    """Worker-seconds of compute, loading and serial work, mean over runs."""
    return float(_useful_totals(runs).mean())


def _relative_error(runs: list[Account]) -> float:
    totals = _useful_totals(runs)
    return float(totals.std(ddof=1) / totals.mean() / np.sqrt(len(runs))) if len(runs) > 1 else 0.02


def _waiting(
    runs: list[Account], alone: Alone | None, hidden: float, slow_host: SlowHost | None
) -> tuple[Losses, float | None]:
    """Losses of one K other than growth, and the p-value of the lasting effect."""
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
        above = max(0.0, float(matrix[:, alone.rank].mean() - matrix.mean())) * workers / (workers - 1)
        extra = min(alone.seconds, above)
        matrix[:, alone.rank] -= extra
    losses[SERIAL] = named + extra * (workers - 1)
    excess, p_value = lasting_excess(matrix)
    waited = float(np.mean([a.wait.sum() + (a.communication - a.communication.min()).sum() for a in runs]))
    waited += workers * min(hidden, least) - losses[SERIAL]
    steady = min(workers * excess, max(waited, 0.0))
    by_host = min(steady, slow_host.loss(workers, matrix)) if slow_host is not None else 0.0
    losses[IMBALANCE] = steady - by_host
    losses[STRAGGLER] = max(waited - steady, 0.0) + by_host
    return losses, p_value


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
    return Alone(rank, constant) if constant / extra[0] > 0.3 else None  # the largest K comes first


@lru_cache(maxsize=16)
def _maxima(k: tuple[int, ...]) -> Maxima:
    return Maxima.of(np.array(k, dtype=np.float64), top=WIDEST, points=101)


def hidden_waiting(by_k: Runs) -> dict[int, float]:
    """Seconds per worker of the least time in collectives that is waiting for passing slowness, by K.

    With several barriers in a run every worker waits somewhere, so the least time in collectives contains waiting.
    The spread of the workers' compute gives the log-spread of one barrier for each possible number of barriers; the
    number is chosen whose waiting, plus communication that grows like log2 K, K - 1 or (K-1)/K, explains the least
    time best over K.
    """
    from scipy.optimize import nnls

    usable = {k: runs for k, runs in by_k.items() if k > 1}
    if len(usable) < 2:
        return dict.fromkeys(by_k, 0.0)
    k = np.array(list(usable), dtype=np.float64)
    least = np.array([np.mean([a.inside.min() for a in runs]) for runs in usable.values()])
    visible = np.array([np.mean([(a.compute.max() - a.compute).mean() for a in runs]) for runs in usable.values()])
    mean = np.array([np.mean([a.compute.mean() for a in runs]) for runs in usable.values()])
    top = bottom = 0.0  # relative variance of a worker's compute from repeat to repeat, over all K
    for runs in usable.values():
        matrix = compute_matrix(runs)
        relative = matrix / matrix.mean(axis=1, keepdims=True)
        residual = relative - relative.mean(axis=0) if len(runs) > 1 else relative - 1.0
        top += float((residual**2).sum())
        bottom += max(len(runs) - 1, 1) * (matrix.shape[1] - 1)
    spread = top / bottom if bottom else 0.0
    weight = 1.0 / np.maximum(least, 0.02 * least.max() + 1e-300)
    basis = np.column_stack([np.log2(k), k - 1.0, (k - 1.0) / k]) * weight[:, None]
    best, smallest = np.zeros_like(least), np.inf
    for barriers in BARRIERS_TRIED:
        sigma = min(float(np.sqrt(np.log1p(barriers * spread))), WIDEST)
        waiting = mean * (_maxima(tuple(usable)).at(np.array([sigma]))[0][0] - 1.0)
        hidden = np.clip(waiting - visible, 0.0, least) if barriers > 1 else np.zeros_like(least)
        _, misfit = nnls(basis, (least - hidden) * weight)
        if misfit < smallest:
            best, smallest = hidden, misfit
    return dict.fromkeys(by_k, 0.0) | dict(zip(usable, best.tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class PopMetrics:
    """POP efficiencies of one K, means over its runs: where parallel efficiency goes, in the terms HPC centres use.

        load balance LB = mean(useful)/max(useful)         communication efficiency CommE = max(useful)/runtime
        parallel efficiency PE = LB * CommE                computation scalability CompS = useful(K0)/useful(K) in all
        global efficiency GE = PE * CompS

    Under weak scaling useful(K0) is scaled by K/K0.  Exact link to speedup: E(K) = CompS(K) PE(K)/PE(K0).
    Source: POP Centre of Excellence, co-design.pop-coe.eu, Performance Metrics.  Above 0.8 is called acceptable.
    """

    load_balance: float
    communication_efficiency: float
    parallel_efficiency: float
    computation_scalability: float
    global_efficiency: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def pop_metrics(runs: list[Account], useful_at_baseline: float) -> PopMetrics:
    """Of the runs of one K, against the useful worker-seconds that the same work took at the baseline."""
    useful = [(own.compute + own.data + own.serial, own.span) for own in runs]
    parallel = float(np.mean([seconds.mean() / span for seconds, span in useful]))
    scalability = useful_at_baseline / float(np.mean([seconds.sum() for seconds, _ in useful]))
    return PopMetrics(
        load_balance=float(np.mean([seconds.mean() / seconds.max() for seconds, _ in useful])),
        communication_efficiency=float(np.mean([seconds.max() / span for seconds, span in useful])),
        parallel_efficiency=parallel,
        computation_scalability=scalability,
        global_efficiency=parallel * scalability,
    )


def account_evidence(by_k: Runs, split: Split, weak: bool) -> Iterator[str]:
    """The numbers behind a diagnosis from accounts, in sentences."""
    k, runs = next(reversed(by_k.items()))
    base, spent = next(iter(by_k)), split.spent[k]
    lost = [f"{name} {value / spent:.1%}" for name, value in split.losses[k].items() if value > 0.005 * spent]
    yield f"Of the worker-seconds at K = {k}, lost to: {', '.join(lost) or 'nothing above 0.5 %'}."
    ratio = useful_seconds(runs) / (useful_seconds(by_k[base]) * (k / base if weak else 1.0))
    yield f"Useful time of all workers together at K = {k} is {ratio:.2f} times that at K = {base}."
    if split.alone is not None:
        extra = format_seconds(split.alone.seconds)
        yield f"Rank {split.alone.rank} works {extra} longer than the others at every K."
    if len(runs[0].compute) > 1:
        above = np.mean([a.compute.max() / a.compute.mean() for a in runs])
        slowest = {int(np.argmax(a.compute)) for a in runs}
        who = f"rank {slowest.pop()} every time" if len(slowest) == 1 else f"{len(slowest)} different ranks"
        yield f"The slowest worker at K = {k} computes {above:.2f} times the mean; over {len(runs)} runs it was {who}."
        chance = split.p_lasting.get(k)
        if chance is not None:
            sure = "Some workers are" if chance < 0.01 else "It is not sure that some workers are"
            yield f"{sure} consistently slower at K = {k} (p = {chance:.2g})."


def account_findings(by_k: Runs, split: Split, cause: str, *, replicated: bool, phased: bool) -> Iterator[Finding]:
    """What a reader of a diagnosis from accounts must know."""
    host, runs = split.slow_host, next(reversed(by_k.values()))
    if host is not None:
        yield warning(
            "slow-host",
            f"host {host.host} needs {host.factor:.2f} times as long for the same work in every run",
            remedy="take it out and measure again: throttling, a smaller quota, a failing disk or a busy neighbour",
            host=host.host,
            factor=host.factor,
            ranks=sorted(host.ranks),
        )
    elif cause == IMBALANCE and all(account.work is None for account in runs):
        message = "the same workers are always slow: they have more work or sit on a slow host; no work was counted"
        remedy = "call probe.add_work (or pass work= to probe.steps): equal work on a slow worker means a slow host"
        yield info("work-not-counted", message, remedy=remedy)
    if cause in (CONTENTION, SERIAL) and split.alone is None and phased:
        if replicated:
            message = "compute grows although workers share no machine: each worker does some of the work again"
            yield info("replicated-work", message)
        elif cause == CONTENTION:
            message = "compute grows with K on every worker alike; work that each worker does again looks the same"
            remedy = (
                "compare memory bandwidth and clock at K = 1 and the largest K (scalecurve doctor, roofline), and "
                "count the work"
            )
            yield info("growth-not-explained", message, remedy=remedy)
    if all(len(group) == 1 for group in by_k.values()):
        message = "one run per K: lasting and passing slowness cannot be told apart"
        yield warning("single-run", message, remedy="repeat 5 times")
