"""A bulk-synchronous program, step by step and worker by worker, whose mechanisms are known.

The diagnosis is judged by it; it was written before the models of the diagnosis and shares nothing with them.
A step is

    serial work on rank 0 | compute on every rank | barrier | collective, halo exchange, node boundary

and a mechanism changes one of these.  The truth is what the clock would show: the cause of the mechanism whose removal
saves the most of the worker-time lost at the largest K against the baseline, and of any other within a fifth of it.
Three mechanisms
(a thermal limit, a saturated I/O server, a cache that suddenly suffices) have no name in the diagnosis.

`DESIGN` and `HELD` are two sets of ranges with K, sizes, steps and noise of their own; models and tempers were
made on `DESIGN`.  One look at `HELD` led to the rule for "none" from times and to two corrections of `truth` (losses
count against the baseline; jitter counts as noise).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from scalecurve.study import RankRecord, Regime, Run, Study

OTHER = "other"
MECHANISMS = {
    "serial": "serial",
    "launch": "serial",
    "log": "communication",
    "linear": "communication",
    "ring": "communication",
    "halo-2d": "communication",
    "halo-3d": "communication",
    "boundary": "communication",
    "barrier-noise": "jitter",
    "rare-delays": "straggler",
    "slow-host": "straggler",
    "static": "imbalance",
    "dynamic": "imbalance",
    "saturation": "contention",
    "saturation-node": "contention",
    "contention": "contention",
    "contention-log": "contention",
    "throttling": OTHER,
    "io-server": OTHER,
    "cache": OTHER,
}
UNNAMED = ("throttling", "io-server", "cache")
RESEMBLES = {
    "throttling": "contention",
    "io-server": "contention",
    "rare-delays": "jitter",
}  # named so, they are not misnamed
RECORDINGS = ("times", "mpi", "barrier", "steps", "work")
SMALL = 0.03
DOUBTFUL = 0.07


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """Where programs are drawn from.  `loss` is what a mechanism adds at the largest K, over the ideal time there."""

    workers: tuple[tuple[int, ...], ...]
    steps: tuple[int, int]
    loss: tuple[float, float]
    noise: tuple[float, float]
    shapes: tuple[str, ...]
    repeats: tuple[int, ...]
    jitter: tuple[float, float]
    most: int


DESIGN = Ranges(
    workers=((1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8, 16), (1, 2, 3, 4, 6, 8, 12)),
    steps=(20, 200),
    loss=(0.15, 4.0),
    noise=(0.003, 0.03),
    shapes=("normal", "lognormal", "slow-runs", "session"),
    repeats=(5,),
    jitter=(0.001, 0.02),
    most=2,
)
HELD = Ranges(
    workers=((1, 3, 6, 12, 24, 48, 96), (1, 2, 4, 8, 16, 32), (2, 4, 8, 16, 32, 64, 128), (1, 2, 5, 10, 20)),
    steps=(50, 400),
    loss=(0.25, 8.0),
    noise=(0.002, 0.05),
    shapes=("bimodal", "student", "gamma", "autoregressive"),
    repeats=(3, 5, 10),
    jitter=(0.002, 0.04),
    most=3,
)


@dataclass(frozen=True, kw_only=True)
class Program:
    """One program: its mechanisms with their sizes (relative loss at the largest K), and how it is measured."""

    sizes: dict[str, float]
    workers: tuple[int, ...]
    weak: bool
    steps: int
    noise: float
    shape: str
    repeats: int
    jitter: float
    node: int
    seed: int

    @property
    def largest(self) -> int:
        return self.workers[-1]

    def ideal(self, k: int) -> float:
        """Seconds of parallel work on each worker."""
        return 1.0 if self.weak else 1.0 / k

    def added(self, name: str, at_largest: float = 1.0) -> float:
        """Seconds that a mechanism of its size adds at the largest K, for a form whose value there is `at_largest`."""
        return self.sizes.get(name, 0.0) * self.ideal(self.largest) / at_largest


def draw(ranges: Ranges, rng: np.random.Generator, *, names: tuple[str, ...] | None = None) -> Program:
    """A program with 0 to `most` mechanisms, one of them usually largest by far."""
    workers = ranges.workers[int(rng.integers(len(ranges.workers)))]
    if names is None:
        count = int(rng.choice(ranges.most + 1, p=[0.06, *([0.94 / ranges.most] * ranges.most)]))
        names = tuple(str(name) for name in rng.choice(list(MECHANISMS), size=count, replace=False))
    if "cache" in names and len(names) == 1:
        names = (*names, "log")
    sizes = {}
    for i, name in enumerate(names):
        size = float(np.exp(rng.uniform(*np.log(ranges.loss))))
        sizes[name] = size if i == 0 else size * float(rng.uniform(0.0, 1.0))
    weak = bool(rng.random() < 0.2) and not {"serial", "launch"} & set(names)
    return Program(
        sizes=sizes,
        workers=workers,
        weak=weak,
        steps=int(np.exp(rng.uniform(*np.log(ranges.steps)))),
        noise=float(np.exp(rng.uniform(*np.log(ranges.noise)))),
        shape=str(rng.choice(ranges.shapes)),
        repeats=int(rng.choice(ranges.repeats)),
        jitter=float(np.exp(rng.uniform(*np.log(ranges.jitter)))),
        node=int(workers[int(rng.integers(1, len(workers) - 1))]),
        seed=int(rng.integers(2**31)),
    )


@dataclass(frozen=True, eq=False)
class Steps:
    """One run: seconds by step and rank; `transfer` is the same for all ranks, `serial` is rank 0's."""

    serial: np.ndarray
    compute: np.ndarray
    io: np.ndarray
    transfer: np.ndarray
    launch: float
    work: np.ndarray

    @property
    def arrival(self) -> np.ndarray:
        """Seconds into the step at which each rank reaches the barrier."""
        return self.serial[:, None] + self.compute + self.io

    @property
    def seconds(self) -> float:
        return float((self.arrival.max(axis=1) + self.transfer).sum() + self.launch)


def run_steps(program: Program, k: int, rng: np.random.Generator) -> Steps:
    """All steps of one run at K, before the noise of the run as a whole."""
    shape, per_step = (program.steps, k), 1.0 / program.steps
    useful = np.full(shape, program.ideal(k) * per_step)
    useful *= np.exp(program.jitter * rng.standard_normal(shape))
    share = _static(program, k) * _dynamic(program, k, rng)
    useful *= share * _shared(program, k)
    if "slow-host" in program.sizes and k > _slow_rank(program):
        useful[:, _slow_rank(program)] *= 1.0 + min(program.sizes["slow-host"], 2.0)
    useful += _delays(program, k, rng)
    io = program.added("io-server") * max(0.0, 1.0 - program.node / (k + 1)) if k > 1 else 0.0
    serial = program.added("serial") * per_step
    return Steps(
        np.full(program.steps, serial),
        useful,
        np.full(shape, io * per_step),
        np.full(program.steps, _transfer(program, k) * per_step),
        program.added("launch"),
        share.sum(axis=0) * program.ideal(k) * 1e6,
    )


def _slow_rank(program: Program) -> int:
    return program.seed % max(program.workers[-2] - 1, 1) + (1 if program.workers[0] == 1 else 0)


def _static(program: Program, k: int) -> np.ndarray:
    """Shares of the work by rank, mean 1: one heavy rank, a ramp, or uneven in every place, the same in all runs."""
    excess = min(program.sizes.get("static", 0.0), 1.5)
    if not excess or k == 1:
        return np.ones(k)
    form = program.seed % 3
    deviation = np.linspace(1.0, -1.0, k)
    if form == 1:
        deviation = np.full(k, -1.0 / (k - 1))
        deviation[program.seed % k] = 1.0
    elif form == 2:
        deviation = np.random.default_rng([program.seed, k]).uniform(-1.0, 1.0, k)
        deviation -= deviation.mean()
        deviation /= deviation.max()
    return np.maximum(1.0 + excess * deviation, 0.02)


def _dynamic(program: Program, k: int, rng: np.random.Generator) -> np.ndarray:
    """New shares in every step, mean 1 over the ranks."""
    size = program.sizes.get("dynamic", 0.0)
    if not size or k == 1:
        return np.ones((program.steps, k))
    if program.seed % 2:
        shares = rng.uniform(1.0 - min(size, 0.98), 1.0 + min(size, 0.98), (program.steps, k))
    else:
        shares = rng.gamma(1.0 / min(size / 2.5, 1.0) ** 2, 1.0, (program.steps, k))
    return shares / shares.mean(axis=1, keepdims=True)


def _shared(program: Program, k: int) -> float:
    """How many times longer compute takes because workers share memory, cache, or power."""
    at, sizes, here = program.largest, program.sizes, min(k, program.node)
    factor = 1.0
    if "saturation" in sizes:
        factor *= max(1.0, k * (1.0 + sizes["saturation"]) / at)
    if "saturation-node" in sizes:
        factor *= max(1.0, here * (1.0 + min(sizes["saturation-node"], program.node - 1.0)) / program.node)
    if "contention" in sizes:
        factor *= 1.0 + sizes["contention"] * (k - 1) / (at - 1)
    if "contention-log" in sizes:
        factor *= 1.0 + sizes["contention-log"] * np.log2(k) / np.log2(at)
    if "throttling" in sizes:
        factor *= 1.0 + sizes["throttling"] * ((k - 1) / (at - 1)) ** (2.0 + program.seed % 2)
    if "cache" in sizes and k >= program.node:
        factor *= 1.0 - min(0.15 * sizes["cache"], 0.4)
    return float(factor)


def _delays(program: Program, k: int, rng: np.random.Generator) -> np.ndarray:
    """Seconds that ranks come late to barriers: a little and always, or much and rarely."""
    shape = (program.steps, k)
    late = np.zeros(shape)
    if "barrier-noise" in program.sizes:
        harmonic = float(np.sum(1.0 / np.arange(1, program.largest + 1)))
        late += rng.exponential(program.added("barrier-noise", harmonic) / program.steps, shape)
    if "rare-delays" in program.sizes:
        chance = 0.3 / program.largest * (1 + program.seed % 4)
        hit = 1.0 - (1.0 - chance) ** program.largest
        late += (rng.random(shape) < chance) * program.added("rare-delays", hit) / program.steps
    return late


def _transfer(program: Program, k: int) -> float:
    """Seconds in the network, all steps together."""
    at = program.largest
    if k == 1:
        return 0.0
    seconds = program.added("log", np.log2(at)) * np.log2(k) + program.added("linear", at - 1) * (k - 1)
    seconds += program.added("ring", (at - 1) / at) * (k - 1) / k
    if program.weak:  # the surface of a share that does not shrink; more neighbours until all sides have one
        seconds += (program.added("halo-2d") + program.added("halo-3d")) * (1.0 - 1.0 / k)
    else:
        for name, power in (("halo-2d", -1 / 2), ("halo-3d", -2 / 3)):
            seconds += program.added(name, at**power) * k**power
    if k > program.node:
        seconds += program.added("boundary")
    return float(seconds)


def truth(program: Program, *, trials: int = 3) -> frozenset[str]:
    """The causes that count as right."""
    base, at = program.workers[0], program.largest
    share = 1.0 if program.weak else base / at  # of a second at the baseline that is ideal at the largest K
    whole, first = (_mean_seconds(program, trials, k) for k in (at, base))
    without = [
        (
            MECHANISMS[name],
            replace(program, sizes={other: size for other, size in program.sizes.items() if other != name}),
        )
        for name in program.sizes
    ]
    without.append(("jitter", replace(program, jitter=0.0)))  # the jitter of every step is waited for, too
    costs: dict[str, float] = {}
    for cause, rest in without:
        cost = whole - _mean_seconds(rest, trials, at) - share * (first - _mean_seconds(rest, trials, base))
        costs[cause] = costs.get(cause, 0.0) + max(cost, 0.0)
    efficiency = share * first / whole
    right = set()
    if efficiency > 1.0 - DOUBTFUL:
        right.add("none")
    if (efficiency < 1.0 - SMALL or "cache" in program.sizes) and costs:  # a cache can hide what the others cost
        top = max(costs.values())
        right |= {cause for cause, cost in costs.items() if cost >= 0.8 * top}
        right |= {RESEMBLES[name] for name in program.sizes if name in RESEMBLES and MECHANISMS[name] in right}
    if "cache" in program.sizes:
        right.add(OTHER)
    return frozenset(right or {"none"})


def _mean_seconds(program: Program, trials: int, k: int) -> float:
    """Mean seconds at K."""
    rng = np.random.default_rng(program.seed)
    return float(np.mean([run_steps(program, k, rng).seconds for _ in range(trials)]))


def simulate(program: Program, recording: str) -> Study:
    """The program measured: "times" only, "mpi" (waiting inside communication), "barrier" before the collective, or
    "steps" (as mpi, with the phases of every step)."""
    rng = np.random.default_rng([program.seed, 1])
    runs = []
    session = {k: float(np.exp(program.noise * rng.standard_normal())) for k in program.workers}
    memory = 0.0
    for repeat in range(program.repeats):
        for k in program.workers:
            steps = run_steps(program, k, rng)
            memory = 0.8 * memory + 0.6 * rng.standard_normal()
            factor = {"session": session[k], "autoregressive": float(np.exp(program.noise * memory))}.get(
                program.shape, 1.0
            )
            factor *= _run_noise(program, rng)
            value = steps.seconds * factor
            runs.append(Run(k=k, value=value, repeat=repeat, ranks=_ranks(program, steps, recording, factor)))
    return Study(regime=Regime.WEAK if program.weak else Regime.STRONG, runs=tuple(runs))


def _run_noise(program: Program, rng: np.random.Generator) -> float:
    """The factor on a whole run."""
    size = program.noise
    draws = {
        "normal": lambda: 1.0 + size * rng.standard_normal(),
        "lognormal": lambda: np.exp(size * rng.standard_normal()),
        "slow-runs": lambda: 1.0 + size * rng.standard_normal() + (rng.random() < 0.05) * rng.uniform(0.1, 1.0),
        "session": lambda: 1.0 + 0.5 * size * rng.standard_normal(),
        "bimodal": lambda: 1.0 + (rng.random() < 0.4) * 3.0 * size + 0.3 * size * rng.standard_normal(),
        "student": lambda: 1.0 + size * float(np.clip(rng.standard_t(3), -8.0, 8.0)),
        "gamma": lambda: 1.0 + size * (rng.gamma(1.0) - 1.0),
        "autoregressive": lambda: 1.0 + 0.3 * size * rng.standard_normal(),
    }
    return float(max(draws[program.shape](), 0.3))


def _ranks(program: Program, steps: Steps, recording: str, factor: float) -> tuple[RankRecord, ...]:
    """What each rank's timers say; rank 0's serial work is compute to them."""
    if recording == "times":
        return ()
    k = steps.compute.shape[1]
    arrival, io = steps.arrival * factor, steps.io * factor
    wait = arrival.max(axis=1, keepdims=True) - arrival
    busy = steps.compute * factor
    busy[:, 0] += steps.serial * factor
    wait[:, 1:] += steps.serial[:, None] * factor
    transfer = np.repeat(steps.transfer[:, None] * factor, k, axis=1)
    phases = {"compute": busy, "communication": transfer + (0.0 if recording == "barrier" else wait)}
    if recording == "barrier":
        phases["barrier"] = wait
    if io.any():
        phases["io"] = io
    span = steps.seconds * factor
    return tuple(
        RankRecord(
            rank=i,
            seconds=span,
            work=float(steps.work[i]) if recording == "work" else None,
            phases={name: float(values[:, i].sum()) for name, values in phases.items()},
            step_phases={name: tuple(values[:, i].tolist()) for name, values in phases.items()}
            if recording in ("steps", "work")
            else {},
        )
        for i in range(k)
    )
