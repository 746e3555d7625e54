"""The shapes that T(K) takes under each cause.

With P(K) = 1/K under strong scaling and 1 under weak scaling, T(K) = a P(K) + sum of sizes times shapes:

    serial         1: a part that one worker does alone, or a fixed cost of every launch (cancels under weak scaling);
                   K - 1 under weak scaling (one worker serves all)
    communication  log2 K (trees), K - 1 (linear), (K-1)/K (ring), K^-2/3 and K^-1/2 (surfaces of blocks and squares),
                   a step or log2(K/n) beyond a node of n, K^1/3 and K^1/2 under weak scaling (bisection of a torus)
    straggler      H_K (exponential noise of each worker at each barrier), log2 K (any noise with such a tail), the
                   expected largest of K normal and of K uniform draws, 1 - (1-p)^K (rare delays), in seconds or as a
                   share of the compute; one slow host beyond some K
    imbalance      P for K > 1 or beyond some K (one heavy share), P log2 K, P (H_K - 1) and P E[max] (new shares
                   each step), P K^1/2 E[max] (K parts of a random field), (K-1)/K and H_K (last tasks)
    contention     P (K-1) (Gunther), P log2 K, P K^1/3, P K^1/2, P K(K-1), P beyond some K (a second socket), and
                   bandwidth that saturates at some K, P max(0, K/Ks - 1), up to the size of a node or without one
    other          P log2 K and P K^1/2 (iterations), P (K-1) (pipelines), P K^1/3 (surfaces twice), K - 1 (checkpoints)

Several causes have one and the same shape, and then times alone cannot tell them apart.  H_K: the expected largest of K
exponential draws; A. Renyi, 1953.  log K: E. J. Gumbel, 1958.  Surfaces: volume to surface of a domain cut into K
parts.  Queues of tasks: R. L. Graham, SIAM J. Appl. Math. 17, 1969.

How well sums of shapes explain samples of T(K): evidence by Laplace's method, and a check of the fit.

Means of log T are compared with log of T(K) = a P(K) + one or two shapes with sizes >= 0.  The error of a mean is the
spread of the repeats, and a deviation of each K that repeats do not show (sessions, placement): several sizes of it are
tried and averaged.  Logarithms of sizes have a wide prior, so that a second shape must earn its place.

Where waiting is at work the spread between repeats may grow with it; that is a second, weaker witness.

Where no sum of shapes comes near the data, the fit is refused (posterior predictive check): then no cause is named.
Source: R. E. Kass and A. E. Raftery, Bayes factors, JASA 90, 1995; A. Gelman et al., Statistica Sinica 6, 1996.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from scalecurve.diagnosis.causes import COMMUNICATION, CONTENTION, IMBALANCE, OTHER, SERIAL, STRAGGLER
from scalecurve.findings import Finding, warning
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


def expected_largest(k: FloatArray) -> FloatArray:
    """E[max] of K standard normal draws, by Blom's formula (within 1 %)."""
    from scipy.special import ndtri

    largest: FloatArray = np.where(k > 1, ndtri((k - 0.375) / (k + 0.25)), 0.0)
    return largest


def harmonic(k: FloatArray) -> FloatArray:
    """H_K, the expected largest of K exponential draws of mean 1."""
    from scipy.special import digamma

    number: FloatArray = digamma(k + 1.0) + np.euler_gamma
    return number


def shapes(k: FloatArray, *, weak: bool, node_size: int | None, shared_machine: bool | None) -> tuple[CauseShape, ...]:
    """Every shape at the K of a study that is not the ideal one; weights add up to at most 1 for each cause.

    Forms with an onset appear once for each K where it could be.  Workers that share no machine hardly contend.
    """
    ideal = np.ones_like(k) if weak else 1.0 / k
    inner = k[1:-1]
    if len(inner) > MOST_ONSETS:
        inner = inner[np.unique(np.linspace(0, len(inner) - 1, MOST_ONSETS).round().astype(int))]
    sizes = [float(node_size)] if node_size else inner.tolist()
    every = [
        *_communication(k, weak, sizes),
        *_waiting(k, ideal, inner),
        *_contention(k, ideal, inner, sizes, APART if shared_machine is False else 1.0),
        *_nameless(k, ideal),
    ]
    every.append(CauseShape(SERIAL, "constant", np.ones_like(k), 1.0))
    if weak:  # what one worker does for all of them
        every.append(CauseShape(SERIAL, "work of one worker for each of K", k - 1.0, 0.5))
    return tuple(shape for shape in every if np.ptp(shape.seconds / ideal) > 1e-9)


def _communication(k: FloatArray, weak: bool, sizes: list[float]) -> Iterator[CauseShape]:
    several = k > 1
    cut = np.minimum(np.log2(k) / 3.0, 1.0)  # blocks are cut along one direction at K = 2, along three from 8 on
    forms = {"trees, log2 K": np.log2(k), "linear in K": k - 1.0, "ring, (K-1)/K": (k - 1.0) / k}
    if weak:
        forms |= {"bisection of a torus, K^1/3": k ** (1 / 3) - 1.0, "bisection of a mesh, K^1/2": np.sqrt(k) - 1.0}
        forms |= {"surface of blocks, more neighbours up to K = 8": cut}
    else:
        forms |= {"surface, K^-2/3": several * k ** (-2 / 3), "surface, K^-1/2": several * k**-0.5}
        forms |= {"surface of blocks, more neighbours up to K = 8": cut * k ** (-2 / 3)}
    for form, seconds in forms.items():
        yield CauseShape(COMMUNICATION, form, seconds, 0.8 / len(forms))
    for size in sizes:
        weight = 0.1 / len(sizes)
        yield CauseShape(COMMUNICATION, f"beyond a node of {size:g}", (k > size).astype(np.float64), weight)
        yield CauseShape(COMMUNICATION, f"log2 K beyond a node of {size:g}", np.log2(np.maximum(k / size, 1.0)), weight)


def _waiting(k: FloatArray, ideal: FloatArray, inner: FloatArray) -> Iterator[CauseShape]:
    yield CauseShape(STRAGGLER, "exponential noise at barriers, H_K", harmonic(k), 0.15, passing=True)
    yield CauseShape(STRAGGLER, "noise with an exponential tail, log K", np.log2(k), 0.12, passing=True)
    yield CauseShape(STRAGGLER, "normal noise at barriers", expected_largest(k), 0.08, passing=True)
    yield CauseShape(STRAGGLER, "bounded noise at barriers", k / (k + 1.0), 0.1, passing=True)
    for delays in RARE:
        chance = delays / max(float(k[-1]), delays + 1.0)
        yield CauseShape(STRAGGLER, "rare delays", 1.0 - (1.0 - chance) ** k, 0.15 / len(RARE), passing=True)
    for cause, name in ((STRAGGLER, "slowness"), (IMBALANCE, "new shares each step")):
        yield CauseShape(cause, f"exponential {name}", ideal * (harmonic(k) - 1.0), 0.1, passing=True)
        yield CauseShape(cause, f"normal {name}", ideal * expected_largest(k), 0.1, passing=True)
    yield CauseShape(IMBALANCE, "growing with log2 K", ideal * np.log2(k), 0.12)
    yield CauseShape(IMBALANCE, "parts of a random field", ideal * np.sqrt(k) * expected_largest(k), 0.1)
    onsets = [1.0, *inner]
    for size in onsets:
        yield CauseShape(IMBALANCE, f"one heavy share beyond K = {size:g}", ideal * (k > size), 0.25 / len(onsets))
        yield CauseShape(STRAGGLER, f"one slow host beyond K = {size:g}", ideal * (k > size), 0.2 / len(onsets))
    if ideal[-1] < ideal[0]:  # a fixed job: its longest task, or fewer tasks than workers, draws a plateau too
        yield CauseShape(IMBALANCE, "tasks from a queue end unevenly", (k - 1.0) / k, 0.08)
        yield CauseShape(IMBALANCE, "the longest of the last tasks", harmonic(k) - 1.0, 0.12)
        starts = [float(k[0]), *inner]
        for start in starts:
            added = ideal * np.maximum(k / start - 1.0, 0.0)
            yield CauseShape(IMBALANCE, f"tasks too few or too long beyond K = {start:g}", added, 0.15 / len(starts))


def _contention(
    k: FloatArray, ideal: FloatArray, inner: FloatArray, sizes: list[float], chance: float
) -> Iterator[CauseShape]:
    """`chance` is below 1 where workers share no machine: then no form has the sockets or the bandwidth of one."""
    yield CauseShape(CONTENTION, "linear, Gunther's sigma", ideal * (k - 1.0), 0.22 * chance)
    yield CauseShape(CONTENTION, "log2 K", ideal * np.log2(k), 0.1 * chance)
    for power, name in ((1 / 3, "K^1/3"), (1 / 2, "K^1/2")):
        yield CauseShape(CONTENTION, f"gradual, {name}", ideal * (k**power - 1.0), 0.08 * chance)
    yield CauseShape(CONTENTION, "quadratic, Gunther's kappa", ideal * (k - 1.0) * k, 0.1 * chance)
    for size in inner if chance == 1.0 else ():
        form = f"a second socket or hyperthreads beyond K = {size:g}"
        yield CauseShape(CONTENTION, form, ideal * (k > size), 0.12 * chance / len(inner))
    starts = [float(k[0]), *inner]
    for start in starts:
        added = ideal * np.maximum(k / start - 1.0, 0.0)
        yield CauseShape(CONTENTION, f"bandwidth saturated at K = {start:g}", added, 0.22 * chance / len(starts))
    pairs = [(size, start) for size in sizes for start in starts if start < size and chance == 1.0]
    for size, start in pairs:
        added = ideal * np.maximum(np.minimum(k, size) / start - 1.0, 0.0)
        form = f"bandwidth of a node of {size:g} saturated at K = {start:g}"
        yield CauseShape(CONTENTION, form, added, 0.2 * chance / len(pairs))


def _nameless(k: FloatArray, ideal: FloatArray) -> Iterator[CauseShape]:
    """Mechanisms without a name that are known all the same; they draw what others draw, and are rarer."""
    yield CauseShape(OTHER, "more iterations, log2 K", ideal * np.log2(k), 0.08)
    yield CauseShape(OTHER, "more iterations or a sweep, K^1/2", ideal * (np.sqrt(k) - 1.0), 0.08)
    yield CauseShape(OTHER, "filling a pipeline", ideal * (k - 1.0), 0.08)
    if ideal[-1] < ideal[0]:
        yield CauseShape(OTHER, "surfaces computed twice, K^-2/3", (k > 1) * k ** (-2 / 3), 0.08)
    yield CauseShape(OTHER, "what K workers write or recover, K - 1", k - 1.0, 0.08)


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
