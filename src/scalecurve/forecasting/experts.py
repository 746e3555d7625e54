"""The panel: families of simple extrapolations, each honest about something the others miss.

Every expert takes curves and the K asked for, and returns log performance; a family is the mean of its experts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scalecurve.fitting.positive import fit_positive
from scalecurve.forecasting.curves import Array, Curves
from scalecurve.forecasting.shapes import Shapes, predict
from scalecurve.forecasting.slopes import damped, last_slope, weighted_slope

Family = Callable[[Curves, Array], Array]

LOGARITHM = ("1/K", "1", "log K")
AMDAHL = ("1/K", "1")
GROWING = ("1", "log K", "K")
STEEPEST = -1.25  # d ln(1/T) / d ln K of a collective


def positive(curves: Curves, at: Array, terms: tuple[str, ...], weights: Array) -> Array:
    """A positive combination of terms of the time, as log performance."""
    return -fit_positive(terms, curves.k, -curves.y, weights).log_time(at)


def logarithm(curves: Curves, at: Array) -> Array:
    """Serial part, shared part and a tree of messages; the late points, or all but the first."""
    near = positive(curves, at, LOGARITHM, curves.weights())
    return np.asarray((near + positive(curves, at, LOGARITHM, curves.without_first())) / 2)


def amdahl(curves: Curves, at: Array) -> Array:
    """Serial and shared part, moved a quarter of the way to the last point."""
    fit = fit_positive(AMDAHL, curves.k, -curves.y, curves.weights())
    miss = curves.last + fit.log_time(curves.k[:, -1:])
    return np.asarray(-fit.log_time(at) + miss / 4)


def root(curves: Curves, at: Array) -> Array:
    """Overheads that grow as the cube or square root of K, as surfaces and grids of ranks do."""
    cube = positive(curves, at, ("1/K", "1", "K^1/3"), curves.weights())
    return np.asarray((cube + positive(curves, at, ("1/K", "1", "K^1/2"), curves.weights())) / 2)


def plateau(curves: Curves, at: Array) -> Array:
    """Nothing more is gained: between the last value and the best."""
    best = np.where(curves.mask, curves.y, -np.inf).max(axis=1)[:, None]
    return np.asarray(np.broadcast_to((curves.last + best) / 2, at.shape))


def trend(curves: Curves, at: Array) -> Array:
    """The slope at the end goes on and fades; never steeper than linear."""
    last, all_points = last_slope(curves), weighted_slope(curves)
    short = damped(curves, at, np.minimum(last, 1.0), 0.5)
    long = damped(curves, at, np.minimum(np.minimum(last, all_points), 1.0), 0.8)
    return np.asarray((short + long) / 2)


def published(shapes: Shapes) -> Family:
    """What published curves that began like this one did next."""
    return lambda curves, at: predict(curves, at, shapes)


def strong_panel(shapes: Shapes) -> dict[str, Family]:
    """Families for strong scaling and for throughput at rising load, by the name shown to people."""
    return {
        "serial + shared + log K": logarithm,
        "serial + shared (Amdahl)": amdahl,
        "overhead as a root of K": root,
        "plateau": plateau,
        "fading trend": trend,
        "published shapes": published(shapes),
    }


def growing(curves: Curves, at: Array) -> Array:
    """Weak scaling: a constant, a tree of messages and a linear cost; the late points, or all but the first."""
    near = positive(curves, at, GROWING, curves.weights())
    return np.asarray((near + positive(curves, at, GROWING, curves.without_first())) / 2)


def growing_root(curves: Curves, at: Array) -> Array:
    """Weak scaling with an overhead growing as a root of K."""
    cube = positive(curves, at, ("1", "K^1/3"), curves.weights())
    return np.asarray((cube + positive(curves, at, ("1", "K^1/2"), curves.weights())) / 2)


def weak_trend(curves: Curves, at: Array) -> Array:
    """The last slope, soon fading, and the slope of all points, fading slowly."""
    short = damped(curves, at, last_slope(curves), 0.5)
    return np.asarray((short + damped(curves, at, weighted_slope(curves), 0.8)) / 2)


WEAK_PANEL: dict[str, Family] = {
    "constant + log K + K": growing,
    "constant + root of K": growing_root,
    "fading trend": weak_trend,
}


def rising_slope(curves: Curves, at: Array, rho: float) -> Array:
    """The time of a collective goes on rising with its last slope, never faster than K^1.25.

    All-to-all and all-gather grow as K; steeper slopes are a change of algorithm or a first step into the network, and
    do not last.
    """
    return damped(curves, at, np.clip(last_slope(curves), STEEPEST, 0.0), rho)


def rising_terms(curves: Curves, at: Array) -> Array:
    """Latency, tree, ring and all-to-all terms, fitted to the late points."""
    return positive(curves, at, ("1", "log K", "K", "K log K"), curves.weights(0.25))


COLLECTIVE_PANEL: dict[str, Family] = {
    "last slope, fading": lambda curves, at: rising_slope(curves, at, 0.9),
    "last slope": lambda curves, at: rising_slope(curves, at, 0.999),
    "latency + tree + ring + all-to-all": rising_terms,
}
