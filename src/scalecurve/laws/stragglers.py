"""Stragglers: the expected slowest of K workers, by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable

from scalecurve.errors import Fault, InputError
from scalecurve.laws.contract import check_k


def expected_maximum(k: float, isf: Callable[[float], float]) -> float:
    """E[max of K draws] from an inverse survival function, to about eight digits."""
    from scipy.integrate import quad

    check_k(k)

    # Substituting v = 1 - u^2 flattens the pole at v = 1, where isf grows without bound.
    def integrand(u: float) -> float:
        survival = -math.expm1(math.log1p(-u * u) / k) if u < 1 else 1.0
        return float(isf(survival)) * 2.0 * u

    value, _ = quad(integrand, 0.0, 1.0, limit=200, epsabs=0.0, epsrel=1e-9)
    if not math.isfinite(value):
        raise InputError(
            Fault(
                "the expected maximum is infinite: the distribution has no mean",
                remedy="choose a distribution with a mean",
            )
        )
    return float(value)


def lognormal_maximum(k: float, sigma: float) -> float:
    """E[max of K] of a lognormal with mean 1 and log-standard-deviation sigma."""
    from scipy.special import ndtri

    if sigma == 0:
        return 1.0
    return expected_maximum(
        k, lambda p: math.exp(-sigma * float(ndtri(p)) - sigma * sigma / 2.0) if p > 0 else math.inf
    )


def normal_maximum(k: float, spread: float) -> float:
    """E[max of K] of a normal with mean 1 and standard deviation `spread`."""
    from scipy.special import ndtri

    return expected_maximum(k, lambda p: 1.0 - spread * float(ndtri(p)))


def chance_of_any_slow(k: float, p: float) -> float:
    """P(at least one of K is slow) = 1 - (1 - p)^K for independent workers, each slow with probability p."""
    return 1.0 if p >= 1 else -math.expm1(check_k(k) * math.log1p(-p))
