"""Does a nominal 95 % interval of a speedup hold?  Prints coverage by repeats, noise and its shape.

python -m bench.coverage            20,000 trials per line
"""

from __future__ import annotations

import sys

import numpy as np

from scalecurve.analysis.curve import Conversion, curve_of_samples, log_ratio
from scalecurve.study import Quantity, Regime, Samples

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


def main(trials: int = 20_000) -> None:
    rng = np.random.default_rng(20261115)
    print(f"coverage of the nominal {LEVEL:.0%} interval of S, {trials} trials each")
    print(f"{'noise':>10} {'at 1':>6} {'at K':>6} {'n=3':>7} {'n=5':>7} {'n=10':>7}")
    for shape in ("normal", "lognormal"):
        for low, high in ((0.02, 0.02), (0.20, 0.20), (0.02, 0.10), (0.04, 0.20)):
            shares = [coverage(n, low, high, trials=trials, rng=rng, shape=shape) for n in (3, 5, 10)]
            print(f"{shape:>10} {low:6.2f} {high:6.2f} " + " ".join(f"{share:7.3f}" for share in shares))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
