"""A study as a curve of log performance, and back: the one place that knows quantities and regimes.

    log value = sign * log performance + power * log K

Strong scaling and throughput at rising load are forecast as total performance (1/T, X); weak scaling and collectives
as performance per worker, because that is what stays nearly constant there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.forecasting.curves import Array, Curve, pack
from scalecurve.forecasting.slopes import weighted_slope
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.samples import Samples

MEDIAN_PENALTY = 1.2533  # standard error of a median against that of a mean, normal noise
RISING_WEAK, RISING_STRONG = -0.45, -0.15  # slopes of 1/T below which a time is that of a collective


class Path(StrEnum):
    """Which panel forecasts a curve."""

    STRONG = "strong"
    WEAK = "weak"
    COLLECTIVE = "collective"


@dataclass(frozen=True)
class View:
    """One study seen as a curve.

    `points` holds the median of the repeats at each K; `fitted` are those that are extrapolated: all of them, or only
    those at and beyond a node where enough were measured there.  `node_size` is the count of workers of one node.
    """

    study: Study
    path: Path
    points: Curve
    fitted: Curve
    node_size: int | None = None

    @property
    def name(self) -> str:
        return self.study.name

    @property
    def largest_k(self) -> float:
        return float(self.points.k[-1])

    def value(self, k: Array | float, log_performance: Array | float) -> Array:
        """In the study's own quantity."""
        sign, power = _CONVERSION[self.study.quantity, self.study.regime]
        return np.asarray(np.exp(sign * np.asarray(log_performance) + power * np.log(k)))

    def efficiency(self, k: Array | float, log_performance: Array | float) -> Array:
        """E(K) against the study's baseline; S = K E."""
        own = 1.0 if self.study.regime is Regime.STRONG else 0.0
        return np.asarray(np.exp(np.asarray(log_performance) - own * np.log(k) - self._baseline))

    @cached_property
    def _baseline(self) -> float:
        place = int(np.searchsorted(self.points.k, self.study.baseline_k))
        own = 1.0 if self.study.regime is Regime.STRONG else 0.0
        return float(self.points.log_performance[place] - own * np.log(self.points.k[place]))


_CONVERSION: dict[tuple[Quantity, Regime], tuple[float, float]] = {
    (Quantity.SECONDS, Regime.STRONG): (-1.0, 0.0),
    (Quantity.SECONDS, Regime.WEAK): (-1.0, 0.0),
    (Quantity.THROUGHPUT, Regime.STRONG): (1.0, 0.0),
    (Quantity.THROUGHPUT, Regime.WEAK): (1.0, 1.0),
    (Quantity.THROUGHPUT_PER_WORKER, Regime.STRONG): (1.0, -1.0),
    (Quantity.THROUGHPUT_PER_WORKER, Regime.WEAK): (1.0, 0.0),
}


def view(study: Study, kind: str | None = None, node_size: int | None = None) -> View:
    """The curve of a study; `kind` ("strong", "weak", "collective") overrides the panel that is chosen from the data."""
    if len(study.all_k) < 2:
        remedy = "measure at least two, better five, worker counts"
        seen = ", ".join(f"K = {k}" for k in study.all_k) or "none"
        raise InputError(
            Fault("a forecast needs at least two worker counts", seen=seen, remedy=remedy), subject=study.name
        )
    points = centres(study.samples, *_CONVERSION[study.quantity, study.regime])
    path = _as_path(kind) if kind else choose_path(study, points)
    node = node_size or study.node_size
    return View(study, path, points, beyond_node(points, node), node)


def beyond_node(points: Curve, node_size: int | None, enough: int = 3) -> Curve:
    """The points at and beyond one full node, if there are enough: scaling inside a node says little of the network."""
    if node_size is None or np.sum(points.k >= node_size) < enough:
        return points
    start = int(np.searchsorted(points.k, node_size))
    error = None if points.error is None else points.error[start:]
    return Curve(points.k[start:], points.log_performance[start:], error)


def _as_path(kind: str) -> Path:
    try:
        return Path(kind)
    except ValueError:
        raise InputError(Fault("unknown kind of curve", seen=kind, remedy=f"one of {', '.join(Path)}")) from None


def choose_path(study: Study, points: Curve) -> Path:
    """Weak or strong as the study says; a time that rises steeply from the start is that of a collective operation."""
    slope = float(weighted_slope(pack([points]))[0])
    never_gains = bool(np.all(points.log_performance <= points.log_performance[0] + 0.1))
    limit = RISING_STRONG if study.regime is Regime.STRONG else RISING_WEAK
    if study.quantity is Quantity.SECONDS and never_gains and slope < limit:
        return Path.COLLECTIVE
    return Path.STRONG if study.regime is Regime.STRONG else Path.WEAK


def centres(samples: Samples, sign: float, power: float) -> Curve:
    """Medians of the repeats as log performance, with their standard errors where there are at least two."""
    order = np.lexsort((samples.values, samples.k))
    k, values = samples.k[order], samples.values[order]
    distinct, first, count = np.unique(k, return_index=True, return_counts=True)
    middle = np.sqrt(values[first + (count - 1) // 2]) * np.sqrt(values[first + count // 2])
    log_k = np.log(distinct.astype(np.float64))
    performance = sign * (np.log(middle) - power * log_k)
    return Curve(distinct.astype(np.float64), performance, _standard_errors(np.log(values), first, count))


def _standard_errors(logs: Array, first: Array, count: Array) -> Array:
    mean = np.add.reduceat(logs, first) / count
    squares = np.add.reduceat((logs - np.repeat(mean, count)) ** 2, first)
    with np.errstate(divide="ignore", invalid="ignore"):
        std = np.sqrt(np.where(count > 1, squares / (count - 1), np.nan))
    penalty = np.where(count > 2, MEDIAN_PENALTY, 1.0)
    return np.asarray(penalty * std / np.sqrt(count))
