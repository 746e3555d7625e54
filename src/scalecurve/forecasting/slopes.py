"""How steep a curve is where it ends, and how noisy it looks: numbers read off the points without a law."""

from __future__ import annotations

import math

import numpy as np

from scalecurve.forecasting.curves import Array, Curves

LN2 = math.log(2.0)


def last_slope(curves: Curves) -> Array:
    """Elasticity d ln(performance) / d ln K between the two largest measured K."""
    return np.asarray((curves.y[:, -1] - curves.y[:, -2]) / np.log(curves.k[:, -1] / curves.k[:, -2]))


def weighted_slope(curves: Curves) -> Array:
    """The slope of a log-log line through all points, those near the end counting most."""
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
    """Noise read from dips: how far points fall below the chord of their neighbours (a concave curve never does).

    Curves that saturate lie above such chords, so only dips are evidence of noise.
    """
    x, y, mask = np.log(curves.k), curves.y, curves.mask
    inner = mask[:, :-2] & mask[:, 1:-1] & mask[:, 2:]
    span = np.where(inner, x[:, 2:] - x[:, :-2], 1.0)
    share = (x[:, 1:-1] - x[:, :-2]) / span
    below = y[:, 1:-1] - (1 - share) * y[:, :-2] - share * y[:, 2:]
    dip = np.where(inner, np.minimum(below, 0.0) / np.sqrt(1 + share**2 + (1 - share) ** 2), 0.0)
    return np.asarray(np.sqrt((dip**2).sum(axis=1) / np.maximum(inner.sum(axis=1), 1)))
