"""What follows where workers cost each other time: the best K of the USL and of a tree of messages; isoefficiency."""

from __future__ import annotations

import math
from collections.abc import Callable

from scalecurve.errors import Fault, InputError
from scalecurve.laws import law
from scalecurve.laws.contract import check_k


def peak_k(contention: float, coherency: float) -> float | None:
    """The K of highest throughput; None when throughput never falls (coherency 0); below 1, one worker is best."""
    if coherency == 0:
        return None
    return math.sqrt(max(0.0, 1.0 - contention) / coherency)


def largest_speedup(contention: float, coherency: float) -> float | None:
    """The largest speedup: at the peak, or 1/contention without coherency cost; None when there is no limit."""
    peak = peak_k(contention, coherency)
    if peak is not None:
        return law("usl").speedup(max(1.0, peak), contention=contention, coherency=coherency)
    return 1.0 / contention if contention > 0 else None


def best_k_closed_form(serial: float, comm: float) -> float | None:
    """The real K that minimises strong T(K); None without communication."""
    return (1.0 - serial) * math.log(2.0) / comm if comm > 0 else None


def best_k(serial: float, comm: float) -> int | None:
    """The whole K that minimises strong T(K); ties go to the smaller K; None without communication."""
    real = best_k_closed_form(serial, comm)
    if real is None:
        return None
    below = max(1, math.floor(real))
    return min((below, below + 1), key=lambda k: law("logcomm").time(k, serial=serial, comm=comm))


def best_doubling(serial: float, comm: float) -> int | None:
    """The best power of two: doubling pays while K < (1 - s)/(2 c)."""
    if comm == 0:
        return None
    k = 1
    while k < (1.0 - serial) / (2.0 * comm):
        k *= 2
    return k


GROWTHS: dict[str, Callable[[float], float]] = {"log": math.log2, "linear": lambda k: float(k) if k > 1 else 0.0}


def work_per_worker(k: float, serial: float, comm: float, hold: float, growth: str = "log") -> float | None:
    """Isoefficiency: how fast must the work per worker grow to hold an efficiency?

    A worker has its share of work w, a replicated serial part s, and pays c g(K) for communication, all three as
    multiples of one unit of time (such as T(1) of today's job):

        E = (w + s)/(w + s + c g(K))     =>     w(K) = E/(1 - E) c g(K) - s,     g = log2 K or K

    One worker exchanges nothing: g(1) = 0.
    If the serial part were a share of the work (Amdahl), no work would be enough beyond K = 1 + (1/E - 1)/s.

    w is 0 where no work is needed to hold E, and None where no amount of work holds it (E = 1).

    Source: A. Grama, A. Gupta, V. Kumar, Isoefficiency: measuring the scalability of parallel algorithms, 1993.
    Worked number: s = 0.05, c = 0.01, E = 0.95 at K = 64: w = 1.09 (log), 12.11 (linear).
    Limits: the formula assumes that the overhead does not grow with the work.
    """
    cost = comm * growth_function(growth)(check_k(k))
    if hold >= 1:
        return 0.0 if cost == 0 else None
    return max(0.0, hold / (1.0 - hold) * cost - serial)


def growth_function(name: str) -> Callable[[float], float]:
    if name not in GROWTHS:
        raise InputError(Fault("unknown growth of communication", where="growth", value=name, remedy="log or linear"))
    return GROWTHS[name]
