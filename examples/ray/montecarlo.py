"""Pi by throwing darts, as a function that K workers call: each throws its share, round by round."""

from __future__ import annotations

import numpy as np

from scalecurve import probe


def darts(rank: int, size: int, total: str, rounds: str) -> float:
    """`total` darts per round are shared by all workers; returns this worker's estimate of pi."""
    share = int(total) * (rank + 1) // size - int(total) * rank // size
    random = np.random.default_rng(rank)
    hits = 0
    for _ in probe.steps(range(int(rounds)), work=share):
        with probe.phase("compute"):
            points = random.random((2, share))
            hits += int(np.count_nonzero(points[0] ** 2 + points[1] ** 2 < 1.0))
    return 4.0 * hits / (share * int(rounds))
