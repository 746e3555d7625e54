"""Many measured curves in a few arrays, and what can be read off them without a law: slopes, noise and traits."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LN2 = math.log(2.0)
FORGETTING = 0.5  # weight of a point per doubling of distance from the largest measured K


DEVICE_RATE = re.compile(r"([kmgt]i?)?(b|bytes?)/s(ec)?|i?ops?(/s(ec)?)?( .*)?|(input|output|i/o).*/s", re.IGNORECASE)
LOAD_RATE = re.compile(r"tps|qps|rps|transact|request|quer|req/s|c/s|msg|message", re.IGNORECASE)
DEVICE, LOAD, OTHER_UNIT = 0, 1, 2
WORKER_WORDS = (
    ("thread", "core", "cpu"),
    ("client", "conn", "user", "session", "terminal"),
    ("gpu", "tpu", "accelerator", "chip"),
    ("node", "host", "machine", "server"),
    ("rank", "process", "task"),
)
WORKER_ORDER = (2, 1, 3, 4, 0)  # "ranks (GPUs, 4/node)" count GPUs, "cluster nodes" nodes
THREADS, OTHER_WORKER = 0, len(WORKER_WORDS)
CEILING = 0.5  # share of a forecast change believed of a device's rate: published ones end near their last value


@dataclass(frozen=True)
class Traits:
    """What a curve measures: class of its unit (a device's rate, a server's load, other), class of K, time or rate."""

    unit: int = OTHER_UNIT
    worker: int = OTHER_WORKER
    is_time: bool = True

    @classmethod
    @cache
    def of(cls, unit: str | None, k_unit: str, *, is_time: bool) -> Traits:
        """The traits that the names of the units tell."""
        kind = OTHER_UNIT
        if unit is not None and not is_time:
            kind = DEVICE if DEVICE_RATE.fullmatch(unit.strip()) else LOAD if LOAD_RATE.search(unit) else OTHER_UNIT
        word = k_unit.lower()
        matches = (i for i in WORKER_ORDER if any(part in word for part in WORKER_WORDS[i]))
        return cls(kind, next(matches, OTHER_WORKER), is_time)


@dataclass(frozen=True)
class LogCurve:
    """One curve: rising K, log performance (-log T, higher is better), the standard error of each point if known."""

    k: Array
    log_performance: Array
    error: Array | None = None
    traits: Traits = Traits()

    def part(self, chosen: slice) -> LogCurve:
        """The curve at some of its K."""
        error = None if self.error is None else self.error[chosen]
        return LogCurve(self.k[chosen], self.log_performance[chosen], error, self.traits)


@dataclass(frozen=True)
class Curves:
    """N curves aligned at their last point: column -1 is always the largest measured K.

    Shorter curves are padded on the left with their first K and a False mask.  `y` is log performance; `error` is its
    standard error, NaN where it was not measured; `traits` is N x 3 (unit, worker, is_time).
    """

    k: Array
    y: Array
    mask: Mask
    error: Array
    traits: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.k)

    @property
    def count(self) -> Array:
        """The number of points of each curve."""
        return np.asarray(self.mask.sum(axis=1), dtype=np.float64)

    @property
    def last(self) -> Array:
        """Log performance at the largest measured K, N x 1."""
        return np.asarray(self.y[:, -1:])

    @property
    def believed(self) -> Array:
        """The share of a forecast change that is believed: less than 1 where a shared device sets a ceiling."""
        return np.where(self.traits[:, 0] == DEVICE, CEILING, 1.0)

    def doublings(self, at: Array) -> Array:
        """log2 of the distance from the largest measured K."""
        return np.log2(at / self.k[:, -1:])

    def weights(self, forgetting: float = FORGETTING) -> Array:
        """Weights forgetting ** (doublings back from the end): the points nearest the forecast matter most."""
        back = np.log2(self.k[:, -1:] / self.k)
        return np.where(self.mask, forgetting**back, 0.0)

    def without_first(self) -> Array:
        """Equal weights with the smallest K left out: it is often a different program (one worker, one socket)."""
        weights = self.mask.astype(np.float64)
        weights[np.arange(len(self)), np.argmax(self.mask, axis=1)] = 0.0
        return weights

    def rows(self, chosen: Mask | npt.NDArray[np.intp] | slice) -> Curves:
        """Some of the curves."""
        return Curves(self.k[chosen], self.y[chosen], self.mask[chosen], self.error[chosen], self.traits[chosen])


def pack(curves: Sequence[LogCurve]) -> Curves:
    """Curves of any length in aligned arrays."""
    width = max(len(curve.k) for curve in curves)
    k, y = np.empty((len(curves), width)), np.empty((len(curves), width))
    mask = np.zeros((len(curves), width), dtype=bool)
    error = np.full((len(curves), width), np.nan)
    for i, curve in enumerate(curves):
        start = width - len(curve.k)
        k[i, :start], k[i, start:] = curve.k[0], curve.k
        y[i, :start], y[i, start:] = curve.log_performance[0], curve.log_performance
        mask[i, start:] = True
        if curve.error is not None:
            error[i, start:] = curve.error
    traits = [(curve.traits.unit, curve.traits.worker, curve.traits.is_time) for curve in curves]
    return Curves(k, y, mask, error, np.array(traits, dtype=np.int64))


def last_slope(curves: Curves) -> Array:
    """Elasticity d ln(performance) / d ln K between the two largest measured K."""
    return np.asarray((curves.y[:, -1] - curves.y[:, -2]) / np.log(curves.k[:, -1] / curves.k[:, -2]))


def weighted_slope(curves: Curves) -> Array:
    """The slope of a log-log line through all points; points near the end count most."""
    x, weights = np.log(curves.k), curves.weights()
    total = weights.sum(axis=1, keepdims=True)
    dx = x - (weights * x).sum(axis=1, keepdims=True) / total
    dy = curves.y - (weights * curves.y).sum(axis=1, keepdims=True) / total
    return np.asarray((weights * dx * dy).sum(axis=1) / (weights * dx * dx).sum(axis=1))


def damped(curves: Curves, at: Array, slope: Array, rho: float) -> Array:
    """Trend ln p(q) = ln p_n + ln2 e (1 - rho^t)/(1 - rho), t = log2(q/K_n): the slope fades by rho each doubling."""
    t = curves.doublings(at)
    return curves.last + LN2 * slope[:, None] * (1.0 - rho**t) / (1.0 - rho)


def roughness(curves: Curves) -> Array:
    """Noise read from dips: how far points fall below the chord of their neighbours, which a concave curve never does.

    Curves that saturate lie above such chords, so only dips are evidence of noise.
    """
    x, y, mask = np.log(curves.k), curves.y, curves.mask
    inner = mask[:, :-2] & mask[:, 1:-1] & mask[:, 2:]
    span = np.where(inner, x[:, 2:] - x[:, :-2], 1.0)
    share = (x[:, 1:-1] - x[:, :-2]) / span
    below = y[:, 1:-1] - (1 - share) * y[:, :-2] - share * y[:, 2:]
    dip = np.where(inner, np.minimum(below, 0.0) / np.sqrt(1 + share**2 + (1 - share) ** 2), 0.0)
    return np.asarray(np.sqrt((dip**2).sum(axis=1) / np.maximum(inner.sum(axis=1), 1)))


def repeat_error(curves: Curves) -> Array:
    """Root mean square standard error of the points that were repeated, else 0."""
    repeated = curves.mask & np.isfinite(curves.error)
    squares = np.where(repeated, curves.error, 0.0) ** 2
    return np.asarray(np.sqrt(squares.sum(axis=1) / np.maximum(repeated.sum(axis=1), 1)))
