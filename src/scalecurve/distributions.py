"""The normal, Student's and binomial distributions, under scipy.special's names and for arrays as there.

Loading scipy.special takes a third of a second, more than a table needs in all (docs/decisions/0122); where it is
loaded already, or the array is large, it answers, being faster.  Tests compare both.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import lru_cache, wraps
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MANY = 1e5  # degrees of freedom from which Student's t is the normal with a small correction
TERMS = 400  # of the continued fraction, which needs fewer than 200 below MANY
TINY = 1e-300
STANDARD = NormalDist()
LARGE = 512  # elements from which loading scipy pays


def unless_scipy(function: Callable[..., Floats]) -> Callable[..., Floats]:
    """The function, or scipy's of the same name where that is loaded or the arrays are large."""

    @wraps(function)
    def chosen(*values: ArrayLike) -> Floats:
        if "scipy.special" not in sys.modules and max(np.size(value) for value in values) < LARGE:
            return function(*values)
        from scipy import special

        return np.asarray(getattr(special, function.__name__)(*values))

    return chosen


@unless_scipy
def ndtr(x: ArrayLike) -> Floats:
    """The chance that a standard normal variable is below x."""
    return np.asarray(np.frompyfunc(_normal, 1, 1)(np.asarray(x, float)), float)


@unless_scipy
def ndtri(p: ArrayLike) -> Floats:
    """The value that a standard normal variable stays below with chance p."""
    return np.asarray(np.frompyfunc(_normal_quantile, 1, 1)(np.asarray(p, float)), float)


@unless_scipy
def stdtr(degrees: ArrayLike, t: ArrayLike) -> Floats:
    """The chance that Student's t with these degrees of freedom is below t."""
    return np.asarray(np.frompyfunc(_student, 2, 1)(np.asarray(degrees, float), np.asarray(t, float)), float)


@unless_scipy
def stdtrit(degrees: ArrayLike, p: ArrayLike) -> Floats:
    """The value that Student's t with these degrees of freedom stays below with chance p."""
    return np.asarray(np.frompyfunc(_student_quantile, 2, 1)(np.asarray(degrees, float), np.asarray(p, float)), float)


@unless_scipy
def bdtr(successes: ArrayLike, trials: ArrayLike, p: ArrayLike) -> Floats:
    """The chance of at most this many successes in so many trials of chance p."""
    arrays = (np.asarray(value, float) for value in (successes, trials, p))
    return np.asarray(np.frompyfunc(_binomial, 3, 1)(*arrays), float)


@unless_scipy
def fdtrc(over: ArrayLike, under: ArrayLike, x: ArrayLike) -> Floats:
    """The chance that a ratio of two variances with these degrees of freedom is above x."""
    arrays = (np.asarray(value, float) for value in (over, under, x))
    return np.asarray(np.frompyfunc(_variances, 3, 1)(*arrays), float)


def _normal(x: float) -> float:
    return 0.5 * math.erfc(-x * math.sqrt(0.5))


def _normal_quantile(p: float) -> float:
    if 0 < p < 1:
        return STANDARD.inv_cdf(p)
    return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)


def _student(degrees: float, t: float) -> float:
    if math.isnan(t) or not degrees > 0:
        return math.nan
    if math.isinf(t):
        return float(t > 0)
    if degrees > MANY:  # Cornish and Fisher, inverted; off by less than 1e-10
        return _normal(t * (1 - 1 / (4 * degrees)) / math.sqrt(1 + t * t / (2 * degrees)))
    tail = 0.5 * _beta(degrees / 2, 0.5, degrees / (degrees + t * t))
    return tail if t < 0 else 1 - tail


@lru_cache(4096)
def _student_quantile(degrees: float, p: float) -> float:
    """By halving between powers of two, on the side where the tail is small."""
    if not (0 < p < 1 and degrees > 0):
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    if degrees > MANY:
        z = _normal_quantile(p)
        return z + (z**3 + z) / (4 * degrees)
    tail, high = min(p, 1 - p), 2.0
    while _student(degrees, -high) > tail:
        high *= 2
    low = high / 2 if high > 2 else 0.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _student(degrees, -middle) > tail else (low, middle)
    return 0.0 if p == 0.5 else math.copysign(high, p - 0.5)


def _binomial(successes: float, trials: float, p: float) -> float:
    successes = math.floor(successes)
    if successes < 0 or successes >= trials:
        return float(successes >= trials)
    return _beta(trials - successes, successes + 1, 1 - p)


def _variances(over: float, under: float, x: float) -> float:
    return _beta(under / 2, over / 2, under / (under + over * max(x, 0.0)))


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz's method)."""
    if not 0 < x < 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1 - _beta(b, a, 1 - x)
    front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or TINY)
    value = d
    for m in range(1, TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / (1 + term * d or TINY), 1 + term / c or TINY
            value *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return math.exp(front) / a * value
