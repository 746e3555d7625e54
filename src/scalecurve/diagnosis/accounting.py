"""Where worker time went at each K, counted from the phases: shares with intervals, the loss by cause, and the POP
efficiencies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scalecurve.diagnosis.causes import (
    ANSWERS,
    COMMUNICATION,
    CONTENTION,
    IMBALANCE,
    JITTER,
    NONE,
    OTHER,
    REPEATED,
    SERIAL,
    STRAGGLER,
    WAITING_CAUSES,
)  # fmt: skip
from scalecurve.diagnosis.evidence_in_phases import (
    PARTS,
    Runs,
    busy_matrix,
    count,
    counted_work,
    lasting,
    least_in_collectives,
    lost_parts,
    more_work,
    tells_apart,
    work_matrix,
)  # fmt: skip
from scalecurve.diagnosis.phases import KINDS, Account, SlowHost, find_slow_host
from scalecurve.document import JsonRecord
from scalecurve.findings import Finding, info, warning
from scalecurve.study.run import FloatArray

ACCEPTABLE = 0.8  # a POP efficiency
SINGLE_RUN_ERROR = 0.3
PART_ERROR = 0.15  # of the share of an excess that counted work explains: work is seldom counted in seconds
PART_CAUSES = {
    "collectives": (COMMUNICATION, OTHER),
    "waiting": (*WAITING_CAUSES, SERIAL, OTHER),
    "compute": (CONTENTION, REPEATED, STRAGGLER, JITTER),
    "serial phases": (SERIAL,),
    "loading": (OTHER, CONTENTION),
    "outside phases": (SERIAL, OTHER),
}
"""The causes that each part of the loss may have."""
SAID_OF = {
    "collectives": COMMUNICATION, "waiting": "waiting", "compute": "slower-compute", "serial phases": SERIAL,
    "loading": OTHER, "outside phases": SERIAL,
}  # fmt: skip
"""The cause or family that each part of the loss is told as where its cause is open."""


@dataclass(frozen=True, eq=False)
class Accounting:
    """The accounts of a study by K, and what is counted from them."""

    by_k: Runs
    weak: bool

    @property
    def last(self) -> list[Account]:
        """The runs of the largest K."""
        return next(reversed(self.by_k.values()))

    @cached_property
    def lost(self) -> dict[int, FloatArray]:
        """Worker-seconds lost at each K by part, none below 0."""
        return dict(zip(self.by_k, np.maximum(lost_parts(self.by_k, weak=self.weak), 0.0), strict=True))

    @property
    def largest_loss(self) -> str:
        """The cause or family as which the largest part of the loss at the largest K is told."""
        return SAID_OF[PARTS[int(np.argmax(next(reversed(self.lost.values()))))]]

    @cached_property
    def slow_host(self) -> SlowHost | None:
        return find_slow_host(self.by_k)

    @cached_property
    def apart(self) -> bool:
        """Whether transfer and waiting are known apart."""
        return all(tells_apart(account) for runs in self.by_k.values() for account in runs)

    def worker_time(self, k: int) -> dict[str, tuple[float, float, float]]:
        """The share of all worker-seconds in each part at one K, with its 90 % interval over the runs; empty where it
        was not recorded."""
        from scipy.special import stdtrit

        if k not in self.by_k:
            return {}
        shares = count(self.by_k[k]).shares
        mean, n = shares.mean(axis=0), len(shares)
        half = SINGLE_RUN_ERROR * mean
        if n > 1:
            half = stdtrit(n - 1, 0.95) * shares.std(axis=0, ddof=1) / np.sqrt(n)
        low, high = np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0)
        return {part: (float(m), float(a), float(b)) for part, m, a, b in zip(PARTS, mean, low, high, strict=True)}

    def by_counted_work(self, chances: Mapping[str, float], *, as_chances: bool) -> dict[str, float]:
        """The chances with those of a straggler and of imbalance divided anew, as far as one worker is waited for in
        every run: by the part of its excess that counted work explains, or by the chance that this is the larger part.
        """
        own = counted_work(self.last)
        if own is None:
            return dict(chances)
        always, part = own
        if as_chances:
            part = 0.5 * math.erfc((0.5 - part) / PART_ERROR / math.sqrt(2.0))
        both = chances[STRAGGLER] + chances[IMBALANCE]
        uneven = always * part * both + (1.0 - always) * chances[IMBALANCE]
        return {**chances, IMBALANCE: uneven, STRAGGLER: both - uneven}

    def _divided(self, chances: Mapping[str, float]) -> dict[str, dict[str, float]]:
        """How each part of the loss is divided among its causes: by what was counted, else by their chances."""
        divided = {}
        by_work = self.by_counted_work(chances, as_chances=False)
        for part, causes in PART_CAUSES.items():
            own = (*causes, *WAITING_CAUSES) if part == "collectives" and not self.apart else causes
            weight = {name: (by_work if IMBALANCE in own else chances)[name] for name in own}
            if part == "collectives" and self.apart and self.last[0].collective:
                weight = {COMMUNICATION: 1.0}
            total = sum(weight.values())
            divided[part] = {name: value / total for name, value in weight.items()}
        return divided

    def shares(self, k: int, chances: Mapping[str, float]) -> dict[str, float]:
        """The share of the loss at K by cause; with `none` they add up to 1."""
        lost = self.lost[k]
        shares = dict.fromkeys(ANSWERS, 0.0)
        if lost.sum() <= 0:
            return shares | {NONE: 1.0}
        for part, seconds in zip(PARTS, lost / lost.sum(), strict=True):
            for name, own in self._divided(chances)[part].items():
                shares[name] += own * float(seconds)
        return shares

    def seconds(self, k: int) -> dict[str, float]:
        """Mean seconds of a worker by kind of phase."""
        return {kind: float(np.mean([getattr(own, kind).mean() for own in self.by_k[k]])) for kind in KINDS}

    def pop(self, k: int) -> PopMetrics:
        base = next(iter(self.by_k))
        useful = useful_seconds(self.by_k[base])
        return pop_metrics(self.by_k[k], useful * (k / base if self.weak else 1.0))

    def sentence(self, cause: str, unit: str) -> str:
        """What was counted for a cause at the largest K."""
        k = next(reversed(self.by_k))
        where = f"at {k} {unit}" if k > 1 else f"at K = {k}"
        shares = {part: own[0] for part, own in self.worker_time(k).items()}
        waits = f"Waiting takes {shares['waiting']:.0%} of worker time {where}"
        if cause == COMMUNICATION:
            name = (self.last[0].messages or "communication").replace("_", "-")
            name = name.upper() if len(name) < 5 else name[:1].upper() + name[1:]
            also = f"; waiting {shares['waiting']:.0%}" if shares["waiting"] >= 0.005 and self.apart else ""
            return f"{name} takes {shares['collectives']:.0%} of worker time {where}{also}."
        if cause == STRAGGLER and self.slow_host is not None:
            return f"{waits} for host {self.slow_host.host}, {self.slow_host.factor:.2f} times as slow as the others."
        if cause in (*WAITING_CAUSES, "waiting"):
            return f"{waits}: {self._waited_for(cause)}."
        if cause in (CONTENTION, REPEATED, "slower-compute"):
            return self._grown(cause, where)
        if cause == SERIAL and shares["waiting"] < shares["outside phases"]:
            return f"A fixed part outside all phases takes {shares['outside phases']:.0%} of worker time {where}."
        if cause == SERIAL:
            return f"{waits} for what rank {int(np.argmax(busy_matrix(self.last).mean(axis=0)))} does alone."
        part = max(("loading", "waiting", "collectives"), key=lambda name: shares[name])
        words = {"loading": "Loading", "waiting": "Waiting", "collectives": "Waiting along a chain or queue"}[part]
        return f"{words} takes {shares[part]:.0%} of worker time {where}."

    def _grown(self, cause: str, where: str) -> str:
        """How the compute grew, or the work."""
        base, more = next(iter(self.by_k)), more_work(self.by_k, weak=self.weak) or 1.0
        if cause == REPEATED and more > 1.0:
            return f"The workers do {more:.2f} times the work of K = {base} {where}."
        same = "The compute" if cause == "slower-compute" else "The same compute"
        return f"{same} takes {self._growth():.2f} times the worker time of K = {base} {where}."

    def _growth(self) -> float:
        first, runs = next(iter(self.by_k.values())), self.last
        factor = runs[0].k / first[0].k if self.weak else 1.0
        before = float(np.median([own.compute.sum() for own in first])) * factor
        return float(np.median([own.compute.sum() for own in runs])) / max(before, 1e-12)

    def _waited_for(self, cause: str) -> str:
        matrix = busy_matrix(self.last)
        excess, _ = lasting(matrix)
        rank = int(np.argmax(excess))
        if cause != JITTER and excess[rank] > 0.02:
            work = work_matrix(self.last)
            why = {IMBALANCE: ", it has more work", STRAGGLER: ", it is slow"}.get(cause, "")
            if work is not None:
                why = f" with {work[:, rank].mean():.2f} times the work"
            return f"rank {rank} is busy {1 + float(excess[rank]):.2f} times the mean{why}"
        return {
            "waiting": "the last worker is another from step to step",
            IMBALANCE: "the shares of the work differ from step to step",
            STRAGGLER: "now one worker is late, now another, rarely and long",
            JITTER: "every step waits for another worker",
        }[cause]

    def sentences(self) -> Iterator[str]:
        """What was counted at the largest K, and who was waited for."""
        k = next(reversed(self.by_k))
        words = {
            "collectives": "inside collectives" if self.apart else "inside collectives on every worker",
            "waiting": "waiting",
            "compute": "compute",
            "serial phases": "serial work",
            "loading": "loading",
            "outside phases": "outside all phases",
        }
        shares = self.worker_time(k)
        listed = [f"{words[part]} {own[0]:.0%}" for part, own in shares.items() if own[0] >= 0.005]
        yield f"Of worker time at K = {k}: {', '.join(listed)}."
        growth = self._growth()
        if abs(growth - 1.0) > 0.02:
            yield f"Compute of all workers together is {growth:.2f} times that at K = {next(iter(self.by_k))}."
        if len(self.last[0].compute) > 1:
            above = np.mean([a.busy.max() / a.busy.mean() for a in self.last])
            slowest = {int(np.argmax(a.busy)) for a in self.last}
            who = f"rank {slowest.pop()} every time" if len(slowest) == 1 else f"{len(slowest)} different ranks"
            yield f"The slowest worker is busy {above:.2f} times the mean; over {len(self.last)} runs it was {who}."

    def findings(self, candidates: tuple[str, ...]) -> Iterator[Finding]:
        """What a reader must know beside the answer."""
        host = self.slow_host
        if host is not None:
            yield warning(
                "slow-host",
                f"host {host.host} needs {host.factor:.2f} times as long for the same work in every run",
                remedy="take it out and measure again: throttling, a smaller quota, a failing disk or a busy neighbour",
                host=host.host,
                factor=host.factor,
                ranks=sorted(host.ranks),
            )
        elif IMBALANCE in candidates and all(account.work is None for account in self.last):
            message = "workers that are slow have more work or sit on a slow host; no work was counted"
            remedy = "call probe.add_work (or pass work= to probe.steps): equal work on a slow worker means a slow host"
            yield info("work-not-counted", message, remedy=remedy)
        if not self.apart and len(candidates) > 1:
            message = "collectives were timed as totals of a run: with many barriers part of that time is waiting"
            remedy = "time a barrier before the collective, or record phases step by step (probe.steps)"
            yield info("waiting-not-apart", message, remedy=remedy)
        if all(len(own) == 1 for own in self.by_k.values()):
            message = "one run per K: lasting and passing slowness cannot be told apart"
            yield warning("single-run", message, remedy="repeat 5 times")


def useful_seconds(runs: list[Account]) -> float:
    """Worker-seconds of compute, loading, serial work and time outside phases, median over runs."""
    return float(np.median([own.busy.sum() + own.outside * len(own.compute) for own in runs]))


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
    useful = [(own.busy + own.outside, own.span) for own in runs]
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
