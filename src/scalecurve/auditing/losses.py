"""Was speed lost between two sessions, at one K, at the larger K, or everywhere: tests that know three kinds of noise.

The log ratio of means at each K, d = ln T(new)/T(old), holds the true change, the noise of the runs, and a shift that
all K of a session share (another day, another neighbour, another temperature).  The shift has a standard deviation of
`session` in each study; that of the difference is sqrt(2) times it.

    one K       d minus what the other K say of the shift (its posterior mean)
    larger K    the mean of d over the m largest K minus what the smaller K say of the shift
    all K       the mean of d, against noise and shift together

A loss must also be one by itself: a K that is not slower has lost nothing, however much faster the others became.

Noise is judged twice, by the spread of the K itself and by that of all K together, and both must call the loss large:
three runs that happen to be close (a program with a fast and a slow mode) do not make noise small, and quiet small K do
not hide the noise of large ones.  The functions work on arrays whose last axis is K, so that simulations use them as
the gate does.  Welch 1947 and Satterthwaite 1946 for the degrees of freedom; Chen and Revels 2016 for noise that comes
from outside the program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.study.samples import FloatArray

SHARES = {"one": 0.83, "larger": 0.04, "all": 0.13}  # of the false alarms, by kind of test
TOO_LARGE = 3.0  # standard deviations of noise and shift
SLOWER = 0.02  # a K that is not slower beyond this level by its own noise has lost nothing
BOTH = 1.3  # two judgements of noise must agree, so each may be this much laxer from five runs on (bench/gate.py)
ENOUGH = 4.0  # degrees of freedom of a mean, from which that holds
SESSION = 0.02  # the shift between sessions where no history says how large it is


@dataclass(frozen=True, eq=False)
class LogMeans:
    """Log means of one study, the variance of each and its degrees of freedom; the last axis is K."""

    value: FloatArray
    variance: FloatArray
    degrees: FloatArray


@dataclass(frozen=True, eq=False)
class Losses:
    """For each test: the estimated log loss, its standard error, and the limit above which it is called a loss.

    The last axis is the test: every K by itself, then the 2 to m - 1 largest K together, then all K.
    """

    estimate: FloatArray
    error: FloatArray
    limit: FloatArray
    degrees: FloatArray


def sets_of(count: int) -> list[tuple[int, ...]]:
    """The sets of places that are tested together, in the order of `Losses`."""
    every = tuple(range(count))
    if count == 1:
        return [every]
    return [*((i,) for i in every), *(every[start:] for start in range(count - 2, 0, -1)), every]


def alphas(count: int, false_alarm: float) -> FloatArray:
    """The false alarms admitted for each test of `sets_of`; together they are `false_alarm`."""
    if count == 1:
        return np.array([false_alarm])
    larger = count - 2
    one = SHARES["one"] + (SHARES["larger"] if larger == 0 else 0.0)
    parts = [*[one / count] * count, *[SHARES["larger"] / max(larger, 1)] * larger, SHARES["all"]]
    return false_alarm * np.array(parts)


def losses_of(new: LogMeans, old: LogMeans, *, false_alarm: float, session: float, session_degrees: float) -> Losses:
    """Every test of `sets_of` at once."""
    change = new.value - old.value
    own, own_degrees = _sum(new.variance, old.variance, new.degrees, old.degrees)
    pooled, pooled_degrees = _pooled(new, old)
    shift = 2.0 * session**2
    careful = np.maximum(own, pooled)
    shared = np.abs(change) <= TOO_LARGE * np.sqrt(careful + shift)  # a larger change is the program's, no shift
    columns = []
    laxer = np.where(np.minimum(new.degrees, old.degrees).min(axis=-1) >= ENOUGH, BOTH, 1.0)
    for places, alpha in zip(sets_of(change.shape[-1]), alphas(change.shape[-1], false_alarm), strict=True):
        inside = np.zeros(change.shape[-1], dtype=bool)
        inside[list(places)] = True
        weights = ~inside * shared / careful
        precision = weights.sum(axis=-1) + (1.0 / shift if shift > 0 else 1e30)
        common = (weights * change).sum(axis=-1) / precision
        estimate = change[..., inside].mean(axis=-1) - common
        others = weights**2 * careful / precision[..., np.newaxis] ** 2  # the part of the shift's variance from noise
        beside = (others**2 / own_degrees).sum(axis=-1)
        beside = beside + (1.0 / precision - others.sum(axis=-1)) ** 2 / session_degrees
        limits, errors, degrees = [], [], []
        for variance, each_degrees in ((own, own_degrees), (pooled, pooled_degrees)):
            part = variance[..., inside] / inside.sum() ** 2
            total = part.sum(axis=-1) + 1.0 / precision
            fourth = (part**2 / each_degrees[..., inside]).sum(axis=-1) + beside
            freedom = np.where(
                fourth > 0, total**2 / np.maximum(fourth, 1e-300), each_degrees[..., inside].min(axis=-1)
            )
            errors.append(np.sqrt(total))
            degrees.append(freedom)
            limits.append(_quantile(freedom, laxer * alpha) * errors[-1])
        larger = limits[1] > limits[0]
        part = own[..., inside] / inside.sum() ** 2
        noise, freedom = part.sum(axis=-1), own_degrees[..., inside].sum(axis=-1)
        slower = change[..., inside].mean(axis=-1) > _quantile(freedom, SLOWER) * np.sqrt(noise)
        columns.append(
            (
                np.where(slower, estimate, np.minimum(estimate, 0.0)),
                np.where(larger, errors[1], errors[0]),
                np.maximum(*limits),
                np.where(larger, degrees[1], degrees[0]),
            )
        )
    return Losses(*(np.stack(parts, axis=-1) for parts in zip(*columns, strict=True)))


def _sum(first: FloatArray, second: FloatArray, one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The variance of a difference with Welch's degrees of freedom."""
    total = first + second
    fourth = first**2 / one + second**2 / other
    return total, np.where(fourth > 0, total**2 / np.maximum(fourth, 1e-300), one + other)


def _pooled(new: LogMeans, old: LogMeans) -> tuple[FloatArray, FloatArray]:
    """The variance of each difference from the relative spread of all K of both studies together."""
    runs = [study.degrees + 1 for study in (new, old)]
    freedom = new.degrees + old.degrees
    spread = new.variance * runs[0] * new.degrees + old.variance * runs[1] * old.degrees
    mean = spread.sum(axis=-1, keepdims=True) / freedom.sum(axis=-1, keepdims=True)
    variance = mean * (1 / runs[0] + 1 / runs[1])
    return variance, np.broadcast_to(freedom.sum(axis=-1, keepdims=True), variance.shape).astype(np.float64)


def _quantile(degrees: FloatArray, tail: FloatArray | float) -> FloatArray:
    from scipy.special import stdtrit

    return np.asarray(stdtrit(degrees, 1.0 - tail), dtype=np.float64)
