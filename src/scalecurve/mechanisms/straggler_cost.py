"""What the slowest of K costs: by quadrature, and by simulation beside it.

A barrier waits for the maximum of K draws.  One at every step costs far more than one at the end, where slow and fast
steps of a worker cancel; a worker that is slow for good is not cured by either.  Backup workers (K of K + b are
waited for) cut the maximum down to an order statistic and are paid for.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.document import Column, Document, FindingList, Paragraph, Shown, table
from scalecurve.errors import Fault, InputError, Refused
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info, warning
from scalecurve.laws.stragglers import chance_of_any_slow, expected_maximum
from scalecurve.mechanisms.barrier_at_end import costs_at_end, findings_at_end

Floats = npt.NDArray[np.float64]

SEED = 20261115
STEPS = 100
DRAWS = 20_000_000  # numbers drawn at most for one row of the simulation
SAMPLES_PER_WORKER = 3  # own samples a maximum of K needs per worker before it is believed


@dataclass(frozen=True, kw_only=True)
class Delays:
    """How long one worker's step takes: quantiles from the top (`isf`), draws, and its moments; None is infinite.

    `kurtosis` is the excess over a normal's.
    """

    name: str
    isf: Callable[[float], float]
    draw: Callable[[np.random.Generator, tuple[int, ...]], Floats]
    mean: float
    deviation: float | None
    skewness: float | None
    kurtosis: float | None
    samples: Floats | None = None


def delays_of(name: str, **shape: float) -> Delays:
    """Any scipy distribution by name: `delays_of("lognorm", s=0.3)`."""
    from scipy import stats

    family = getattr(stats, name, None)
    if not isinstance(family, stats.rv_continuous):
        hint = "a continuous distribution of scipy.stats, such as norm, lognorm, expon, gamma, pareto, weibull_min"
        raise InputError(Fault("unknown distribution", seen=name, remedy=hint))
    try:
        frozen = family(**shape)
        mean = float(frozen.mean())
    except TypeError as problem:
        wanted = family.shapes or "loc, scale only"
        raise InputError(Fault(f"wrong parameters for {name}: {problem}", remedy=f"its shapes: {wanted}")) from None
    if not (math.isfinite(mean) and mean > 0):
        raise InputError(Fault("a delay needs a positive finite mean", where=name, seen=f"{mean:g}"))
    deviation, skewness, kurtosis = _moments(frozen)
    listed = ", ".join(f"{key}={value:g}" for key, value in shape.items())
    return Delays(
        name=f"{name}({listed})",
        isf=lambda p: float(frozen.isf(p)),
        draw=lambda rng, size: np.asarray(frozen.rvs(size=size, random_state=rng)),
        mean=mean,
        deviation=deviation,
        skewness=skewness,
        kurtosis=kurtosis,
    )


def _moments(frozen: Any) -> tuple[float | None, float | None, float | None]:
    """Deviation, skewness and excess kurtosis; scipy warns while it finds out that one is infinite."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        deviation = float(frozen.std())
        found = (deviation, *(float(moment) for moment in frozen.stats(moments="sk")))
    first, second, third = (value if math.isfinite(value) else None for value in found)
    return first, second, third


def delays_from(samples: Sequence[float] | Floats) -> Delays:
    """The user's own step times, drawn from again and again."""
    values = np.sort(np.asarray(samples, np.float64))
    if len(values) < 2 or not (values[0] >= 0 and np.isfinite(values[-1]) and values.mean() > 0):
        raise InputError(Fault("step times are two or more finite numbers from 0", seen=f"{len(values)} values"))
    centred = values - values.mean()
    variance = float(np.mean(centred**2))
    return Delays(
        name=f"{len(values):,} samples",
        isf=lambda p: float(values[min(len(values) - 1, max(0, math.ceil((1 - p) * len(values)) - 1))]),
        draw=lambda rng, size: rng.choice(values, size),
        mean=float(values.mean()),
        deviation=float(values.std(ddof=1)),
        skewness=float(np.mean(centred**3)) / variance**1.5 if variance else 0.0,
        kurtosis=float(np.mean(centred**4)) / variance**2 - 3 if variance else 0.0,
        samples=values,
    )


def maximum(delays: Delays, k: int) -> float:
    """E[max of K]: quadrature, or from samples the exact sum x_(i) ((i/n)^K - ((i-1)/n)^K)."""
    if delays.samples is None:
        return expected_maximum(k, delays.isf)
    n = len(delays.samples)
    if k * SAMPLES_PER_WORKER > n:
        raise Refused(
            f"the slowest of {k} cannot be told from {n} samples, which have no tail beyond their largest: "
            f"measure {k * SAMPLES_PER_WORKER} or more, or state a distribution"
        )
    edges = (np.arange(n + 1) / n) ** k
    return float(delays.samples @ np.diff(edges))


def order_statistic(delays: Delays, k: int, backups: int) -> float:
    """E[K-th smallest of K + b], by quadrature over its beta distribution."""
    from scipy.integrate import quad
    from scipy.special import betaincinv

    if backups == 0:
        return maximum(delays, k)
    value, _ = quad(lambda v: delays.isf(1 - float(betaincinv(k, backups + 1, v))), 0, 1, limit=200)
    return float(value)


@dataclass(frozen=True, kw_only=True)
class StragglerRow:
    """One K; times are in means of a worker's step."""

    workers: int
    slowest: float
    simulated: float | None
    at_end: Estimate | None
    any_slow: float | None

    @property
    def efficiency(self) -> float:
        return 1 / self.slowest

    def to_dict(self) -> dict[str, Any]:
        return {
            "k": self.workers,
            "slowest": self.slowest,
            "efficiency": self.efficiency,
            "simulated": self.simulated,
            "simulated_efficiency": None if self.simulated is None else 1 / self.simulated,
            "barrier_at_end": None if self.at_end is None else self.at_end.value,
            "barrier_at_end_low": None if self.at_end is None else self.at_end.low,
            "barrier_at_end_high": None if self.at_end is None else self.at_end.high,
            "barrier_at_end_method": None if self.at_end is None else self.at_end.method,
            "end_efficiency": None if self.at_end is None else 1 / self.at_end.value,
            "any_slow": self.any_slow,
        }


@dataclass(frozen=True, kw_only=True)
class BackupRow:
    backups: int
    time: float
    per_worker: float

    def to_dict(self) -> dict[str, Any]:
        return {"backups": self.backups, "time": self.time, "speed_per_worker": self.per_worker}


@dataclass(frozen=True, kw_only=True)
class StragglerCost(Shown):
    """Barrier cost over K, backups at the largest K, and the two kinds of slowness."""

    delays: str
    steps: int
    rows: tuple[StragglerRow, ...]
    backups: tuple[BackupRow, ...]
    persistent_share: float | None
    persistent_factor: float | None
    seed: int
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "delays": self.delays,
            "steps": self.steps,
            "rows": self.records(),
            "backups": [row.to_dict() for row in self.backups],
            "persistent": {"share": self.persistent_share, "factor": self.persistent_factor},
            "seed": self.seed,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [row.to_dict() for row in self.rows]

    def document(self) -> Document:
        columns: list[Column | str] = [
            "K",
            Column("slowest", meaning="E[max of K] in means of one worker"),
            Column("E", meaning="barrier efficiency, mean / E[max]"),
            "simulated",
            Column("at end", meaning=f"one barrier after {self.steps} steps instead of one per step"),
        ]
        if self.persistent_share is not None:
            columns.append(Column("any slow", meaning="P(some worker is slow for good) = 1 - (1-p)^K"))
        rows = [_cells(row) for row in self.rows]
        backup = table(
            ["backups", "time", Column("speed per worker", meaning="K/(K+b)/time: what the paid workers give")],
            [[str(row.backups), f"{row.time:.4g}", f"{row.per_worker:.4g}"] for row in self.backups],
            caption=f"waiting for {self.rows[-1].workers} of {self.rows[-1].workers} + b",
        )
        head = Paragraph(f"step times {self.delays}, in means of one worker; a barrier at every step")
        return Document("Stragglers", (head, table(columns, rows), backup, FindingList(self.findings)))


def _cells(row: StragglerRow) -> list[str | None]:
    simulated = None if row.simulated is None else f"{row.simulated:.4g}"
    cells = [str(row.workers), f"{row.slowest:.4g}", f"{row.efficiency:.1%}", simulated, _end_cell(row.at_end)]
    return cells if row.any_slow is None else [*cells, f"{row.any_slow:.1%}"]


def _end_cell(end: Estimate | None) -> str | None:
    if end is None:
        return None
    return f"{end.value:.4g}" if end.low is None else f"{end.value:.4g} ({end.low:.4g} to {end.high:.4g})"


def cost_stragglers(
    delays: Delays,
    workers: Sequence[int],
    *,
    steps: int = STEPS,
    backups: Sequence[int] = (0, 1, 2, 4, 8),
    persistent_share: float | None = None,
    persistent_factor: float = 2.0,
    rng: np.random.Generator | None = None,
) -> StragglerCost:
    """Barrier cost by formula and simulation; `persistent_share` of workers are slow for good by a factor."""
    if persistent_share is not None and not 0 <= persistent_share <= 1:
        raise InputError(Fault("the share of slow workers lies between 0 and 1", seen=f"{persistent_share:g}"))
    if steps < 1 or any(b < 0 for b in backups):
        raise InputError(Fault("steps are at least 1 and backups at least 0", seen=f"{steps} steps, {list(backups)}"))
    generator = rng or np.random.default_rng(SEED)
    rows = _rows(delays, workers, steps, persistent_share, generator)
    ends = findings_at_end(delays, workers, [row.at_end for row in rows])
    return StragglerCost(
        delays=delays.name,
        steps=steps,
        rows=rows,
        backups=tuple(_backup(delays, workers[-1], b) for b in backups),
        persistent_share=persistent_share,
        persistent_factor=persistent_factor if persistent_share is not None else None,
        seed=SEED,
        findings=(*_findings(rows, persistent_share, persistent_factor), *ends),
    )


def _rows(
    delays: Delays, workers: Sequence[int], steps: int, share: float | None, rng: np.random.Generator
) -> tuple[StragglerRow, ...]:
    slowest = [maximum(delays, k) / delays.mean for k in workers]
    simulated = [simulate_maximum(delays, k, rng) / delays.mean for k in workers]
    ends = costs_at_end(delays, workers, slowest, steps, rng)
    return tuple(
        StragglerRow(
            workers=k,
            slowest=slow,
            simulated=drawn,
            at_end=end,
            any_slow=None if share is None else chance_of_any_slow(k, share),
        )
        for k, slow, drawn, end in zip(workers, slowest, simulated, ends, strict=True)
    )


def simulate_maximum(delays: Delays, k: int, rng: np.random.Generator, repeats: int = 1000) -> float:
    """Mean of the slowest of K over as many steps as the budget of draws allows, in blocks of bounded memory."""
    rounds = max(20, min(repeats, DRAWS // k))
    block = max(1, 2_000_000 // k)
    slowest: list[float] = []
    while len(slowest) < rounds:
        size = min(block, rounds - len(slowest))
        slowest += delays.draw(rng, (size, k)).max(axis=1).tolist()
    return float(np.mean(slowest))


def _backup(delays: Delays, k: int, backups: int) -> BackupRow:
    time = order_statistic(delays, k, backups) / delays.mean
    return BackupRow(backups=backups, time=time, per_worker=k / (k + backups) / time)


def _findings(rows: Sequence[StragglerRow], share: float | None, factor: float) -> tuple[Finding, ...]:
    text = "draws are taken as independent: test for workers that are always slow before believing these"
    found = [info("independent-draws", text, remedy="compare the ranks of a run with scalecurve diagnose")]
    last = rows[-1]
    if share is not None and last.any_slow is not None and last.any_slow > 0.5:
        words = f"at K = {last.workers} some worker is slow for good with probability {last.any_slow:.0%}"
        hint = f"find and drop it: every step then takes {factor:g} times as long, barriers or not"
        found.append(warning("persistent-slowness", words, remedy=hint))
    return tuple(found)
