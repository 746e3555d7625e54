"""T over problem size N and workers K: few terms of powers and logarithms, averaged over all that explain the data.

    T(N, K) = sum_j c_j N^a log2(N)^b K^c log2(K)^d,    c_j > 0,    at most three terms and a constant

Every one of some thousand terms alone, with a constant, in pairs and (from the best pairs) in threes is fitted to
relative errors in closed form.  A model is weighed by how well it predicts points left out (PRESS, with the spread of
repeats where there are any), by how simple its exponents are, and by how many models of its kind were tried.
Two kinds of work together (N^2/K + N^3/K) count as not much rarer than one work of a broken power.
Predictions are quantiles over all models with weight, so that an interval holds what the data cannot decide.

Peer: Extra-P (Calotoiu et al., SC 2013; multi-parameter 2016) picks one model of such terms and states no interval.
The constants below were chosen on one generator of bench/two_parameters.py and checked on another; UNKNOWN_SHAPE and
DRIFT on 15 other kinds of programs, each left out in turn (docs/accuracy.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from scalecurve.analysis.curve import curve_of
from scalecurve.errors import Fault, InputError
from scalecurve.study import Regime, StudySet
from scalecurve.study.study import PLACEMENT
from scalecurve.units import format_count

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

LARGEST_SIZE = 1e60  # powers of it, times K, stay finite
FEWEST_POINTS, FEWEST_LEVELS = 6, 2
THIRDS_AND_QUARTERS = "0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 5/3 7/4 2 7/3 5/2 8/3 3"
FEW = "0 1/3 1/2 2/3 1 3/2 2"
FALLING = "-2 -3/2 -4/3 -1 -3/4 -2/3 -1/2 -1/3 -1/4"
FEW_FALLING = "-1 -2/3 -1/2 -1/3"
STEEP = "7/2 4 9/2 5 6 7"  # dense algebra on tensors, coupled clusters; divided among the workers, without logarithms
WORK = ((1, 0, -1, 0), (1, 1, -1, 0), (2, 0, -1, 0), (3, 0, -1, 0), (4, 0, -1, 0))
RARER = 3.0  # times: two kinds of work together than a single term
FLOOR = 0.002  # no mean is taken to be known better than 0.2 %
SIMPLE = 0.35  # log weight that each step of complexity of an exponent costs
KEPT_PAIRS, PAIRS_EXTENDED = 1500, 30
SEEN = 2.5  # standard errors: a term of a sum whose coefficient is less sure says nothing that the data showed
BEHIND = 9.0  # models this far behind the best in log weight are dropped
MOST_MODELS = 400
UNKNOWN_SHAPE = 0.2  # widening of the interval as sums, of which the library holds but some, have the weight
DRAWS, SEED = 300, 15
AVERAGED = "quantiles over the models that predict left-out points"
DRIFT = 0.035  # standard deviation of log T for each doubling beyond the measured range


@dataclass(frozen=True)
class SurfacePoints:
    """Means of log T over (size, K).  `noise` is the relative spread of single runs, None without repeats."""

    size: Array
    k: Array
    log_time: Array
    runs: Array
    noise: float | None
    freedom: float

    def __len__(self) -> int:
        return len(self.size)

    def part(self, chosen: npt.NDArray[np.bool_]) -> SurfacePoints:
        """Some of the points; the noise stays that of all."""
        size, k, log_time, runs = (own[chosen] for own in (self.size, self.k, self.log_time, self.runs))
        return SurfacePoints(size, k, log_time, runs, self.noise, self.freedom)

    def doublings_beyond(self, size: Array, k: Array) -> Array:
        """How many doublings each (size, k) lies outside the measured ranges."""
        out = [
            np.maximum(0.0, np.maximum(np.log2(at / own.max()), np.log2(own.min() / at)))
            for at, own in ((size, self.size), (k, self.k))
        ]
        return np.asarray(np.hypot(*out))


def surface_points(studies: StudySet) -> SurfacePoints:
    """The measured (size, K) of a set whose curves differ in size.  Under weak scaling the size is that of one worker,
    and N is K times it.  Where several splits of the same cores were measured, the fastest counts.
    """
    _check_sizes(studies)
    fastest: dict[tuple[float, float], tuple[float, float]] = {}
    squares = freedom = 0.0
    for name, size in studies.sizes.items():
        study = studies[name]
        curve = curve_of(study)
        grows = curve.k if study.regime is Regime.WEAK else np.ones(len(curve.k))
        rows = zip(
            (size * grows).tolist(), curve.k.tolist(), np.log(curve.time).tolist(), curve.n.tolist(), strict=True
        )
        for n, k, log_time, runs in rows:
            fastest[n, k] = min(fastest.get((n, k), (math.inf, 0.0)), (log_time, runs))
        squares += float(np.nansum(curve.degrees * (curve.std / curve.mean) ** 2))
        freedom += float(curve.degrees.sum())
    table = np.array([(*at, *fastest[at]) for at in sorted(fastest)], dtype=np.float64)
    levels = [len(np.unique(table[:, i])) for i in (0, 1)]
    if len(table) < FEWEST_POINTS or min(levels) < FEWEST_LEVELS:
        what = f"{len(table)} points over {levels[0]} sizes and {levels[1]} worker counts"
        remedy = f"measure at least {FEWEST_POINTS} points over two sizes and two K; 5 x 5 is good"
        raise InputError(Fault("too few points for T(N, K)", value=what, remedy=remedy), subject=studies.name)
    if not (table[:, 0].min() > LARGEST_SIZE**-1 and table[:, 0].max() < LARGEST_SIZE):
        what, remedy = f"{table[:, 0].min():g} to {table[:, 0].max():g}", "state the sizes in another unit"
        raise InputError(Fault("the sizes are too far apart", value=what, remedy=remedy), subject=studies.name)
    noise = math.sqrt(squares / freedom) if freedom >= 1 else None
    return SurfacePoints(table[:, 0], table[:, 1], table[:, 2], table[:, 3], noise, freedom)


@dataclass(frozen=True)
class TermLibrary:
    """Exponents (a, b, c, d) of every term; `core` are the places of the simple ones, `cost` how complex each is.

    `work` are the places of work as algorithms have it, divided among the workers: N, N log N, N^2, N^3, N^4 over K.
    """

    exponents: Array
    core: Index
    work: Index
    constant: int
    cost: Array

    def design(self, size: Array, k: Array, terms: Index | None = None) -> Array:
        """The values of the terms at each (size, k), in a new last axis."""
        own = self.exponents if terms is None else self.exponents[terms]
        size, k = size.reshape(-1, *[1] * (own.ndim - 1)), k.reshape(-1, *[1] * (own.ndim - 1))
        with np.errstate(over="ignore"):
            in_size = size ** own[..., 0] * np.log2(size) ** own[..., 1]
            return np.asarray(in_size * k ** own[..., 2] * np.log2(k) ** own[..., 3])

    def text(self, term: int) -> str:
        """The term as people write it: N^2/3 log2(K); 1 for the constant."""
        a, b, c, d = self.exponents[term]
        parts = [
            (f"{name}{'' if power == 1 else f'^{Fraction(power).limit_denominator(4)}'}" if power else "")
            for name, power in (("N", a), ("log2(N)", b), ("K", c), ("log2(K)", d))
        ]
        return " ".join(part for part in parts if part) or "1"


@lru_cache(maxsize=2)
def term_library(*, logs_of_size: bool) -> TermLibrary:
    """All terms; without logarithms of the size where sizes below 2 would make them negative."""
    powers = [[float(Fraction(word)) for word in text.split()] for text in (THIRDS_AND_QUARTERS, FALLING)]
    simple = [[float(Fraction(word)) for word in text.split()] for text in (FEW, FEW_FALLING)]
    logs = (0.0, 1.0, 2.0) if logs_of_size else (0.0,)
    steep = [float(Fraction(word)) for word in STEEP.split()]
    every = np.array(
        [
            *product(powers[0], logs, powers[1] + powers[0], (0.0, 1.0, 2.0)),
            *product(steep, (0.0,), (*powers[1], 0.0), (0.0,)),
        ]
    )
    is_core = np.isin(every[:, 0], simple[0]) & np.isin(every[:, 2], simple[0] + simple[1])
    is_core &= (every[:, 1] < 2) & (every[:, 3] < 2)
    denominator = np.vectorize(lambda x: Fraction(x).limit_denominator(4).denominator)(every[:, [0, 2]])
    of_power = np.select([denominator == 1, denominator == 2, denominator == 3], [0.0, 0.5, 0.8], 1.0)
    of_power += np.abs(every[:, [0, 2]]) > 2
    of_log = np.select([every[:, [1, 3]] == 0, every[:, [1, 3]] == 1], [0.0, 0.5], 1.2)
    constant = int(np.flatnonzero((every == 0).all(axis=1))[0])
    is_core[constant] = False
    work = [places for own in WORK if len(places := np.flatnonzero((every == own).all(axis=1)))]
    return TermLibrary(every, np.flatnonzero(is_core), np.concatenate(work), constant, (of_power + of_log).sum(axis=1))


@dataclass(frozen=True)
class SurfaceModel:
    """Models with the same number of terms: their terms, coefficients, covariances (relative) and weights."""

    terms: Index
    coefficients: Array
    covariance: Array
    weight: Array


@dataclass(frozen=True)
class Surface:
    """All models of T(N, K) with weight, and the points behind them."""

    points: SurfacePoints
    library: TermLibrary
    models: tuple[SurfaceModel, ...]

    @property
    def weights(self) -> Array:
        return np.concatenate([own.weight for own in self.models])

    @property
    def best(self) -> tuple[Index, Array, Array, float]:
        """Terms, coefficients, covariance and weight of the model that predicts left-out points best."""
        own = max(self.models, key=lambda one: float(one.weight.max()))
        i = int(np.argmax(own.weight))
        return own.terms[i], own.coefficients[i], own.covariance[i], float(own.weight[i])

    def log_times(self, size: Array, k: Array) -> tuple[Array, Array]:
        """Log T of every model at each (size, k), and its standard error; rows are points, columns models."""
        means, errors = [], []
        for own in self.models:
            x = self.library.design(size, k, own.terms)
            time = np.einsum("qmp,mp->qm", x, own.coefficients)
            variance = np.einsum("qmp,mpr,qmr->qm", x, own.covariance, x) / time**2
            means.append(np.log(time))
            errors.append(np.sqrt(variance))
        return np.concatenate(means, axis=1), np.concatenate(errors, axis=1)

    def quantiles(self, size: Array, k: Array, level: float) -> Array:
        """Rows (middle, low, high) of log T at each (size, k): quantiles over models, wider where sums have weight."""
        from scipy.special import ndtr

        means, errors = self.log_times(size, k)
        errors = np.hypot(errors, DRIFT * self.points.doublings_beyond(size, k)[:, None]) + 1e-9
        weights = self.weights
        sums = float(sum(own.weight.sum() for own in self.models if own.terms.shape[1] > 1))
        rows = []
        for mean, error in zip(means, errors, strict=True):
            grid = np.linspace(float((mean - 5 * error).min()), float((mean + 5 * error).max()), 800)
            chance = ndtr((grid[:, None] - mean) / error) @ weights
            middle, low, high = np.interp([0.5, (1 - level) / 2, (1 + level) / 2], chance, grid)
            wide = 1.0 + UNKNOWN_SHAPE * sums
            rows.append((middle, middle + wide * (low - middle), middle + wide * (high - middle)))
        return np.array(rows)

    def draws(self, size: Array, k: Array, count: int, rng: np.random.Generator) -> Array:
        """Log T at each (size, k) of `count` surfaces that the data could have come from; rows are surfaces."""
        weights = self.weights
        chosen = rng.choice(len(weights), size=count, p=weights / weights.sum())
        rows, start = np.empty((count, len(size))), 0
        for own in self.models:
            mine = np.flatnonzero((chosen >= start) & (chosen < start + len(own.weight)))
            for row in mine:
                i = chosen[row] - start
                factor = np.linalg.cholesky(own.covariance[i] + 1e-30 * np.eye(own.terms.shape[1]))
                drawn = own.coefficients[i] + factor @ rng.standard_normal(own.terms.shape[1])
                drawn = np.maximum(drawn, 1e-6 * own.coefficients[i])
                rows[row] = np.log(self.library.design(size, k, own.terms[i]) @ drawn)
            start += len(own.weight)
        return rows


class _Search:
    """The models of one set of points, by their score: minus half the points times the log of squared errors."""

    def __init__(self, points: SurfacePoints, library: TermLibrary) -> None:
        self.points, self.library = points, library
        self.target = np.sqrt(points.runs / points.runs.mean())
        design = library.design(points.size, points.k) * (self.target / np.exp(points.log_time))[:, None]
        self.scale = np.sqrt((design**2).sum(axis=0))
        self.usable = np.isfinite(self.scale) & (self.scale > 0)
        self.columns = np.where(self.usable, design / np.where(self.usable, self.scale, 1.0), 0.0)
        within = 0.0 if points.noise is None else points.noise**2 * points.freedom / points.runs.mean()
        self.within, self.count = within, len(points) + points.freedom
        self.floor = len(points) * FLOOR**2

    def score(self, squares: Array) -> Array:
        return np.asarray(-0.5 * self.count * np.log(np.maximum(squares, self.floor) + self.within))

    def candidates(self) -> list[tuple[Index, Array]]:
        """Terms and scores by kind of model: one term, two and three, each without and with a constant."""
        constant, target = self.library.constant, self.target
        unit = self.columns[:, constant]
        rest = self.columns - np.outer(unit, unit @ self.columns)
        length = np.sqrt((rest**2).sum(axis=0))
        apart = self.usable & (length > 1e-4)
        rest = np.where(apart, rest / np.where(apart, length, 1.0), 0.0)
        left = target - unit * (unit @ target)
        kinds = []
        for columns, goal, usable, first in (
            (self.columns, target, self.usable, ()),
            (rest, left, apart, (constant,)),
        ):
            terms = np.flatnonzero(usable)
            squares = goal @ goal - (columns.T @ goal)[terms] ** 2
            kinds.append(self._kind(_with(first, terms[:, None]), self.score(squares), len(terms)))
            pairs, scores, tried = self._pairs(columns, goal, usable)
            kinds.append(self._kind(_with(first, pairs), scores, tried))
            if len(self.points) > len(first) + 5:
                kinds.append(self._threes(_with(first, pairs[:PAIRS_EXTENDED]), tried))
            kinds.extend(self._work(first, len(terms), tried))
        return kinds

    def _work(self, first: Sequence[int], singles: int, pairs: int) -> Iterator[tuple[Index, Array]]:
        """Two kinds of work, alone and with a simple term; not much rarer than one work of a broken power.

        N^2/K + N^3/K and N^(5/2)/K are hardly told apart where N was varied little, and far apart beyond.
        """
        work = _with(first, np.array(list(combinations(self.library.work[self.usable[self.library.work]], 2))))
        yield self._fitted(work, RARER * singles)
        if len(self.points) > len(first) + 5:
            yield self._threes(work, RARER * pairs / (len(self.library.core) / 3))

    def _kind(self, terms: Index, scores: Array, tried: float) -> tuple[Index, Array]:
        cost = SIMPLE * self.library.cost[terms].sum(axis=1)
        return terms, scores - cost - math.log(max(tried, 1))

    def _pairs(self, columns: Array, goal: Array, usable: npt.NDArray[np.bool_]) -> tuple[Index, Array, int]:
        """The best pairs of a simple term and any term, best first; their scores; and how many were tried."""
        core = self.library.core[usable[self.library.core]]
        moment, gram = columns.T @ goal, columns[:, core].T @ columns
        spread = 1.0 - gram**2
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            one = (moment[core][:, None] - gram * moment) / spread
            other = (moment - gram * moment[core][:, None]) / spread
            one, other = np.where(spread > 1e-6, one, 0.0), np.where(spread > 1e-6, other, 0.0)
        valid = (one > 0) & (other > 0) & usable
        valid[:, self.library.constant] = False
        gain = np.where(valid, moment[core][:, None] * one + moment * other, 0.0)
        cost = SIMPLE * (self.library.cost[core][:, None] + self.library.cost)
        rank = np.where(valid, self.score(goal @ goal - gain) - cost, -np.inf).ravel()
        best = np.argpartition(-rank, min(KEPT_PAIRS, len(rank) - 1))[:KEPT_PAIRS]
        best = best[np.isfinite(rank[best])]
        best = best[np.argsort(-rank[best])]
        i, j = np.unravel_index(best, gram.shape)
        return np.column_stack([core[i], j]), rank[best] + cost[i, j], gram.size

    def _threes(self, pairs: Index, tried: float) -> tuple[Index, Array]:
        """The best pairs, each with one more simple term."""
        core = self.library.core[self.usable[self.library.core]]
        terms = np.column_stack([np.repeat(pairs, len(core), axis=0), np.tile(core, len(pairs))])
        terms = np.sort(terms, axis=1)
        terms = np.unique(terms[(np.diff(terms, axis=1) > 0).all(axis=1)], axis=0)
        return self._fitted(terms, tried * len(core) / 3)

    def _fitted(self, terms: Index, tried: float) -> tuple[Index, Array]:
        """Those of the models whose coefficients are all positive, with their scores."""
        if not len(terms):
            return terms, np.empty(0)
        own = self.columns[:, terms]
        gram = np.einsum("nmp,nmr->mpr", own, own) + 1e-9 * np.eye(terms.shape[1])
        moment = (self.columns.T @ self.target)[terms]
        solved = np.linalg.solve(gram, moment[..., None])[..., 0]
        positive = (solved > 0).all(axis=1)
        squares = self.target @ self.target - (moment * solved).sum(axis=1)
        return self._kind(terms[positive], self.score(squares[positive]), tried)

    def settled(self, terms: Index, scores: Array) -> tuple[SurfaceModel, Array]:
        """Models in full, with scores by the points left out one at a time."""
        own = self.columns[:, terms]
        inverse = np.linalg.inv(np.einsum("nmp,nmr->mpr", own, own) + 1e-9 * np.eye(terms.shape[1]))
        solved = np.einsum("mpr,mr->mp", inverse, (self.columns.T @ self.target)[terms])
        errors = self.target[:, None] - np.einsum("nmp,mp->nm", own, solved)
        leverage = np.einsum("nmp,mpr,nmr->nm", own, inverse, own)
        squares = (errors**2).sum(axis=0)
        left_out = ((errors / np.maximum(1.0 - leverage, 0.05)) ** 2).sum(axis=0)
        better = scores - self.score(squares) + self.score(left_out)
        variance = (np.maximum(squares, self.floor) + self.within) / max(self.count - terms.shape[1], 1.0)
        is_work = np.isin(terms, self.library.work)
        seen = np.where(is_work & (is_work.sum(axis=1, keepdims=True) > 1), 0.0, SEEN)
        beyond_noise = solved > seen * np.sqrt(np.einsum("mpp->mp", inverse) * variance[:, None])
        better = np.where(beyond_noise.all(axis=1) if terms.shape[1] > 1 else solved[:, 0] > 0, better, -np.inf)
        scale = self.scale[terms]
        covariance = inverse * variance[:, None, None] / scale[:, :, None] / scale[:, None, :]
        return SurfaceModel(terms, solved / scale, covariance, np.zeros(len(terms))), better


def _with(first: Sequence[int], terms: Index) -> Index:
    return np.column_stack([np.tile(np.array(first, dtype=np.intp), (len(terms), 1)), terms]) if first else terms


def fit_surface(points: SurfacePoints) -> Surface:
    """The models of T(N, K) that explain the points, weighed by how well they predict points left out."""
    library = term_library(logs_of_size=bool(points.size.min() >= 2))
    search = _Search(points, library)
    candidates = [(terms, scores) for terms, scores in search.candidates() if len(terms)]
    settled = []
    for terms, scores in candidates:
        near = np.argsort(-scores)[:MOST_MODELS]
        settled.append(search.settled(terms[near], scores[near]))
    every = np.concatenate([scores for _, scores in settled])
    top = float(every.max())
    if not math.isfinite(top):
        raise InputError(Fault("no sum of powers and logarithms explains these times", remedy="check the columns"))
    least = max(top - BEHIND, float(np.sort(every)[-min(MOST_MODELS, len(every))]))
    total = float(np.exp(every[every >= least] - top).sum())
    models = []
    for model, scores in settled:
        kept = scores >= least
        if kept.any():
            weight = np.exp(scores[kept] - top) / total
            models.append(SurfaceModel(model.terms[kept], model.coefficients[kept], model.covariance[kept], weight))
    return Surface(points, library, tuple(models))


def _check_sizes(studies: StudySet) -> None:
    """Refuse a set whose curves have no sizes, or differ in more than size and the split of cores."""
    names = dict.fromkeys(axis for cells in studies.axes.values() for axis in cells)
    if not studies.sizes:
        remedy = "give a table with a column `size` of numbers beside K and time, or measure with --axis-size"
        fault = Fault("the curves have no problem size", value=f"axes: {', '.join(names) or 'none'}", remedy=remedy)
        raise InputError(fault, subject=studies.name)
    levels = {axis: list(dict.fromkeys(cells.get(axis, "") for cells in studies.axes.values())) for axis in names}
    others = [axis for axis, own in levels.items() if axis not in (*PLACEMENT, studies.size_axis) and len(own) > 1]
    if others:
        value = "; ".join(f"{axis}: {', '.join(levels[axis][:4])}" for axis in others)
        remedy = "keep one of them in the table: one T(N, K) has one program and one machine"
        raise InputError(
            Fault("the curves differ in more than their size", value=value, remedy=remedy), subject=studies.name
        )


def normal_width(level: float) -> float:
    """Standard deviations either side of the mean that hold a share `level` of a normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))


@dataclass(frozen=True, kw_only=True)
class SizeCurve:
    """T over K at one size, to draw: the model with its 90 % interval, and the measured means."""

    label: str
    k: tuple[float, ...]
    time: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    measured_k: tuple[float, ...]
    measured: tuple[float, ...]


def size_curves(surface: Surface, sizes: Sequence[float], last_k: float) -> tuple[SizeCurve, ...]:
    """The surface cut at each size, from the smallest measured K to `last_k`."""
    points, curves = surface.points, []
    k = np.geomspace(points.k.min(), max(last_k, 2 * points.k.min()), 24)
    for size in sizes:
        middle, low, high = np.exp(surface.quantiles(np.full(len(k), size), k, 0.9)).T
        mine = points.size == size
        columns = (k, middle, low, high, points.k[mine], np.exp(points.log_time[mine]))
        names = ("k", "time", "low", "high", "measured_k", "measured")
        own = {name: tuple(column.tolist()) for name, column in zip(names, columns, strict=True)}
        curves.append(SizeCurve(label=format_count(size), **own))
    return tuple(curves)
