"""The exact non-negative fit of terms over K, for many curves at once; and the laws to fit under a regime.

    T(K) = sum_j c_j f_j(K),  c_j >= 0,  minimising  sum_i w_i (1 - T(K_i)/T_i)^2

With at most four terms every active set can be tried, so the non-negative least squares problem is solved exactly and
without iterating: the best feasible subset is the solution (it satisfies the Karush-Kuhn-Tucker conditions).

Source: the basis {1, 1/K, log K, K} with non-negative weights is that of Ernest (Venkataraman et al., NSDI 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, InputError
from scalecurve.laws import Law, Parameter, every_law
from scalecurve.laws.formula import formula
from scalecurve.study import Regime

Array = npt.NDArray[np.float64]

STARTS = (0.003, 0.1, 0.6)  # of the range of a parameter, where a closed form is fitted
_RIDGE = 1e-12  # relative; keeps the solve finite where two terms coincide on the measured K


@dataclass(frozen=True)
class PositiveFit:
    """Coefficients of one set of terms for N curves; K is relative to each curve's `base`, T to its `level`."""

    terms: tuple[str, ...]
    coefficients: Array
    base: Array
    level: Array

    def log_time(self, k: Array) -> Array:
        """The log of T at `k`, an array of N rows."""
        time = np.einsum("nqj,nj->nq", design(self.terms, k / self.base[:, None]), self.coefficients)
        return np.asarray(np.log(np.maximum(time, np.finfo(float).tiny)) + self.level[:, None])


def design(terms: Sequence[str], x: Array) -> Array:
    """The terms' values at x, in a new last axis."""
    return np.stack(np.broadcast_arrays(*(formula(term)(K=x) for term in terms), x)[:-1], axis=-1)


def fit_positive(terms: Sequence[str], k: Array, log_time: Array, weights: Array) -> PositiveFit:
    """Fit rows of (k, log time) with non-negative weights; a weight of zero leaves the point out."""
    base, level = k[:, 0], log_time[:, -1]
    scaled = design(terms, k / base[:, None]) / np.exp(log_time - level[:, None])[..., None]
    return PositiveFit(tuple(terms), solve_positive(scaled, weights), base, level)


def solve_positive(matrix: Array, weights: Array) -> Array:
    """The argmin over c >= 0 of sum_i w_i (1 - (M c)_i)^2 for each of N problems; M is N x P x J."""
    scale = np.sqrt(np.einsum("npj,np->nj", matrix**2, weights) / weights.sum(axis=1, keepdims=True))
    scale = np.where(scale > 0, scale, 1.0)
    unit = matrix / scale[:, None, :]
    gram = np.einsum("npj,np,npk->njk", unit, weights, unit)
    moment = np.einsum("npj,np->nj", unit, weights)
    best = np.full(len(matrix), -np.inf)
    chosen = np.zeros(moment.shape)
    ridge = _RIDGE * weights.sum(axis=1)[:, None, None]
    count = matrix.shape[2]
    for active in (list(own) for size in range(1, count + 1) for own in combinations(range(count), size)):
        small = gram[:, active][:, :, active] + ridge * np.eye(len(active))
        part = np.linalg.solve(small, moment[:, active][..., None])[..., 0]
        gain = np.sum(moment[:, active] * part, axis=1)
        better = np.all(part >= 0, axis=1) & (gain > best * (1 + 1e-9))
        best = np.where(better, gain, best)
        full = np.zeros(moment.shape)
        full[:, active] = part
        chosen = np.where(better[:, None], full, chosen)
    return np.asarray(chosen / scale)


def laws_for(regime: Regime, names: Sequence[str] | None = None) -> dict[str, Law]:
    """The laws of a regime that are sums of terms, or any of its laws that are named, by the name that a fit shows."""
    known = {
        law.name.removesuffix("-weak"): law
        for law in every_law()
        if law.regime == regime.value and law.work_formula is None
    }
    unknown = [name for name in names or () if name not in known]
    if unknown:
        remedy = f"for {regime} scaling use one of {', '.join(known)}"
        raise InputError([Fault("no such law to fit", value=name, remedy=remedy) for name in unknown])
    return {name: known[name] for name in names} if names else {n: law for n, law in known.items() if not law.closed}


def free_parameters(law: Law) -> tuple[Parameter, ...]:
    """The parameters that a fit determines: all of a closed form, those with a term of a sum."""
    return tuple(parameter for parameter in law.parameters if law.closed or parameter.term)


def law_times(law: Law, k: Array, coefficients: Array) -> Array:
    """T at each K for rows of (T1, parameters): rows x K."""
    names = [parameter.name for parameter in free_parameters(law)]
    values = {name: coefficients[:, i + 1, None] for i, name in enumerate(names)}
    ratio = law.time_ratio(K=k[None], **values)
    return np.asarray(coefficients[:, :1] * np.broadcast_to(ratio, (len(coefficients), len(k))))


def law_slopes(law: Law, k: Array, coefficients: Array) -> Array:
    """How T at each K changes with T1 and with each parameter times T1, in a new last axis."""
    if not law.closed:
        return design((law.base, *(term for _, term in law.terms)), k)
    steps = np.diag(1e-6 * np.maximum(np.abs(coefficients), 1e-3))
    ahead = [law_times(law, k, (coefficients + sign * steps)) for sign in (1.0, -1.0)]
    return np.asarray(((ahead[0] - ahead[1]) / (2 * np.diag(steps)[:, None])).T)


def fit_law(law: Law, k: Array, log_time: Array, weights: Array) -> Array:
    """T1 and the parameters of a law for many curves over the same K; T1 is always positive."""
    if law.closed:
        return _fit_closed(law, k, log_time, weights)
    shift = log_time.mean(axis=1, keepdims=True)
    columns = design((law.base, *(term for _, term in law.terms)), k)
    coefficients = solve_positive(columns[None] / np.exp(log_time - shift)[..., None], weights) * np.exp(shift)
    level = np.maximum(coefficients[:, :1], 1e-9 * coefficients.sum(axis=1, keepdims=True))
    return np.concatenate([level, coefficients[:, 1:] / level], axis=1)


def _fit_closed(law: Law, k: Array, log_time: Array, weights: Array) -> Array:
    """Least squares of log T within the bounds, for the mean curve; then one Gauss-Newton step to each."""
    from scipy.optimize import least_squares

    middle, weight = log_time.mean(axis=0), weights.mean(axis=0)
    free = free_parameters(law)
    low = np.array([-np.inf, *(parameter.low for parameter in free)])
    high = np.array([np.inf, *(parameter.high for parameter in free)])
    widths = [min(parameter.high - parameter.low, 1.0) for parameter in free]
    starts = product(*((p.low + share * width for share in STARTS) for p, width in zip(free, widths, strict=True)))

    def log_times(point: Array) -> Array:
        return np.asarray(np.log(law_times(law, k, np.r_[np.exp(point[:1]), point[1:]][None])[0]))

    def miss(point: Array) -> Array:
        return np.asarray(np.sqrt(weight) * (middle - log_times(point)))

    fits = [least_squares(miss, np.r_[middle[0], start], bounds=(low, high)) for start in starts]
    best = min(fits, key=lambda fit: float(fit.cost))
    slope = -np.asarray(best.jac) / np.sqrt(weight)[:, None]
    gram = np.einsum("np,pi,pj->nij", weights, slope, slope)
    gram = gram + 1e-9 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(len(low))
    moment = np.einsum("np,pi,np->ni", weights, slope, log_time - log_times(best.x))
    points = np.clip(best.x + np.linalg.solve(gram, moment[..., None])[..., 0], low, high)
    return np.concatenate([np.exp(points[:, :1]), points[:, 1:]], axis=1)
