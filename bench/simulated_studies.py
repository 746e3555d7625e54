"""Studies with known causes, drawn from stated ranges: what the diagnosis is judged by.

Nothing here uses the diagnosis' own models.  Times are simulated worker by worker and barrier by barrier: serial work
on rank 0 while the others wait, parallel work cut into shards, contention slowing it, lognormal draws of each worker
at each barrier, a collective, and noise on the run as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.study import RankRecord, Regime, Run, Study

CAUSES = ("communication", "straggler", "imbalance", "contention", "serial")
WORKERS = (1, 2, 4, 8, 16, 32, 64)
REPEATS = 5


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What a simulated study is made of; a cause that is absent has the value that does nothing."""

    causes: tuple[str, ...]
    serial: float = 0.0
    comm: float = 0.0
    comm_form: str = "log"
    excess: float = 0.0
    excess_form: str = "heavy"
    excess_grows: bool = False
    sigma: float = 0.0
    barriers: int = 1
    contention: float = 0.0
    contention_form: str = "usl"
    noise: float = 0.01

    def collective(self, k: int) -> float:
        forms = {"log": np.log2(k), "linear": k - 1.0, "ring": 2.0 * (k - 1) / k}
        return float(self.comm * forms[self.comm_form])

    def slowdown(self, k: int) -> float:
        return float(1 + self.contention * (k - 1 if self.contention_form == "usl" else np.log2(k)))

    def overheads(self, k: int, rng: np.random.Generator) -> dict[str, float]:
        """Worker-seconds each cause adds at K, by itself, with T(1) = 1."""
        parallel = 1.0 - self.serial
        maxima = rng.lognormal(-(self.sigma**2) / 2, self.sigma, size=(4000, k)).max(axis=1) if self.sigma else 1.0
        return {
            "communication": k * self.collective(k),
            "straggler": parallel * float(np.mean(maxima) - 1.0),
            "imbalance": parallel * (self.largest(k) - 1.0),
            "contention": parallel * (self.slowdown(k) - 1.0),
            "serial": self.serial * (k - 1),
        }

    def accepted(self, k: int = WORKERS[-1]) -> set[str]:
        """The causes that count as right: the largest overhead, and in a mixture any within a fifth of it."""
        if not self.causes:
            return {"none"}
        overhead = self.overheads(k, np.random.default_rng(5))
        top = max(overhead.values())
        return {name for name, value in overhead.items() if value >= 0.8 * top}

    def largest(self, k: int) -> float:
        """Largest share over mean share."""
        if k == 1:
            return 1.0
        reach = np.log2(k) / np.log2(WORKERS[-1]) if self.excess_grows else 1.0
        return float(1.0 + self.excess * reach)

    def shards(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """Shares of the parallel work, with mean 1/K and the wanted maximum."""
        if self.excess == 0 or k == 1:
            return np.full(k, 1.0 / k)
        if self.excess_form == "heavy":
            deviation = np.full(k, -1.0 / (k - 1))
            deviation[0] = 1.0
        elif self.excess_form == "ramp":
            deviation = np.linspace(-1.0, 1.0, k)
        else:
            deviation = rng.uniform(size=k)
            deviation -= deviation.mean()
            deviation /= deviation.max()
        return np.maximum(1.0 + (self.largest(k) - 1.0) * deviation, 0.0) / k


def draw_truth(causes: tuple[str, ...], rng: np.random.Generator) -> Truth:
    """Parameters from the ranges of the issue."""
    sizes: dict[str, object] = {"causes": causes, "noise": float(rng.uniform(0.005, 0.05))}
    if "serial" in causes:
        sizes |= {"serial": float(rng.uniform(0.02, 0.2))}
    if "communication" in causes:
        form = str(rng.choice(["log", "linear", "ring"]))
        sizes |= {"comm": float(np.exp(rng.uniform(np.log(0.003), np.log(0.03)))), "comm_form": form}
    if "imbalance" in causes:
        form = str(rng.choice(["heavy", "ramp", "random"]))
        sizes |= {"excess": float(rng.uniform(0.1, 1.0)), "excess_form": form, "excess_grows": bool(rng.random() < 0.3)}
    if "straggler" in causes:
        sizes |= {"sigma": float(rng.uniform(0.1, 0.6)), "barriers": int(rng.integers(1, 11))}
    if "contention" in causes:
        sizes |= {"contention": float(rng.uniform(0.02, 0.3)), "contention_form": str(rng.choice(["usl", "log"]))}
    return Truth(**sizes)  # type: ignore[arg-type]


def simulate(
    truth: Truth,
    rng: np.random.Generator,
    *,
    detail: str = "phases",
    workers: tuple[int, ...] = WORKERS,
    repeats: int = REPEATS,
    k_unit: str = "workers",
) -> Study:
    """A strong-scaling study.  `detail` is what was recorded: "phases", "ranks" (own busy seconds) or "samples"."""
    waits_apart, serial_named = rng.random() < 0.5, rng.random() < 0.5
    shards = {k: truth.shards(k, rng) for k in workers}
    runs = []
    for repeat in range(repeats):
        for k in workers:
            times = _run(truth, k, shards[k], rng)
            ranks = _ranks(times, k, detail, waits_apart, serial_named)
            runs.append(Run(k=k, value=float(times["span"]), repeat=repeat, ranks=ranks))
    return Study(regime=Regime.STRONG, k_unit=k_unit, runs=tuple(runs))


def _run(truth: Truth, k: int, shards: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    draws = (
        rng.lognormal(-(truth.sigma**2) / 2, truth.sigma, size=(truth.barriers, k)) if truth.sigma else np.ones((1, k))
    )
    jitter = 1 + 0.2 * truth.noise * rng.standard_normal(draws.shape)
    parts = (1 - truth.serial) * shards * truth.slowdown(k) * draws * jitter / len(draws)
    slowest = parts.max(axis=1)
    serial = np.zeros(k)
    serial[0] = truth.serial
    compute = parts.sum(axis=0)
    wait = (slowest[:, np.newaxis] - parts).sum(axis=0) + truth.serial - serial
    comm = np.full(k, truth.collective(k))
    noise = max(0.2, 1 + truth.noise * rng.standard_normal())
    span = np.float64(slowest.sum() + truth.serial + comm[0])
    parts_by_name = {"compute": compute, "serial": serial, "wait": wait, "communication": comm, "span": span}
    return {name: value * noise for name, value in parts_by_name.items()}


def _ranks(
    times: dict[str, np.ndarray], k: int, detail: str, waits_apart: bool, serial_named: bool
) -> tuple[RankRecord, ...]:
    if detail == "samples":
        return ()
    busy = times["compute"] + times["serial"]
    if detail == "ranks":
        return tuple(RankRecord(rank=i, seconds=float(busy[i])) for i in range(k))
    return tuple(_rank(times, i, waits_apart, serial_named) for i in range(k))


def _rank(times: dict[str, np.ndarray], i: int, waits_apart: bool, serial_named: bool) -> RankRecord:
    """Half the studies record waiting inside the collective, as MPI and NCCL timers do; half name the serial part."""
    phases = {"compute": float(times["compute"][i]), "communication": float(times["communication"][i])}
    phases["wait" if waits_apart else "communication"] = phases.get(
        "wait" if waits_apart else "communication", 0.0
    ) + float(times["wait"][i])
    name = "serial" if serial_named else "compute"
    phases[name] = phases.get(name, 0.0) + float(times["serial"][i])
    return RankRecord(rank=i, seconds=float(times["span"]), phases=phases)
