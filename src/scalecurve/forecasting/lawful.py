"""When a curve lies on a smooth law within its noise, the law may be believed; otherwise the panel decides.

Four laws (serial + shared + one overhead growing as log K, K^1/3, K^1/2 or K) are fitted to all points alike and
averaged with weights rss^(-n/2), the profile likelihood.  `trust` goes from 1 (residuals well below `ENOUGH`) to 0:
published curves whose residuals stay under 2 % are forecast better by the law than by the panel (docs/guide).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.fitting.positive import fit_positive
from scalecurve.forecasting.curves import Array, Curves

OVERHEADS = ("log K", "K^1/3", "K^1/2", "K")
PARAMETERS = 3
ENOUGH = 0.015  # relative misfit at which law and panel count alike
_FLOOR = 0.002  # no curve is known better than this
_PRIOR = np.array([0.4, 0.2, 0.2, 0.2])[:, None]  # log K is the best single overhead on published curves


@dataclass(frozen=True)
class Lawful:
    """The averaged laws' forecast of log performance, their spread, the misfit of the best and the trust in them."""

    ahead: Array
    spread: Array
    misfit: Array
    trust: Array


def lawful(curves: Curves, at: Array) -> Lawful:
    """Average the smooth laws for each curve."""
    weights = curves.mask.astype(np.float64)
    fits = [fit_positive(("1/K", "1", overhead), curves.k, -curves.y, weights) for overhead in OVERHEADS]
    residuals = np.stack([np.where(curves.mask, curves.y + fit.log_time(curves.k), 0.0) for fit in fits])
    squares = (residuals**2).sum(axis=2)
    share = _likelihood(squares, curves.count)
    ahead = np.stack([-fit.log_time(at) for fit in fits])
    mean = np.einsum("ln,lnq->nq", share, ahead)
    spread = np.sqrt(np.einsum("ln,lnq->nq", share, (ahead - mean) ** 2))
    free = curves.count - PARAMETERS
    misfit = np.sqrt(squares.min(axis=0) / np.maximum(free, 1))
    return Lawful(mean, spread, misfit, np.where(free >= 1, _trust(misfit, repeat_error(curves)), 0.0))


def _likelihood(squares: Array, count: Array) -> Array:
    log_weight = -count / 2 * np.log(squares + count * _FLOOR**2)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    weight = weight * _PRIOR
    return np.asarray(weight / weight.sum(axis=0))


def repeat_error(curves: Curves) -> Array:
    """Root mean square standard error of the centres where repeats were made, else 0."""
    known = curves.mask & np.isfinite(curves.error)
    squares = np.where(known, curves.error, 0.0) ** 2
    return np.asarray(np.sqrt(squares.sum(axis=1) / np.maximum(known.sum(axis=1), 1)))


def _trust(misfit: Array, error: Array) -> Array:
    """Misfit that repeats explain is no evidence against a law, but at most two thirds of it is forgiven."""
    beyond = np.maximum(misfit**2 - error**2, misfit**2 / 9)
    return np.asarray(1.0 / (1.0 + (beyond / ENOUGH**2) ** 2))
