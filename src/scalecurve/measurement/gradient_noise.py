"""The gradient noise scale of the user's own training, from two batch sizes at once.

McCandlish et al. 2018 (arXiv:1812.06162), appendix A.1: with gradients of a small batch b and a big batch B,

    |G|^2  = (B |G_B|^2 - b |G_b|^2) / (B - b)
    tr(S)  = (|G_b|^2 - |G_B|^2) / (1/b - 1/B)
    B_simple = tr(S) / |G|^2

Both parts are averaged over steps before they are divided, because the mean of ratios is biased.
A data-parallel job has both batches at no extra cost: each worker's gradient before the all-reduce, the mean after it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scalecurve.errors import Fault, InputError, Refused
from scalecurve.estimate import Estimate
from scalecurve.findings import Finding, info
from scalecurve.study import Run

SERIES = ("gradient_small_norm2", "gradient_big_norm2", "gradient_small_batch", "gradient_big_batch")
FEWEST_STEPS = 5
Z95 = 1.959963984540054


def noise_scale(
    small_norm2: Sequence[float], big_norm2: Sequence[float], *, small_batch: float, big_batch: float
) -> Estimate:
    """B_simple in samples with a 95 % interval, the delete-one jackknife on the logarithm of the ratio of means."""
    if not 0 < small_batch < big_batch:
        raise InputError(Fault("two different batch sizes are needed", value=f"{small_batch:g} and {big_batch:g}"))
    n = len(small_norm2)
    if n != len(big_norm2) or n < FEWEST_STEPS:
        raise Refused(f"the noise scale needs at least {FEWEST_STEPS} steps with both norms, not {n}")
    small, big = np.asarray(small_norm2, dtype=np.float64), np.asarray(big_norm2, dtype=np.float64)
    signal = (big_batch * big - small_batch * small) / (big_batch - small_batch)
    noise = (small - big) / (1 / small_batch - 1 / big_batch)
    if signal.mean() <= 0 or noise.mean() <= 0:
        raise Refused("the gradient is lost in its noise; use more steps or a larger big batch")
    value = float(noise.mean() / signal.mean())
    noise_without, signal_without = (noise.sum() - noise) / (n - 1), (signal.sum() - signal) / (n - 1)
    if (noise_without <= 0).any() or (signal_without <= 0).any():
        return Estimate(value, method="two batches, ratio of means; too noisy for an interval")
    logs = np.log(noise_without / signal_without)
    error = math.sqrt((n - 1) / n * float(((logs - logs.mean()) ** 2).sum()))
    low, high = value * math.exp(-Z95 * error), value * math.exp(Z95 * error)
    return Estimate(value, low, high, 0.95, "two batches, ratio of means, jackknife")


def noise_scale_findings(runs: Sequence[Run]) -> list[Finding]:
    """The noise scale of the runs that reported both norms, all steps of equal batch sizes together."""
    reported = [run.observed["series"] for run in runs if set(SERIES) <= set(run.observed.get("series", {}))]
    batches = [(series[SERIES[2]][0], series[SERIES[3]][0]) for series in reported]
    first = next(((small, big) for small, big in batches if small < big), None)
    if first is None:
        return []
    alike = [series for series, pair in zip(reported, batches, strict=True) if pair == first]
    small, big = ([value for series in alike for value in series[name]] for name in SERIES[:2])
    try:
        scale = noise_scale(small, big, small_batch=first[0], big_batch=first[1])
    except Refused as problem:
        return [info("gradient-noise-unknown", str(problem))]
    interval = f" (95 %: {scale.low:.3g} to {scale.high:.3g})" if scale.low is not None else ""
    text = f"The gradient noise scale is about {scale.value:.3g} samples{interval}: larger batches save few steps."
    remedy = "give it to `scalecurve plan --critical-batch`"
    return [info("gradient-noise-scale", text, remedy=remedy, **scale.to_dict())]
