"""Jobs as people run them: a training loop, a solver, a mesh that refines, a pipeline, with the machine under them.

Written from the mechanisms alone, before the weights of the diagnosis were fitted, and apart from the other two
simulators: the machine has nodes, links with latency and bandwidth, an uplink that all nodes share, memory channels and
hosts of several ranks; the job has pieces of work that are counted.  A step is

    work of rank 0 | load input | compute | wait for the last | messages | write

and a mechanism is a physical parameter (seconds per message, bytes per second, a factor of a host), never a target
curve.  The truth is by ablation: the mechanisms are taken out one at a time with the same random numbers, and the
cause that saves most of the worker-time lost at the largest K against the baseline is right, as is any within a fifth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalecurve.study import Placement, RankRecord, Regime, Run, Study

ACCEPTED: dict[str, tuple[str, ...]] = {
    "rank-0": ("serial",),
    "checkpoint": ("serial",),
    "interpreter": ("serial",),
    "ring": ("communication",),
    "tree": ("communication",),
    "server": ("communication",),
    "transpose": ("communication",),
    "halo": ("communication",),
    "uplink": ("communication",),
    "slow-host": ("straggler",),
    "throttled": ("straggler",),
    "pauses": ("straggler", "jitter"),
    "os-noise": ("jitter",),
    "shards": ("imbalance",),
    "lengths": ("imbalance",),
    "hot-spot": ("imbalance",),
    "memory": ("contention",),
    "hyperthreads": ("contention",),
    "cache-fight": ("contention",),
    "iterations": ("repeated-work",),
    "ghost-cells": ("repeated-work",),
    "pipeline": ("other",),
    "lock": ("contention", "other", "serial"),
    "file-server": ("other", "contention"),
}
RECORDINGS = ("times", "mpi", "barrier", "steps", "work", "threads")
WORKERS = (
    (1, 2, 4, 8, 16),
    (1, 2, 4, 8, 16, 32),
    (1, 2, 3, 4, 6, 8),
    (2, 4, 8, 16, 32, 64),
    (1, 4, 16, 64),
    (1, 2, 4, 8),
)
SMALL, DOUBTFUL, CLOSE = 0.03, 0.07, 0.8


@dataclass(frozen=True, kw_only=True)
class Program:
    """One job: its mechanisms with sizes from 0 (light) to 1 (heavy), its machine, and how it is measured."""

    sizes: dict[str, float]
    workers: tuple[int, ...]
    weak: bool
    steps: int
    node: int
    wobble: float
    noise: float
    repeats: int
    spins: bool
    seed: int

    @property
    def largest(self) -> int:
        return self.workers[-1]

    def of(self, name: str, light: float, heavy: float) -> float:
        """The physical size of a mechanism between `light` and `heavy` on a logarithmic scale; 0 if absent."""
        size = self.sizes.get(name)
        return 0.0 if size is None else float(light * (heavy / light) ** size)


def draw(rng: np.random.Generator, *, names: tuple[str, ...] | None = None) -> Program:
    """A job of one to three mechanisms, or none; training jobs with collectives are as common as all others."""
    if names is None:
        count = int(rng.choice(4, p=[0.05, 0.55, 0.28, 0.12]))
        names = tuple(str(name) for name in rng.choice(list(ACCEPTED), size=count, replace=False))
    return Program(
        sizes={name: float(rng.uniform(0.0, 1.0)) for name in names},
        workers=WORKERS[int(rng.integers(len(WORKERS)))],
        weak=bool(rng.random() < 0.25),
        steps=int(rng.integers(8, 60)),
        node=int(rng.choice([2, 4, 8, 16])),
        wobble=float(np.exp(rng.uniform(np.log(0.0005), np.log(0.01)))),
        noise=float(np.exp(rng.uniform(np.log(0.002), np.log(0.03)))),
        repeats=int(rng.choice([3, 5, 7])),
        spins=bool(rng.random() < 0.4),
        seed=int(rng.integers(2**31)),
    )


@dataclass(frozen=True, eq=False)
class Trace:
    """One run: seconds by step and rank in each phase, work of each rank, and the wall time."""

    compute: np.ndarray
    load: np.ndarray
    wait: np.ndarray
    messages: np.ndarray
    work: np.ndarray
    startup: float
    chained: bool

    @property
    def seconds(self) -> float:
        return float((self.compute + self.load + self.wait + self.messages).sum(axis=0).max() + self.startup)


def run(program: Program, k: int, seed: tuple[int, ...]) -> Trace:
    """All steps of one run at K; every mechanism draws from a stream of its own."""
    streams = {
        name: np.random.default_rng([*seed, i])
        for i, name in enumerate((*ACCEPTED, "wobble"))
        if name in program.sizes or name == "wobble"
    }
    steps = max(1, round(program.steps * (1.0 + program.of("iterations", 0.03, 0.4) * (k**0.4 - 1.0))))
    shape = (steps, k)
    unit = (1.0 if program.weak else 1.0 / k) / program.steps
    work = unit * _shares(program, k, steps, streams)
    pace = _pace(program, k, steps, streams) * np.exp(program.wobble * streams["wobble"].standard_normal(shape))
    compute = work * pace + _late(program, k, steps, streams)
    compute[:, 0] += program.of("rank-0", 0.004, 0.08) / program.steps
    every = max(1, program.steps // 4)
    compute[every - 1 :: every, 0] += program.of("checkpoint", 0.004, 0.08) / 4
    load = np.zeros(shape)
    if "file-server" in program.sizes:  # all read the same bytes a step in all; the server gives one stream at a time
        service = program.of("file-server", 0.01, 0.1) / program.steps * (1.0 if program.weak else 1.0 / k)
        load += np.maximum(service * 3.0, service * np.arange(1, k + 1))
    arrival = compute + load
    if "lock" in program.sizes and k > 1:  # inside the compute, where no timer looks
        hold = program.of("lock", 0.005, 0.05) / program.steps * (1.0 if program.weak else 1.0 / k)
        queued = hold * (k - 1) * np.minimum(1.0, k * hold * 3.0 / np.maximum(arrival, 1e-12))
        compute, arrival = compute + queued, arrival + queued
    wait = arrival.max(axis=1, keepdims=True) - arrival
    messages = np.full(shape, _messages(program, k)) / program.steps
    if "pipeline" in program.sizes and k > 1:  # stages fill and drain: (K - 1)/m of a stage's time
        messages += work * (k - 1) / program.of("pipeline", 64.0, 6.0)
    if k == 1:
        messages[:] = 0.0
    counted = work.sum(axis=0) * 1e6
    return Trace(
        compute, load, wait, messages, counted, program.of("interpreter", 0.004, 0.08), "pipeline" in program.sizes
    )


def _shares(program: Program, k: int, steps: int, streams: dict[str, np.random.Generator]) -> np.ndarray:
    """Work of each rank in each step, over the even share."""
    share = np.ones((steps, k))
    if k == 1:
        return share
    if "shards" in program.sizes:  # files of Zipf-like sizes dealt to the ranks, the same in every run
        sizes = np.random.default_rng([program.seed, 5]).pareto(2.5, 4 * program.largest) + 0.5
        dealt = np.array([part.sum() for part in np.array_split(sizes, k)])
        share *= 1.0 + program.of("shards", 0.3, 1.0) * (dealt / dealt.mean() - 1.0)
    if "lengths" in program.sizes:  # sequences of unequal length, new in every step
        drawn = streams["lengths"].lognormal(0.0, program.of("lengths", 0.1, 0.7), (steps, k))
        share *= drawn / drawn.mean(axis=1, keepdims=True)
    if "hot-spot" in program.sizes:  # a refined region that moves over the ranks
        at = (np.arange(steps) * k // max(steps, 1)) % k
        hot = np.zeros((steps, k))
        hot[np.arange(steps), at] = program.of("hot-spot", 0.2, 2.0)
        share *= (1.0 + hot) / (1.0 + hot.mean(axis=1, keepdims=True))
    if "ghost-cells" in program.sizes:
        share *= 1.0 + program.of("ghost-cells", 0.05, 0.5) * (1.0 - 1.0 / k if program.weak else k ** (1 / 3) - 1.0)
    return share


def _pace(program: Program, k: int, steps: int, streams: dict[str, np.random.Generator]) -> np.ndarray:
    """Seconds for a piece of work, over those of a quiet core."""
    ranks = np.arange(k)
    mates = np.minimum(program.node, k - ranks // program.node * program.node).astype(float)
    pace = np.ones((steps, k))
    if "memory" in program.sizes:
        bound = program.of("memory", 0.3, 0.95)
        pace *= 1.0 - bound + bound * np.maximum(1.0, mates / max(1.0, 0.35 * program.node))
    if "hyperthreads" in program.sizes:
        pace *= np.where(mates > program.node / 2, 1.0 + program.of("hyperthreads", 0.1, 0.8), 1.0)
    if "cache-fight" in program.sizes:
        pace *= 1.0 + program.of("cache-fight", 0.02, 0.25) * (mates - 1.0)
    if "slow-host" in program.sizes and k > program.node // 2:
        host = (ranks // program.node) == (k - 1) // program.node  # the last host that is in use
        pace *= np.where(host, 1.0 + program.of("slow-host", 0.1, 1.0), 1.0) if k > program.node else 1.0
    if "throttled" in program.sizes and k > 1:  # from some step on one rank has a lower clock
        begin = int(steps * streams["throttled"].uniform(0.0, 0.6))
        pace[begin:, int(streams["throttled"].integers(k))] *= 1.0 + program.of("throttled", 0.15, 1.0)
    return pace


def _late(program: Program, k: int, steps: int, streams: dict[str, np.random.Generator]) -> np.ndarray:
    late = np.zeros((steps, k))
    if "pauses" in program.sizes:  # a collector or a disk holds one worker up, rarely and long
        hit = streams["pauses"].random((steps, k)) < 0.02
        late += hit * program.of("pauses", 0.02, 0.3) * streams["pauses"].exponential(1.0, (steps, k)) / 8
    if "os-noise" in program.sizes:
        late += streams["os-noise"].gamma(0.8, program.of("os-noise", 0.004, 0.06) / program.steps, (steps, k))
    return late


def _messages(program: Program, k: int) -> float:
    """Seconds that every rank is in messages, all steps together."""
    nodes = -(-k // program.node)
    per_worker = 1.0 if program.weak else 1.0 / k
    seconds = program.of("tree", 0.001, 0.02) * np.ceil(np.log2(max(k, 1)))
    seconds += 2.0 * (k - 1) / k * program.of("ring", 0.004, 0.08) + (k - 1) * program.of("ring", 0.0001, 0.001)
    seconds += (k - 1) * program.of("server", 0.0003, 0.006)
    seconds += program.of("transpose", 0.01, 0.15) * (k - 1) / k * per_worker + (k - 1) * program.of(
        "transpose", 1e-5, 3e-4
    )
    seconds += program.of("halo", 0.01, 0.15) * (per_worker ** (2 / 3)) * min(1.0, np.log2(max(k, 1)) / 3)
    if nodes > 1:
        seconds += program.of("uplink", 0.002, 0.05) * (nodes - 1) ** 0.5 * (1.0 if not program.weak else 2.0)
    return float(seconds)


def truth(program: Program) -> frozenset[str]:
    """The causes that count as right."""
    base, at = program.workers[0], program.largest
    share = 1.0 if program.weak else base / at
    whole, first = _mean(program, at), _mean(program, base)
    costs: dict[str, float] = {}
    for name in (*program.sizes, "wobble"):
        rest = replace(
            program,
            sizes={other: size for other, size in program.sizes.items() if other != name},
            wobble=0.0 if name == "wobble" else program.wobble,
        )
        saved = whole - _mean(rest, at) - share * (first - _mean(rest, base))
        cause = ACCEPTED.get(name, ("jitter",))[0]
        costs[cause] = costs.get(cause, 0.0) + max(saved, 0.0)
    efficiency = share * first / whole
    right = {"none"} if efficiency > 1.0 - DOUBTFUL else set()
    if efficiency < 1.0 - SMALL:
        top = max(costs.values())
        leading = {cause for cause, cost in costs.items() if cost >= CLOSE * top}
        right |= leading | {word for name in program.sizes if ACCEPTED[name][0] in leading for word in ACCEPTED[name]}
    return frozenset(right or {"none"})


def _mean(program: Program, k: int) -> float:
    return float(np.mean([run(program, k, (program.seed, trial, k)).seconds for trial in range(4)]))


def simulate(program: Program, recording: str) -> Study:
    """The job measured: see RECORDINGS; "work" is steps with counted work and hosts, "threads" states of threads."""
    rng = np.random.default_rng([program.seed, 77])
    runs = []
    for repeat in range(program.repeats):
        for k in program.workers:
            trace = run(program, k, (program.seed, repeat, k, 3))
            factor = float(np.exp(program.noise * rng.standard_normal()))
            seconds = trace.seconds * factor
            hosts = tuple(f"n{rank // program.node}" for rank in range(k))
            extra: dict[str, Any] = {"threads": _states(program, trace, factor)} if recording == "threads" else {}
            extra |= {"observed": {"mpi_libraries": ["libmpi.so"]}} if extra and program.spins else {}
            runs.append(
                Run(
                    k=k,
                    value=seconds,
                    repeat=repeat,
                    ranks=_records(trace, recording, factor, hosts),
                    placement=Placement(ranks=k, hosts=hosts) if recording == "work" else None,
                    **extra,
                )
            )
    return Study(regime=Regime.WEAK if program.weak else Regime.STRONG, runs=tuple(runs))


def _states(program: Program, trace: Trace, factor: float) -> dict[str, float]:
    """Thread-seconds by state, as the kernel shows them; half of the libraries wait by running in a loop."""
    k = trace.compute.shape[1]
    waits = float((trace.wait + trace.messages).sum()) * factor
    startup = trace.startup * factor
    running = float(trace.compute.sum()) * factor + startup
    span = trace.seconds * factor
    io = float(trace.load.sum()) * factor
    spun = waits if program.spins else 0.0
    rest = k * span - running - io - spun
    return {
        "running": running + spun,
        "runnable": 0.0,
        "blocked_io": io,
        "blocked_other": rest,
        "samples": 200.0,
        "threads": float(k),
    }


def _records(trace: Trace, recording: str, factor: float, hosts: tuple[str, ...]) -> tuple[RankRecord, ...]:
    if recording in ("times", "threads"):
        return ()
    messages = "recv" if trace.chained else "allreduce"
    phases = {"compute": trace.compute * factor, messages: trace.messages * factor}
    if recording == "barrier":
        phases["barrier"] = trace.wait * factor
    else:
        phases[messages] = phases[messages] + trace.wait * factor
    if trace.load.any():
        phases["load"] = trace.load * factor
    steps = recording in ("steps", "work")
    return tuple(
        RankRecord(
            rank=i,
            seconds=trace.seconds * factor,
            host=hosts[i] if recording == "work" else None,
            work=float(trace.work[i]) if recording == "work" else None,
            steps=tuple(np.sum([values[:, i] for values in phases.values()], axis=0).tolist()) if steps else (),
            phases={name: float(values[:, i].sum()) for name, values in phases.items()},
            step_phases={name: tuple(values[:, i].tolist()) for name, values in phases.items()} if steps else {},
        )
        for i in range(len(hosts))
    )
