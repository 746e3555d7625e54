"""A study as the curve that is forecast, and many curves in a few arrays: medians, slopes, noise, traits.

Log performance is -log T (see `analysis.curve`): of the whole job under strong scaling and throughput at rising load,
of one worker under weak scaling and for collectives, because that is what stays nearly constant there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

import numpy as np
import numpy.typing as npt

from scalecurve.analysis.curve import Conversion, Number, conversion_of, samples_of
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.fitting.nodes import NODES_ENOUGH
from scalecurve.study import Quantity, Regime, Study
from scalecurve.study.run import Samples

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LN2 = math.log(2.0)
FORGETTING = 0.5  # weight of a point per doubling of distance from the largest measured K


DEVICE_RATE = re.compile(r"([kmgt]i?)?(b|bytes?|bits?)(/s(ec)?|ps)|[km]?iops(/s(ec)?)?|(input|output|i/o).*/s")
OPERATIONS = re.compile(r"[kmg]?(ops?|operations?)(/s(ec(ond)?)?)?")
LOAD_RATE = re.compile(r"\b[km]?(tps|qps|rps|tpmc?|req/s|reqs/s|msgs?|hits?/s)\b|transact|request|quer(y|ies)|message")
DEVICE, LOAD, OTHER_UNIT = 0, 1, 2
WORKERS = (
    r"thread|core|cpu|goroutine|gomaxprocs",
    r"client|conn|user|session|terminal|concurren|\bvus?\b|producer|consumer|publisher|subscriber|outstanding"
    r"|(queue|io).?depth|numjobs",
    r"gpu|tpu|npu|accelerator|chip|\bgcds?\b",
    r"node|host|machine|server|instance|replica|\bpods?\b|broker|executor|shard",
    r"rank|proc|task|mpi|\bnp\b|\bpes?\b",
)
WORKER_ORDER = (2, 1, 3, 4, 0)  # "ranks (GPUs, 4/node)" count GPUs, "cluster nodes" nodes
THREADS, CLIENTS, OTHER_WORKER = 0, 1, len(WORKERS)
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
        """The traits that the names of the units tell.

        Threads that send transactions, queries or requests are clients of a server.  Operations are those of a shared
        file system where ranks or nodes count, of a server where clients do, and of neither where threads do.
        """
        counted = k_unit.lower().split(" per ")[0]  # "threads per rank" are threads
        worker = next((i for i in WORKER_ORDER if re.search(WORKERS[i], counted)), OTHER_WORKER)
        name = "" if unit is None or is_time else re.sub(r"[ _]+per[ _]+", "/", unit.lower().strip())
        words = (name, *re.split(r"[\s()\[\],;]+", name))  # "write throughput (MB/s)"
        kind = OTHER_UNIT
        if any(DEVICE_RATE.fullmatch(word) for word in words):
            kind = DEVICE
        elif LOAD_RATE.search(name):
            kind, worker = LOAD, CLIENTS if worker == THREADS else worker
        elif any(OPERATIONS.fullmatch(word) for word in words):
            kind = {THREADS: OTHER_UNIT, CLIENTS: LOAD}.get(worker, DEVICE)
        return cls(kind, worker, is_time)


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


MEDIAN_PENALTY = 1.2533  # standard error of a median against that of a mean, normal noise
RISING_WEAK, RISING_STRONG = -0.45, -0.15  # slopes of 1/T below which a time is that of a collective
NOISY = 0.1
SMALL_SAMPLE = 4


class CurveKind(StrEnum):
    """Which panel forecasts a curve."""

    STRONG = "strong"
    WEAK = "weak"
    COLLECTIVE = "collective"


@dataclass(frozen=True)
class View:
    """One study seen as a curve.

    `points` holds the median of the repeats at each K.  `fitted` are the points that are extrapolated: all of them, or
    only those from one full node on where enough were measured there.  `node_size` is the number of workers of a node,
    `cores` that of the cores all workers share; `siblings` are curves of the same study that were measured further;
    """

    study: Study
    kind: CurveKind
    points: LogCurve
    fitted: LogCurve
    node_size: int | None = None
    cores: int | None = None
    siblings: tuple[LogCurve, ...] = ()
    remarks: tuple[Finding, ...] = ()

    @property
    def name(self) -> str:
        return self.study.name

    @property
    def largest_k(self) -> float:
        return float(self.points.k[-1])

    @property
    def ceiling(self) -> float | None:
        """The K beyond which threads gain nothing: their cores or their node; None for other workers, or unknown."""
        if self.points.traits.worker != THREADS:
            return None
        limits = [self.cores, self.node_size if self.study.k_unit.startswith("thread") else None]
        return min((float(limit) for limit in limits if limit), default=None)

    def reach(self, k: Array) -> Array:
        """The K at which the curve is read: threads beyond their ceiling do no more than threads at it."""
        return k if self.ceiling is None else np.clip(k, None, max(self.largest_k, self.ceiling))

    def boundaries(self, k: int) -> Iterator[Finding]:
        """A finding for each boundary between the measured K and this one; each widens the interval towards worse."""
        if self.node_size is not None and self.largest_k <= self.node_size < k:
            message = f"K = {k} leaves the node of {self.node_size} workers, which no measured K does"
            yield warning("leaves-the-node", message, remedy="measure two nodes", k=k, node_size=self.node_size)
        if self.cores is not None and k > max(self.cores, self.largest_k):
            gain = "threads gain nothing there" if self.ceiling else "what workers gain there was not measured"
            message = f"K = {k} is more than the {self.cores} cores: {gain}"
            yield warning("beyond-the-cores", message, remedy=f"stay at K <= {self.cores}", k=k, cores=self.cores)

    def up_to(self, count: int) -> View:
        """The same view as if only its first `count` fitted K had been measured."""
        fitted = self.fitted.part(slice(count))
        return replace(self, points=fitted, fitted=fitted)

    def value(self, k: Number, log_performance: Number) -> Number:
        """The value in the study's quantity."""
        time: Number = np.exp(-log_performance)
        return conversion_of(self.study).value(k, time)

    def efficiency(self, k: Number, log_performance: Number) -> Number:
        """E(K) against the mean at the study's baseline, as in its speedup table; S = K E."""
        conversion, k0 = conversion_of(self.study), float(self.study.baseline_k)
        mean = float(np.mean(self.study.samples.at(self.study.baseline_k)))
        best = conversion.log_cost(k0, math.log(conversion.time(k0, mean)))
        share: Number = np.exp(best - conversion.log_cost(k, -log_performance))
        return share

    def cautions(self, noise: float) -> Iterator[Finding]:
        """Findings about the data behind a forecast; `noise` is the relative scatter around a smooth curve."""
        yield from self.remarks
        points, log = self.fitted, self.fitted.log_performance
        if len(points.k) < SMALL_SAMPLE:
            message = (
                f"only {len(points.k)} worker counts are extrapolated; such forecasts are off by 15 % in the median"
            )
            yield warning(
                "few-points", message, remedy="measure at least five K, the largest included", points=len(log)
            )
        if points.error is None or not np.any(np.isfinite(points.error)):
            message = "no K was repeated, so noise and shape cannot be told apart"
            yield info("no-repeats", message, remedy="repeat each K")
        if noise > NOISY:
            message = f"points scatter by about {noise:.0%} around a smooth curve"
            remedy = "repeat the runs, and look for a shared machine or a changed set-up"
            yield warning("noisy-curve", message, remedy=remedy, noise=noise)
        best = int(np.argmax(log))
        if self.kind is CurveKind.STRONG and log[best] - log[-1] > 0.05:
            k = int(points.k[best])
            yield warning("past-the-peak", f"performance is highest at K = {k}; more workers make it worse", k=k)
        if self.kind is CurveKind.COLLECTIVE:
            message = "the time rises with K from the start: forecast as the cost of a collective operation"
            yield info("rising-time", message)
        if len(points.k) < len(self.points.k):
            message = f"only K from one full node ({self.node_size} workers) on are extrapolated"
            yield info("inside-node-left-out", message, node_size=self.node_size)
        elif self.node_size and self.largest_k <= self.node_size:
            message = f"every measured K fits in one node ({self.node_size} workers): the network was never measured"
            yield warning("node-boundary", message, remedy="measure two and four nodes", node_size=self.node_size)


def view(study: Study, kind: str | None = None, node_size: int | None = None, cores: int | None = None) -> View:
    """The curve of a study; `kind` ("strong", "weak", "collective") overrides the panel chosen from the data.

    Without `cores`, those that `measure` recorded count where all workers ran on that machine.
    """
    if len(study.all_k) < 2:
        remedy = "measure at least two, better five, worker counts"
        counts = ", ".join(f"K = {k}" for k in study.all_k) or "none"
        fault = Fault("a forecast needs at least two worker counts", value=counts, remedy=remedy)
        raise InputError(fault, subject=study.name)
    if kind and kind not in set(CurveKind):
        raise InputError(Fault("unknown kind of curve", value=kind, remedy=f"use one of {', '.join(CurveKind)}"))
    traits = Traits.of(study.unit, study.k_unit, is_time=study.quantity is Quantity.SECONDS)
    points = replace(medians(samples_of(study), conversion_of(study)), traits=traits)
    node, fitted = node_size or study.node_size, points
    if node is not None and np.sum(points.k >= node) >= NODES_ENOUGH:
        # Scaling inside a node says little about the network.
        fitted = points.part(slice(int(np.searchsorted(points.k, node)), None))
    chosen = CurveKind(kind) if kind else choose_kind(study, points)
    return View(study, chosen, points, fitted, node, cores or recorded_cores(study))


def recorded_cores(study: Study) -> int | None:
    """The usable cores that `measure` wrote down, if all workers shared that machine."""
    cores = study.provenance.machine.get("usable_cores")
    apart = study.k_unit.startswith(("node", "host")) or any(
        run.placement and (run.placement.nodes or 1) > 1 for run in study.runs
    )
    alone = study.k_unit.startswith("thread") or (study.provenance.launcher == "local" and not apart)
    return cores if alone and isinstance(cores, int) and cores > 0 else None


def choose_kind(study: Study, points: LogCurve) -> CurveKind:
    """Weak or strong as the study says; a time that rises steeply from the start is that of a collective operation."""
    strong = study.regime is Regime.STRONG
    usual = CurveKind.STRONG if strong else CurveKind.WEAK
    gains = float(points.log_performance.max() - points.log_performance[0]) > 0.1
    if study.quantity is not Quantity.SECONDS or gains:
        return usual
    slope = float(weighted_slope(pack([points]))[0])
    return CurveKind.COLLECTIVE if slope < (RISING_STRONG if strong else RISING_WEAK) else usual


def medians(samples: Samples, conversion: Conversion) -> LogCurve:
    """Medians of the repeats as log performance, with their standard errors where there are at least two."""
    order = np.lexsort((samples.values, samples.k))
    values = samples.values[order]
    distinct, first, count = np.unique(samples.k[order], return_index=True, return_counts=True)
    middle = np.sqrt(values[first + (count - 1) // 2]) * np.sqrt(values[first + count // 2])
    k, logs = distinct.astype(np.float64), np.log(values)
    mean = np.add.reduceat(logs, first) / count
    squares = np.add.reduceat((logs - np.repeat(mean, count)) ** 2, first)
    with np.errstate(divide="ignore", invalid="ignore"):
        std = np.sqrt(np.where(count > 1, squares / (count - 1), np.nan))
    error = np.where(count > 2, MEDIAN_PENALTY, 1.0) * std / np.sqrt(count)
    return LogCurve(k, -np.log(conversion.time(k, middle)), error)
