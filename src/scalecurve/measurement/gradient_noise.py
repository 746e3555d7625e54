"""The gradient noise scale of the user's own training, from two batch sizes at once.

McCandlish et al. 2018 (arXiv:1812.06162), appendix A.1: with gradients of a small batch b and a big batch B,

    |G|^2  = (B |G_B|^2 - b |G_b|^2) / (B - b)
    tr(S)  = (|G_b|^2 - |G_B|^2) / (1/b - 1/B)
    B_simple = tr(S) / |G|^2

Both parts are averaged over steps before they are divided, because the ratio of single steps is biased.
A data-parallel job has both batches for nothing: each worker's gradient before the all-reduce and the mean after it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError, Refused
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info
from scalecurve.study import Run

SERIES = ("gradient_small_norm2", "gradient_big_norm2", "gradient_small_batch", "gradient_big_batch")
FEWEST_STEPS = 5
_Z95 = 1.959963984540054


def noise_scale(
    small_norm2: Sequence[float], big_norm2: Sequence[float], *, small_batch: float, big_batch: float
) -> Estimate:
    """B_simple with a 95 % jackknife interval; refused when the gradient drowns in noise."""
    if not 0 < small_batch < big_batch:
        raise InputError(Fault("two different batch sizes are needed", seen=f"{small_batch:g} and {big_batch:g}"))
    if len(small_norm2) != len(big_norm2) or len(small_norm2) < FEWEST_STEPS:
        raise Refused(f"the noise scale needs at least {FEWEST_STEPS} steps with both norms, not {len(small_norm2)}")
    small, big = np.asarray(small_norm2, dtype=np.float64), np.asarray(big_norm2, dtype=np.float64)
    signal = (big_batch * big - small_batch * small) / (big_batch - small_batch)
    noise = (small - big) / (1 / small_batch - 1 / big_batch)
    if signal.mean() <= 0 or noise.mean() <= 0:
        raise Refused("the gradient is lost in its noise; use more steps or a larger big batch")
    return _ratio_with_interval(noise, signal)


def _ratio_with_interval(noise: npt.NDArray[np.float64], signal: npt.NDArray[np.float64]) -> Estimate:
    """Delete-one jackknife on the logarithm of the ratio of means."""
    n = len(noise)
    value = float(noise.mean() / signal.mean())
    left_noise, left_signal = (noise.sum() - noise) / (n - 1), (signal.sum() - signal) / (n - 1)
    if (left_noise <= 0).any() or (left_signal <= 0).any():
        return Estimate(value, method="two batches, ratio of means; too noisy for an interval")
    logs = np.log(left_noise / left_signal)
    error = math.sqrt((n - 1) / n * float(((logs - logs.mean()) ** 2).sum()))
    low, high = value * math.exp(-_Z95 * error), value * math.exp(_Z95 * error)
    return Estimate(value, low, high, 0.95, "two batches, ratio of means, jackknife")


def noise_scale_findings(runs: Sequence[Run]) -> list[Finding]:
    """The noise scale of the runs that reported it, all steps together."""
    reported = [run.observed["series"] for run in runs if set(SERIES) <= set(run.observed.get("series", {}))]
    two_batches = [series for series in reported if series[SERIES[2]][0] < series[SERIES[3]][0]]
    if not two_batches:
        return []
    first = two_batches[0]
    alike = [series for series in two_batches if series[SERIES[2]][0] == first[SERIES[2]][0]
             and series[SERIES[3]][0] == first[SERIES[3]][0]]  # fmt: skip
    small, big = ([value for series in alike for value in series[name]] for name in SERIES[:2])
    try:
        found = noise_scale(small, big, small_batch=first[SERIES[2]][0], big_batch=first[SERIES[3]][0])
    except Refused as problem:
        return [info("gradient-noise-unknown", str(problem))]
    between = f" (95 %: {found.low:.3g} to {found.high:.3g})" if found.low is not None else ""
    return [
        info(
            "gradient-noise-scale",
            f"the gradient noise scale is about {found.value:.3g} samples{between}: batches far above it save no steps",
            remedy="give it to `scalecurve plan --critical-batch`",
            **found.to_dict(),
        )
    ]
