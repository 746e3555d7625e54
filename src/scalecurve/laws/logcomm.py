"""Serial part plus tree communication: the same machine under strong and under weak scaling.

    strong:  T(K)/T(1) = s + (1 - s)/K + c log2 K          weak:  T(K)/T(1) = 1 + c log2 K

Strong scaling has a best K: dT/dK = 0 at K* = (1 - s) ln 2 / c.  T falls, then rises, so the best whole K is one of
its two neighbours; c = 0 has no best K.  In weak scaling s cancels, so weak data cannot
determine it.

Source: the log2 K term is the latency of tree collectives (Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005).
Worked number: s = 0.05, c = 0.01: strong T(64) = 0.1248, S = 8.01; weak E(128) = 0.935; K* = 65.8.
Limits: a ring all-reduce grows linearly in latency and saturates in bandwidth; log2 K alone cannot represent it.
"""

from __future__ import annotations

import math

from scalecurve.laws.contract import COMM, SERIAL, Law


def strong_time_ratio(k: float, serial: float, comm: float) -> float:
    return serial + (1.0 - serial) / k + comm * math.log2(k)


def weak_time_ratio(k: float, serial: float, comm: float) -> float:
    return 1.0 + comm * math.log2(k)


def best_k_closed_form(serial: float, comm: float) -> float | None:
    """The real K that minimises strong T(K); None without communication."""
    return (1.0 - serial) * math.log(2.0) / comm if comm > 0 else None


def best_k(serial: float, comm: float) -> int | None:
    """The whole K that minimises strong T(K); ties go to the smaller K; None without communication."""
    real = best_k_closed_form(serial, comm)
    if real is None:
        return None
    below = max(1, math.floor(real))
    return min((below, below + 1), key=lambda k: strong_time_ratio(k, serial, comm))


def best_doubling(serial: float, comm: float) -> int | None:
    """The best power of two: doubling pays while K < (1 - s)/(2 c)."""
    if comm == 0:
        return None
    k = 1
    while k < (1.0 - serial) / (2.0 * comm):
        k *= 2
    return k


LOGCOMM_STRONG = Law(
    name="logcomm",
    title="Serial part plus tree communication, strong scaling",
    question="When does adding workers to a fixed job make it slower?",
    formula="T(K)/T(1) = s + (1-s)/K + c log2 K",
    source="Thakur, Rabenseifner, Gropp 2005",
    parameters=(SERIAL, COMM),
    time_ratio=strong_time_ratio,
)

LOGCOMM_WEAK = Law(
    name="logcomm-weak",
    title="Serial part plus tree communication, weak scaling",
    question="How long does a K times larger job take on K workers?",
    formula="T(K)/T(1) = 1 + c log2 K",
    source="Thakur, Rabenseifner, Gropp 2005",
    parameters=(SERIAL, COMM),
    time_ratio=weak_time_ratio,
    work_ratio=lambda k, serial, comm: float(k),  # every worker keeps one worker's share of the work
)
