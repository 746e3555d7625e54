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
    """Weak scaling: a constant, a tree of messages and a linear cost."""
    return positive(curves, at, ("1", "log K", "K"), curves.weights())


def growing_root(curves: Curves, at: Array) -> Array:
    """Weak scaling with an overhead growing as a root of K."""
    cube = positive(curves, at, ("1", "K^1/3"), curves.weights())
    return np.asarray((cube + positive(curves, at, ("1", "K^1/2"), curves.weights())) / 2)


def steady(curves: Curves, at: Array) -> Array:
    """The last value stays."""
    return np.asarray(np.broadcast_to(curves.last, at.shape))


def short_trend(curves: Curves, at: Array) -> Array:
    return damped(curves, at, last_slope(curves), 0.5)


def long_trend(curves: Curves, at: Array) -> Array:
    return damped(curves, at, weighted_slope(curves), 0.8)


WEAK_PANEL: dict[str, Family] = {
    "constant + log K + K": growing,
    "constant + root of K": growing_root,
    "last value": steady,
    "fading last slope": short_trend,
    "fading overall slope": long_trend,
}


def rising_slope(curves: Curves, at: Array) -> Array:
    """The cost of a collective goes on rising with the last slope, nearly undamped."""
    return damped(curves, at, last_slope(curves), 0.9)


def rising_terms(curves: Curves, at: Array) -> Array:
    """Latency, tree, ring and all-to-all terms, fitted to the late points."""
    return positive(curves, at, ("1", "log K", "K", "K log K"), curves.weights(0.25))


COLLECTIVE_PANEL: dict[str, Family] = {
    "last slope": rising_slope,
    "last slope, hardly damped": lambda curves, at: damped(curves, at, last_slope(curves), 0.95),
    "latency + tree + ring + all-to-all": rising_terms,
}
