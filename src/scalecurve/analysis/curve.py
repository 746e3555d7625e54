"""A study as one curve over K: the only conversion of measured values to time and efficiency; means, medians, the bend.

A value V(K) becomes T(K), the time of the work that the regime holds fixed: the whole job under strong scaling, the
share of one worker under weak scaling.

    seconds                 T = V
    throughput              T = 1/V    (strong)        T = K/V  (weak)
    throughput per worker   T = 1/(KV) (strong)        T = 1/V  (weak)

so T = V or T = K^p / V, and the same formula turns T back into V.  With baseline K0 (1 unless stated or not measured)

    E(K) = K0 T(K0) / (K T(K))  (strong)       E(K) = T(K0) / T(K)  (weak)       S(K) = K E(K).

Intervals of medians are from order statistics: exact for any noise, and blind to rare slow runs.

There is no single bend: on the same curve the rules below answer from K = 10 to K = 226, so the rule is printed with
the number.  Kneedle is not offered: its answer moves with the measured range.

  efficiency  the first K with E below the threshold
  marginal    the first K whose last step gained less than `threshold` speedup per added worker
  knee        the K with the largest S*E = S^2/K, where d ln S / d ln K passes 1/2
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from scalecurve.analysis.sessions import fit_sessions
from scalecurve.errors import Fault, InputError
from scalecurve.estimate import Estimate
from scalecurve.findings import info
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.run import COUNTABLE_K, FloatArray, IntArray, Samples

Number = TypeVar("Number", float, FloatArray)
IndexArray = npt.NDArray[np.int64]

WELCH_LOG = "Welch's t on the logarithm of the ratio of means"
ORDER_STATISTICS = "order statistics of the median"
WIDER = 1.2533  # sqrt(pi/2): the error of a median against that of a mean, for normal noise
MOST_STAND_INS = 1000  # values that stand for the runs behind one stated mean
LARGEST_LOG = 300.0  # an interval this wide says nothing; a wider one would overflow
DRAWS = 20_000
FEWEST_DRAWS, MOST_DRAWN = 500, 4_000_000  # of curves, and of points on all of them: 32 MB an array
MOST_K = 200
FEWEST_ON_LINE, MOST_ON_LINE = 4, 64  # worker counts beside the baseline whose E may lie on one line
BESIDE_LINE = 3.0
NEIGHBOUR_CHANCE = 0.05
NOT_REACHED = -1
RULES = ("efficiency", "marginal", "knee")


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

    `std` is NaN where n = 1; `base` is the position of the baseline K0; `pooled_degrees` are those of a spread that
    several K share.  `covariance` is that of the logarithms of the means where they come from several sessions.
    """

    conversion: Conversion
    base: int
    k: IntArray
    n: IntArray
    mean: FloatArray
    std: FloatArray
    pooled_degrees: FloatArray | None = None
    covariance: FloatArray | None = None

    @cached_property
    def log_se(self) -> FloatArray:
        """Standard error of the logarithm of each mean, by the delta method: std/(mean sqrt(n))."""
        if self.covariance is not None:
            return np.sqrt(np.diag(self.covariance))
        error: FloatArray = self.std / (self.mean * np.sqrt(self.n))
        return error

    @cached_property
    def degrees(self) -> FloatArray:
        """Degrees of freedom of each spread: n - 1, or those of all K that share it."""
        return (self.n - 1).astype(np.float64) if self.pooled_degrees is None else self.pooled_degrees

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
    fit = fit_sessions(study)
    if fit is not None:
        return replace(curve, mean=np.exp(fit.log_mean), covariance=fit.covariance)
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


def samples_of(study: Study) -> Samples:
    """The samples; where a summary states n and a deviation, n values (normal scores) with its mean and deviation.

    Methods that use the number, the mean and the spread of the runs then give what the runs would have given.
    """
    summaries = {item.k: item for item in study.summary if item.n is not None and item.n > 1 and item.std is not None}
    if not summaries:
        return study.samples
    from scalecurve.distributions import ndtri

    k, values = [], []
    for workers, value in zip(study.samples.k.tolist(), study.samples.values.tolist(), strict=True):
        item = summaries.get(workers)
        n = 1 if item is None or item.n is None else min(item.n, MOST_STAND_INS)
        runs = np.array([value])
        if item is not None and item.n is not None and item.std is not None:
            scores = ndtri((np.arange(n) + 0.5) / n)
            deviation = item.std * math.sqrt(n / item.n) / value  # the error of the mean stays that of all runs
            runs = value * (1 + deviation * scores / float(scores.std(ddof=1)))
            if runs[0] <= 0:
                runs = np.exp(math.sqrt(math.log1p(deviation**2)) * scores)
                runs *= value / float(runs.mean())
        k += [workers] * len(runs)
        values += runs.tolist()
    return Samples.of(k, values)


def times_by_k(study: Study) -> dict[int, FloatArray]:
    """T of every sample, by K rising."""
    conversion = conversion_of(study)
    return {k: conversion.time(np.asarray(float(k)), values) for k, values in samples_of(study).by_k().items()}


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
        from scalecurve.distributions import stdtrit

        factor = math.exp(min(LARGEST_LOG, float(stdtrit(self.degrees, 0.5 + level / 2.0)) * self.error))
        return Estimate(ratio, ratio / factor, ratio * factor, level, self.method)

    def shifted(self, session: float) -> LogRatio:
        """The same ratio of two sessions, each of which shifts by `session`, a standard deviation that is known."""
        if session == 0 or self.degrees < 1:
            return self
        variance = self.variance + 2 * session**2
        return replace(self, variance=variance, degrees=self.degrees * (variance / max(self.variance, 1e-300)) ** 2)

    def estimate(self, level: float) -> Estimate:
        """The ratio with its interval."""
        return self.around(math.exp(self.value), level)


def log_ratio(*ends: tuple[Curve, int, float]) -> LogRatio:
    """The log ratio of several means, each given as (curve, K, power +1 or -1)."""
    value = variance = fourth = 0.0
    least, merged = math.inf, False
    for curve, k, power in ends:
        i = curve.index(k)
        square, degrees = float(curve.log_se[i]) ** 2, float(curve.degrees[i])
        least = min(least, degrees)
        value += power * math.log(float(curve.mean[i]))
        variance += square
        fourth += square**2 / max(1.0, degrees)  # with less than one there is no interval
        if curve.covariance is not None:  # what the means of one session share
            merged = True
            others = ((other, sign) for own, other, sign in ends if own is curve and other != k)
            variance += sum(power * sign * float(curve.covariance[i, curve.index(other)]) for other, sign in others)
    if least < 1:
        return LogRatio(value, math.nan, 0.0)
    return LogRatio(value, variance, variance**2 / fourth if fourth > 0 and not merged else least)


def median_of(values: FloatArray, level: float) -> Estimate:
    """The median; its interval holds at least at `level`, and is None with fewer values than that needs (6 at 95 %)."""
    from scalecurve.distributions import bdtr

    ranked = np.sort(values)
    count, middle = len(ranked), float(np.median(ranked))
    tails = bdtr(np.arange(count), count, 0.5)
    place = int(np.searchsorted(tails, (1 - level) / 2))  # the first rank whose tail is not below the share
    if place < 1:
        return Estimate(middle, method="too few values for an interval of the median")
    return Estimate(middle, float(ranked[place - 1]), float(ranked[count - place]), level, ORDER_STATISTICS)


def ratio_of(first: FloatArray, last: FloatArray, value: float, level: float) -> Estimate:
    """`value` with the interval of median(first)/median(last): both intervals hold together at `level`."""
    level_of_one = 1 - (1 - level) / 2
    top, bottom = median_of(first, level_of_one), median_of(last, level_of_one)
    if top.ends is None or bottom.ends is None:
        return Estimate(value, method="too few values for an interval of the median")
    scale, (low, high), (least, most) = value / (top.value / bottom.value), top.ends, bottom.ends
    return Estimate(value, scale * low / most, scale * high / least, level, ORDER_STATISTICS)


def median_curve(curve: Curve, samples: dict[int, FloatArray]) -> Curve:
    """The curve of the medians, its spreads widened as those of medians are."""
    medians = np.array([np.median(samples[int(k)]) for k in curve.k])
    return replace(curve, mean=medians, std=curve.std * WIDER * medians / curve.mean, covariance=None)


@dataclass(frozen=True)
class Bend:
    """The K where a rule says the curve bends.

    `probability` is the share of curves drawn from the measured means and spreads that bend at this K, None where a K
    has a single sample; `neighbours` are the other K with a chance of at least 5 %, and `beyond` is the chance that
    the curve does not bend within the measured range.
    """

    k: int
    rule: str
    threshold: float | None
    probability: float | None
    neighbours: tuple[tuple[int, float], ...] = ()
    beyond: float | None = None

    def to_dict(self) -> dict[str, Any]:
        neighbours = [{"k": k, "probability": chance} for k, chance in self.neighbours]
        return {**vars(self), "neighbours": neighbours}


def _bends(rule: str, k: IntArray, speedups: FloatArray, threshold: float) -> IndexArray:
    """The position of the bend of each row of speedups; -1 where the measured range does not reach it."""
    if rule == "knee":
        best = np.argmax(speedups**2 / k, axis=1)
        return np.where(best == len(k) - 1, NOT_REACHED, best)  # at the last K the curve may still be rising
    if rule == "marginal":
        hits = np.zeros(speedups.shape, dtype=bool)
        hits[:, 1:] = np.diff(speedups, axis=1) / np.diff(k) < threshold
    else:
        hits = speedups / k < threshold
    return np.where(hits.any(axis=1), hits.argmax(axis=1), NOT_REACHED)


def thinned(study: Study, most: int = MOST_K) -> Study:
    """The study with at most `most` worker counts, evenly spread over log K, and a finding that says so.

    Neighbours among thousands of K say the same of a curve's shape; fits over all of them take minutes and gigabytes.
    """
    every = study.distinct_k
    if len(every) <= most:
        return study
    spread = np.geomspace(every[0], every[-1], most)
    places = np.unique(np.abs(np.searchsorted(np.log(every), np.log(spread) - 1e-9)).clip(0, len(every) - 1))
    kept = {*every[places].tolist(), study.baseline_k}
    text = f"{len(every)} worker counts were measured; {len(kept)} of them, evenly spread over log K, are used"
    note = info("worker-counts-thinned", text, measured=len(every), used=len(kept))
    if study.bulk is None:
        chosen = replace(study, runs=tuple(run for run in study.runs if run.k in kept))
    else:
        used = np.isin(study.bulk.k, list(kept))
        summary = tuple(item for item in study.summary if item.k in kept)
        chosen = replace(study, bulk=Samples.of(study.bulk.k[used], study.bulk.values[used]), summary=summary)
    return chosen.with_findings([note])


def _log_errors(curve: Curve, count: int, rng: np.random.Generator) -> FloatArray:
    """What may be added to each log S: `count` curves that the data could have come from, with Student-t errors.

    Log E beyond the baseline is level, or a line over log K, as far as the means admit it; else each K is drawn by
    itself.  With errors of each K by itself, some K of a long flat curve nearly always lies below a threshold just
    below it.  All K share the error of the baseline.
    """
    error = np.nan_to_num(curve.log_se)
    own = rng.standard_t(curve.degrees, size=(count, len(curve.k))) * error
    errors: FloatArray = own - own[:, [curve.base]]
    others = np.flatnonzero(np.arange(len(curve.k)) != curve.base)
    if not FEWEST_ON_LINE <= len(others) <= MOST_ON_LINE or not np.all(error[others] > 0):
        return errors
    y, noise = np.log(curve.efficiency[others]), np.diag(error[others] ** 2) + error[curve.base] ** 2
    line = np.column_stack([np.ones(len(others)), np.log2(curve.k[others])])
    favours, fits = [0.0], []
    for shape in (line[:, :1], line):  # a level, a line
        scaled = np.linalg.solve(noise, shape)
        fitted = shape @ np.linalg.solve(shape.T @ scaled, scaled.T)
        off = y - fitted @ y
        misfit = float(off @ np.linalg.solve(noise, off))
        # Bayes factor against means that lie BESIDE_LINE of their errors beside it.
        favours.append(0.5 * ((len(others) - shape.shape[1]) * math.log1p(BESIDE_LINE**2) - misfit))
        fits.append((fitted, off))
    weights = np.exp(np.array(favours) - max(favours))
    chosen = rng.choice(len(weights), size=count, p=weights / weights.sum())
    for place, (fitted, off) in enumerate(fits, start=1):
        mine = np.ix_(np.flatnonzero(chosen == place), others)
        errors[mine] = errors[mine] @ fitted.T - off
    return errors


def find_bend(curve: Curve, rule: str, threshold: float, rng: np.random.Generator) -> tuple[Bend | None, float | None]:
    """The bend by a rule, None where the measured range does not reach it, and the probability that it does not."""
    if rule not in RULES:
        raise InputError(Fault("unknown rule for the bend", value=rule, remedy=f"use one of {', '.join(RULES)}"))
    speedup = curve.k * curve.efficiency
    place = int(_bends(rule, curve.k, speedup[np.newaxis, :], threshold)[0])
    limit = None if rule == "knee" else threshold
    if np.any(curve.degrees < 1):
        return None if place == NOT_REACHED else Bend(int(curve.k[place]), rule, limit, None), None
    count = min(DRAWS, max(FEWEST_DRAWS, MOST_DRAWN // len(curve.k)))
    draws = speedup * np.exp(np.clip(_log_errors(curve, count, rng), -LARGEST_LOG, LARGEST_LOG))
    bends = _bends(rule, curve.k, draws, threshold)
    beyond, *chances = (np.bincount(bends + 1, minlength=len(curve.k) + 1) / count).tolist()
    if place == NOT_REACHED:
        return None, beyond
    neighbours = tuple(
        (int(k), chance)
        for i, (k, chance) in enumerate(zip(curve.k, chances, strict=True))
        if i != place and chance >= NEIGHBOUR_CHANCE
    )
    return Bend(int(curve.k[place]), rule, limit, chances[place], neighbours, beyond), beyond
