"""Jobs whose workers have clocks of their own: messages carry lateness from one worker to the next.

An unseen test of the diagnosis: written after its weights were fitted, from mechanisms with parameters drawn wide, and
apart from the other simulators.  No barrier is assumed: a tree, a ring of neighbours or a server lets each worker go on
as soon as what it needs has arrived, so that delays meet, overlap and travel.  Shares come from skewed data, noise is
correlated in time, slow machines come and go between runs.  The truth is by ablation with the same random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from scalecurve.study import Placement, RankRecord, Regime, Run, Study

ACCEPTED: dict[str, tuple[str, ...]] = {
    "doubling": ("communication",),
    "bandwidth": ("communication",),
    "neighbours": ("communication",),
    "parameter-server": ("communication",),
    "personalised": ("communication",),
    "reader": ("serial",),
    "set-up": ("serial",),
    "bad-machine": ("straggler",),
    "neighbour-tenant": ("straggler",),
    "ticks": ("jitter",),
    "collector": ("jitter", "straggler"),
    "skew": ("imbalance",),
    "particles": ("imbalance",),
    "batches": ("imbalance",),
    "bus": ("contention",),
    "clock": ("contention",),
    "allocator": ("contention",),
    "sweeps": ("repeated-work",),
    "overlap": ("repeated-work",),
    "token": ("other",),
    "storage": ("other", "contention"),
}
WORKERS = (
    (1, 2, 4, 8, 16, 32),
    (1, 2, 4, 8),
    (2, 4, 8, 16, 32),
    (1, 3, 6, 12, 24),
    (1, 2, 4, 6, 8, 12, 16),
    (4, 8, 16, 32, 64),
)
SMALL, DOUBTFUL, CLOSE = 0.03, 0.07, 0.8


@dataclass(frozen=True, kw_only=True)
class Program:
    """One job: its mechanisms with sizes from 0 (light) to 1 (heavy), and how it is measured."""

    sizes: dict[str, float]
    workers: tuple[int, ...]
    weak: bool
    steps: int
    cores: int
    noise: float
    repeats: int
    seed: int

    def of(self, name: str, light: float, heavy: float) -> float:
        """The size of a mechanism between `light` and `heavy` on a logarithmic scale; 0 if absent."""
        size = self.sizes.get(name)
        return 0.0 if size is None else float(light * (heavy / light) ** size)


def draw(rng: np.random.Generator) -> Program:
    """A job of one to three mechanisms, or none."""
    names = rng.choice(list(ACCEPTED), size=int(rng.choice(4, p=[0.06, 0.5, 0.32, 0.12])), replace=False)
    return Program(
        sizes={str(name): float(rng.uniform()) for name in names},
        workers=WORKERS[int(rng.integers(len(WORKERS)))],
        weak=bool(rng.random() < 0.25),
        steps=int(rng.integers(10, 50)),
        cores=int(rng.choice([4, 8, 32])),
        noise=float(10 ** rng.uniform(-2.7, -1.5)),
        repeats=int(rng.choice([3, 4, 5])),
        seed=int(rng.integers(2**31)),
    )


@dataclass(frozen=True, eq=False)
class Trace:
    """Seconds by step and worker: busy, loading, waiting at a barrier (or None), messages; work by worker."""

    busy: np.ndarray
    load: np.ndarray
    barrier: np.ndarray
    messages: np.ndarray
    work: np.ndarray
    before: float
    chained: bool

    @property
    def seconds(self) -> float:
        return self.before + float((self.busy + self.load + self.barrier + self.messages).sum(axis=0).max())


def run(own: Program, k: int, trial: int, *, barrier: bool) -> Trace:
    """One run at K; every mechanism has a stream of its own."""
    rng = {name: np.random.default_rng([own.seed, trial, k, place]) for place, name in enumerate(ACCEPTED)}
    noise = np.random.default_rng([own.seed, trial, k, 99])
    steps = max(2, round(own.steps * (1.0 + own.of("sweeps", 0.02, 0.25) * np.log2(k))))
    unit = (1.0 if own.weak else 1.0 / k) / own.steps
    share = _shares(own, k, steps, rng)
    pace = _pace(own, k, steps, rng)
    drift = np.cumsum(noise.standard_normal((steps, k)), axis=0) * 0.1 + noise.standard_normal((steps, k))
    compute = unit * share * pace * np.exp(0.2 * own.noise * drift) + _delays(own, k, steps, rng)
    compute[:, 0] += own.of("reader", 0.005, 0.12) / own.steps
    load = np.full((steps, k), own.of("storage", 0.01, 0.12) / own.steps * (k if own.weak else 1.0) / max(own.cores, 1))
    clock, waited, sent = np.zeros(k), np.zeros((steps, k)), np.zeros((steps, k))
    for step in range(steps):
        clock = clock + compute[step] + load[step]
        if barrier:
            waited[step] = clock.max() - clock
            clock = np.full(k, clock.max())
        after = _messages(own, k, clock, compute[step] if "token" in own.sizes else None)
        sent[step], clock = after - clock, after
    chained = "token" in own.sizes and len(own.sizes) == 1
    return Trace(compute, load, waited, sent, (unit * share).sum(axis=0) * 1e3, own.of("set-up", 0.005, 0.12), chained)


def _shares(own: Program, k: int, steps: int, rng: dict[str, np.random.Generator]) -> np.ndarray:
    share = np.ones((steps, k))
    if k > 1 and "skew" in own.sizes:  # keys of a skewed table hashed to the workers: the same in every run
        keys = 1.0 / np.arange(1, 257) ** own.of("skew", 0.4, 1.1)
        place = np.random.default_rng([own.seed, k]).integers(k, size=len(keys))
        held = np.bincount(place, keys, minlength=k)
        share *= held / held.mean()
    if k > 1 and "particles" in own.sizes:  # a cloud that drifts through the domain
        centre = np.linspace(0.0, 1.0, steps)[:, None]
        cloud = np.exp(-0.5 * ((np.arange(k) / k - centre) / 0.15) ** 2)
        share *= 1.0 + own.of("particles", 0.2, 2.0) * (cloud / cloud.mean(axis=1, keepdims=True) - 1.0) * 0.5
    if k > 1 and "batches" in own.sizes:
        drawn = rng["batches"].gamma(1.0 / own.of("batches", 0.01, 0.4), size=(steps, k))
        share *= drawn / drawn.mean(axis=1, keepdims=True)
    if "overlap" in own.sizes:
        share *= 1.0 + own.of("overlap", 0.02, 0.3) * (np.sqrt(k) - 1.0) / (1.0 if not own.weak else np.sqrt(k))
    return np.maximum(share, 0.02)


def _pace(own: Program, k: int, steps: int, rng: dict[str, np.random.Generator]) -> np.ndarray:
    pace, mates = np.ones((steps, k)), float(min(k, own.cores))
    pace *= np.maximum(1.0, mates / own.cores / 0.3) ** own.of("bus", 0.15, 0.9)
    pace *= 1.0 + own.of("clock", 0.05, 0.5) * (mates - 1.0) / own.cores
    pace *= 1.0 + own.of("allocator", 0.005, 0.12) * (mates - 1.0)
    if k > 1 and "bad-machine" in own.sizes:  # the same in every run; whoever has the highest number runs there
        pace[:, -1] *= 1.0 + own.of("bad-machine", 0.1, 1.0)
    if k > 1 and "neighbour-tenant" in own.sizes:  # a tenant beside one worker, another in every run, for a while
        begin, who = int(rng["neighbour-tenant"].integers(steps)), int(rng["neighbour-tenant"].integers(k))
        pace[begin : begin + max(2, steps // 2), who] *= 1.0 + own.of("neighbour-tenant", 0.3, 2.0)
    return pace


def _delays(own: Program, k: int, steps: int, rng: dict[str, np.random.Generator]) -> np.ndarray:
    late = rng["ticks"].exponential(own.of("ticks", 0.005, 0.08) / own.steps, (steps, k))
    hit = rng["collector"].random((steps, k)) < 0.03
    late += hit * rng["collector"].uniform(0.5, 1.5, (steps, k)) * own.of("collector", 0.02, 0.25) / 6.0
    return late


def _messages(own: Program, k: int, clock: np.ndarray, turn: np.ndarray | None) -> np.ndarray:
    """When each worker goes on, from when each arrived."""
    if k == 1:
        return clock
    per_step = 1.0 / own.steps
    part = 1.0 if own.weak else 1.0 / k
    after = clock.copy()
    if turn is not None:  # a token goes round: each worker has a piece of the step's work that needs the last one's
        after = np.maximum.accumulate(after + np.arange(k) * own.of("token", 0.02, 0.3) * turn.mean())
    if "neighbours" in own.sizes:
        there = np.maximum(np.roll(after, 1), np.roll(after, -1))
        after = np.maximum(after, there) + own.of("neighbours", 0.01, 0.15) * per_step * part**0.5
    if "parameter-server" in own.sizes:  # one link takes them in the order in which they come
        order, each = np.argsort(after), own.of("parameter-server", 0.0005, 0.008) * per_step
        free = -np.inf
        for worker in order:
            free = max(free, after[worker]) + each
            after[worker] = free
        after[:] = free
    if "personalised" in own.sizes:
        cost = own.of("personalised", 0.02, 0.2) * part * (1 - 1 / k) + own.of("personalised", 2e-5, 5e-4) * k
        after[:] = after.max() + cost * per_step
    rounds = int(np.ceil(np.log2(k)))
    each = own.of("doubling", 0.002, 0.025) * per_step
    for turn_of in range(rounds):  # every step ends in an exchange with all, by doubling
        partner = (np.arange(k) + (1 << turn_of)) % k
        after = np.maximum(after, after[partner]) + each
    return after + own.of("bandwidth", 0.01, 0.15) * per_step * (k - 1) / k


def _mean(own: Program, k: int) -> float:
    return float(np.mean([run(own, k, 1000 + trial, barrier=False).seconds for trial in range(3)]))


def truth(own: Program) -> frozenset[str]:
    """The causes that count as right: what saves most of the loss when it is taken out, and any within a fifth."""
    base, at = own.workers[0], own.workers[-1]
    share = 1.0 if own.weak else base / at
    whole, first = _mean(own, at), _mean(own, base)
    costs: dict[str, float] = {}
    for name in own.sizes:
        rest = replace(own, sizes={other: size for other, size in own.sizes.items() if other != name})
        saved = whole - _mean(rest, at) - share * (first - _mean(rest, base))
        cause = ACCEPTED[name][0]
        costs[cause] = costs.get(cause, 0.0) + max(saved, 0.0)
    efficiency = share * first / whole
    right = {"none"} if efficiency > 1.0 - DOUBTFUL else set()
    if efficiency < 1.0 - SMALL and costs and max(costs.values()) > 0:
        leading = {cause for cause, cost in costs.items() if cost >= CLOSE * max(costs.values())}
        right |= leading | {word for name in own.sizes if ACCEPTED[name][0] in leading for word in ACCEPTED[name]}
    return frozenset(right or {"jitter"})


def simulate(own: Program, recording: str) -> Study:
    """The job measured: "times", "barrier" (totals with a barrier before the messages), or "work" (steps, counted work
    and hosts)."""
    runs = []
    for repeat in range(own.repeats):
        for k in own.workers:
            factor = float(np.exp(own.noise * np.random.default_rng([own.seed, repeat, k, 7]).standard_normal()))
            trace = run(own, k, repeat, barrier=recording == "barrier")
            hosts = tuple(f"m{rank // own.cores}" for rank in range(k))
            ranks = () if recording == "times" else _records(trace, factor, hosts, full=recording == "work")
            placed = Placement(ranks=k, hosts=hosts) if recording == "work" else None
            runs.append(Run(k=k, value=trace.seconds * factor, repeat=repeat, ranks=ranks, placement=placed))
    return Study(regime=Regime.WEAK if own.weak else Regime.STRONG, runs=tuple(runs))


def _records(trace: Trace, factor: float, hosts: tuple[str, ...], *, full: bool) -> tuple[RankRecord, ...]:
    phases = {"forward": trace.busy * factor, "sendrecv" if trace.chained else "exchange": trace.messages * factor}
    phases |= {"barrier": trace.barrier * factor} if trace.barrier.any() else {}
    phases |= {"read": trace.load * factor} if trace.load.any() else {}
    return tuple(
        RankRecord(
            rank=i,
            seconds=trace.seconds * factor,
            host=hosts[i] if full else None,
            work=float(trace.work[i]) if full else None,
            steps=tuple(np.sum([values[:, i] for values in phases.values()], axis=0).tolist()) if full else (),
            phases={name: float(values[:, i].sum()) for name, values in phases.items()},
            step_phases={name: tuple(values[:, i].tolist()) for name, values in phases.items()} if full else {},
        )
        for i in range(len(hosts))
    )
