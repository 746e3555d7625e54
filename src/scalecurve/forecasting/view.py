"""A study as a curve of log performance, and back: the one place that knows quantities and regimes.

    log value = sign * log performance + power * log K

Strong scaling and throughput at rising load are forecast as total performance (1/T, X); weak scaling and collectives
as performance per worker, because that is what stays nearly constant there.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError
from scalecurve.forecasting.curves import Array, Curve, pack
from scalecurve.forecasting.slopes import weighted_slope
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.samples import Samples

MEDIAN_PENALTY = 1.2533  # standard error of a median against that of a mean, normal noise
RISING_WEAK, RISING_STRONG = -0.45, -0.15  # slopes of 1/T below which a time is that of a collective


Places = npt.NDArray[np.intp]


SHARED_DEVICE = re.compile(r"([kmgt]i?)?(b|bytes?)/s(ec)?|i?ops?(/s(ec)?)?|(input|output|i/o).*/s", re.IGNORECASE)
CEILING = 0.5  # share of a forecast change believed there: published storage curves end near their last value


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

    def value(self, k: Array, log_performance: Array) -> Array:
        """In the study's own quantity."""
        sign, power = self.conversion
        return np.asarray(np.exp(sign * log_performance + power * np.log(k)))

    def value_at(self, k: float, log_performance: float) -> float:
        sign, power = self.conversion
        return math.exp(sign * log_performance + power * math.log(k))

    def efficiency(self, k: Array, log_performance: Array) -> Array:
        """E(K) against the study's baseline; S = K E."""
        return np.asarray(np.exp(log_performance - self._shared * np.log(k) - self._baseline))

    def efficiency_at(self, k: float, log_performance: float) -> float:
        return math.exp(log_performance - self._shared * math.log(k) - self._baseline)

    @property
    def conversion(self) -> tuple[float, float]:
        return _CONVERSION[self.study.quantity, self.study.regime]

    @property
    def _shared(self) -> float:
        """1 where the work is shared among workers, so that ideal performance is proportional to K."""
        return 1.0 if self.study.regime is Regime.STRONG else 0.0

    @cached_property
    def _baseline(self) -> float:
        place = int(np.searchsorted(self.points.k, self.study.baseline_k))
        return float(self.points.log_performance[place]) - self._shared * math.log(float(self.points.k[place]))


_CONVERSION: dict[tuple[Quantity, Regime], tuple[float, float]] = {
    (Quantity.SECONDS, Regime.STRONG): (-1.0, 0.0),
    (Quantity.SECONDS, Regime.WEAK): (-1.0, 0.0),
    (Quantity.THROUGHPUT, Regime.STRONG): (1.0, 0.0),
    (Quantity.THROUGHPUT, Regime.WEAK): (1.0, 1.0),
    (Quantity.THROUGHPUT_PER_WORKER, Regime.STRONG): (1.0, -1.0),
    (Quantity.THROUGHPUT_PER_WORKER, Regime.WEAK): (1.0, 0.0),
}


def view(study: Study, kind: str | None = None, node_size: int | None = None) -> View:
    """The curve of a study; `kind` ("strong", "weak", "collective") overrides the panel chosen from the data."""
    if len(study.all_k) < 2:
        remedy = "measure at least two, better five, worker counts"
        seen = ", ".join(f"K = {k}" for k in study.all_k) or "none"
        raise InputError(
            Fault("a forecast needs at least two worker counts", seen=seen, remedy=remedy), subject=study.name
        )
    points = replace(centres(study.samples, *_CONVERSION[study.quantity, study.regime]), believed=believed(study.unit))
    path = _as_path(kind) if kind else choose_path(study, points)
    node = node_size or study.node_size
    return View(study, path, points, beyond_node(points, node), node)


def believed(unit: str | None) -> float:
    """Half for rates of a shared device (bytes or operations per second), where a ceiling is near; else all."""
    return CEILING if unit is not None and SHARED_DEVICE.fullmatch(unit.strip()) else 1.0


def beyond_node(points: Curve, node_size: int | None, enough: int = 3) -> Curve:
    """The points at and beyond one full node, if there are enough: scaling inside a node says little of the network."""
    if node_size is None or np.sum(points.k >= node_size) < enough:
        return points
    start = int(np.searchsorted(points.k, node_size))
    error = None if points.error is None else points.error[start:]
    return Curve(points.k[start:], points.log_performance[start:], error, points.believed)


def _as_path(kind: str) -> Path:
    try:
        return Path(kind)
    except ValueError:
        raise InputError(Fault("unknown kind of curve", seen=kind, remedy=f"one of {', '.join(Path)}")) from None


def choose_path(study: Study, points: Curve) -> Path:
    """Weak or strong as the study says; a time that rises steeply from the start is that of a collective operation."""
    usual = Path.STRONG if study.regime is Regime.STRONG else Path.WEAK
    gains = float(points.log_performance.max() - points.log_performance[0]) > 0.1
    if study.quantity is not Quantity.SECONDS or gains:
        return usual
    slope = float(weighted_slope(pack([points]))[0])
    limit = RISING_STRONG if study.regime is Regime.STRONG else RISING_WEAK
    return Path.COLLECTIVE if slope < limit else usual


def centres(samples: Samples, sign: float, power: float) -> Curve:
    """Medians of the repeats as log performance, with their standard errors where there are at least two."""
    order = np.lexsort((samples.values, samples.k))
    k, values = samples.k[order], samples.values[order]
    distinct, first, count = np.unique(k, return_index=True, return_counts=True)
    middle = np.sqrt(values[first + (count - 1) // 2]) * np.sqrt(values[first + count // 2])
    log_k = np.log(distinct.astype(np.float64))
    performance = sign * (np.log(middle) - power * log_k)
    return Curve(distinct.astype(np.float64), performance, _standard_errors(np.log(values), first, count))


def _standard_errors(logs: Array, first: Places, count: Places) -> Array:
    mean = np.add.reduceat(logs, first) / count
    squares = np.add.reduceat((logs - np.repeat(mean, count)) ** 2, first)
    with np.errstate(divide="ignore", invalid="ignore"):
        std = np.sqrt(np.where(count > 1, squares / (count - 1), np.nan))
    penalty = np.where(count > 2, MEDIAN_PENALTY, 1.0)
    return np.asarray(penalty * std / np.sqrt(count))
