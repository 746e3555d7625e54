"""What the kernel saw of a job's threads, as evidence: the loss is time that they ran, waited for a core, or slept.

For K workers and a span of T seconds there are K T worker-seconds.  Running, waiting for a core and waiting for a disk
are counted by the kernel; the rest is idle: workers that wait for one another, or do not exist yet.  Time beyond that
of the baseline is lost.  `LOST_AS` says where each cause puts its loss: contention makes threads run longer, serial
work makes them sleep, and messages do both, since many libraries wait by running in a loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from scalecurve.diagnosis.causes import CONTENTION, LOST_AS, REPEATED, SERIAL
from scalecurve.findings import Finding, warning
from scalecurve.study import Study
from scalecurve.study.run import FloatArray, Run

RUNNING, CORE, DISK, IDLE = PARTS = ("running", "waiting for a core", "waiting for a disk", "idle")
STRENGTH = 2.0
ALONE = 4.0
STARVED = 0.5  # of the loss: then the machine was short of cores, and no other cause can be seen


@dataclass(frozen=True, eq=False)
class ThreadLoss:
    """Shares of worker time by K (share, low, high), shares of the loss at the largest K, and how much of that loss one
    thread that ran alone explains."""

    k: int
    by_k: Mapping[int, Mapping[str, tuple[float, float, float]]]
    lost: Mapping[str, float]
    alone: float
    alone_share: float | None

    def worker_time(self, k: int) -> Mapping[str, tuple[float, float, float]]:
        """Shares of worker time at one K; empty where it was not sampled."""
        return self.by_k.get(k, {})

    def findings(self, candidates: tuple[str, ...]) -> Iterator[Finding]:
        """Whether most of the loss is waiting for cores."""
        share = self.by_k[self.k][CORE][0]
        if self.lost[CORE] >= STARVED and share > 0.03:
            message = (
                f"workers waited for a core {share:.0%} of worker time at K = {self.k}: no other cause can be seen"
            )
            remedy = "measure with a core for every worker and nothing else running"
            yield warning("starved", message, remedy=remedy, share=share)

    def shift(self, log_odds: Mapping[str, float]) -> dict[str, float]:
        """The log odds of the causes with what the threads say."""
        shares = np.array([self.lost[part] for part in PARTS])
        own = {name: value + STRENGTH * float(shares @ np.log(LOST_AS[name])) for name, value in log_odds.items()}
        own[SERIAL] += ALONE * (self.alone - 0.35) if self.alone_share is not None else 0.0
        return own

    def sentence(self, cause: str, unit: str) -> str:
        shares, where = self.by_k[self.k], f"at {self.k} {unit}"
        if cause in (CONTENTION, REPEATED, "slower-compute"):
            before = next(iter(self.by_k.values()))[RUNNING][0]
            return (
                f"The workers run {shares[RUNNING][0]:.0%} of worker time {where} (K0: {before:.0%}) for the same job."
            )
        if cause == SERIAL and self.alone_share is not None:
            return (
                f"One thread runs alone {self.alone_share:.0%} of the time {where}; workers idle {shares[IDLE][0]:.0%}."
            )
        return f"Workers idle {shares[IDLE][0]:.0%} of worker time {where}: {cause}."

    def sentences(self) -> Iterator[str]:
        listed = ", ".join(f"{part} {own[0]:.0%}" for part, own in self.by_k[self.k].items() if own[0] >= 0.005)
        alone = f"; one thread ran alone {self.alone_share:.0%} of the time" if self.alone_share is not None else ""
        yield f"Threads at K = {self.k}: {listed} of worker time{alone}."


def thread_loss(study: Study, *, weak: bool) -> ThreadLoss | None:
    """What the threads say of the loss at the largest K; None where two K were not sampled, or nothing was lost."""
    sampled: defaultdict[int, list[Run]] = defaultdict(list)
    for run in study.runs:
        if run.counts and getattr(run, "threads", None) and run.threads and run.threads.get("samples", 0) > 0:
            sampled[run.k].append(run)
    ks = sorted(sampled)
    if len(ks) < 2 or ks[-1] != study.all_k[-1] or any(_span(run) is None for own in sampled.values() for run in own):
        return None
    seconds = {k: np.array([_worker_seconds(run) for run in sampled[k]]) for k in ks}
    by_k = {k: _shares(seconds[k]) for k in ks}
    base, last = ks[0], ks[-1]
    beyond = np.maximum(seconds[last].mean(axis=0) - seconds[base].mean(axis=0) * (last / base if weak else 1.0), 0.0)
    total = float(beyond.sum())
    if total <= 0:
        return None
    explained, share = _alone(sampled[last], by_k[last][RUNNING][0], total)
    return ThreadLoss(last, by_k, dict(zip(PARTS, (beyond / total).tolist(), strict=True)), explained, share)


def _shares(seconds: FloatArray) -> dict[str, tuple[float, float, float]]:
    """The share of worker time in each part over the runs of one K, with its 90 % interval."""
    shares = seconds / seconds.sum(axis=1, keepdims=True)
    mean, error = shares.mean(axis=0), shares.std(axis=0) / max(len(shares) - 1, 1) ** 0.5
    return {
        part: (float(m), float(max(m - 1.7 * e, 0.0)), float(min(m + 1.7 * e, 1.0)))
        for part, m, e in zip(PARTS, mean, error, strict=True)
    }


def _alone(runs: list[Run], running: float, lost: float) -> tuple[float, float | None]:
    """The part of the lost seconds that a thread running alone explains, and the share of time in which one did."""
    k, span = runs[0].k, float(np.mean([_span(run) or 0.0 for run in runs]))
    known = [run.threads["alone"] for run in runs if run.threads and "alone" in run.threads]
    if len(known) < len(runs):
        return 0.0, None
    share = float(np.mean(known)) / span
    by_chance = k * running * (1.0 - running) ** (k - 1)  # of K threads that run at random, one alone
    return (float(np.clip((k - 1) * (share - by_chance) * span / lost, 0.0, 1.2)) if k > 2 else 0.35), share


def _span(run: Run) -> float | None:
    own = (run.threads or {}).get("span") or run.wall_seconds or run.value
    return float(own) if own and own > 0 else None


def _worker_seconds(run: Run) -> list[float]:
    """Worker-seconds in the order of PARTS."""
    states = run.threads or {}
    running, core, disk = (float(states.get(name) or 0.0) for name in ("running", "runnable", "blocked_io"))
    whole = run.k * (_span(run) or 0.0)
    disk = min(disk, max(whole - running - core, 0.0))
    return [running, core, disk, max(whole - running - core - disk, 0.0)]
