"""A study as one curve over K: the only conversion from measured values to time and efficiency.

A value V(K) becomes T(K), the time of the work that the regime holds fixed: the whole job under strong scaling, the
share of one worker under weak scaling.

    seconds                 T = V
    throughput              T = 1/V    (strong)        T = K/V  (weak)
    throughput per worker   T = 1/(KV) (strong)        T = 1/V  (weak)

so T = V or T = K^p / V, and the same formula turns T back into V.  With baseline K0 (1 unless stated or not measured)

    E(K) = K0 T(K0) / (K T(K))  (strong)       E(K) = T(K0) / T(K)  (weak)       S(K) = K E(K).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from scalecurve.estimate import Estimate
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.samples import COUNTABLE_K, FloatArray, IntArray, Samples

Number = TypeVar("Number", float, FloatArray)

WELCH_LOG = "Welch's t on the logarithm of the ratio of means"
LARGEST_LOG = 300.0  # an interval this wide says nothing; a wider one would overflow


@dataclass(frozen=True)
class Conversion:
    """Between a study's values and the time T of the work that its regime holds fixed."""

    quantity: Quantity
    regime: Regime

    @property
    def power(self) -> float:
        """The p in T = K^p / V of a rate."""
        per_worker = self.quantity is Quantity.THROUGHPUT_PER_WORKER
        return float((self.regime is Regime.WEAK) - per_worker)

    @property
    def shared(self) -> float:
        """1 where workers share the work, so that the ideal T is proportional to 1/K; 0 under weak scaling."""
        return 1.0 if self.regime is Regime.STRONG else 0.0

    def time(self, k: Number, value: Number) -> Number:
        """T from a value, in seconds for a time and in seconds per unit of work for a rate."""
        return value if self.quantity is Quantity.SECONDS else k**self.power / value

    def value(self, k: Number, time: Number) -> Number:
        """The value in the study's quantity from T: the same formula."""
        return self.time(k, time)

    def log_cost(self, k: Number, log_time: Number) -> Number:
        """The log of 1/E up to the baseline's constant: log T, plus log K where workers share the work."""
        cost: Number = log_time + self.shared * np.log(k)
        return cost


def conversion_of(study: Study) -> Conversion:
    """The conversion of a study's values."""
    return Conversion(study.quantity, study.regime)


@dataclass(frozen=True, eq=False)
class Curve:
    """Runs, means and standard deviations (n - 1) in the study's quantity at each distinct K, rising.

    `std` is NaN where n = 1; `base` is the position of the baseline K0.
    """

    conversion: Conversion
    base: int
    k: IntArray
    n: IntArray
    mean: FloatArray
    std: FloatArray

    @cached_property
    def log_se(self) -> FloatArray:
        """Standard error of the logarithm of each mean, by the delta method: std/(mean sqrt(n))."""
        error: FloatArray = self.std / (self.mean * np.sqrt(self.n))
        return error

    @cached_property
    def degrees(self) -> FloatArray:
        """Degrees of freedom n - 1 of each mean."""
        return (self.n - 1).astype(np.float64)

    @cached_property
    def time(self) -> FloatArray:
        """T of each mean."""
        return self.conversion.time(self.k.astype(np.float64), self.mean)

    @cached_property
    def efficiency(self) -> FloatArray:
        """E(K), exactly 1 at the baseline."""
        cost = self.k**self.conversion.shared * self.time
        relative: FloatArray = cost[self.base] / cost
        return relative

    def index(self, k: int) -> int:
        """The position of K."""
        return int(np.searchsorted(self.k, k))


def curve_of(study: Study) -> Curve:
    """The means of a study's samples at each K, with the n and the spread that a summary states of them."""
    curve = curve_of_samples(study.samples, conversion_of(study), study.baseline_k)
    if not study.summary:
        return curve
    n, std = curve.n.copy(), curve.std.copy()
    for item in study.summary:
        if item.n is not None and item.n > 1 and item.std is not None:
            i = curve.index(item.k)
            n[i], std[i] = item.n, item.std
    return replace(curve, n=n, std=std)


def curve_of_samples(samples: Samples, conversion: Conversion, baseline_k: int) -> Curve:
    """Counts, means and standard deviations of each K, in two passes so that small spreads survive."""
    distinct = samples.distinct_k
    if int(distinct[-1]) > COUNTABLE_K:
        place = np.searchsorted(distinct, samples.k)
    else:
        position = np.zeros(int(distinct[-1]) + 1, dtype=np.intp)
        position[distinct] = np.arange(len(distinct))
        place = position[samples.k]
    n = np.bincount(place)
    mean = np.bincount(place, weights=samples.values) / n
    deviation = mean[place]
    np.subtract(samples.values, deviation, out=deviation)  # in place: ten million samples should stay small
    mean = mean + np.bincount(place, weights=deviation) / n  # so that the mean of equal values is that value
    np.multiply(deviation, deviation, out=deviation)
    squares = np.bincount(place, weights=deviation)
    with np.errstate(divide="ignore", invalid="ignore"):
        std = np.sqrt(np.where(n > 1, squares / (n - 1), np.nan))
    return Curve(conversion, int(np.searchsorted(distinct, baseline_k)), distinct, n.astype(np.int64), mean, std)


def times_by_k(study: Study) -> dict[int, FloatArray]:
    """T of every sample, by K rising."""
    conversion = conversion_of(study)
    return {k: conversion.time(np.asarray(float(k)), values) for k, values in study.samples.by_k().items()}


@dataclass(frozen=True)
class LogRatio:
    """The logarithm of a product of means and inverse means, with its variance and degrees of freedom.

    The variance of a log mean is (std/mean)^2/n by the delta method; Welch and Satterthwaite give the degrees of
    freedom of the sum.  The interval ratio * exp(+- t(level) sqrt(variance)) is always bounded and positive and covers
    94-97 % at a nominal 95 % for n = 3 to 10 (bench/coverage.py), where the percentile bootstrap covers 78-91 %.
    Sources: B. L. Welch, Biometrika 34, 1947; F. E. Satterthwaite, Biometrics Bulletin 2, 1946.
    """

    value: float
    variance: float
    degrees: float
    method: str = WELCH_LOG

    @property
    def error(self) -> float:
        """The standard error of the logarithm."""
        return math.sqrt(self.variance)

    def around(self, ratio: float, level: float) -> Estimate:
        """A ratio with this relative uncertainty; no interval where a mean has a single sample."""
        if self.degrees < 1:
            return Estimate(ratio, method="single sample")
        from scipy.special import stdtrit

        factor = math.exp(min(LARGEST_LOG, float(stdtrit(self.degrees, 0.5 + level / 2.0)) * self.error))
        return Estimate(ratio, ratio / factor, ratio * factor, level, self.method)

    def estimate(self, level: float) -> Estimate:
        """The ratio with its interval."""
        return self.around(math.exp(self.value), level)


def log_ratio(*ends: tuple[Curve, int, float]) -> LogRatio:
    """The log ratio of several means, each given as (curve, K, power +1 or -1)."""
    value = variance = fourth = 0.0
    least = math.inf
    for curve, k, power in ends:
        i = curve.index(k)
        square, degrees = float(curve.log_se[i]) ** 2, float(curve.degrees[i])
        least = min(least, degrees)
        value += power * math.log(float(curve.mean[i]))
        variance += square
        fourth += square**2 / degrees if degrees >= 1 else 0.0
    if least < 1:
        return LogRatio(value, math.nan, 0.0)
    return LogRatio(value, variance, variance**2 / fourth if fourth > 0 else least)
