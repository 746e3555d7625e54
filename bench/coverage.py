"""Does a nominal 95 % interval hold?  Prints coverage of S by repeats, noise and its shape, and of E under drift.

python -m bench.coverage            20,000 trials per line
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from scalecurve.analysis.curve import Conversion, curve_of_samples, log_ratio
from scalecurve.analysis.table import mean_intervals, tabulate
from scalecurve.study import Quantity, Regime, Run, Samples, Study

LEVEL = 0.95
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
            paired, free = (
                coverage_of_studies(
                    max(100, trials // 40), drift=drift, noise=0.02, blocks=blocks, seed=3, forget=forget
                )
                for forget in (False, True)
            )
            print(
                f"drift {drift:.0%}, {blocks:2} blocks: {paired[0]:.3f}, {paired[1]:.3f}  ({free[0]:.3f}, {free[1]:.3f})"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
