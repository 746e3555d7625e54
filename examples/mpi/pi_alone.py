"""The same integral without MPI, in blocks that fit into the cache: the fastest single process we know of."""

from __future__ import annotations

import argparse

import numpy as np

from scalecurve import probe

BLOCK = 16_384


def integral(intervals: int) -> float:
    total = 0.0
    for first in range(0, intervals, BLOCK):
        middles = np.arange(first, min(first + BLOCK, intervals), dtype=np.float64)
        middles += 0.5
        middles /= intervals
        middles *= middles
        middles += 1.0
        np.divide(4.0, middles, out=middles)
        total += float(middles.sum())
    return total / intervals


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--intervals", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    for _ in probe.steps(range(given.rounds), work=given.intervals):
        pi = integral(given.intervals)
    probe.digest(round(pi, 9))


if __name__ == "__main__":
    main()
