"""Warm-up and drift, seen in the series of steps.

The warm-up is found by MSER (White 1997): drop the first d steps that make the standard error of the mean of the rest
least, d at most half of the series.  Drift of what is left is Theil-Sen's slope with the Mann-Kendall test of trend.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FEWEST_STEPS = 10
MOST_STEPS = 400
DRIFT_SHARE = 0.05
SIGNIFICANT_Z = 2.58  # two-sided 1 %


@dataclass(frozen=True)
class Steadiness:
    """`warmup` steps were found at the beginning; `drift` is the relative change over the rest, None if not shown."""

    warmup: int
    drift: float | None


def steadiness_of(steps: Sequence[float]) -> Steadiness | None:
    """What a series of steps says; None when it is too short to say anything."""
    series = np.asarray(steps, dtype=np.float64)
    if len(series) < FEWEST_STEPS:
        return None
    warmup = warmup_length(series)
    return Steadiness(warmup, drift_of(series[warmup:]))


def warmup_length(series: npt.NDArray[np.float64]) -> int:
    """MSER on the raw series, winsorised at the 95th percentile so that one hiccup late in the run is no warm-up."""
    n = len(series)
    calm = np.minimum(series, np.quantile(series, 0.95)) if n >= 20 else series
    reverse = calm[::-1]
    counts = np.arange(1, n + 1)
    means = np.cumsum(reverse) / counts
    variances = np.cumsum(reverse**2) / counts - means**2
    errors = (np.maximum(variances, 0.0) / counts)[::-1]  # errors[d]: squared standard error when d are dropped
    found = int(np.argmin(errors[: n // 2 + 1]))
    if found == n // 2:  # still falling at the limit: MSER has no answer; a trend is for `drift_of` to see
        return 0
    # A cut that hardly lowers the mean is noise, not warm-up.
    cut = float(np.mean(calm[found:]))
    return found if found and float(np.median(calm[:found])) > 1.05 * cut else 0


def drift_of(series: npt.NDArray[np.float64]) -> float | None:
    """Relative change from the first to the last step when a trend is significant and above 5 %; else None."""
    thinned = _thin(series)
    n = len(thinned)
    if n < FEWEST_STEPS:
        return None
    i, j = np.triu_indices(n, 1)
    differences = thinned[j] - thinned[i]
    score = float(np.sign(differences).sum())
    spread = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    change = float(np.median(differences / (j - i))) * (n - 1) / float(np.median(thinned))
    shown = abs(score) / spread > SIGNIFICANT_Z and abs(change) > DRIFT_SHARE
    return change if shown else None


def _thin(series: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Medians of equal groups, so that the test of all pairs stays small."""
    if len(series) <= MOST_STEPS:
        return series
    groups = np.array_split(series, MOST_STEPS)
    return np.asarray([np.median(group) for group in groups])
