"""Percentiles of 100 million latencies against sorting them: how much faster, how far off, how much memory.

python bench/latency.py [samples]
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from scalecurve.mechanisms.latencies import percentiles
from scalecurve.study.latency_record import Histogram

SHARES = (0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)


def main(count: int = 100_000_000) -> None:
    samples = np.random.default_rng(1).lognormal(-5.0, 1.0, count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ours, found = min(
        (_timed(lambda: percentiles(Histogram.of(samples), SHARES)) for _ in range(3)), key=lambda r: r[0]
    )
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    sorting, ordered = min((_timed(lambda: np.sort(samples)) for _ in range(2)), key=lambda r: r[0])
    worst = 0.0
    for each in found:
        exact = ordered[int(np.ceil(each.share * count - 1e-9)) - 1]
        worst = max(worst, abs(each.estimate.value / exact - 1))
    print(f"numpy {np.__version__}, {count:,} samples")
    print(f"sort {sorting:.2f} s, summary {ours:.2f} s: {sorting / ours:.1f}x faster (CPU time, best of runs)")
    print(f"largest error of {len(found)} percentiles {worst:.4%}; memory grew by {grown:.0f} MB")


def _timed(work):
    """CPU seconds: the machine may be shared, and neither side uses a second thread."""
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
