"""Medians with intervals from order statistics: exact for any noise, and blind to rare slow runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scalecurve.analysis.curve import Curve
from scalecurve.estimate import Estimate
from scalecurve.study.samples import FloatArray

ORDER_STATISTICS = "order statistics of the median"
WIDER = 1.2533  # sqrt(pi/2): the error of a median against that of a mean, for normal noise


def median_of(values: FloatArray, level: float) -> Estimate:
    """The median; its interval holds at least at `level`, and is None with fewer values than that needs (6 at 95 %)."""
    from scipy.stats import binom

    ranked = np.sort(values)
    count, middle = len(ranked), float(np.median(ranked))
    place = int(binom.ppf((1 - level) / 2, count, 0.5))  # the first rank whose tail is above the share
    while place > 0 and binom.cdf(place - 1, count, 0.5) > (1 - level) / 2:
        place -= 1
    if place < 1:
        return Estimate(middle, method="too few values for an interval of the median")
    return Estimate(middle, float(ranked[place - 1]), float(ranked[count - place]), level, ORDER_STATISTICS)


def ratio_of(first: FloatArray, last: FloatArray, value: float, level: float) -> Estimate:
    """`value` with the interval of median(first)/median(last): both intervals hold together at `level`."""
    each = 1 - (1 - level) / 2
    top, bottom = median_of(first, each), median_of(last, each)
    if top.low is None or top.high is None or bottom.low is None or bottom.high is None:
        return Estimate(value, method="too few values for an interval of the median")
    scale = value / (top.value / bottom.value)
    return Estimate(value, scale * top.low / bottom.high, scale * top.high / bottom.low, level, ORDER_STATISTICS)


def median_curve(curve: Curve, samples: dict[int, FloatArray]) -> Curve:
    """The curve of the medians, its spreads widened as those of medians are."""
    medians = np.array([np.median(samples[int(k)]) for k in curve.k])
    return replace(curve, mean=medians, std=curve.std * WIDER * medians / curve.mean)
