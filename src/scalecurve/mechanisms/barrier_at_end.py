"""One barrier after many steps: the slowest of K *means of n steps*, by the normal limit only where it holds.

The mean of n draws tends to a normal of spread cv/sqrt(n), but the slowest of K lives in its tail, where the limit is
reached last.  With z = E[max of K standard normals], skewness g and excess kurtosis h of one step, the next two terms
of the Cornish-Fisher expansion change the excess over the mean by the shares

    g (z^2 - 1) / (6 z sqrt(n))      and      h (z^2 - 3) / (24 n)

(M. G. Kendall and A. Stuart, The Advanced Theory of Statistics I, section 6.25).  Where both are small the limit is
used; elsewhere M means of n draws are simulated and E[max of K] is their unbiased L-statistic, the mean over all
subsets of K: sum_i x_(i) C(i-1, K-1) / C(M, K).  Its interval comes from the influence function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from scalecurve.estimate import Estimate, exact
from scalecurve.findings import Finding, info, warning
from scalecurve.laws.stragglers import normal_maximum

if TYPE_CHECKING:
    from scalecurve.mechanisms.straggler_cost import Delays

Floats = npt.NDArray[np.float64]

DRAWS = 20_000_000  # numbers drawn at most, for all K together
BLOCK = 1_000_000  # numbers held at a time
MEANS = 400_000  # means kept at most
MEANS_PER_WORKER = 20  # simulated means a maximum of K needs per worker
SMALL = 0.05  # of the excess over the mean: the error of the limit that is let pass
LEVEL = 0.95


def costs_at_end(
    delays: Delays, workers: Sequence[int], slowest: Sequence[float], steps: int, rng: np.random.Generator
) -> list[Estimate | None]:
    """E[max of K means of `steps` steps] in means of a step, for each K; None where no way here tells it.

    `slowest` is E[max of K] of single steps, which is the answer itself when there is one step.
    """
    if steps == 1:
        return [exact(value) for value in slowest]
    needs_draws = [k > 1 and not limit_holds(delays, k, steps) for k in workers]
    means = _means(delays, steps, rng) if any(needs_draws) else np.empty(0)
    return [
        _simulated(delays, means, k) if drawn else _limit(delays, k, steps)
        for k, drawn in zip(workers, needs_draws, strict=True)
    ]


def limit_holds(delays: Delays, k: int, steps: int) -> bool:
    """Whether the mean of `steps` steps is normal enough as far out as the slowest of K."""
    if delays.deviation is None or delays.skewness is None or delays.kurtosis is None:
        return False
    z = normal_maximum(k, 1.0) - 1.0
    skewed = abs(delays.skewness) * abs(z * z - 1) / (6 * z * math.sqrt(steps))
    heavy = abs(delays.kurtosis) * max(abs(z * z - 3), 1.0) / (24 * steps)
    return skewed <= SMALL and heavy <= SMALL


def _limit(delays: Delays, k: int, steps: int) -> Estimate:
    if k == 1 or delays.deviation is None:
        return exact(1.0)
    return Estimate(normal_maximum(k, delays.deviation / delays.mean / math.sqrt(steps)), method="normal limit")


def _means(delays: Delays, steps: int, rng: np.random.Generator) -> Floats:
    """Sorted means of `steps` draws each, in means of a step; none when even a few would be too many draws."""
    count = min(MEANS, DRAWS // steps)
    if count < 2 * MEANS_PER_WORKER:
        return np.empty(0)
    rows = max(1, BLOCK // steps)
    parts = [
        delays.draw(rng, (min(rows, count - start), steps)).mean(axis=1) / delays.mean
        for start in range(0, count, rows)
    ]
    return np.sort(np.concatenate(parts))


def _simulated(delays: Delays, means: Floats, k: int) -> Estimate | None:
    if len(means) < k * MEANS_PER_WORKER:
        return None
    value = float(means @ _weights(len(means), k))
    method = f"simulation, {len(means):,} means"
    if delays.deviation is None:  # the interval would rest on a variance that does not exist
        return Estimate(value, method=method)
    margin = 1.96 * _standard_error(means, k)
    return Estimate(value, value - margin, value + margin, LEVEL, method)


def _weights(count: int, k: int) -> Floats:
    """C(i-1, K-1) / C(M, K) for i = 1..M, from the largest down by their ratios (i-K)/(i-1)."""
    i = np.arange(k + 1, count + 1, dtype=np.float64)
    logs = np.log((i - k) / (i - 1))
    weights = np.zeros(count)
    weights[k - 1 :] = k / count * np.exp(np.append(np.cumsum(logs[::-1])[::-1], 0.0))
    return weights


def _standard_error(means: Floats, k: int) -> float:
    """From the influence of each mean, minus the integral of K F^(K-1) above it, up to a constant."""
    below = np.arange(1, len(means)) / len(means)
    density = k * below ** (k - 1) * np.diff(means)
    influence = np.append(np.cumsum(density[::-1])[::-1], 0.0)
    return float(influence.std() / math.sqrt(len(means)))


def findings_at_end(delays: Delays, workers: Sequence[int], ends: Sequence[Estimate | None]) -> list[Finding]:
    """Which K were simulated, which have no interval, and which have no answer."""
    found = []
    drawn = [k for k, end in zip(workers, ends, strict=True) if end is not None and end.method.startswith("simulation")]
    if drawn:
        why = "has no variance" if delays.deviation is None else "is too skewed for the normal limit"
        text = f"a step {why}, so the barrier at the end was simulated at K = {', '.join(map(str, drawn))}"
        found.append(info("end-simulated", text))
    if drawn and delays.deviation is None:
        text = "the simulated barrier at the end has no interval and tends to be too low: the variance is infinite"
        found.append(warning("end-without-interval", text, remedy="state a distribution with a finite variance"))
    lost = [k for k, end in zip(workers, ends, strict=True) if end is None]
    if lost:
        text = f"the barrier at the end is not told at K = {', '.join(map(str, lost))}: too many draws would be needed"
        found.append(warning("end-unknown", text, remedy="fewer steps or workers, or a distribution less skewed"))
    return found
