"""The shapes that T(K) takes under each cause.

The shapes are the terms of `laws.terms` that stand for a cause, each at every place where it could begin.

How well sums of shapes explain samples of T(K): evidence by Laplace's method, and a check of the fit.

Means of log T are compared with log of T(K) = a P(K) + one or two shapes with sizes >= 0.  The error of a mean is the
spread of the repeats, and a deviation of each K that repeats do not show (sessions, placement): several sizes of it are
tried and averaged.  Logarithms of sizes have a wide prior, so that a second shape must earn its place.

Where waiting is at work the spread between repeats may grow with it; that is a second, weaker witness.

Where no sum of shapes comes near the data, the fit is refused (posterior predictive check): then no cause is named.
Source: R. E. Kass and A. E. Raftery, Bayes factors, JASA 90, 1995; A. Gelman et al., Statistica Sinica 6, 1996.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations, groupby

import numpy as np

from scalecurve.findings import Finding, warning
from scalecurve.laws.formula import formula
from scalecurve.laws.terms import CONTENTION, TERMS
from scalecurve.study.run import FloatArray

RARE = (0.3, 1.0, 3.0)  # expected delays of a step at the largest K
MOST_ONSETS = 6
APART = 0.1
SLOW_SCORE = 4.0
LEAST_RELATIVE = 0.02
LEAST_REPEATS = 4
UNREPEATED_ERROR = 0.02  # of log T, where runs were not repeated
DEVIATIONS = (0.002, 0.006, 0.015, 0.03)  # of a K, not shown by repeats
ACCEPTED_DEVIATION = 0.02
MISFIT = 0.01
LOG_RANGE = 7.3  # of a size: a factor of 1500
SHRINKAGE = 4.0  # degrees of freedom of the common spread against that of one K
PASSING = (0.0, 0.03, 0.1, 0.3)  # spread between repeats, as a share of the waiting
COUNTS = (3.0, 1.0, 0.3)  # chances of no, one and two shapes beforehand, before those of the shapes
DRAWS = 60
MOST_MODELS = 80
MOST_WITNESS = 1.5  # of log likelihood: spreads with heavy tails say less than normal ones would
UNSEEN_NOISE = 0.05  # a single run at a K may be off by so much before a fit is refused


@dataclass(frozen=True, eq=False)
class CauseShape:
    """One form of a cause: what it adds to T at each K for size 1, and its chance among the forms of its cause.

    `passing` says that it comes from slowness that changes from step to step, which may differ between repeats.
    """

    cause: str
    form: str
    seconds: FloatArray
    weight: float
    passing: bool = False


def shapes(k: FloatArray, *, weak: bool, node_size: int | None, shared_machine: bool | None) -> tuple[CauseShape, ...]:
    """Every shape at the K of a study that is not the ideal one; weights add up to at most 1 for each cause.

    Forms with an onset appear once for each K where it could be.  Workers that share no machine hardly contend.
    """
    ideal = np.ones_like(k) if weak else 1.0 / k
    inner = k[1:-1]
    if len(inner) > MOST_ONSETS:
        inner = inner[np.unique(np.linspace(0, len(inner) - 1, MOST_ONSETS).round().astype(int))]
    places = _places(k, inner.tolist(), [float(node_size)] if node_size else inner.tolist())
    apart = shared_machine is False
    chosen = [
        term
        for term in TERMS
        if term.cause and term.regime in (None, "weak" if weak else "strong") and not (apart and term.one_machine)
    ]
    every = [
        CauseShape(
            term.cause or "",
            term.name.format(**place),
            np.broadcast_to(formula(term.formula)(K=k, P=ideal, **place), k.shape),
            term.chance * (APART if apart and term.cause == CONTENTION else 1.0) / len(places[kind]),
            term.passing,
        )
        for kind, terms in groupby(chosen, key=lambda term: term.place)
        for same in [list(terms)]
        for place in places[kind]
        for term in same
    ]
    return tuple(shape for shape in every if np.ptp(shape.seconds / ideal) > 1e-9)


def _places(k: FloatArray, inner: list[float], sizes: list[float]) -> dict[str, list[dict[str, float]]]:
    """Where a term could begin, by the names of its place."""
    starts = [float(k[0]), *inner]
    return {
        "": [{}],
        "node": [{"node": size} for size in sizes],
        "onset": [{"onset": onset} for onset in (1.0, *inner)],
        "inner": [{"inner": onset} for onset in inner],
        "start": [{"start": start} for start in starts],
        "node start": [{"node": size, "start": start} for size in sizes for start in starts if start < size],
        "chance": [{"chance": delays / max(float(k[-1]), delays + 1.0)} for delays in RARE],
    }


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, mean and sum of squared deviations of the logarithms of the samples of each K."""

    n: FloatArray
    mean: FloatArray
    squares: FloatArray

    @property
    def pooled(self) -> float:
        """The pooled relative standard deviation of a run; 0 without repeats."""
        freedom = float(np.sum(self.n - 1))
        return float(np.sqrt(self.squares.sum() / freedom)) if freedom > 0 else 0.0

    @property
    def variance_of_mean(self) -> FloatArray:
        """The variance of the mean logarithm of each K; each K's own spread is drawn to the common one."""
        common = self.pooled**2 if np.any(self.n > 1) else UNREPEATED_ERROR**2
        own: FloatArray = (SHRINKAGE * common + self.squares) / (SHRINKAGE + self.n - 1) / self.n
        return own


@dataclass(frozen=True, eq=False)
class Observed:
    """What the samples say without the slow runs."""

    k: FloatArray
    kept: Moments


@dataclass(frozen=True)
class SlowRuns:
    """Samples far above the rest of their K: where, how many, and how much wider they make the band."""

    k: tuple[int, ...]
    count: int
    of: int
    worst: float
    spread_with: float
    spread_without: float

    @property
    def findings(self) -> tuple[Finding, ...]:
        if not self.count:
            return ()
        are = "is" if self.count == 1 else "are"
        message = (
            f"{self.count} of {self.of} runs {are} far slower than the rest (up to {self.worst:.0%} above the median "
            f"of their K): the spread is {self.spread_with:.1%} with them and {self.spread_without:.1%} without. Slow "
            "runs widen the band; they do not cause the bend where the medians stay smooth"
        )
        remedy = "look for neighbours, throttling or background jobs; more repeats narrow the band, not the bend"
        figures = {"count": self.count, "worst": self.worst, "spread_with": self.spread_with}
        figures["spread_without"] = self.spread_without
        return (warning("straggler-noise", message, remedy=remedy, k=list(self.k), **figures),)


def observe(times: Mapping[int, FloatArray]) -> tuple[Observed, SlowRuns]:
    """The samples of each K as the posterior needs them, and the slow runs set apart."""
    logs = {k: np.log(values) for k, values in times.items()}
    # Deviations from their own median are small for few samples: 1.4826 holds for many, so sqrt(n/(n-1)) widens them.
    apart = [
        np.abs(v - np.median(v)) * np.sqrt(len(v) / (len(v) - 1)) for v in logs.values() if len(v) >= LEAST_REPEATS
    ]
    limit = np.inf
    if apart:
        limit = SLOW_SCORE * max(1.4826 * float(np.median(np.concatenate(apart))), LEAST_RELATIVE / SLOW_SCORE)
    kept = {k: values[values <= np.median(values) + limit] for k, values in logs.items()}
    slow = {k: values.max() - np.median(values) for k, values in logs.items() if len(kept[k]) < len(values)}
    count = sum(len(logs[k]) - len(kept[k]) for k in logs)
    every, steady = _moments(logs), _moments(kept)
    worst = float(np.expm1(max(slow.values()))) if slow else 0.0
    points = Observed(np.array(list(logs), dtype=np.float64), steady)
    return points, SlowRuns(tuple(slow), count, int(every.n.sum()), worst, every.pooled, steady.pooled)


def _moments(logs: Mapping[int, FloatArray]) -> Moments:
    n = np.array([len(values) for values in logs.values()], dtype=np.float64)
    mean = np.array([values.mean() for values in logs.values()])
    squares = np.array([((values - values.mean()) ** 2).sum() for values in logs.values()])
    return Moments(n, mean, squares)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Weighted draws of what each shape adds to T (axes: draw, shape, K), and of T itself (axes: draw, K).

    `fit` is the chance of data that lie further from the best model than these do.
    """

    weights: FloatArray
    parts: FloatArray
    total: FloatArray
    fit: float
    best: tuple[int, ...]


def explain(every: tuple[CauseShape, ...], ideal: FloatArray, data: Observed, rng: np.random.Generator) -> Posterior:
    """Weigh every sum of the ideal and up to two shapes."""
    seconds = np.exp(data.kept.mean - data.kept.mean.min())
    columns = np.vstack([ideal, *(shape.seconds for shape in every)])
    chance = np.array([1.0, *(shape.weight for shape in every)])
    passing = np.array([False, *(shape.passing for shape in every)])
    places = [np.array([[0]]), np.array([[0, j] for j in range(1, len(columns))], dtype=int).reshape(-1, 2)]
    if len(ideal) > 2:
        places.append(np.array([[0, i, j] for i, j in combinations(range(1, len(columns)), 2)]).reshape(-1, 3))
    deviations = DEVIATIONS if np.any(data.kept.n > 1) else (*DEVIATIONS, UNSEEN_NOISE)
    groups: list[_Fits] = []
    for chosen in places:
        prior = np.log(chance[chosen]).sum(axis=1) + np.log(COUNTS[chosen.shape[1] - 1])
        for deviation in deviations if len(chosen) else ():
            fits = _fit(chosen, prior, columns, seconds, data.kept, deviation)
            waiting = np.einsum("mi,mik->mk", fits.sizes, columns[chosen] * passing[chosen][:, :, None]) / seconds
            groups.append(replace(fits, log_weight=fits.log_weight + _spread_witness(waiting, data.kept)))
    log_weight = np.concatenate([group.log_weight for group in groups])
    owner = np.concatenate([np.full(len(group.log_weight), i) for i, group in enumerate(groups)])
    place = np.concatenate([np.arange(len(group.log_weight)) for group in groups])
    order = np.argsort(-log_weight)[:MOST_MODELS]
    weights = np.exp(log_weight[order] - log_weight[order[0]])
    parts, shares = [], []
    for weight, i in zip(weights / weights.sum(), order, strict=True):
        group, model = groups[owner[i]], int(place[i])
        chosen = group.places[model]
        root = _square_root(group.covariance[model])
        sizes = np.abs(group.sizes[model] + rng.standard_normal((DRAWS, len(chosen))) @ root.T)
        own = np.zeros((DRAWS, *columns.shape))
        own[:, chosen] = sizes[:, :, None] * columns[chosen]
        parts.append(own)
        shares.append(np.full(DRAWS, weight / DRAWS))
    drawn = np.concatenate(parts)
    best = groups[owner[order[0]]]
    return Posterior(
        np.concatenate(shares),
        drawn[:, 1:],
        drawn.sum(axis=1),
        _fit_chance(groups, data.kept),
        tuple(int(j) - 1 for j in best.places[place[order[0]]] if j > 0),
    )


def _square_root(covariance: FloatArray) -> FloatArray:
    """A matrix whose square is the covariance, also where rounding leaves that without one: times from 1e-9 to 64 s."""
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        sizes, axes = np.linalg.eigh(np.nan_to_num(covariance))
        root = axes * np.sqrt(np.maximum(sizes, 0.0))
    return np.asarray(root, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Fits:
    """Least squares of models with the same number of shapes, for one deviation of each K."""

    places: np.ndarray
    sizes: FloatArray
    covariance: FloatArray
    log_weight: FloatArray
    residuals: FloatArray


def _fit(
    places: np.ndarray, prior: FloatArray, columns: FloatArray, seconds: FloatArray, data: Moments, deviation: float
) -> _Fits:
    """Sizes, their covariance and the log evidence of each model; a model with a negative size gets none."""
    error = seconds * np.sqrt(data.variance_of_mean + deviation**2)
    design = columns[places] / error  # axes: model, shape, K
    target = seconds / error
    normal = np.einsum("mik,mjk->mij", design, design)
    # Of each shape's own size: K - 1 is thousands of times 1/K at K = 512.
    normal += 1e-9 * np.einsum("mii->mi", normal)[:, :, None] * np.eye(places.shape[1])
    covariance = np.linalg.inv(normal)
    sizes = np.einsum("mij,mjk,k->mi", covariance, design, target)
    residuals = target - np.einsum("mi,mik->mk", sizes, design)
    allowed = np.all(sizes > 0, axis=1)
    scaled = np.where(allowed[:, None], sizes, 1.0)
    in_logs = normal * scaled[:, :, None] * scaled[:, None, :]
    width = 2 * np.pi / LOG_RANGE**2
    _, volume = np.linalg.slogdet(np.eye(places.shape[1]) + in_logs / width)
    evidence = -0.5 * (residuals**2).sum(axis=1) - 0.5 * volume - np.log(error).sum() + prior
    return _Fits(places, sizes, covariance, np.where(allowed, evidence, -np.inf), residuals * error / seconds)


def _spread_witness(waiting: FloatArray, data: Moments) -> FloatArray:
    """How much likelier the spreads of the repeats are, where part of the waiting (a share of T) comes and goes."""
    freedom = data.n - 1
    common = max(data.pooled, 1e-4)
    if freedom.sum() < 1:
        return np.zeros(len(waiting))
    usual = common * np.array([1.0, 0.6, 0.35, 0.2])[:, None, None, None]
    variance = usual**2 + (np.array(PASSING)[:, None, None] * np.clip(waiting, 0.0, 1.0)) ** 2
    logs = -0.5 * (freedom * np.log(variance) + data.squares / variance).sum(axis=-1)  # axes: usual, passing, model
    top = logs.max()
    likelihood: FloatArray = np.log(np.maximum(np.exp(logs - top).mean(axis=(0, 1)), 1e-12)) + top
    gain: FloatArray = np.minimum(likelihood - likelihood.min(), MOST_WITNESS)
    return gain


def _fit_chance(groups: list[_Fits], data: Moments) -> float:
    """The posterior predictive chance of a worse fit, of the model that fits best."""
    from scipy.special import chdtrc

    variance = data.variance_of_mean + ACCEPTED_DEVIATION**2 / 4 + np.where(data.n > 1, 0.0, UNSEEN_NOISE**2)
    best = 0.0
    for group in groups:
        misfit = (group.residuals**2 / variance).sum(axis=1)
        usable = np.isfinite(group.log_weight)
        freedom = max(len(data.n) - group.places.shape[1], 1)
        if usable.any():
            best = max(best, float(chdtrc(freedom, misfit[usable].min())))
    return best
