"""Programs with one main cause, by the clocks of their ranks: stencils, solvers, queues, pipelines, services.

Written apart from the other simulators: a program is a list of steps; in each every rank has work, then all meet, some
several times.  Delays have heavy tails, tasks come from a queue, saturation is gradual, a slow host has several ranks.
`truth` is the main cause; the everyday costs beside it (a little communication and serial work, noise of runs and of
ranks, now and then a slow run) are each below a tenth of its loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scalecurve.study import Placement, RankRecord, Regime, Run, Study
from scalecurve.study.run import FloatArray

GRIDS = (
    (1, 2, 4, 8, 16, 32, 64),
    (1, 2, 4, 8),
    (1, 3, 6, 12, 24),
    (2, 4, 8, 16, 32),
    (1, 2, 4, 8, 16, 32),
    (1, 4, 16, 64),
)
TRUTHS = {
    "solver": ("communication",), "ring": ("communication",), "all to all": ("communication",),
    "halo": ("communication",), "slow network": ("communication",),
    "pipeline": ("other",), "dispatcher": ("other", "serial", "communication"),
    "hot spot": ("imbalance",), "uneven shards": ("imbalance",), "long task": ("imbalance", "serial"),
    "rare delays": ("straggler", "jitter"), "slow host": ("straggler",), "daemons": ("jitter",),
    "memory": ("contention",), "caches": ("contention",),
    "set-up": ("serial",), "launch": ("serial",),
    "growing iterations": ("repeated-work",),
    "clean": ("none",),
}  # fmt: skip
DAEMONS = 25  # barriers in a step


@dataclass(frozen=True, kw_only=True)
class Program:
    """`loss` is the part of T(1)/K that the main cause adds at the largest K, `small` that of everyday costs; `form`
    picks a variant, `noise` is that of a run, `own` that of a rank in a step."""

    kind: str
    workers: tuple[int, ...]
    repeats: int
    steps: int
    loss: float
    small: float
    form: int
    noise: float
    own: float
    seconds: float
    seed: int
    weak: bool = False


def draw(rng: np.random.Generator) -> Program:
    return Program(
        kind=str(rng.choice(list(TRUTHS))),
        workers=GRIDS[int(rng.integers(len(GRIDS)))],
        repeats=int(rng.integers(3, 6)),
        steps=int(rng.choice([8, 20, 60])),
        loss=float(np.exp(rng.uniform(math.log(0.1), math.log(1.2)))),
        small=float(rng.uniform(0.0, 0.012)),
        form=int(rng.integers(3)),
        noise=float(rng.choice([0.003, 0.01, 0.02])),
        own=float(rng.choice([0.002, 0.01])),
        seconds=float(np.exp(rng.uniform(0.0, 5.0))),
        seed=int(rng.integers(1 << 30)),
    )


def truth(program: Program) -> frozenset[str]:
    return frozenset(TRUTHS[program.kind])


@dataclass(eq=False)
class Clocks:
    """Seconds by step and rank: `compute`, how much of it passes in `inner` meetings of a step (steps x meetings x
    ranks), and what every rank spends in `messages` of a step; `alone` of rank 0, `outside` of all; counted `work`."""

    compute: FloatArray
    messages: FloatArray
    work: FloatArray
    inner: FloatArray | None = None
    alone: float = 0.0
    outside: float = 0.0
    queue: float = 0.0


def _clocks(own: Program, k: int, rng: np.random.Generator) -> Clocks:
    """One run at K before noise."""
    most, steps = max(own.workers), own.steps
    tree = math.log2(k) / math.log2(most)
    if own.kind == "growing iterations":
        steps = round(steps * (1.0 + own.loss * tree))
    work = own.seconds / own.steps * steps
    lost = own.loss * own.seconds / own.steps / most  # in a step, at the largest K
    made = Clocks(
        np.full((steps, k), _growth(own, k, tree) * work / steps / k),
        np.full(steps, lost * (_messages(own, k, tree) + (own.kind != "clean") * own.small * tree)),
        np.full(k, work / k),
        alone=lost * own.steps * ((own.kind == "set-up") + (own.kind != "clean") * own.small),
        outside=lost * own.steps * (own.kind == "launch"),
    )
    _uneven(own, made, k, tree)
    _delayed(own, made, lost, rng)
    made.compute = made.compute * np.exp(own.own * rng.standard_normal(made.compute.shape))
    return made


def _messages(own: Program, k: int, tree: float) -> float:
    """How long messages take at K over the loss at the largest K."""
    most = max(own.workers)
    return {
        "solver": tree,
        "ring": (k - 1) / k,
        "all to all": (k - 1) / (most - 1),
        "halo": float(k > 1) * (k / most) ** (-2 / 3 if own.form else -1 / 2),
        "slow network": 0.1 * tree + float(k > 8 if most > 8 else k > 2),
    }.get(own.kind, 0.0)


def _growth(own: Program, k: int, tree: float) -> float:
    """How much more compute all workers need at K."""
    most, sharp = max(own.workers), 2.0 + own.form
    return {
        "memory": (1.0 + (k * (1.0 + own.loss) / most) ** sharp) ** (1.0 / sharp),
        "caches": 1.0 + own.loss * ((k - 1) / (most - 1) if own.form else tree),
    }.get(own.kind, 1.0)


def _uneven(own: Program, made: Clocks, k: int, tree: float) -> None:
    """Work and speed that differ between ranks."""
    most, lasting = max(own.workers), np.random.default_rng(own.seed)
    if own.kind == "hot spot":
        for i in range(own.steps):
            made.compute[i, i * max(k // own.steps, 1) % k] *= 1.0 + own.loss * tree
    elif own.kind == "uneven shards":
        share = lasting.pareto(2.5, most)[:k] + 1.0
        share = 1.0 + (share / share.mean() - 1.0) * min(1.0, own.loss)
        made.compute, made.work = made.compute * share, made.work * share
    elif own.kind == "long task":
        tasks = lasting.exponential(1.0, 6 * most) + 0.2
        tasks[int(lasting.integers(len(tasks)))] = (1.0 + own.loss) * tasks.sum() / most
        made.work = _queue(tasks * own.seconds / tasks.sum(), k)
        made.compute = np.tile(made.work / own.steps, (own.steps, 1))
    elif own.kind == "slow host":
        ranks = 4 if most > 8 else 1
        made.compute[:, ranks : 2 * ranks] *= 1.0 + own.loss
    elif own.kind == "dispatcher":
        tasks = np.exp(0.3 * lasting.standard_normal(32 * most))
        tasks *= own.seconds / tasks.sum()
        ends, made.work = _dispatched(tasks, k, (1.0 + own.loss) * own.seconds / len(tasks) / most)
        made.compute = np.tile(made.work / own.steps, (own.steps, 1))
        made.queue = max(ends - float(made.work.max()), 0.0)


def _delayed(own: Program, made: Clocks, lost: float, rng: np.random.Generator) -> None:
    """Delays that hit ranks at random: rare and long, or at every meeting of a step."""
    most, (steps, k) = max(own.workers), made.compute.shape
    if own.kind == "rare delays":
        hit = rng.random((steps, k)) < 1.0 / most
        made.compute += hit * (rng.pareto(1.8, (steps, k)) + 0.5) * lost
    elif own.kind == "daemons":
        made.inner = rng.exponential(lost / math.log(most) / DAEMONS, (steps, DAEMONS, k))
        made.compute += made.inner.sum(axis=1)


def _queue(tasks: FloatArray, k: int) -> FloatArray:
    """Seconds of each worker that takes the next task when it is free."""
    busy = np.zeros(k)
    for task in tasks.tolist():
        busy[int(np.argmin(busy))] += task
    return busy


def _dispatched(tasks: FloatArray, k: int, each: float) -> tuple[float, FloatArray]:
    """When all tasks are done that one master hands out, each in so many seconds; and the seconds of every worker."""
    free, busy, clock = np.zeros(k), np.zeros(k), 0.0
    for task in tasks.tolist():
        worker = int(np.argmin(free))
        clock = max(clock, float(free[worker])) + each
        free[worker] = clock + task
        busy[worker] += task
    return float(free.max()), busy


def simulate(own: Program, recording: str) -> Study:
    """The job measured: "times", "barrier" (totals with a barrier before the messages), or "work" (steps, counted work
    and hosts)."""
    runs = []
    for repeat in range(own.repeats):
        for k in own.workers:
            rng = np.random.default_rng([own.seed, k, repeat])
            slow = 1.0 + (rng.random() < 0.05) * rng.uniform(0.03, 0.2)
            factor = slow * float(np.exp(own.noise * rng.standard_normal()))
            value, ranks = _run(own, k, rng, recording)
            scaled = tuple(_times(rank, factor) for rank in ranks) if recording != "times" else ()
            hosts = tuple(f"h{i // 4}" for i in range(k))
            placed = Placement(ranks=k, hosts=hosts) if recording == "work" else None
            runs.append(Run(k=k, value=value * factor, repeat=repeat, ranks=scaled, placement=placed))
    return Study(regime=Regime.STRONG, runs=tuple(runs))


def _run(own: Program, k: int, rng: np.random.Generator, recording: str) -> tuple[float, list[RankRecord]]:
    """Seconds of the run, and what each rank records."""
    if own.kind == "pipeline":
        return _pipeline(own, k, rng, full=recording == "work")
    made = _clocks(own, k, rng)
    before = made.compute - (0.0 if made.inner is None else made.inner.sum(axis=1))
    ends = before.max(axis=1) + (0.0 if made.inner is None else made.inner.max(axis=2).sum(axis=1))
    waits = ends[:, None] - made.compute
    messages = np.repeat(made.messages[:, None] + made.queue / len(ends), k, axis=1)
    compute = made.compute.copy()
    compute[0, 0] += made.alone
    waits[0, 1:] += made.alone
    value = float((compute + waits + messages)[:, 0].sum()) + made.outside
    phases = {"solve": compute, "mpi": waits + messages}
    if recording == "barrier":
        inside = 0.0 if made.inner is None else made.inner.max(axis=2).sum(axis=1)[:, None] - made.inner.sum(axis=1)
        phases = {"solve": compute, "barrier": waits - inside, "mpi": messages + inside}
    return value, _records(phases, value, made.work, full=recording == "work")


def _pipeline(own: Program, k: int, rng: np.random.Generator, *, full: bool) -> tuple[float, list[RankRecord]]:
    """A batch cut into pieces that pass through K stages: the first and the last piece find idle stages."""
    pieces = max(2, round(max(own.workers) / own.loss))
    value = (pieces + k - 1) * own.seconds / pieces / k
    compute = own.seconds / k * np.exp(own.own * rng.standard_normal((1, k)))
    value = max(value, float(compute.max()))
    phases = {"solve": compute, "send_recv": value - compute}
    return value, _records(phases, value, np.full(k, own.seconds / k), full=full)


def _records(phases: dict[str, FloatArray], value: float, work: FloatArray, *, full: bool) -> list[RankRecord]:
    return [
        RankRecord(
            rank=i,
            seconds=value,
            host=f"h{i // 4}" if full else None,
            work=float(work[i]) if full else None,
            steps=tuple(np.sum([values[:, i] for values in phases.values()], axis=0).tolist()) if full else (),
            phases={name: float(values[:, i].sum()) for name, values in phases.items()},
            step_phases={name: tuple(values[:, i].tolist()) for name, values in phases.items()} if full else {},
        )
        for i in range(len(work))
    ]


def _times(rank: RankRecord, factor: float) -> RankRecord:
    return RankRecord(
        rank=rank.rank, seconds=(rank.seconds or 0.0) * factor, host=rank.host, work=rank.work,
        steps=tuple(own * factor for own in rank.steps),
        phases={name: own * factor for name, own in rank.phases.items()},
        step_phases={name: tuple(one * factor for one in own) for name, own in rank.step_phases.items()},
    )  # fmt: skip
