"""Isoefficiency: how fast must the work per worker grow to hold an efficiency?

A worker has its share of work w, a replicated serial part s, and pays c g(K) for communication:

    E = (w + s)/(w + s + c g(K))     =>     w(K) = E/(1 - E) c g(K) - s,     g = log2 K or K

A serial share of the *work* (Amdahl's) puts s W (K - 1) into the overhead; then E <= 1/(1 + s (K - 1)) whatever the
work is, and beyond K = 1 + (1/E - 1)/s no problem is large enough: there is no isoefficiency function.

Source: A. Grama, A. Gupta, V. Kumar, Isoefficiency: measuring the scalability of parallel algorithms, 1993.
Worked number: s = 0.05, c = 0.01, E = 0.95 at K = 64: w = 1.09 (log), 12.11 (linear).
Limits: assumes that the overhead does not grow with the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scalecurve.errors import Fault, InputError
from scalecurve.laws.contract import check_k

GROWTHS: dict[str, Callable[[float], float]] = {"log": math.log2, "linear": float}


def work_per_worker(k: float, serial: float, comm: float, hold: float, growth: str = "log") -> float | None:
    """w(K) that holds E; 0 where the serial part alone suffices, None where no amount of work does (E = 1)."""
    cost = comm * growth_function(growth)(check_k(k))
    if hold >= 1:
        return 0.0 if cost == 0 else None
    return max(0.0, hold / (1.0 - hold) * cost - serial)


def growth_function(name: str) -> Callable[[float], float]:
    if name not in GROWTHS:
        raise InputError(Fault("unknown growth of communication", where="growth", value=name, remedy="log or linear"))
    return GROWTHS[name]


def last_k_with_serial_share(serial: float, hold: float) -> float | None:
    """The largest K at which some work holds E when the serial part is a share of the work; None if every K does."""
    return 1.0 + (1.0 / hold - 1.0) / serial if serial > 0 else None
