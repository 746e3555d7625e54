"""How often the gate fails identical code, and how often it catches a true loss.

    python -m bench.gate [--trials 2000]

Strong scaling with s = 0.04 and c = 0.01, K = 1..64 or fewer, 10 repeats, fresh noise in both studies.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from scalecurve.auditing.gate import check
from scalecurve.study import Study

REPEATS = 10
Noise = Callable[[np.random.Generator, int, int], np.ndarray]


def normal(rng: np.random.Generator, k: int, n: int) -> np.ndarray:
    return 1 + 0.05 * rng.standard_normal(n)


def skewed(rng: np.random.Generator, k: int, n: int) -> np.ndarray:
    return rng.lognormal(0, 0.15, n)


def uneven(rng: np.random.Generator, k: int, n: int) -> np.ndarray:
    """From 1 % at K = 1 to 10 % at K = 64."""
    return 1 + 0.01 * 10 ** (np.log2(k) / 6) * rng.standard_normal(n)


NOISES: dict[str, Noise] = {"5 % normal": normal, "15 % lognormal": skewed, "1 to 10 % by K": uneven}


def draw(rng: np.random.Generator, noise: Noise, workers: tuple[int, ...], losses: dict[int, float], n: int) -> Study:
    samples = {}
    for k in workers:
        time = (0.04 + 0.96 / k + 0.01 * np.log2(k)) / (1 - losses.get(k, 0.0))
        samples[k] = (time * noise(rng, k, n)).tolist()
    return Study.from_samples(samples, regime="strong", name="job")


def failing_share(
    trials: int, noise: Noise, workers: tuple[int, ...], losses: dict[int, float], seed: int, n: int = REPEATS
) -> float:
    rng = np.random.default_rng(seed)
    failed = 0
    for _ in range(trials):
        old = draw(rng, noise, workers, {}, n)
        gate = check(draw(rng, noise, workers, losses, n), against=old)
        failed += any(not row.passed and (not losses or row.k in losses) for row in gate.regressions)
    return failed / trials


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    trials = parser.parse_args().trials
    for workers in ((1, 2, 4, 8), (1, 2, 4, 8, 16, 32, 64)):
        for name, noise in NOISES.items():
            for n in (3, 5, 10):
                rate = failing_share(trials, noise, workers, {}, 1, n)
                print(f"K to {workers[-1]:2}, {name:16} n = {n:2}: identical code fails {rate:.4f}")
        for k in (1, workers[-1]):
            caught = failing_share(trials, normal, workers, {k: 0.1}, 2)
            print(f"K to {workers[-1]:2}, 5 % normal, n = 10: a 10 % loss at K = {k} is caught {caught:.3f}")


if __name__ == "__main__":
    main()
