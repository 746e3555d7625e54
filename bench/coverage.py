"""Does a nominal 95 % interval hold?  Prints coverage of S by repeats, noise and its shape, and of E under drift.

python -m bench.coverage            20,000 trials per line

The last part draws tables with noise of many shapes: how often `outliers`, `two-modes` and `rare-slow-runs` are told of
them, and how often the intervals of T and E hold the true mean.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from scalecurve.analysis.curve import Conversion, curve_of_samples, log_ratio
from scalecurve.analysis.table import mean_intervals, tabulate
from scalecurve.study import Quantity, Regime, Run, Samples, Study

LEVEL = 0.95
SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "5 % normal": lambda rng, size: 1 + 0.05 * rng.standard_normal(size),
    "lognormal 5 %": lambda rng, size: rng.lognormal(0, 0.05, size),
    "lognormal 30 %": lambda rng, size: rng.lognormal(0, 0.3, size),
    "gamma 0.7": lambda rng, size: 1 + 0.1 * rng.gamma(0.7, size=size),
    "5 % exponential": lambda rng, size: 1 + 0.05 * rng.standard_exponential(size),
    "30 % exponential": lambda rng, size: 1 + 0.3 * rng.standard_exponential(size),
    "2 % Student t(3)": lambda rng, size: np.maximum(1 + 0.02 * rng.standard_t(3, size), 0.2),
    "3 of 10 at +15 %": lambda rng, size: _two_speeds(rng, size, 0.3, 0.15),
    "2 of 10 at +30 %": lambda rng, size: _two_speeds(rng, size, 0.2, 0.3),
    "5 % take 3 times": lambda rng, size: _two_speeds(rng, size, 0.05, 2.0),
}
TOLD = ("outliers", "two-modes", "rare-slow-runs")
TRUE_TIMES = {1: 1.0, 8: 0.19}


def coverage(
    n: int,
    noise_at_one: float,
    noise_at_k: float,
    *,
    trials: int,
    rng: np.random.Generator,
    shape: str = "normal",
) -> float:
    """The share of trials whose interval of T(1)/T(8) contains the true ratio of means."""
    first = TRUE_TIMES[1] * _noise(rng, (trials, n), noise_at_one, shape)
    last = TRUE_TIMES[8] * _noise(rng, (trials, n), noise_at_k, shape)
    hits = sum(_covers(top, bottom) for top, bottom in zip(first, last, strict=True))
    return hits / trials


def _noise(rng: np.random.Generator, size: tuple[int, int], spread: float, shape: str) -> np.ndarray:
    """Multiplicative noise of mean 1; normal noise is drawn anew where it would make a time negative."""
    if shape == "lognormal":
        return np.exp(spread * rng.standard_normal(size) - spread**2 / 2)
    return np.abs(1 + spread * rng.standard_normal(size))


def _covers(first: np.ndarray, last: np.ndarray) -> bool:
    k = np.repeat([1, 8], [len(first), len(last)])
    samples = Samples.of(k, np.concatenate([first, last]))
    curve = curve_of_samples(samples, Conversion(Quantity.SECONDS, Regime.STRONG), 1)
    estimate = log_ratio((curve, 1, 1.0), (curve, 8, -1.0)).estimate(LEVEL)
    truth = TRUE_TIMES[1] / TRUE_TIMES[8]
    return estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high


def study_in_blocks(
    rng: np.random.Generator, workers: tuple[int, ...], blocks: int, *, noise: float, drift: float = 0.0
) -> Study:
    """A study as `scalecurve measure` makes it: every K once in each block, in random order, with drift over it all."""
    runs = []
    total = blocks * len(workers)
    for repeat in range(blocks):
        for k in rng.permutation(workers).tolist():
            factor = (1 + drift * len(runs) / (total - 1)) * abs(1 + noise * rng.standard_normal())
            runs.append(Run(k=k, value=10.0 / k * factor, repeat=repeat, order=len(runs)))
    return Study(regime=Regime.STRONG, runs=tuple(runs))


def coverage_of_studies(
    trials: int, *, drift: float, noise: float, blocks: int, seed: int, forget: bool = False
) -> tuple[float, float]:
    """How often the interval of E holds 1, and its mean width; with `forget` the order is not known to the table."""
    rng = np.random.default_rng(seed)
    hits, widths = [], []
    for _ in range(trials):
        study = study_in_blocks(rng, (1, 2, 4, 8), blocks, noise=noise, drift=drift)
        if forget:
            study = replace(study, runs=tuple(replace(run, order=None) for run in study.runs))
        for row in tabulate(study).rows[1:]:
            low, high = row.efficiency.low or 0.0, row.efficiency.high or 0.0
            hits.append(low <= 1 <= high)
            widths.append(high - low)
    return float(np.mean(hits)), float(np.mean(widths))


def coverage_of_times(n: int, noise: float, *, trials: int, rng: np.random.Generator) -> tuple[float, float]:
    """How often the interval of T holds the mean, and the share of lower bounds that are negative."""
    runs = _noise(rng, (trials, n), noise, "normal")
    k = np.tile(np.arange(1, trials + 1)[:, np.newaxis], n)
    curve = curve_of_samples(Samples.of(k.ravel(), runs.ravel()), Conversion(Quantity.SECONDS, Regime.STRONG), 1)
    means = mean_intervals(curve, LEVEL)
    held = [(one.low or 0.0) <= 1 <= (one.high or 0.0) for one in means]
    return float(np.mean(held)), float(np.mean([(one.low or 0.0) < 0 for one in means]))


def _two_speeds(rng: np.random.Generator, size: tuple[int, ...], share: float, slower: float) -> np.ndarray:
    speeds: np.ndarray = (1 + slower * (rng.random(size) < share)) * (1 + 0.01 * rng.standard_normal(size))
    return speeds


def tables_of(shape: str, n: int, *, trials: int, rng: np.random.Generator) -> list[float]:
    """Shares of tables of 5 K and n runs with each finding of TOLD, and how often intervals of T and of E hold."""
    mean = float(SHAPES[shape](rng, (400_000,)).mean())
    told, times, efficiencies = np.zeros(len(TOLD)), [], []
    for _ in range(trials):
        samples = {k: SHAPES[shape](rng, (n,)) / k for k in (1, 2, 4, 8, 16)}
        table = tabulate(Study.from_samples(samples, regime="strong"))
        codes = {finding.code for finding in table.findings}
        told += [code in codes for code in TOLD]
        times += [(row.mean.low or 0.0) <= mean / row.k <= (row.mean.high or 0.0) for row in table.rows]
        efficiencies += [(row.efficiency.low or 0.0) <= 1 <= (row.efficiency.high or 0.0) for row in table.rows[1:]]
    return [*(told / trials).tolist(), float(np.mean(times)), float(np.mean(efficiencies))]


def main(trials: int = 20_000) -> None:
    rng = np.random.default_rng(20261115)
    print(f"coverage of the nominal {LEVEL:.0%} interval of S, {trials} trials each")
    print(f"{'noise':>10} {'at 1':>6} {'at K':>6} {'n=3':>7} {'n=5':>7} {'n=10':>7}")
    for shape in ("normal", "lognormal"):
        for low, high in ((0.02, 0.02), (0.20, 0.20), (0.02, 0.10), (0.04, 0.20)):
            shares = [coverage(n, low, high, trials=trials, rng=rng, shape=shape) for n in (3, 5, 10)]
            print(f"{shape:>10} {low:6.2f} {high:6.2f} " + " ".join(f"{share:7.3f}" for share in shares))
    print("interval of T: coverage and negative lower bounds")
    for n, noise in ((2, 0.2), (3, 0.2), (5, 0.05), (10, 0.2)):
        held, negative = coverage_of_times(n, noise, trials=min(trials, 5000), rng=rng)
        print(f"n = {n:2}, noise {noise:.0%}: {held:.3f}, {negative:.3f}")
    print("interval of E, runs in blocks: coverage and mean width; in brackets without the order")
    for drift in (0.0, 0.1, 0.2):
        for blocks in (3, 5, 10):
            count = max(100, trials // 40)
            (held, width), (held_free, width_free) = (
                coverage_of_studies(count, drift=drift, noise=0.02, blocks=blocks, seed=3, forget=forget)
                for forget in (False, True)
            )
            words = f"drift {drift:.0%}, {blocks:2} blocks"
            print(f"{words}: {held:.3f}, {width:.3f}  ({held_free:.3f}, {width_free:.3f})")
    print("tables of 5 K: findings, and intervals of T and E that hold")
    print(f"{'noise':18} {'n':>3} " + " ".join(f"{name:>14}" for name in (*TOLD, "T", "E")))
    for shape in SHAPES:
        for n in (3, 5, 10):
            shares = tables_of(shape, n, trials=max(100, trials // 50), rng=rng)
            print(f"{shape:18} {n:3} " + " ".join(f"{share:14.3f}" for share in shares))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
