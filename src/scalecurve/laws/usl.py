"""The Universal Scalability Law: where does throughput peak when workers contend and must agree?

    S(K) = K / (1 + sigma (K - 1) + kappa K (K - 1))
    T(K)/T(1) = (1 - sigma)/K + (sigma - kappa) + kappa K

sigma = `contention` (queueing for a shared resource), kappa = `coherency` (every worker talking to every other).
Peak at K* = sqrt((1 - sigma)/kappa); kappa = 0 is Amdahl with s = sigma; both 0 is linear.

Source: N. J. Gunther, Guerrilla Capacity Planning, Springer 2007.
Worked number: sigma = 0.0277, kappa = 1.044e-4 peaks at K* = 96.5.
Limits: the coherency cost is linear in K; a fit reports a negative contention (superlinear start) and does not clip it.
"""

from __future__ import annotations

import math

from scalecurve.laws.contract import Law, Parameter


def time_ratio(k: float, contention: float, coherency: float) -> float:
    return (1.0 + contention * (k - 1.0) + coherency * k * (k - 1.0)) / k


def peak_k(contention: float, coherency: float) -> float | None:
    """The K of highest throughput; None when throughput never falls (coherency 0); below 1, one worker is best."""
    if coherency == 0:
        return None
    return math.sqrt(max(0.0, 1.0 - contention) / coherency)


def limit(contention: float, coherency: float) -> float | None:
    """The largest speedup: at the peak, or 1/contention without coherency cost; None when there is no limit."""
    peak = peak_k(contention, coherency)
    if peak is not None:
        return 1.0 / time_ratio(max(1.0, peak), contention, coherency)
    return 1.0 / contention if contention > 0 else None


USL = Law(
    name="usl",
    title="Universal Scalability Law",
    question="Where does throughput peak when workers contend and must agree?",
    formula="S(K) = K/(1 + contention (K-1) + coherency K (K-1))",
    source="Gunther 2007",
    parameters=(
        Parameter("contention", "queueing for a shared resource (sigma, alpha)", 0.0, 1.0),
        Parameter("coherency", "cost of keeping every pair of workers consistent (kappa, beta)", 0.0, default=0.0),
    ),
    time_ratio=time_ratio,
)
