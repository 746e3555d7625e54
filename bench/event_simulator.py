"""A parallel program as clocks of ranks that meet in messages: nothing is assumed about the shape of T(K).

Written apart from the diagnosis and from `bench.bsp_simulator`.  Every rank has a clock.  A step is

    start-up once | compute, tasks, work of rank 0 | locks | halo | collective, round by round | I/O

and a message is received when both ends are ready, so that noise travels as it does between real ranks: a halo
exchange waits for neighbours only, a tree for pairs, a ring for the rank before.  Resources (memory of a node, sockets,
clock, lock, file server) are shared by those who use them in the step.  What a mechanism costs follows from its
physical size, never from a target curve.  The truth is by ablation with the same random numbers: the cause of the
mechanisms whose removal saves most of the worker-time lost at the largest K against the baseline, and any other within
a fifth.

Mechanisms without a name in the diagnosis: iterations that grow with K, ghost work, a coordinator that hands out
tasks, pauses of a garbage collector.  `ACCEPTED` says which names do not misname them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from scalecurve.study import RankRecord, Regime, Run, Study

CAUSE_OF = {
    "start-up": "serial",
    "root-work": "serial",
    "launch": "serial",
    "tree": "communication",
    "ring": "communication",
    "gather": "communication",
    "all-to-all": "communication",
    "halo": "communication",
    "slow-link": "communication",
    "os-periodic": "jitter",
    "os-exponential": "jitter",
    "rare": "straggler",
    "slow-host": "straggler",
    "static": "imbalance",
    "dynamic": "imbalance",
    "tasks": "imbalance",
    "memory": "contention",
    "numa": "contention",
    "droop": "contention",
    "lock": "contention",
    "io": "contention",
    "cache": "other",
    "iterations": "repeated-work",
    "ghost-work": "repeated-work",
    "coordinator": "other",
    "collector": "other",
}
ACCEPTED = {
    "lock": {"contention", "serial", "other"},
    "io": {"contention", "other"},
    "rare": {"straggler", "jitter"},
    "coordinator": {"other", "serial", "contention", "imbalance", "communication"},
    "collector": {"other", "straggler", "jitter"},
    "launch": {"serial", "other"},
}
UNNAMED = tuple(name for name, cause in CAUSE_OF.items() if cause == "other")
K_LISTS = (
    (1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8, 16, 32), (1, 3, 6, 12, 24, 48), (2, 4, 8, 16, 32, 64), (1, 2, 4, 8, 12, 16),
)  # fmt: skip
RECORDINGS = ("times", "mpi", "barrier", "steps", "work")
NOISES = ("normal", "skewed", "heavy", "two-speeds", "drift", "sessions")
SMALL, DOUBTFUL = 0.03, 0.07


@dataclass(frozen=True, kw_only=True)
class Program:
    """One program: mechanisms with sizes (0.1 light to 1 heavy), the machine, and how it is measured."""

    sizes: dict[str, float]
    workers: tuple[int, ...]
    weak: bool
    steps: int
    node: int
    jitter: float
    noise: float
    shape: str
    repeats: int
    seed: int

    @property
    def largest(self) -> int:
        return self.workers[-1]


def draw(rng: np.random.Generator, *, names: tuple[str, ...] | None = None) -> Program:
    """A program of none to three mechanisms."""
    if names is None:
        count = int(rng.choice(4, p=[0.05, 0.5, 0.3, 0.15]))
        names = tuple(str(name) for name in rng.choice(list(CAUSE_OF), size=count, replace=False))
    sizes = {name: float(np.exp(rng.uniform(np.log(0.1), 0.0))) for name in names}
    workers = K_LISTS[int(rng.integers(len(K_LISTS)))]
    return Program(
        sizes=sizes,
        workers=workers,
        weak=bool(rng.random() < 0.2),
        steps=int(rng.integers(20, 80)),
        node=int(rng.choice([4, 8, 16, 64])),
        jitter=float(np.exp(rng.uniform(np.log(0.001), np.log(0.02)))),
        noise=float(np.exp(rng.uniform(np.log(0.002), np.log(0.04)))),
        shape=str(rng.choice(NOISES)),
        repeats=int(rng.choice([3, 5, 8])),
        seed=int(rng.integers(2**31)),
    )


@dataclass(frozen=True, eq=False)
class Traces:
    """One run: seconds by step and rank in compute, barrier, communication and I/O, and the end of the run."""

    phases: dict[str, np.ndarray]
    end: float
    work: np.ndarray


def run(program: Program, k: int, seed: tuple[int, ...], *, barrier: bool = False) -> Traces:
    """All steps of one run at K.  Each mechanism has a stream of its own, so that removing one leaves the others."""
    streams = {
        name: np.random.default_rng([*seed, place])
        for place, name in enumerate((*CAUSE_OF, "jitter"))
        if name in program.sizes or name == "jitter"
    }
    size = program.sizes.get
    unit = 1.0 if program.weak else 1.0 / k  # seconds of parallel work of a rank in all steps together
    clock = np.zeros(k)
    clock += size("launch", 0.0) * 0.02 * (1.0 + 0.02 * k)
    steps = program.steps
    if "iterations" in program.sizes:
        steps = round(steps * (1.0 + size("iterations", 0.0) * (k ** (1 / 3) - 1.0)))
    share, speed = _shares(program, k), _speed(program, k)
    names = ("compute", "barrier", "communication", "io")
    phases = {name: np.zeros((steps, k)) for name in names}
    done = np.zeros(k)
    if "start-up" in program.sizes:
        begin_serial = clock.copy()
        clock[0] += 0.06 * size("start-up", 0.0)
        phases["compute"][0] += clock - begin_serial
        ready = clock.max()
        phases["communication"][0] += ready - clock
        clock[:] = ready
    for step in range(steps):
        t0 = clock.copy()
        work = unit / program.steps * share * speed * np.exp(program.jitter * streams["jitter"].standard_normal(k))
        before = work
        work = _uneven(program, k, work, streams)
        done += unit / program.steps * _counted(program, share) * work / before
        work = work + _late(program, k, work, step, streams)
        if "root-work" in program.sizes:
            work[0] += 0.06 * size("root-work", 0.0) / program.steps
        clock += work
        if "lock" in program.sizes:
            clock = _locked(program, clock, work, streams["lock"])
        phases["compute"][step] += clock - t0
        if barrier and k > 1:
            phases["barrier"][step] += clock.max() - clock
            clock[:] = clock.max()
        t1 = clock.copy()
        clock = _messages(program, k, clock)
        phases["communication"][step] += clock - t1
        if "io" in program.sizes:
            t2, served = clock.copy(), 0.0
            bytes_each = 0.03 * size("io", 0.0) / program.steps * (1.0 if program.weak else 8.0 / k)
            order = np.argsort(clock)
            for rank in order:  # one server, first come first served; a client alone needs twice the server's time
                served = max(served, clock[rank]) + bytes_each * (k / 8.0 if not program.weak else 1.0)
                clock[rank] = max(served, clock[rank] + 2.0 * bytes_each)
            phases["io"][step] += clock - t2
    end = float(clock.max())
    if k == 1:
        phases.pop("communication")
    kept = {name: values for name, values in phases.items() if values.any()}
    return Traces(kept, end, done * 1e6)


def _counted(program: Program, share: np.ndarray) -> np.ndarray:
    """The share of the work of each rank: a slow host is given no more of it."""
    own = share.copy()
    if "slow-host" in program.sizes and len(share) > program.node:
        own[program.node : 2 * program.node] /= 1.0 + program.sizes["slow-host"]
    return own


def _shares(program: Program, k: int) -> np.ndarray:
    """Work of each rank over the mean, the same in every run; one host may be slow."""
    share = np.ones(k)
    if "static" in program.sizes and k > 1:
        own = np.random.default_rng([program.seed, 7])
        field = own.gamma(1.0 / program.sizes["static"] ** 2, 1.0, program.largest)  # a cost per cell, cut into K parts
        parts = np.array([part.mean() for part in np.array_split(field, k)])
        share = parts / parts.mean()
    if "ghost-work" in program.sizes and not program.weak:
        share = share * (1.0 + 0.25 * program.sizes["ghost-work"] * (k ** (1 / 3) - 1.0))
    if "slow-host" in program.sizes and k > program.node:
        share[program.node : 2 * program.node] *= 1.0 + program.sizes["slow-host"]
    return share


def _speed(program: Program, k: int) -> np.ndarray:
    """How many times longer compute takes on each rank for what shares its node, its socket and its clock."""
    size = program.sizes.get
    mates = np.array([min(program.node, k - rank // program.node * program.node) for rank in range(k)], dtype=float)
    factor = np.ones(k)
    if "memory" in program.sizes:
        bound = min(0.3 + size("memory", 0.0), 1.0)
        saturates = max(1.5, program.node / (2.0 + 6.0 * size("memory", 0.0)))
        factor *= 1.0 - bound + bound * np.maximum(1.0, mates / saturates)
    if "numa" in program.sizes:
        factor *= 1.0 + 0.6 * size("numa", 0.0) * (mates > program.node / 2)
    if "droop" in program.sizes:
        factor *= 1.0 / (1.0 - 0.4 * size("droop", 0.0) * ((mates - 1) / max(program.node - 1, 1)) ** 0.5)
    if "cache" in program.sizes and not program.weak:
        factor *= 1.0 + 0.5 * size("cache", 0.0) / (1.0 + (k / 6.0) ** 3)
    return factor


def _uneven(program: Program, k: int, work: np.ndarray, streams: dict[str, np.random.Generator]) -> np.ndarray:
    """Work that changes hands from step to step: new shares, tasks from a queue, tasks from a coordinator."""
    if "dynamic" in program.sizes and k > 1:
        drawn = streams["dynamic"].gamma(1.0 / program.sizes["dynamic"] ** 2, 1.0, k)
        work = work * drawn / drawn.mean()
    if "tasks" in program.sizes:
        count = int(np.ceil((program.largest if not program.weak else k) * 3 * (1.05 - program.sizes["tasks"])))
        tasks = streams["tasks"].lognormal(0.0, 0.6, max(count, 1))
        work = work.mean() * k * _schedule(tasks / tasks.sum(), k)
    if "coordinator" in program.sizes:
        count = 2 * program.largest
        service = 0.03 * program.sizes["coordinator"] / program.steps / program.largest
        longest = count * service
        work = np.maximum(work, longest * (0.97 + 0.06 * np.arange(k) / k)) + service
    return work


def _schedule(tasks: np.ndarray, k: int) -> np.ndarray:
    """When each of K workers ends that take tasks from one queue."""
    free = np.zeros(k)
    for task in tasks:
        free[np.argmin(free)] += task
    return free


def _late(program: Program, k: int, work: np.ndarray, step: int, streams: dict[str, np.random.Generator]) -> np.ndarray:
    """Seconds by which ranks are held up in a step."""
    late = np.zeros(k)
    per_step = 0.05 / program.steps
    if "os-periodic" in program.sizes:
        period = 0.7 / program.steps  # a daemon wakes on every rank, out of phase
        phase = streams["os-periodic"].random(k) * period
        late += np.floor((work + phase) / period + 0.1) * 0.6 * per_step * program.sizes["os-periodic"]
    if "os-exponential" in program.sizes:
        late += streams["os-exponential"].exponential(0.4 * per_step * program.sizes["os-exponential"], k)
    if "rare" in program.sizes:
        hit = streams["rare"].random(k) < 0.6 / program.largest
        late += hit * per_step * 3.0 * program.sizes["rare"] * streams["rare"].uniform(0.5, 1.5, k)
    if "collector" in program.sizes:
        hit = streams["collector"].random(k) < 0.02 + 0.2 * work * program.steps
        late += hit * per_step * program.sizes["collector"]
    return late


def _locked(program: Program, clock: np.ndarray, work: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """After each rank passed four critical sections of its step, first come first served, within its node."""
    hold = 0.01 * program.sizes["lock"] / program.steps * (1.0 if program.weak else 8.0 / len(clock))
    ends = clock.copy()
    for first in range(0, len(clock), program.node):
        ranks = np.arange(first, min(first + program.node, len(clock)))
        asks = clock[ranks, None] - work[ranks, None] * np.sort(rng.random((len(ranks), 4)), axis=1)[:, ::-1]
        free, behind = 0.0, np.zeros(len(ranks))
        for place in np.argsort(asks, axis=None):
            rank = place // 4
            start = max(free, asks.flat[place] + behind[rank])
            behind[rank] = start + hold - asks.flat[place]
            free = start + hold
        ends[ranks] += behind
    return ends


def _messages(program: Program, k: int, clock: np.ndarray) -> np.ndarray:
    """The clocks after the halo and the collectives of a step; messages across nodes may be slower."""
    if k == 1:
        return clock
    size = program.sizes.get
    slow = 1.0 + 6.0 * size("slow-link", 0.0)
    ranks = np.arange(k)
    nodes = ranks // program.node
    per_step = 1.0 / program.steps

    def wire(partner: np.ndarray, seconds: float) -> np.ndarray:
        cost: np.ndarray = seconds * np.where(nodes == nodes[partner], 1.0, slow)
        return cost

    base = 0.0004 * per_step if "slow-link" in program.sizes else 0.0
    if "halo" in program.sizes:
        surface = 0.02 * size("halo", 0.0) * per_step * (1.0 if program.weak else k ** (-2 / 3))
        for shift in (1, -1):
            partner = (ranks + shift) % k
            clock = np.maximum(clock, clock[partner]) + wire(partner, surface)
    seconds = 0.008 * size("tree", 0.0) * per_step + 10 * base
    if seconds:
        for bit in range(int(np.ceil(np.log2(k)))):
            partner = ranks ^ (1 << bit)
            partner = np.where(partner < k, partner, ranks)
            clock = np.maximum(clock, clock[partner]) + wire(partner, seconds)
        clock[:] = clock.max()
    if "ring" in program.sizes:
        seconds = 0.03 * size("ring", 0.0) * per_step / k
        before = (ranks - 1) % k
        for _ in range(2 * (k - 1)):
            clock = np.maximum(clock, clock[before]) + wire(before, seconds)
    if "gather" in program.sizes:
        clock = _gathered(clock, 0.0015 * size("gather", 0.0) * per_step)
    seconds = 0.1 * size("all-to-all", 0.0) * per_step / k * (1.0 if program.weak else 1.0 / k**0.5)
    for shift in range(1, k if seconds else 1):
        partner = (ranks + shift) % k
        clock = np.maximum(clock, clock[partner]) + wire(partner, seconds)
    # A step of a program without messages still ends together where its ranks go on from a common result.
    if not {"halo", "ring", "all-to-all"} & set(program.sizes):
        clock = np.full(k, clock.max())
    return clock


def _gathered(clock: np.ndarray, seconds: float) -> np.ndarray:
    """When the root has received from every rank in turn."""
    done = 0.0
    for arrival in np.sort(clock):
        done = max(done, float(arrival)) + seconds
    return np.full(len(clock), done)


def truth(program: Program) -> frozenset[str]:
    """The causes that count as right, by removal of each mechanism."""
    base, at = program.workers[0], program.largest
    share = 1.0 if program.weak else base / at
    whole, first = _mean_end(program, at), _mean_end(program, base)
    costs: dict[str, float] = {}
    right: set[str] = set()
    savings = {}
    for name in (*program.sizes, "jitter"):
        rest = {own: size for own, size in program.sizes.items() if own != name}
        without = replace(program, sizes=rest, jitter=0.0 if name == "jitter" else program.jitter)
        saved = whole - _mean_end(without, at) - share * (first - _mean_end(without, base))
        savings[name] = saved
        cause = CAUSE_OF.get(name, "jitter")
        costs[cause] = costs.get(cause, 0.0) + max(saved, 0.0)
    efficiency = share * first / whole
    if efficiency > 1.0 - DOUBTFUL:
        right.add("none")
    if efficiency < 1.0 - SMALL or "cache" in program.sizes:
        top = max(costs.values())
        leading = {cause for cause, cost in costs.items() if cost >= 0.8 * top and cost > 0}
        right |= leading
        for name, saved in savings.items():
            if name in ACCEPTED and CAUSE_OF[name] in leading and saved >= 0.5 * top:
                right |= ACCEPTED[name]
    if "cache" in program.sizes:
        right.add("other")
    return frozenset(right or {"none"})


def _mean_end(program: Program, k: int) -> float:
    return float(np.mean([run(program, k, (program.seed, trial)).end for trial in range(3)]))


def simulate(program: Program, recording: str) -> Study:
    """The program measured: T(K) only, totals of MPI timers, with a barrier, or every step."""
    rng = np.random.default_rng([program.seed, 99])
    runs, place = [], 0
    count = len(program.workers) * program.repeats
    sessions = {repeat: rng.standard_normal() for repeat in range(program.repeats)}
    for repeat in range(program.repeats):
        for k in program.workers:
            traces = run(program, k, (program.seed, repeat, k), barrier=recording == "barrier")
            factor = _noise(program, rng, place / count, sessions[repeat])
            place += 1
            runs.append(Run(k=k, value=traces.end * factor, repeat=repeat, ranks=_records(traces, recording, factor)))
    return Study(regime=Regime.WEAK if program.weak else Regime.STRONG, runs=tuple(runs))


def _noise(program: Program, rng: np.random.Generator, progress: float, session: float) -> float:
    """The factor on a whole run."""
    size, draw_one = program.noise, rng.standard_normal()
    if program.shape == "skewed":
        return float(1.0 + size * (rng.gamma(2.0) - 2.0) / 1.4)
    if program.shape == "heavy":
        return float(max(1.0 + size * np.clip(rng.standard_t(2.5), -5, 12), 0.5))
    if program.shape == "two-speeds":
        return float(1.0 + size * (3.0 * (rng.random() < 0.3) + 0.3 * draw_one))
    if program.shape == "drift":
        return float((1.0 + 2.0 * size * progress) * np.exp(0.5 * size * draw_one))
    if program.shape == "sessions":
        return float(np.exp(size * (session + 0.3 * draw_one)))
    return float(np.exp(size * draw_one))


def _records(traces: Traces, recording: str, factor: float) -> tuple[RankRecord, ...]:
    if recording == "times":
        return ()
    k = traces.phases["compute"].shape[1]
    return tuple(
        RankRecord(
            rank=i,
            seconds=traces.end * factor,
            work=float(traces.work[i]) if recording == "work" else None,
            phases={name: float(values[:, i].sum() * factor) for name, values in traces.phases.items()},
            step_phases={name: tuple((values[:, i] * factor).tolist()) for name, values in traces.phases.items()}
            if recording in ("steps", "work")
            else {},
        )
        for i in range(k)
    )
