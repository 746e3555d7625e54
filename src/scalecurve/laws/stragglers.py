"""Stragglers: the expected slowest of K workers, by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from scalecurve.errors import Fault, InputError
from scalecurve.laws.contract import check_k

if TYPE_CHECKING:  # `scalecurve law` does without numpy
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

POINTS = 500  # of the quadrature; few enough for `distributions` to do without scipy
FARTHEST = 690.0  # the logit beyond which a share is no number any more
NEGLIGIBLE = 1e-9  # of the sum: what the last point of a mean that exists may add


def expected_maximum(k: float, isf: Callable[[Floats], Floats], spares: int = 0) -> float:
    """E[max of K draws], or of the K-th smallest of K + `spares`, from an inverse survival function.

    The share p above that draw is beta distributed; the trapezoidal rule in the logit of p is exact to about nine
    digits, its points being dense where the density is and reaching as far as shares are numbers.
    """
    import numpy as np

    check_k(k)
    centre, width = math.log(k / (spares + 1)), math.sqrt(1 / k + 1 / (spares + 1))
    first, last = math.asinh((-FARTHEST - centre) / width), math.asinh((FARTHEST - centre) / width)
    steps = np.linspace(first, last, POINTS)
    x = centre + width * np.sinh(steps)
    above, below = -np.logaddexp(0.0, x), -np.logaddexp(0.0, -x)  # logarithms of p and of 1 - p
    density = k * below + (spares + 1) * above + np.log(np.cosh(steps))
    weights = np.exp(density - density.max())
    used = weights > 0
    with np.errstate(all="ignore"):  # a mean that does not exist may overflow
        terms = weights[used] * isf(np.minimum(np.exp(above[used]), np.nextafter(1.0, 0.0)))
    total = float(terms.sum())
    if not math.isfinite(total) or abs(terms[-1]) > NEGLIGIBLE * np.abs(terms).sum():
        remedy = "choose a distribution with a mean"
        raise InputError(Fault("the expected maximum is infinite: the distribution has no mean", remedy=remedy))
    return total / float(weights.sum())


def lognormal_maximum(k: float, sigma: float) -> float:
    """E[max of K] of a lognormal with mean 1 and log-standard-deviation sigma."""
    import numpy as np

    from scalecurve.distributions import ndtri

    return 1.0 if sigma == 0 else expected_maximum(k, lambda p: np.exp(-sigma * ndtri(p) - sigma * sigma / 2.0))


def normal_maximum(k: float, spread: float) -> float:
    """E[max of K] of a normal with mean 1 and standard deviation `spread`."""
    from scalecurve.distributions import ndtri

    return expected_maximum(k, lambda p: 1.0 - spread * ndtri(p))


def chance_of_any_slow(k: float, p: float) -> float:
    """P(at least one of K is slow) = 1 - (1 - p)^K for independent workers, each slow with probability p."""
    return 1.0 if p >= 1 else -math.expm1(check_k(k) * math.log1p(-p))
