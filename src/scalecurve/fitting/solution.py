"""One law fitted to one study: coefficients, predictive density, uncertainty, and the K that separates two laws.

A law is scored by the log density of each K under a fit to all others:

    score = sum_i ln p(ln T_i | all K but K_i),    p = Student t around the fit, scale^2 = s^2 + s_fit^2

Leave-one-out predictive density needs no penalty for parameters and no large sample; R^2 and AICc are not used: the
first is invalid for nonlinear laws, the second infinite for as many parameters as points less one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scalecurve.analysis.curve import curve_of
from scalecurve.errors import Fault, InputError
from scalecurve.fitting.models import Array, fit_law, free_parameters, law_slopes, law_times, laws_for
from scalecurve.laws import Law
from scalecurve.study import Quantity, Study

SEED = 11
DRAWS = 400
FLOOR = 0.002  # no mean is taken to be known better than 0.2 %
CLEAR = 4.0  # a difference of predictive log density below this is small whatever its standard error
SEPARATED = 2.0  # in standard errors of the difference of two predictions
FARTHEST = 64


@dataclass(frozen=True)
class Observations:
    """One log T per K (see `analysis.curve`), and the noise that repeats show.

    `noise` is the pooled relative standard deviation of single runs, None without repeats; `freedom` is its degrees of
    freedom.
    """

    k: Array
    log_time: Array
    runs: Array
    noise: float | None
    freedom: float

    @property
    def error(self) -> Array | None:
        """The standard error of each mean, relative."""
        return None if self.noise is None else self.noise / np.sqrt(self.runs)

    def __len__(self) -> int:
        return len(self.k)


@dataclass(frozen=True)
class Solution:
    """T1 and the parameters of a law, residuals of log T and their scale with its degrees of freedom."""

    name: str
    law: Law
    coefficients: Array
    residuals: Array
    scale: float
    freedom: float

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in free_parameters(self.law))

    @property
    def size(self) -> int:
        """Free numbers: the parameters and the time at one worker."""
        return len(self.coefficients)

    @property
    def level(self) -> float:
        """T at one worker."""
        return float(self.coefficients[0])

    @property
    def ratios(self) -> Array:
        """The law's parameters."""
        return self.coefficients[1:]

    def log_time(self, k: Array) -> Array:
        return np.asarray(self.log_times(k, self.coefficients[None])[0])

    def log_times(self, k: Array, coefficients: Array) -> Array:
        """Log T at each K for rows of coefficients, such as draws."""
        return np.asarray(np.log(law_times(self.law, np.asarray(k, dtype=np.float64), coefficients)))


@dataclass(frozen=True)
class Solutions:
    """All laws fitted to one study, by name: `densities` by K, `draws` of coefficients refitted to noisy curves."""

    points: Observations
    by_law: Mapping[str, Solution]
    densities: Mapping[str, Array]
    draws: Mapping[str, Array]

    @property
    def ranked(self) -> list[str]:
        """The laws by score, best first."""
        return sorted(self.densities, key=lambda name: -float(self.densities[name].sum()))


def solve_laws(study: Study, names: Sequence[str] | None = None, rng: np.random.Generator | None = None) -> Solutions:
    """The laws of the study's regime, or those named, fitted and scored; one scale for all, so that misfit costs."""
    if len(study.all_k) < 2:
        remedy = "measure at least two, better five, worker counts"
        raise InputError(Fault("a fit needs at least two worker counts", remedy=remedy), subject=study.name)
    curve = curve_of(study)
    spread, degrees = curve.std / curve.mean, curve.degrees
    freedom = float(degrees.sum())
    noise = float(np.sqrt(np.nansum(degrees * spread**2) / freedom)) if freedom >= 1 else None
    runs = curve.n.astype(np.float64)
    points = Observations(curve.k.astype(np.float64), np.log(curve.time), runs, noise, freedom)
    by_law = {name: solve(name, law, points) for name, law in laws_for(study.regime, names).items()}
    finest = min(by_law.values(), key=lambda own: own.scale)
    densities = {name: _densities(own, points, finest.scale, finest.freedom) for name, own in by_law.items()}
    generator = rng if rng is not None else np.random.default_rng(SEED)
    return Solutions(points, by_law, densities, {name: _draws(own, points, generator) for name, own in by_law.items()})


def solve(name: str, law: Law, points: Observations) -> Solution:
    """Relative least squares with every parameter at least 0, weighted by the runs behind each mean.

    The scale is the standard deviation of a mean around the law: from the residuals, never below what repeats say.
    """
    coefficients = fit_law(law, points.k, points.log_time[None], points.runs[None])[0]
    residuals = points.log_time - np.log(law_times(law, points.k, coefficients[None])[0])
    free = max(len(points) - len(coefficients), 1)
    misfit = float(np.sum(points.runs * residuals**2) / points.runs.mean() / free)
    repeats = float(np.mean(points.error**2)) if points.error is not None else 0.0
    freedom = free + (points.freedom if repeats >= misfit else 0.0)
    scale = float(np.sqrt(max(misfit, repeats, FLOOR**2)))
    return Solution(name, law, coefficients, residuals, scale, float(freedom))


def _densities(solution: Solution, points: Observations, scale: float, freedom: float) -> Array:
    """The log density of each K, predicted from the others.

    The fit adds its own uncertainty through the leverage x' (X'WX)^-1 x of the left-out point, in relative units.
    """
    count = len(points)
    weights = np.where(np.eye(count, dtype=bool), 0.0, points.runs)
    coefficients = fit_law(solution.law, points.k, np.tile(points.log_time, (count, 1)), weights)
    predicted = np.diag(solution.log_times(points.k, coefficients))
    relative = law_slopes(solution.law, points.k, solution.coefficients) / np.exp(points.log_time)[:, None]
    relative = relative / np.sqrt(np.mean(relative**2, axis=0))
    gram = np.einsum("ip,pj,pk->ijk", weights / points.runs.mean(), relative, relative)
    gram = gram + 1e-6 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(relative.shape[1])
    solved = np.linalg.solve(gram, relative[..., None])[..., 0]
    leverage = np.clip(np.einsum("ij,ij->i", relative, solved), 0.0, 1e4)
    spread = scale * np.sqrt(1.0 + leverage)
    away = (points.log_time - predicted) / spread
    constant = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    return np.asarray(constant - (freedom + 1) / 2 * np.log1p(away**2 / freedom) - np.log(spread))


def _draws(solution: Solution, points: Observations, rng: np.random.Generator) -> Array:
    """Parametric bootstrap: coefficients refitted to curves that the law could have given, so bounds are respected."""
    expected = points.log_time - solution.residuals
    relative = solution.scale * np.sqrt(points.runs.mean() / points.runs)
    noise = rng.standard_t(max(solution.freedom, 1.0), size=(DRAWS, len(points))) * relative
    weights = np.tile(points.runs, (DRAWS, 1))
    return fit_law(solution.law, points.k, expected + np.clip(noise, -5.0, 5.0), weights)


def refit_absolute(solution: Solution, points: Observations, quantity: Quantity) -> tuple[Array, Array, int]:
    """Level and parameters by unweighted least squares of the values, their covariance, and the degrees of freedom.

    Minimises sum_i (v_i - f(K_i))^2 of the study's quantity as spreadsheets and R's usl do, so that the largest values
    decide; parameters stay at least 0.
    """
    from scipy.optimize import least_squares

    sign = 1.0 if quantity is Quantity.SECONDS else -1.0
    level = float(np.exp(sign * np.log(solution.level)))
    start = np.r_[1.0, np.maximum(solution.ratios, 1e-9)]
    size = np.where(start > 1e-8, start, 1.0)
    values = np.exp(sign * points.log_time)

    def miss(scaled: Array) -> Array:
        ratio = law_times(solution.law, points.k, np.r_[1.0, scaled[1:] * size[1:]][None])[0]
        return np.asarray((values - level * scaled[0] * ratio**sign) / level)

    best = least_squares(miss, start / size, bounds=(0.0, np.inf), x_scale="jac", xtol=1e-14, ftol=1e-14, gtol=1e-14)
    freedom = max(len(points) - len(start), 1)
    slope: Array = np.asarray(best.jac)
    covariance = np.asarray(2 * best.cost / freedom * np.linalg.pinv(slope.T @ slope), dtype=np.float64)
    back = size * np.r_[level, np.ones(len(start) - 1)]
    return best.x * back, covariance * np.outer(back, back), freedom


def tied_with_best(densities: Mapping[str, Array]) -> tuple[str, ...]:
    """Laws whose predictive density falls short of the best by less than 4, or by less than 2 standard errors.

    Source of the rule: Sivula, Magnusson, Vehtari (2020), uncertainty of leave-one-out comparisons.
    """
    ranked = sorted(densities, key=lambda name: -float(densities[name].sum()))
    tied = []
    for name in ranked:
        difference = densities[ranked[0]] - densities[name]
        total, error = float(difference.sum()), float(np.sqrt(len(difference) * np.var(difference)))
        if total < CLEAR or total < 2 * error:
            tied.append(name)
    return tuple(tied)


def separating_k(laws: Sequence[Solution], draws: Sequence[Array], largest: float) -> int | None:
    """The K beyond the data that separates the first law from the others; None where none within 64 times does.

    The smallest doubling where the predictions differ by 2 standard errors, or else the one where they differ most.
    """
    ahead: Array = np.asarray(largest * 2.0 ** np.arange(1, int(np.log2(FARTHEST)) + 1), dtype=np.float64)
    apart = separation(laws, draws, ahead)
    if apart.max() >= SEPARATED:
        return int(ahead[np.argmax(apart >= SEPARATED)])
    return int(ahead[np.argmax(apart)]) if apart.max() >= 1.0 else None


def separation(laws: Sequence[Solution], draws: Sequence[Array], at: Array) -> Array:
    """Standard errors (noise of a run, uncertainty of both fits) between the first law and its nearest rival at K."""
    noise = max(law.scale for law in laws)
    errors = []
    for solution, drawn in zip(laws, draws, strict=True):
        low, high = np.percentile(solution.log_times(at, drawn), [16, 84], axis=0)
        errors.append((high - low) / 2)
    first = laws[0].log_time(at)
    gaps = [
        np.abs(first - rival.log_time(at)) / np.sqrt(noise**2 + errors[0] ** 2 + error**2)
        for rival, error in zip(laws[1:], errors[1:], strict=True)
    ]
    return np.asarray(np.min(gaps, axis=0))
