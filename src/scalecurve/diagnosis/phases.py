"""Where the time of each worker went, whatever the phases were called, and hosts that are slow all the time.

Waiting is often recorded inside the collective (MPI and NCCL timers start when a worker arrives).  In each step the
worker that comes last does not wait, so the least time of any worker in the collectives of a step is transfer and what
others spend there beyond it is waiting.  Totals of a run hide that: with many barriers every worker waits somewhere.
Time that no phase covers is kept apart as far as every worker has it (`outside`), and is waiting beyond that.

Uneven shards and a slow host look alike from times: the same worker is always last.  Work counts separate them: a slow
host needs more seconds per unit of work.  Without counts a host is named only where hosts are known, one of them alone
stands out against others that agree, and the K that ran without it show no imbalance.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import fmean

import numpy as np

from scalecurve.study import Quantity, Study
from scalecurve.study.run import FloatArray, RankRecord, Run

COMPUTE, COMMUNICATION, DATA, WAIT, SERIAL = "compute", "communication", "data", "wait", "serial"
KINDS = (COMPUTE, COMMUNICATION, DATA, WAIT, SERIAL)
HIDDEN = "hidden"

_PATTERNS = (
    (HIDDEN, r"hidden|overlap"),
    (SERIAL, r"serial|sequential|rank_?0|master|root"),
    (WAIT, r"wait|idle|barrier|sync|stall|bubble|blocked|steal|queue"),
    (
        COMMUNICATION,
        r"comm|reduce|gather|all_?to_?all|broadcast|bcast|mpi|nccl|rccl|gloo|halo|ghost|exchange|send|recv|receive|"
        r"shuffle|scatter|push|pull|p2p|shmem|transfer|message|(^|_)(rpc|net)($|_)",
    ),
    (DATA, r"data|load|input|(^|_)io($|_)|(?<!th)read|write|fetch|storage|checkpoint"),
)

_PAIRWISE = re.compile(r"send|recv|receive|p2p|push|pull|rpc", re.IGNORECASE)  # a chain or a server may hide in them

_COLLECTIVE = re.compile(r"reduce|gather|all_?to_?all|broadcast|bcast|collective", re.IGNORECASE)

NO_TIME = 1e-3  # of the run
MOST_BEYOND = 10.0  # times what the workers report
LEAST_BEYOND = 1.03
SLOWER = 1.1
LEAST_HOSTS = 3
AGREEMENT = 0.25  # the other hosts' spread, as a share of the slow one's excess
GROWS = 2.0  # times that the excess of a slow host may differ between K


@cache
def kind_of(phase: str) -> str:
    """The kind of a phase by its name; a name that says nothing is compute."""
    name = re.sub(r"[\s\-./:]+", "_", phase.strip().lower())
    return next((kind for kind, pattern in _PATTERNS if re.search(pattern, name)), COMPUTE)


@dataclass(frozen=True, eq=False, kw_only=True)
class Account:
    """One run: seconds of each kind, one entry per worker.  `span` is the wall time of the run.

    `outside` is the time of every worker that no phase covers, `transfer` the seconds in collectives that every worker
    needs, by the least of each step, `busy_steps` the busy seconds by worker and step (both None where phases of steps
    are not there), `steps` their number where it is known, `pairwise` whether messages go from one worker
    to the next, `collective` whether all are named as collectives, `messages` the name of the longest of them.
    """

    k: int
    span: float
    compute: FloatArray
    communication: FloatArray
    data: FloatArray
    wait: FloatArray
    serial: FloatArray
    outside: float
    transfer: float | None
    busy_steps: FloatArray | None
    steps: int | None
    waits_apart: bool
    pairwise: bool
    collective: bool
    messages: str | None
    hosts: tuple[str | None, ...]
    work: FloatArray | None

    @property
    def busy(self) -> FloatArray:
        """Seconds of each worker in compute, data loading and serial work."""
        total: FloatArray = self.compute + self.data + self.serial
        return total

    @property
    def inside(self) -> FloatArray:
        """Seconds of each worker in collectives and waiting."""
        total: FloatArray = self.communication + self.wait
        return total


def accounts(study: Study) -> tuple[Account, ...]:
    """The runs in which every worker says where its time went: by phases, else by the workers' own seconds.

    Where a rank has threads, K is not the number of ranks; then the placement says how many there were.
    """
    counted = [run for run in study.runs if run.counts and len(run.ranks) == _ranks_of(run)]
    phased = [run for run in counted if all(rank.phases for rank in run.ranks)]
    if phased:
        whole, named = study.quantity is Quantity.SECONDS and _holds_more(phased), kinds_of(phased)
        return tuple(_account(run, named, whole=whole) for run in phased)
    if study.quantity is not Quantity.SECONDS:
        return ()
    timed = [run for run in counted if all(rank.seconds is not None for rank in run.ranks)]
    return tuple(_account(run, {}) for run in timed)


def _ranks_of(run: Run) -> int:
    """How many ranks a run had."""
    return (run.placement.ranks if run.placement else None) or run.k


def kinds_of(runs: list[Run]) -> dict[str, str]:
    """The kind of every phase; one whose name says nothing and that takes no time on one worker is communication."""
    kinds = {name: kind_of(name) for run in runs for rank in run.ranks for name in rank.phases}
    alone = [(run.ranks[0].phases, _total(run.ranks[0])) for run in runs if len(run.ranks) == 1]
    for name in (name for name, kind in kinds.items() if kind == COMPUTE and alone):
        if all(phases.get(name, 0.0) <= NO_TIME * total for phases, total in alone):
            kinds[name] = COMMUNICATION
    return kinds


def has_phases(study: Study) -> bool:
    """Whether any worker of a run that counts recorded phases."""
    return any(rank.phases for run in study.runs if run.counts for rank in run.ranks)


def _holds_more(runs: list[Run]) -> bool:
    """Whether T is longer than what the workers report by a part that changes with K: a launch, set-up, output.

    A part in proportion, or many times the phases, is another unit: one step against the whole run.
    """
    longer: defaultdict[int, list[float]] = defaultdict(list)
    for run in runs:
        own = max(_total(rank) for rank in run.ranks)
        longer[run.k].append((run.value or 0.0) / own if own > 0 else 0.0)
    ratios = [float(np.median(values)) for values in longer.values()]
    return 0.99 < min(ratios) <= max(ratios) < MOST_BEYOND and max(ratios) > LEAST_BEYOND * min(ratios)


def _account(run: Run, named: Mapping[str, str], *, whole: bool = False) -> Account:
    """A run's seconds by kind; without phases, what the run took beyond the workers' own seconds is communication.

    `named` are the kinds of the phases; `whole` says that T holds more than the workers report.
    """
    if all(rank.phases for rank in run.ranks):
        kinds, span, outside = _phased(run, named, whole=whole)
    else:
        own, outside = np.array([rank.seconds or 0.0 for rank in run.ranks]), 0.0
        span = max(float(run.value or 0.0), float(own.max()))
        kinds = {kind: np.zeros(len(run.ranks)) for kind in KINDS} | {COMPUTE: own, COMMUNICATION: span - own}
    amounts = [rank.work for rank in run.ranks]
    messages = [name for name, kind in named.items() if kind == COMMUNICATION]
    counts = [len(rank.steps) - rank.warmup_steps for rank in run.ranks if len(rank.steps) > rank.warmup_steps]
    busy_steps = _by_step(run, named, (COMPUTE, DATA, SERIAL))
    return Account(
        k=run.k,
        span=span,
        **kinds,
        outside=outside,
        transfer=_transfer(run, named, kinds[COMMUNICATION]),
        busy_steps=busy_steps,
        steps=min(counts) if counts else None if busy_steps is None else busy_steps.shape[1],
        waits_apart=WAIT in named.values(),
        pairwise=any(_PAIRWISE.search(name) for name in messages),
        collective=bool(messages) and all(_COLLECTIVE.search(name) for name in messages),
        messages=max(messages, key=lambda name: sum(rank.phases.get(name, 0.0) for rank in run.ranks), default=None),
        hosts=_hosts(run),
        work=None if None in amounts else np.array(amounts, dtype=np.float64),
    )


def _phased(run: Run, named: Mapping[str, str], *, whole: bool) -> tuple[dict[str, FloatArray], float, float]:
    """Seconds of each worker by kind, the span, and the time that no phase of any worker covers."""
    kinds = {kind: np.zeros(len(run.ranks)) for kind in (*KINDS, HIDDEN)}
    for i, rank in enumerate(run.ranks):
        for name, seconds in rank.phases.items():
            kinds[named[name]][i] += seconds
    del kinds[HIDDEN]
    covered = np.sum(list(kinds.values()), axis=0)
    longest = max(rank.seconds or 0.0 for rank in run.ranks)
    span = float(max(longest, covered.max(), (run.value or 0.0) if whole else 0.0))
    outside = float((span - covered).min())
    kinds[WAIT] += span - covered - outside
    return kinds, span, outside


def _hosts(run: Run) -> tuple[str | None, ...]:
    """Hosts as the workers name themselves, or as the launcher does where several share a name but not a place."""
    names, places = tuple(rank.host for rank in run.ranks), run.placement.hosts if run.placement else ()
    return places if len(set(names)) < len(names) == len(places) else names


def _by_step(run: Run, named: Mapping[str, str], kinds: tuple[str, ...]) -> FloatArray | None:
    """Seconds of these kinds (axes: worker, step); None where the steps of the workers do not agree."""
    series = [
        [values for name, values in rank.step_phases.items() if (named.get(name) or kind_of(name)) in kinds]
        for rank in run.ranks
    ]
    lengths = {len(values) for own in series for values in own}
    if len(lengths) != 1 or lengths == {0} or not all(series):
        return None
    return np.array([np.sum(own, axis=0) for own in series])


def _transfer(run: Run, named: Mapping[str, str], communication: FloatArray) -> float | None:
    """Seconds in collectives that no worker was spared, by the least of each step; None without phases of steps."""
    by_step = _by_step(run, named, (COMMUNICATION,))
    if by_step is None:
        return None
    seconds = float(by_step.sum(axis=1).mean())
    return float(by_step.min(axis=0).sum()) * (float(communication.mean()) / seconds if seconds > 0 else 1.0)


@dataclass(frozen=True)
class SlowHost:
    """A host that is slow all the time: how many times longer it needs, and the ranks that ran there."""

    host: str
    factor: float
    ranks: frozenset[int]
    by_work: bool


def _paces(
    runs: list[Account], *, by_work: bool, hosts_known: bool
) -> tuple[dict[str, list[tuple[int, float]]], dict[str, set[int]]]:
    """For each host how many hosts each run had and its pace there over the usual one; and the ranks that ran on it."""
    paces: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    ranks: defaultdict[str, set[int]] = defaultdict(set)
    for account in runs:
        pace = account.busy / account.work if by_work and account.work is not None else account.busy
        places: defaultdict[str, list[int]] = defaultdict(list)
        for rank, host in enumerate(account.hosts):
            places[str(host) if hosts_known else f"of rank {rank}"].append(rank)
        means = {host: float(pace[own].mean()) for host, own in places.items()}
        usual = float(np.median(list(means.values())))
        if len(means) < 2 or usual <= 0:
            continue
        for host, value in means.items():
            paces[host].append((len(means), value / usual))
            ranks[host] |= set(places[host])
    return paces, ranks


def _stands_out(median: Mapping[str, float], slowest: str, usual: float, by_run: list[float]) -> bool:
    """Whether a host is much slower than others that agree, and as slow at every K (`by_run`, where three or more)."""
    others = np.array([value for host, value in median.items() if host != slowest])
    if median[slowest] < SLOWER * usual or np.ptp(others) > AGREEMENT * (median[slowest] - usual):
        return False
    return not by_run or by_run[-1] - 1.0 <= GROWS * max(by_run[0] - 1.0, 0.0)


def find_slow_host(by_k: Mapping[int, list[Account]]) -> SlowHost | None:
    """The one host that is clearly slower than others that agree, over all its ranks; without counted work only where
    the K that ran without it show no imbalance.  Where hosts are unknown and work was counted, a rank is a host."""
    runs = [account for group in by_k.values() for account in group if len(account.compute) > 1]
    by_work, hosts_known = _counted_and_placed(runs)
    if not runs or not (hosts_known or by_work):
        return None
    paces, ranks = _paces(runs, by_work=by_work, hosts_known=hosts_known)
    median = {host: float(np.median([value for _, value in own])) for host, own in paces.items()}
    if len(median) < LEAST_HOSTS - by_work:
        return None
    slowest = max(median, key=lambda host: median[host])
    usual = float(np.median([value for host, value in median.items() if host != slowest]))
    stands_out = _stands_out(median, slowest, usual, [value for size, value in paces[slowest] if size > 2])
    if stands_out and (by_work or _balanced_without(runs, ranks[slowest])):
        return SlowHost(slowest, median[slowest] / usual, frozenset(ranks[slowest]), by_work)
    return None


def _counted_and_placed(runs: list[Account]) -> tuple[bool, bool]:
    """Whether every worker of every run counted its work, and whether all hosts are known."""
    by_work = all(account.work is not None and np.all(account.work > 0) for account in runs)
    return by_work, all(host is not None for account in runs for host in account.hosts)


def _balanced_without(runs: list[Account], ranks: set[int]) -> bool:
    """Whether there are runs without these ranks, and all of them are balanced."""
    without = [own for own in runs if not ranks & set(range(len(own.compute)))]
    return bool(without) and all(own.compute.max() < SLOWER * own.compute.mean() for own in without)


@dataclass(frozen=True, kw_only=True)
class PhaseShares:
    """The mean share of a rank's time in each phase at one K; the shares add up to at most 1."""

    k: int
    shares: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class RankStrip:
    """Each rank's time over the mean of all ranks at one K (1 = as fast as the others), averaged over runs."""

    k: int
    relative: tuple[float, ...]


def phase_shares(study: Study) -> tuple[PhaseShares, ...]:
    """Where the time goes by K; empty where no rank reported phases."""
    phased: defaultdict[int, list[RankRecord]] = defaultdict(list)
    for run in study.runs:
        phased[run.k] += [rank for rank in run.ranks if run.counts and rank.phases and _total(rank)]
    return tuple(PhaseShares(k=k, shares=_mean_shares(ranks)) for k, ranks in sorted(phased.items()) if ranks)


def _mean_shares(ranks: list[RankRecord]) -> dict[str, float]:
    names = dict.fromkeys(name for rank in ranks for name in rank.phases)
    shares = {name: fmean(rank.phases.get(name, 0.0) / _total(rank) for rank in ranks) for name in names}
    rest = 1.0 - sum(shares.values())
    return shares | ({"other": rest} if rest > 1e-6 else {})


def rank_strips(study: Study) -> tuple[RankStrip, ...]:
    """Each rank's relative time by K; empty where fewer than two ranks reported."""
    rows: defaultdict[int, list[list[float]]] = defaultdict(list)
    for run in study.runs:
        times = [rank.seconds for rank in sorted(run.ranks, key=lambda rank: rank.rank) if rank.seconds]
        if run.counts and len(times) >= 2:
            rows[run.k].append([time / fmean(times) for time in times])
    return tuple(RankStrip(k=k, relative=tuple(map(fmean, zip(*own, strict=False)))) for k, own in sorted(rows.items()))


def _total(rank: RankRecord) -> float:
    return max(rank.seconds or 0.0, sum(rank.phases.values()))
