"""What is asked of forecasts, beside what is measured: interval scores, saturated nodes, grids with nodes, far K.

The interval score of a 90 % interval is its width in ln of performance and 20 times what it misses by; lower is better.
It is compared with what anybody would draw: the last slope goes on, times or over 1.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import scalecurve as sc
from scalecurve.forecasting.curves import Array, LogCurve, Traits, pack
from scalecurve.forecasting.published import shipped
from scalecurve.forecasting.stack import AHEAD, SLOPE, circumstances, stacked_gains
from tools.crossvalidation import Judged
from tools.scores import coverage, distances

TimeLaw = Callable[[Array], Array]
MISS = 20.0  # 2 / (1 - 0.9)
BAND = math.log(1.5)
EACH = 60  # curves of a mechanism
WORKERS = ("ranks", "workers", "gpus", "threads", "nodes")


def interval_score(truth: Array, low: Array, high: Array) -> Array:
    """Width and MISS times the distance to the interval, of every point."""
    return high - low + MISS * (np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0))


def by_distance(judged: Judged, slopes: Array) -> dict[str, dict[str, str]]:
    """Mean scores over sources of the sources' means; `slopes` is the last slope of every point's curve."""
    low, high = judged.ends[0.9]
    last = judged.last + slopes * np.log(judged.ratio)
    scores = [interval_score(judged.truth, *ends) for ends in ((low, high), (last - BAND, last + BAND))]
    source = np.array([curve.facts["source_repo"] for curve in judged.curves])[judged.curve]
    table = {}
    for name, own in distances(judged).items():
        names = np.unique(source[own])
        ours, naive = (float(np.mean([one[own & (source == each)].mean() for each in names])) for one in scores)
        table[f"sources left out, {name}"] = _row(own.sum(), ours, naive, coverage(judged, low, high)[name])
    return table


def _row(points: int, ours: float, naive: float, inside: float) -> dict[str, str]:
    better = f"{100 * (1 - ours / naive):+.0f} %"
    return {"points": f"{points}", "ours": f"{ours:.2f}", "last slope x/÷ 1.5": f"{naive:.2f}", "better by": better,
            "90 % holds": f"{inside:.3f}"}  # fmt: skip


def _uniform(rng: np.random.Generator, *ranges: tuple[float, float]) -> list[float]:
    """One draw of each range, on a log scale where the range spans more than a decade."""
    return [
        float(np.exp(rng.uniform(*np.log((low, high)))))
        if low > 0 and high > 10 * low
        else float(rng.uniform(low, high))
        for low, high in ranges
    ]


def harmonic(k: Array) -> Array:
    return np.array([np.sum(1 / np.arange(1, int(own) + 1)) for own in k])


def lock(held: float) -> TimeLaw:
    """Workers that share one lock: a closed queue of one server, solved exactly."""

    def time(k: Array) -> Array:
        rates, waiting, rate = [], 0.0, 0.0
        for count in range(1, int(max(k)) + 1):
            response = held * (1 + waiting)
            rate = count / (1 - held + response)
            waiting = rate * response
            rates.append(rate)
        return np.array([1 / rates[int(own) - 1] for own in k])

    return time


def beyond(k: Array, edge: float) -> Array:
    return np.log2(np.maximum(k / edge, 1) + 1) / np.minimum(k, 64) ** 0.3 * (k > edge)


SMALL = (0.0, 0.02)
MECHANISMS: dict[str, tuple[tuple[tuple[float, float], ...], Callable[..., TimeLaw]]] = {
    "Amdahl": (((1e-3, 0.2),), lambda s: lambda k: s + (1 - s) / k),
    "tree of messages": (((0, 0.05), (5e-4, 0.03)), lambda s, c: lambda k: s + (1 - s) / k + c * np.log2(k)),
    "a message to each": (((0, 0.05), (3e-5, 3e-3)), lambda s, c: lambda k: s + (1 - s) / k + c * (k - 1)),
    "USL": (((0, 0.1), (1e-5, 1e-3)), lambda a, b: lambda k: (1 + a * (k - 1) + b * k * (k - 1)) / k),
    "halo of blocks": (((0.005, 0.08),), lambda c: lambda k: 1 / k + c * k ** (-2 / 3) * (k > 1)),
    "halo of squares": (((0.005, 0.08),), lambda c: lambda k: 1 / k + c * k**-0.5 * (k > 1)),
    "noise at barriers": ((SMALL, (1e-3, 0.02)), lambda s, c: lambda k: s + 1 / k + c * harmonic(k)),
    "the slowest share": ((SMALL, (0.01, 0.15)), lambda s, c: lambda k: s + (1 + c * (harmonic(k) - 1)) / k),
    "lognormal shares": (((0, 0.03), (0.02, 0.3)), lambda s, c: lambda k: s + (1 + c * np.sqrt(2 * np.log(k))) / k),
    "memory that fills": (
        (SMALL, (4, 40), (2, 8)),
        lambda s, full, m: lambda k: s + (1 - s) / k * (1 + (k / full) ** m) ** (1 / m),
    ),
    "an untold node": (
        (SMALL, (8, 32), (0.02, 0.15)),
        lambda s, node, c: lambda k: s + (1 - s) / k + c * beyond(k, node),
    ),
    "ring all-reduce": (
        (SMALL, (0.005, 0.08), (3e-5, 1e-3)),
        lambda s, b, a: lambda k: s + 1 / k + 2 * b * (k - 1) / k + 2 * a * (k - 1),
    ),
    "a grid of ranks": ((SMALL, (5e-4, 0.01)), lambda s, c: lambda k: s + 1 / k + c * np.sqrt(k)),
    "imbalance": ((SMALL, (0.03, 0.3)), lambda s, c: lambda k: s + (1 + c * (k > 1)) / k),
    "pipeline": (((32, 256),), lambda m: lambda k: (m + k - 1) / m / k),
    "whole chunks": (((0, 0.01), (96, 5000)), lambda s, n: lambda k: s + np.ceil(np.floor(n) / k) / np.floor(n)),
    "all to all": (((0.01, 0.15), (1e-5, 3e-4)), lambda b, a: lambda k: 1 / k + b * (k - 1) / k**1.5 + a * k),
    "one master": (((1e-3, 0.05),), lambda c: lambda k: np.maximum(1 / k, c) + 0.1 * c),
    "a lock": (((6e-3, 0.12),), lock),
    "contention": ((SMALL, (0.05, 0.3)), lambda s, c: lambda k: s + (1 + c * np.log2(k) / 4) / k),
    "a part that stops": (
        ((0, 0.05), (0.02, 0.3), (4, 16)),
        lambda s, q, n: lambda k: s + (1 - s - q) / k + q / np.minimum(k, n),
    ),
    "a power": (((0.6, 0.98),), lambda p: lambda k: k**-p),
    "caches that help": ((SMALL, (0.1, 0.6), (4, 16)), lambda s, c, m: lambda k: s + (1 + c / (1 + (k / m) ** 3)) / k),
}


def clean_curves() -> dict[str, dict[str, str]]:
    """Scores at 2x and 4x of clean curves of every mechanism: K to 16, 32 or 64, 0.2 to 2 % noise, 1 to 5 repeats."""
    rng = np.random.default_rng(5)
    curves, truths = [], []
    for ranges, made in MECHANISMS.values():
        for _ in range(EACH):
            law, last = made(*_uniform(rng, *ranges)), int(rng.choice([16, 32, 64]))
            k = 2.0 ** np.arange(math.log2(last) + 1)
            if rng.random() < 0.4:
                k = np.unique(np.r_[k, np.floor(1.5 * k[1:-1])])
            runs, noise = int(rng.choice([1, 3, 5])), float(np.exp(rng.uniform(*np.log((0.002, 0.02)))))
            logs = np.log(law(k))[:, None] + noise * rng.standard_normal((len(k), runs))
            error = None if runs == 1 else 1.2533 * logs.std(axis=1, ddof=1) / math.sqrt(runs)
            traits = Traits.of("s", str(rng.choice(WORKERS)), is_time=True)
            curves.append(LogCurve(k, -np.median(logs, axis=1), error, traits))
            truths.append(-np.log(law(np.array([2.0, 4.0]) * last)) + np.median(logs[-1]))
    learned, at = shipped(), np.stack([np.array([2.0, 4.0]) * curve.k[-1] for curve in curves])
    case = circumstances(pack(curves), at, learned.shapes)
    ends, truth = stacked_gains(case, learned.stack).interval(0.9), np.array(truths)
    onward = case.features[..., SLOPE] * case.features[..., AHEAD] * math.log(2)
    ours = interval_score(truth, ends.low, ends.high)
    naive = interval_score(truth, onward - BAND, onward + BAND)
    inside = (ends.low <= truth) & (truth <= ends.high)
    return {
        f"clean mechanism curves, {ratio}x": _row(
            len(truth), float(ours[:, i].mean()), float(naive[:, i].mean()), float(inside[:, i].mean())
        )
        for i, ratio in enumerate((2, 4))
    }


def _saturated(rng: np.random.Generator) -> Callable[[float, float], float]:
    """T(size, K): memory fills a node of 8 at two to six workers; more nodes have as much each, less the network's."""
    full, network, serial = rng.uniform(2, 6), rng.uniform(0, 0.15), rng.uniform(0, 0.02)

    def time(size: float, k: float) -> float:
        nodes, work = max(k / 8, 1.0), size / (full * (1 - math.exp(-min(k, 8) / full)))
        return float(work / nodes * (1 + network * (1 - 1 / nodes)) + serial * size)

    return time


def nodes() -> list[tuple[str, str, str]]:
    """One saturated node then two or four (20 curves), and the same as grids of sizes (18): how many lie inside."""
    rng, inside, widths = np.random.default_rng(11), 0, []
    for _ in range(20):
        time, ratio = _saturated(rng), int(rng.choice([2, 4]))
        samples = {k: [time(1.0, k) * math.exp(0.01 * e) for e in rng.standard_normal(3)] for k in (1, 2, 4, 8)}
        study = sc.Study.from_samples(samples, regime="strong", k_unit="ranks")  # type: ignore[arg-type]
        row = sc.forecast(study, at=[8 * ratio], node_size=8)[0]
        if row.low is not None and row.high is not None:
            inside += row.low <= time(1.0, 8 * ratio) <= row.high
            widths.append(row.high / row.low)
    within, factors = 0, []
    for _ in range(18):
        time, (k, size) = _saturated(rng), ((16, 32)[int(rng.integers(2))], (4.0, 16.0)[int(rng.integers(2))])
        grid = {
            n: {own: [time(n, own) * math.exp(0.01 * e) for e in rng.standard_normal(3)] for own in (1, 2, 4, 8)}
            for n in (1.0, 2.0, 4.0, 8.0)
        }
        estimate = sc.forecast_grid(grid, size=size, at=k, regime="strong", node_size=8)[0].time
        if estimate is not None and estimate.low is not None and estimate.high is not None:
            within += estimate.low <= time(size, k) <= estimate.high
            factors.append(estimate.high / estimate.low)
    return [
        ("one saturated node, then more nodes", ">= 18 of 20", f"{inside} of 20, high/low {np.median(widths):.1f}"),
        ("grids with nodes", ">= 16 of 18", f"{within} of 18, high/low {np.median(factors):.1f}"),
    ]


def far() -> tuple[str, str, str]:
    """Rows at 16 times the largest K of noisy curves: those that answer within a factor of 30, and those refused."""
    rng, wide, refused, named = np.random.default_rng(12), 0, 0, 0
    for _ in range(20):
        logs = np.cumsum(rng.uniform(0.1, 0.7, 4))
        samples = {2**i: [float(np.exp(-own))] for i, own in enumerate(logs)}
        row = sc.forecast(sc.Study.from_samples(samples, regime="strong"), at=[128])[0]  # type: ignore[arg-type]
        refused += row.refused
        named += row.refused and "ask for K = " in (row.findings[0].remedy or "")
        wide += not row.refused and bool(row.high and row.low and row.high / row.low > 30)
    asked = "no answer wider than a factor of 30"
    return "16 times the largest K", asked, f"{wide} of 20 wider; {refused} refused, {named} with a K to ask for"
