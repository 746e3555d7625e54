"""What waiting for the slowest of K costs: by quadrature, and by simulation beside it.

A barrier waits for the maximum of K draws.  One at every step costs far more than one at the end, where slow and fast
steps of a worker cancel; neither helps with a worker that is always slow.  Backup workers (the step ends when K of
K + b are done) cut the maximum down to an order statistic, and cost b workers.

One barrier after n steps waits for the slowest of K *means of n steps*.  The mean of n draws tends to a normal of
spread cv/sqrt(n), but the slowest of K lies in its tail, which reaches the limit last.  With z = E[max of K standard
normals], skewness g and excess kurtosis h of one step, the next two terms of the Cornish-Fisher expansion change the
excess over the mean by the shares

    g (z^2 - 1) / (6 z sqrt(n))      and      h (z^2 - 3) / (24 n)

(M. G. Kendall and A. Stuart, The Advanced Theory of Statistics I, section 6.25).  Where both are small the limit is
used; elsewhere M means of n draws are simulated and E[max of K] is their unbiased L-statistic, the mean over all
subsets of K: sum_i x_(i) C(i-1, K-1) / C(M, K).  Its interval comes from the influence function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.distributions import ndtri
from scalecurve.document import Answer, Column, Document, FindingList, JsonRecord, Paragraph, Result, table
from scalecurve.errors import Fault, InputError, Refused
from scalecurve.estimate import Estimate, exact
from scalecurve.findings import Finding, info, warning
from scalecurve.laws.stragglers import chance_of_any_slow, expected_maximum, normal_maximum
from scalecurve.units import WorkersLike, as_workers
from scalecurve.words import percent

Floats = npt.NDArray[np.float64]

SEED = 20261115
DRAWS = 4_000_000  # numbers drawn at most for one column: all simulated maxima, or all barriers at the end
FEWEST_ROUNDS, MOST_ROUNDS = 20, 1000  # simulated maxima: with fewer their mean says nothing
REDRAWS = 1000
MOST_REDRAWN = 20_000_000  # values drawn for the interval of one maximum
TAIL_SAMPLES = 10  # that show the tail, at least
SAMPLES_PER_WORKER = 3  # samples per worker below which a maximum of K is refused
BLOCK = 1_000_000  # numbers held at a time
MEANS = 200_000  # means kept at most
MEANS_PER_WORKER = 20  # simulated means per worker below which a maximum of K is refused
SMALL = 0.05  # largest error of the normal limit, as a share of the excess over the mean
LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class Delays:
    """How long one worker's step takes: quantiles from the top (`isf`), draws, and its moments; None is infinite.

    `kurtosis` is the excess over a normal's.
    """

    name: str
    isf: Callable[[Floats], Floats]
    draw: Callable[[np.random.Generator, tuple[int, ...]], Floats]
    mean: float
    deviation: float | None
    skewness: float | None
    kurtosis: float | None
    samples: Floats | None = None


FAMILIES: dict[str, tuple[str, str | None, Callable[[Floats, float], Floats]]] = {
    "norm": ("normal", None, lambda z, _: z),
    "lognorm": ("normal", "s", lambda z, s: np.exp(s * z)),
    "expon": ("exponential", None, lambda e, _: e),
    "weibull_min": ("exponential", "c", lambda e, c: e ** (1 / c)),
    "pareto": ("exponential", "b", lambda e, b: np.exp(e / b)),
}
"""Distributions by their names in scipy, as functions of a standard normal or exponential draw and their shape;
scipy.stats, which takes a second to load, knows all others."""


def delays_of(name: str, **shape: float) -> Delays:
    """Any continuous distribution by its name in scipy: `delays_of("lognorm", s=0.3)`."""
    isf, draw = _family(name, shape) if name in FAMILIES else _scipy_family(name, shape)
    moments: list[float | None] = []
    for power in range(1, 5):  # the mean, then central moments
        centre = moments[0] if power > 1 and moments[0] is not None else 0.0
        try:
            moments.append(expected_maximum(1, lambda p, c=centre, j=power: (isf(p) - c) ** j))  # type: ignore[misc]
        except InputError:
            moments.append(None)
    mean, variance, third, fourth = moments
    if mean is None or not mean > 0:
        value = "infinite" if mean is None else f"{mean:g}"
        raise InputError(Fault("a delay needs a positive finite mean", where=name, value=value))
    known = f"{name}({', '.join(f'{key}={value:g}' for key, value in shape.items())})"
    return Delays(name=known, isf=isf, draw=draw, mean=mean, **_shape_of(variance, third, fourth))


def _shape_of(variance: float | None, third: float | None, fourth: float | None) -> dict[str, Any]:
    """Deviation, skewness and excess kurtosis from central moments; None where one does not exist."""
    return {
        "deviation": None if variance is None else math.sqrt(variance),
        "skewness": None if third is None or variance is None else third / variance**1.5 if variance else 0.0,
        "kurtosis": None if fourth is None or variance is None else fourth / variance**2 - 3 if variance else 0.0,
    }


def _family(name: str, shape: Mapping[str, float]) -> tuple[Any, Any]:
    """Quantiles from the top and draws of one of `FAMILIES`, moved by `loc` and stretched by `scale`."""
    base, own, transform = FAMILIES[name]
    needed = {own} if own else set()
    if not needed <= set(shape) <= needed | {"loc", "scale"}:
        remedy = f"its shapes: {', '.join([*needed, 'loc', 'scale'])}"
        raise InputError(Fault(f"wrong parameters for {name}", value=", ".join(shape), remedy=remedy))
    loc, scale, parameter = shape.get("loc", 0.0), shape.get("scale", 1.0), shape.get(own or "", 1.0)
    if not (scale > 0 and parameter > 0):
        raise InputError(Fault("scale and shape are above 0", where=name, value=f"{scale:g}, {parameter:g}"))
    quantile = (lambda p: -ndtri(p)) if base == "normal" else (lambda p: -np.log(p))
    return (
        lambda p: loc + scale * transform(quantile(p), parameter),
        lambda rng, size: loc + scale * transform(getattr(rng, f"standard_{base}")(size), parameter),
    )


def _scipy_family(name: str, shape: Mapping[str, float]) -> tuple[Any, Any]:
    """Quantiles from the top and draws of a distribution of scipy.stats."""
    from scipy import stats

    family = getattr(stats, name, None)
    if not isinstance(family, stats.rv_continuous):
        hint = "a continuous distribution of scipy.stats, such as norm, lognorm, expon, gamma, pareto, weibull_min"
        raise InputError(Fault("unknown distribution", value=name, remedy=hint))
    try:
        frozen = family(**shape)
        frozen.mean()
    except TypeError as problem:
        shapes = family.shapes or "loc, scale only"
        raise InputError(Fault(f"wrong parameters for {name}: {problem}", remedy=f"its shapes: {shapes}")) from None
    return frozen.isf, lambda rng, size: np.asarray(frozen.rvs(size=size, random_state=rng))


def delays_from(samples: Sequence[float] | Floats) -> Delays:
    """Measured step times, drawn from with replacement."""
    values = np.sort(np.asarray(samples, np.float64))
    if len(values) < 2 or not (values[0] >= 0 and np.isfinite(values[-1]) and values.mean() > 0):
        problem = "step times are two or more finite numbers from 0, not all of them 0"
        raise InputError(Fault(problem, value=f"{len(values)} values", remedy="give a file with one time per line"))
    centred = values - values.mean()
    return Delays(
        name=f"{len(values):,} samples",
        isf=lambda p: values[np.clip(np.ceil((1 - p) * len(values)).astype(int) - 1, 0, len(values) - 1)],
        draw=lambda rng, size: rng.choice(values, size),
        mean=float(values.mean()),
        samples=values,
        **_shape_of(float(values.var(ddof=1)), float(np.mean(centred**3)), float(np.mean(centred**4))),
    )


def maximum(delays: Delays, k: int) -> float:
    """E[max of K]: quadrature, or from samples the exact sum x_(i) ((i/n)^K - ((i-1)/n)^K)."""
    if delays.samples is None:
        return expected_maximum(k, delays.isf)
    n = len(delays.samples)
    if k * SAMPLES_PER_WORKER > n:
        spread = float(np.log(delays.samples[delays.samples > 0]).std())
        raise Refused(
            f"{n} samples cannot tell the slowest of {k}: they have no tail beyond their largest. Measure "
            f"{k * SAMPLES_PER_WORKER} or more, or assume a tail of the same spread: "
            f"`scalecurve straggler --distribution lognorm:s={spread:.2g} --workers {k}`"
        )
    edges = (np.arange(n + 1) / n) ** k
    return float(delays.samples @ np.diff(edges))


def maximum_interval(delays: Delays, k: int, rng: np.random.Generator) -> tuple[float, float] | None:
    """The interval of E[max of K] from samples, in means of the samples, at `LEVEL`; None for a distribution.

    The shares of the distribution below each sample are drawn (uniform order statistics).  The upper samples are drawn
    as a generalised Pareto tail whose shape and scale are as likely as they make them (J. Pickands, 1975): a bootstrap
    knows no tail beyond the largest sample and covers 64 % at n = 3 K.
    """
    if delays.samples is None:
        return None
    ranked, n = delays.samples, len(delays.samples)
    upper = min(n // 2, max(TAIL_SAMPLES, n // 20))
    body, threshold = ranked[: n - upper], float(ranked[n - upper - 1])
    draws = max(50, min(REDRAWS, MOST_REDRAWN // n))
    shape, scale = tail_draws(ranked[n - upper :] - threshold, draws, rng)
    nodes = np.linspace(0.0, 40.0, 161)
    shares = np.exp(-nodes)  # of the tail's samples that lie above
    step = np.full(len(nodes), nodes[1])
    step[[0, -1]] /= 2
    ratios = []
    for xi, size in zip(shape.tolist(), scale.tolist(), strict=True):
        gaps = rng.exponential(size=n + 1)
        below = np.cumsum(gaps[: n - upper]) / gaps.sum()
        beyond = threshold + size * (np.expm1(xi * nodes) / xi if abs(xi) > 1e-6 else nodes)
        left = 1.0 - below[-1]
        ends = []
        for count in (k, 1):
            inner = float(body @ np.diff(below**count, prepend=0.0))
            density = count * (1.0 - left * shares) ** (count - 1) * left * shares
            ends.append(inner + float((beyond * density) @ step))
        ratios.append(ends[0] / ends[1])
    low, high = np.quantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def tail_draws(excesses: Floats, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Shapes and scales of generalised Pareto tails, drawn as likely as the excesses over a threshold make them.

    Shapes are taken as normal around 0.1 beforehand, from a bounded tail to one whose variance does not exist.
    """
    mean = float(excesses.mean()) or 1e-12
    shape = np.linspace(-0.5, 0.9, 29)[:, None]
    scale = mean * np.exp(np.linspace(-1.6, 1.2, 36))[None, :]
    scaled = excesses[:, None, None] / scale
    inside = 1.0 + np.where(np.abs(shape) > 1e-6, shape, 1e-6) * scaled
    flat = np.where(np.abs(shape) > 1e-6, shape, 1e-6)
    logs = np.where(inside > 0, np.log(np.maximum(inside, 1e-300)), np.inf)
    likelihood = -len(excesses) * np.log(scale) - ((1.0 + 1.0 / flat) * logs).sum(axis=0)
    likelihood = np.where((inside > 0).all(axis=0), likelihood, -np.inf) - ((shape - 0.1) / 0.4) ** 2 / 2
    chances = np.exp(likelihood - likelihood.max()).ravel()
    chosen = rng.choice(chances.size, size=draws, p=chances / chances.sum())
    rows, columns = np.unravel_index(chosen, likelihood.shape)
    return shape[rows, 0], scale[0, columns]


def order_statistic(delays: Delays, k: int, backups: int) -> float:
    """E[K-th smallest of K + b]."""
    return maximum(delays, k) if backups == 0 else expected_maximum(k, delays.isf, backups)


def simulate_maximum(delays: Delays, k: int, rng: np.random.Generator, draws: int = DRAWS) -> float | None:
    """Mean of the slowest of K over as many steps as `draws` allow, in blocks of bounded memory; None for too few."""
    rounds = min(MOST_ROUNDS, draws // k)
    if rounds < FEWEST_ROUNDS:
        return None
    block = max(1, 2_000_000 // k)
    slowest: list[float] = []
    while len(slowest) < rounds:
        size = min(block, rounds - len(slowest))
        slowest += delays.draw(rng, (size, k)).max(axis=1).tolist()
    return float(np.mean(slowest))


def costs_at_end(
    delays: Delays, workers: Sequence[int], slowest: Sequence[float], steps: int, rng: np.random.Generator
) -> list[Estimate | None]:
    """E[max of K means of `steps` steps] in means of a step, for each K; None where too many draws would be needed.

    `slowest` is E[max of K] of single steps, which is the answer itself when there is one step.
    """
    if steps == 1:
        return [exact(value) for value in slowest]
    simulate = [k > 1 and not limit_holds(delays, k, steps) for k in workers]
    means = _sorted_means(delays, steps, rng) if any(simulate) else np.empty(0)

    def end(k: int, simulated: bool) -> Estimate | None:
        if simulated:
            return _simulated_end(delays, means, k) if len(means) >= k * MEANS_PER_WORKER else None
        if k == 1 or delays.deviation is None:
            return exact(1.0)
        spread = delays.deviation / delays.mean / math.sqrt(steps)
        return Estimate(normal_maximum(k, spread), method="normal limit")

    return list(map(end, workers, simulate))


def _sorted_means(delays: Delays, steps: int, rng: np.random.Generator) -> Floats:
    """Means of `steps` draws in means of a step, rising; none where too many draws would be needed."""
    count, rows = min(MEANS, DRAWS // steps), max(1, BLOCK // steps)
    if count < 2 * MEANS_PER_WORKER:
        return np.empty(0)
    sizes = [(min(rows, count - start), steps) for start in range(0, count, rows)]
    return np.sort(np.concatenate([delays.draw(rng, size).mean(axis=1) / delays.mean for size in sizes]))


def limit_holds(delays: Delays, k: int, steps: int) -> bool:
    """Whether the mean of `steps` steps is normal enough as far out as the slowest of K."""
    if delays.deviation is None or delays.skewness is None or delays.kurtosis is None:
        return False
    z = normal_maximum(k, 1.0) - 1.0
    skewed = abs(delays.skewness) * abs(z * z - 1) / (6 * z * math.sqrt(steps))
    heavy = abs(delays.kurtosis) * max(abs(z * z - 3), 1.0) / (24 * steps)
    return skewed <= SMALL and heavy <= SMALL


def _simulated_end(delays: Delays, means: Floats, k: int) -> Estimate:
    """The L-statistic of sorted means, with its interval where the variance is finite."""
    count = len(means)
    i = np.arange(k + 1, count + 1, dtype=np.float64)
    logs = np.log((i - k) / (i - 1))
    weights = np.zeros(count)  # C(i-1, K-1) / C(M, K) for i = 1..M, from the largest down by their ratios (i-K)/(i-1)
    weights[k - 1 :] = k / count * np.exp(np.append(np.cumsum(logs[::-1])[::-1], 0.0))
    value, method = float(means @ weights), f"simulation, {count:,} means"
    if delays.deviation is None:  # the interval would rest on a variance that does not exist
        return Estimate(value, method=method)
    below = np.arange(1, count) / count
    density = k * below ** (k - 1) * np.diff(means)
    influence = np.append(np.cumsum(density[::-1])[::-1], 0.0)  # of each mean, up to a constant
    margin = 1.96 * float(influence.std() / math.sqrt(count))
    return Estimate(value, value - margin, value + margin, LEVEL, method)


@dataclass(frozen=True, kw_only=True)
class StragglerRow(JsonRecord):
    """One K; times are in means of a worker's step."""

    workers: int
    slowest: float
    simulated: float | None
    interval: tuple[float, float] | None
    at_end: Estimate | None
    any_slow: float | None

    JSON = """
        k=workers slowest slowest_low=interval.0 slowest_high=interval.1 efficiency simulated simulated_efficiency
        barrier_at_end*=at_end barrier_at_end_method=at_end.method end_efficiency any_slow"""

    @property
    def efficiency(self) -> float:
        return 1 / self.slowest

    @property
    def simulated_efficiency(self) -> float | None:
        return None if self.simulated is None else 1 / self.simulated

    @property
    def end_efficiency(self) -> float | None:
        return None if self.at_end is None else 1 / self.at_end.value


@dataclass(frozen=True, kw_only=True)
class BackupRow:
    """A number of backup workers: the time of a step in means, and the speed per worker paid for."""

    backups: int
    time: float
    speed_per_worker: float


@dataclass(frozen=True, kw_only=True, repr=False)
class StragglerCost(Result):
    """Barrier cost over K, backups at the largest K, and the chance of a worker that is always slow."""

    delays: str
    steps: int
    rows: tuple[StragglerRow, ...]
    backups: tuple[BackupRow, ...]
    persistent_share: float | None
    persistent_factor: float | None
    seed: int
    findings: tuple[Finding, ...] = ()

    JSON = """
        delays steps rows backups persistent.share=persistent_share persistent.factor=persistent_factor seed
        findings"""

    @property
    def answer(self) -> Answer:
        """What waiting for the slowest costs at the largest K, and whether backups pay."""
        last = self.rows[-1]
        best = max(self.backups, key=lambda row: row.speed_per_worker, default=None)
        helps = best is not None and best.backups > 0
        if last.any_slow is not None and self.persistent_factor is not None:
            return self._answer_of_slow(last, last.any_slow, self.persistent_factor)
        return Answer(
            decision=f"Waiting for the slowest costs {percent(1 - last.efficiency)} of {last.workers:,} workers.",
            confidence=last.interval
            and f"Between {percent(1 - 1 / last.interval[0])} and {percent(1 - 1 / last.interval[1])}, by the samples.",
            reason=f"The slowest takes {last.slowest:.3g} times the mean.",
            next=f"`SAME --backups {best.backups}` says what {best.backups} backup workers gain"
            if helps and best is not None
            else "`SAME --steps 100` says what one barrier after 100 steps gains",
        )

    @staticmethod
    def _answer_of_slow(last: StragglerRow, chance: float, factor: float) -> Answer:
        """What the barrier costs with and without a machine that is always slow."""
        quiet, slow = percent(1 - last.efficiency), percent(1 - 1 / max(factor, last.slowest))
        return Answer(
            decision=f"Waiting costs {quiet} of {last.workers:,} workers if no machine is slow, {slow} or more if one "
            f"is ({percent(chance)} likely).",
            reason=f"A slow machine takes {factor:g} times the mean, the slowest of the others {last.slowest:.3g}.",
            next="time the same work on each machine, and take the slow ones out",
        )

    def body(self) -> Document:
        columns: list[Column | str] = [
            "K",
            Column("slowest", meaning="E[max of K] in means of one worker"),
            Column("E", meaning="barrier efficiency, mean / E[max]"),
            "simulated",
            Column("at end", meaning=f"one barrier after {self.steps} steps instead of one per step"),
        ]
        if self.persistent_share is not None:
            columns.append(Column("any slow", meaning="P(some worker is always slow) = 1 - (1-p)^K"))
        rows = []
        for row in self.rows:
            end = None if row.at_end is None else f"{row.at_end.value:.4g}"
            if row.at_end is not None and row.at_end.ends:
                end = f"{end} ({row.at_end.span('{:.4g}'.format)})"
            simulated = None if row.simulated is None else f"{row.simulated:.4g}"
            slow = [] if row.any_slow is None else [f"{row.any_slow:.1%}"]
            slowest = f"{row.slowest:.4g}"
            if row.interval is not None:
                slowest += f" ({row.interval[0]:.4g} to {row.interval[1]:.4g})"
            rows.append([str(row.workers), slowest, f"{row.efficiency:.1%}", simulated, end, *slow])
        backup = table(
            ["backups", "time", Column("speed per worker", meaning="K/(K+b)/time: what the paid workers give")],
            [[str(row.backups), f"{row.time:.4g}", f"{row.speed_per_worker:.4g}"] for row in self.backups],
            caption=f"waiting for {self.rows[-1].workers} of {self.rows[-1].workers} + b",
        )
        end = f"at end: with one barrier after {self.steps} steps"
        every = "slowest: with a barrier at every step"
        head = Paragraph(f"step times {self.delays}, in means of one worker; {every}; {end}")
        return Document("Stragglers", (head, table(columns, rows), FindingList(self.findings)), (backup,))


def straggler_cost(
    workers: WorkersLike = "1..1024",
    *,
    distribution: str = "lognorm",
    shape: Mapping[str, float] | None = None,
    samples: str | Path | Sequence[float] | Floats | None = None,
    steps: int = 100,
    backups: Sequence[int] = (0, 1, 2, 4, 8),
    slow_share: float | None = None,
    slow_factor: float = 2.0,
    rng: np.random.Generator | None = None,
) -> StragglerCost:
    """What waiting for the slowest of K costs, for a scipy distribution or your own step times.

    `samples` are step times, or a file of them; `steps` is the number of steps of a run that has one barrier, at its
    end; `backups` are tried at the largest K; a share `slow_share` of the workers always takes `slow_factor` times as
    long.
    """
    if slow_share is not None and not 0 <= slow_share <= 1:
        raise InputError(Fault("the share of slow workers lies between 0 and 1", value=f"{slow_share:g}"))
    if steps < 1 or any(b < 0 for b in backups):
        text = f"{steps} steps, backups {list(backups)}"
        raise InputError(Fault("not whole numbers", value=text, remedy="steps are from 1 on, backups from 0 on"))
    if isinstance(samples, str | Path):
        from scalecurve.formats.latencies import read_numbers

        samples = read_numbers(Path(samples))
    counts, rng = as_workers(workers), rng or np.random.default_rng(SEED)
    delays = delays_of(distribution, **(shape or {})) if samples is None else delays_from(samples)
    slowest = [maximum(delays, k) / delays.mean for k in counts]
    simulated = [simulate_maximum(delays, k, rng, DRAWS // len(counts)) for k in counts]
    ends = costs_at_end(delays, counts, slowest, steps, rng)
    rows = tuple(
        StragglerRow(
            workers=k,
            slowest=slow,
            simulated=None if drawn is None else drawn / delays.mean,
            interval=maximum_interval(delays, k, rng),
            at_end=end,
            any_slow=None if slow_share is None else chance_of_any_slow(k, slow_share),
        )
        for k, slow, drawn, end in zip(counts, slowest, simulated, ends, strict=True)
    )
    largest, backup_rows = counts[-1], []
    for b in backups:
        time = order_statistic(delays, largest, b) / delays.mean
        backup_rows.append(BackupRow(backups=b, time=time, speed_per_worker=largest / (largest + b) / time))
    return StragglerCost(
        delays=delays.name,
        steps=steps,
        rows=rows,
        backups=tuple(backup_rows),
        persistent_share=slow_share,
        persistent_factor=slow_factor if slow_share is not None else None,
        seed=SEED,
        findings=_findings(rows, slow_factor, infinite=delays.deviation is None),
    )


def _findings(rows: Sequence[StragglerRow], factor: float, *, infinite: bool) -> tuple[Finding, ...]:
    text = "workers are assumed independent; a worker that is always slow costs more than these numbers"
    findings = [info("independent-draws", text, remedy="compare the ranks of a run with scalecurve diagnose")]
    last = rows[-1]
    if last.any_slow is not None and last.any_slow > 0.5:
        text = f"at K = {last.workers} some worker is always slow with probability {last.any_slow:.0%}"
        hint = f"find and drop it: with it every step takes {factor:g} times as long, wherever the barriers are"
        findings.append(warning("persistent-slowness", text, remedy=hint))
    drawn = [str(row.workers) for row in rows if row.at_end and row.at_end.method.startswith("simulation")]
    if drawn:
        why = "has no variance" if infinite else "is too skewed for the normal limit"
        text = f"a step {why}, so the barrier at the end was simulated at K = {', '.join(drawn)}"
        findings.append(info("end-simulated", text))
    if drawn and infinite:
        text = "the simulated barrier at the end has no interval and tends to be too low: the variance is infinite"
        findings.append(warning("end-without-interval", text, remedy="state a distribution with a finite variance"))
    missing = [str(row.workers) for row in rows if row.at_end is None]
    if missing:
        text = f"the barrier at the end has no answer at K = {', '.join(missing)}: it would need too many draws"
        hint = "use fewer steps or workers, or a less skewed distribution"
        findings.append(warning("end-unknown", text, remedy=hint))
    return tuple(findings)
