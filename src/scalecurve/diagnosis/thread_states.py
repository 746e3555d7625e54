"""What the kernel saw of a job's threads, as evidence: the loss is time that they ran, waited for a disk, or slept.

For K workers and a span of T seconds there are K T worker-seconds.  Running, waiting for a core and waiting for a disk
are counted by the kernel; the rest is idle: workers that wait for one another, or do not exist yet.  Waiting for a core
is no loss of a job with a thread for each worker: it is taken out, and where other programs disturbed the run sleep is
shortened as the job was slowed (`quiet_seconds`).  What is left beyond the baseline is lost, and each part is a number
that `weights.json` weighs: contention makes threads run longer, serial work makes all but one sleep, and messages do
both, since many libraries wait by running in a loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from scalecurve.diagnosis.causes import (
    ANSWERS,
    COMMUNICATION,
    CONTENTION,
    NONE,
    OTHER,
    REPEATED,
    SERIAL,
    WAITING_CAUSES,
)
from scalecurve.findings import Finding, warning
from scalecurve.study import RankRecord, Run, Study
from scalecurve.study.run import FloatArray
from scalecurve.study.study import is_load

RUNNING, CORE, DISK, IDLE = PARTS = ("running", "waiting for a core", "waiting for a disk", "idle")
UNEVEN = 0.25  # of the worker time: what workers wait for one that got a core later, where all wait for cores
STARVED = 0.4  # of the worker time waiting for cores: then phases measured the other programs
SPARE = 0.5  # threads beyond one for each worker, on the mean
LEAST_LOSS = 0.05
ONLY_ONE = 0.7  # of the time
MOST = 0.5  # of the loss
LARGE = 0.45  # growth of running for each doubling that imbalance, delays and noise seldom reach
IN_PART = {RUNNING: (CONTENTION, REPEATED), DISK: (OTHER,), IDLE: (COMMUNICATION, SERIAL, OTHER, *WAITING_CAUSES)}
SPUN = (*IN_PART[RUNNING], *IN_PART[IDLE])
"""The causes that each part of the loss may have; where a library waits by running, of that part too."""


@dataclass(frozen=True, eq=False)
class ThreadLoss:
    """Shares of worker time by K (share, low, high), the numbers to weigh, and the share of the time at the largest K
    in which one thread ran alone (None where it is not known)."""

    k: int
    by_k: Mapping[int, Mapping[str, tuple[float, float, float]]]
    numbers: Mapping[str, float]
    alone: float | None

    def worker_time(self, k: int) -> Mapping[str, tuple[float, float, float]]:
        """Shares of worker time at one K; empty where it was not sampled."""
        return self.by_k.get(k, {})

    @property
    def lost(self) -> dict[str, float]:
        """The share of the loss in each part that has causes."""
        return {part: self.numbers[f"lost {part}"] for part in IN_PART}

    def shares(self, chances: Mapping[str, float]) -> dict[str, float]:
        """The share of the loss by cause; with `none` they add up to 1."""
        spins = self.numbers["lost running, in a library that waits by running"] > 0.0
        shares = dict.fromkeys(ANSWERS, 0.0)
        for part, lost in self.lost.items():
            causes = SPUN if spins and part == RUNNING else IN_PART[part]
            total = max(sum(chances[name] for name in causes), 1e-12)
            shares |= {name: shares[name] + lost * chances[name] / total for name in causes}
        return shares | {NONE: max(1.0 - sum(shares.values()), 0.0)}

    def findings(self, candidates: tuple[str, ...]) -> Iterator[Finding]:
        """Whether most of the loss is waiting for cores."""
        share = self.by_k[self.k][CORE][0]
        if share > STARVED:
            message = (
                f"workers waited for a core {share:.0%} of worker time at K = {self.k}: no other cause can be seen"
            )
            remedy = "measure with a core for every worker and nothing else running"
            yield warning("starved", message, remedy=remedy, share=share)

    def sentence(self, cause: str, unit: str) -> str:
        """What was counted for a cause at the largest K."""
        shares, where = self.by_k[self.k], f"at {self.k} {unit}"
        if cause in (CONTENTION, REPEATED, "slower-compute"):
            more = 1.0 + self.numbers["growth of running"]
            return f"The workers run {more:.2f} times as long in all {where} as at K0, for the same job."
        if cause == SERIAL and self.alone is not None:
            also = f", {self.lost[RUNNING]:.0%} that they run longer" if self.lost[RUNNING] >= LEAST_LOSS else ""
            return (
                f"Serial work: one thread runs alone {self.alone:.0%} of the time {where}; of the loss "
                f"{self.lost[IDLE]:.0%} is idle workers{also}."
            )
        if self.numbers["lost running, in a library that waits by running"] > MOST:
            more = 1.0 + self.numbers["growth of running"]
            return f"The workers run {more:.2f} times as long in all {where}, and MPI waits by running: {cause}."
        return f"Workers idle {shares[IDLE][0]:.0%} and run {shares[RUNNING][0]:.0%} of worker time {where}: {cause}."

    def sentences(self) -> Iterator[str]:
        listed = ", ".join(f"{part} {own[0]:.0%}" for part, own in self.by_k[self.k].items() if own[0] >= 0.005)
        alone = f"; one thread ran alone {self.alone:.0%} of the time" if self.alone is not None else ""
        yield f"Threads at K = {self.k}: {listed} of worker time{alone}."


def sampled_runs(study: Study) -> dict[int, list[Run]]:
    """The runs whose threads were sampled, by K; empty where the largest or all but one K were not, and where K counts
    clients, whose threads are not those that work."""
    sampled: defaultdict[int, list[Run]] = defaultdict(list)
    if is_load(study.k_unit):
        return {}
    for run in study.runs:
        if run.counts and run.threads and run.threads.get("samples", 0) > 0 and _span(run) > 0:
            sampled[run.k].append(run)
    return dict(sorted(sampled.items())) if len(sampled) > 1 and study.all_k[-1] in sampled else {}


def starved_share(study: Study) -> float | None:
    """The largest share of worker time at a K that went to waiting for a core; None where threads were not sampled."""
    sampled = sampled_runs(study)
    return max((_shares(_seconds(runs))[CORE][0] for runs in sampled.values()), default=None)


def without_starvation(study: Study) -> Study:
    """The study with the times that its runs and ranks had taken if no other program had used their cores."""
    sampled = {id(run) for runs in sampled_runs(study).values() for run in runs if _disturbed(run) or not run.ranks}
    rising = study.quantity.higher_is_better

    def quiet(run: Run) -> Run:
        if id(run) not in sampled or run.value is None:
            return run
        factor = float(_calm(run).sum()) / (run.k * _span(run))
        ranks = tuple(_scaled(rank, factor) for rank in run.ranks)
        value = run.value / factor if rising else run.value * factor
        return replace(run, value=value, wall_seconds=run.wall_seconds or _span(run), ranks=ranks)

    return replace(study, runs=tuple(quiet(run) for run in study.runs)) if sampled else study


def _scaled(rank: RankRecord, factor: float) -> RankRecord:
    """All seconds of a rank times a factor."""
    return replace(
        rank,
        seconds=None if rank.seconds is None else rank.seconds * factor,
        steps=tuple(seconds * factor for seconds in rank.steps),
        phases={name: seconds * factor for name, seconds in rank.phases.items()},
        step_phases={name: tuple(s * factor for s in values) for name, values in rank.step_phases.items()},
    )


def quiet_seconds(seconds: FloatArray) -> FloatArray:
    """Worker-seconds by part as on a quiet machine: none waits for a core, and sleep is as much shorter.

    Where workers wait for cores, they wait for one another too: the sleep that this may cause is taken out.
    """
    running, core, disk, idle = seconds
    slowed = (running + core) / max(running, 1e-9)
    left = np.array([running, 0.0, disk / slowed, idle / slowed])
    left[3] = max(left[3] - UNEVEN * core / max(running + core, 1e-9) * left.sum(), 0.0)
    return left


def thread_loss(study: Study, *, weak: bool) -> ThreadLoss | None:
    """What the threads say of the loss at the largest K; None where two K were not sampled."""
    sampled = sampled_runs(study)
    if not sampled:
        return None
    base, last = next(iter(sampled)), max(sampled)
    alone, missing, spans = (
        float(np.mean([fact(run) for run in sampled[last]])) for fact in (_alone, _not_there, _span)
    )
    calm = {k: np.array([_calm(run) for run in sampled[k]]).mean(axis=0) for k in (base, last)}
    whole = float(calm[last].sum())
    beyond = np.maximum(calm[last] - calm[base] * (last / base if weak else 1.0), 0.0)
    total = max(float(beyond.sum()), LEAST_LOSS * whole)
    lost = dict(zip(PARTS, (beyond / total).tolist(), strict=True))
    idle = max(float(np.mean([_worker_seconds(run)[3] for run in sampled[last]])), 1e-9)
    alone = min(alone, idle / (last - 1))  # while one runs alone the others idle; few samples see more than that
    by_chance = last * calm[last][0] / whole * (1.0 - min(calm[last][0] / whole, 1.0)) ** (last - 1)
    above = max(alone / spans - (float(by_chance) if last > 2 else 0.0), 0.0)
    by_one = (last - 1) * above * spans / idle
    times = {k: float(calm[k].sum()) / k for k in (base, last)}
    blocked = (last - 1) * calm[last][2] / max(calm[last][3], 1e-9)
    uneven = np.mean([run.k * _longest(run) - _worker_seconds(run)[0] for run in sampled[last]]) / idle
    alike = 1.0 - float(np.clip(uneven, 0.0, 1.0))
    spins = float(any(run.observed.get("mpi_libraries") for run in sampled[last]))
    growth = float(calm[last][0] / calm[base][0] / (last / base if weak else 1.0)) - 1.0
    each = growth / np.log2(last / base)
    numbers = {
        "lost running": lost[RUNNING],
        "lost running, in a library that waits by running": lost[RUNNING] * spins,
        "lost running there, more than waiting explains": lost[RUNNING]
        * spins
        * float(np.clip(each / LARGE, 0.0, 1.0)),
        "lost idle": lost[IDLE],
        "lost idle, one alone": lost[IDLE] * by_one,
        "lost idle, one alone of two": lost[IDLE] * by_one * float(last == 2),
        "lost idle, only one ever runs": lost[IDLE] * float(alone / spans > ONLY_ONE),
        "lost idle, all ran alike": lost[IDLE] * alike,
        "lost idle, workers not there": lost[IDLE] * float(np.clip(missing / idle, 0.0, 1.0)),
        "lost idle, while one waits for a disk": lost[IDLE] * float(np.clip(blocked, 0.0, 1.0)),
        "lost waiting for a disk": lost[DISK],
        "lost waiting for a core": lost[CORE],
        "slower than K0": 0.0 if weak else float(np.clip(np.log2(times[last] / times[base]), 0.0, 1.0)),
        "growth of running": growth,
    }
    known = all("alone" in (run.threads or {}) for run in sampled[last])
    by_k = {k: _shares(_seconds(runs)) for k, runs in sampled.items()}
    return ThreadLoss(last, by_k, numbers, alone / spans if known else None)


def _disturbed(run: Run) -> bool:
    return bool(run.observed.get("disturbed"))


def _calm(run: Run) -> FloatArray:
    """Worker-seconds by part without the waiting for cores that is not the job's own, as that of no more threads than
    workers, and without what other programs added to the sleep."""
    seconds = _worker_seconds(run)
    if _disturbed(run):
        return quiet_seconds(seconds)
    own = float(run.oversubscribed or (run.threads or {}).get("threads", run.k) > run.k + SPARE)
    return seconds * (1.0, own, 1.0, 1.0)


def _seconds(runs: list[Run]) -> FloatArray:
    return np.array([_worker_seconds(run) for run in runs])


def _shares(seconds: FloatArray) -> dict[str, tuple[float, float, float]]:
    """The share of worker time in each part over the runs of one K, with its 90 % interval."""
    shares = seconds / seconds.sum(axis=1, keepdims=True)
    mean, error = shares.mean(axis=0), shares.std(axis=0) / max(len(shares) - 1, 1) ** 0.5
    return {
        part: (float(m), float(max(m - 1.7 * e, 0.0)), float(min(m + 1.7 * e, 1.0)))
        for part, m, e in zip(PARTS, mean, error, strict=True)
    }


def _alone(run: Run) -> float:
    return float((run.threads or {}).get("alone") or 0.0)


def _not_there(run: Run) -> float:
    """Worker-seconds of the workers that do not exist, by the mean number of threads."""
    return max(run.k - float((run.threads or {}).get("threads") or run.k), 0.0) * _span(run)


def _longest(run: Run) -> float:
    """Seconds that the thread ran which ran most; the whole span where it is not known, which says nothing."""
    return float((run.threads or {}).get("longest") or _span(run))


def _span(run: Run) -> float:
    return float((run.threads or {}).get("span") or run.wall_seconds or run.value or 0.0)


def _worker_seconds(run: Run) -> FloatArray:
    """Worker-seconds in the order of PARTS."""
    states, whole = run.threads or {}, run.k * _span(run)
    parts, left = [], whole
    for name in ("running", "runnable", "blocked_io"):
        parts.append(min(float(states.get(name) or 0.0), left))
        left -= parts[-1]
    return np.array([*parts, left])
