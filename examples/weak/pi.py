"""Monte Carlo pi with K processes, each with the same number of samples: weak scaling."""

import argparse
import random
from multiprocessing import Pool

from scalecurve import probe


def hits(task: tuple[int, int]) -> int:
    seed, samples = task
    rng = random.Random(seed)
    return sum(rng.random() ** 2 + rng.random() ** 2 < 1.0 for _ in range(samples))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--samples", type=int, required=True)
    options = parser.parse_args()
    with Pool(options.workers) as pool:
        for _ in probe.steps(range(1), work=lambda _: options.workers * options.samples):
            total = sum(pool.map(hits, [(seed, options.samples) for seed in range(options.workers)]))
    print(4 * total / (options.workers * options.samples))
