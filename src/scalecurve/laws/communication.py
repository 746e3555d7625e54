"""Laws of workers that cost each other time: the USL, a tree of messages (logcomm), and isoefficiency."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from scalecurve.errors import Fault, InputError
from scalecurve.laws.contract import COMM, SERIAL, Law, Parameter, check_k

CANCELS = replace(SERIAL, term=None)  # every worker of a weak study does the serial part of its own share
GRID = Parameter("comm", "communication cost for each step of sqrt K, as a share of T(1)", term="sqrt(K) - 1")
COHERENCY = Parameter(
    "coherency", "cost of keeping every pair of workers consistent (kappa, beta)", default=0.0, term="K - 1"
)
USL = Law(
    name="usl",
    text="""The Universal Scalability Law: where does throughput peak when workers contend and must agree?

        S(K) = K / (1 + sigma (K - 1) + kappa K (K - 1))
        T(K)/T(1) = (1 - sigma)/K + (sigma - kappa) + kappa K

    sigma = `contention` (queueing for a shared resource), kappa = `coherency` (every worker talking to every other).
    Peak at K* = sqrt((1 - sigma)/kappa); kappa = 0 is Amdahl with s = sigma; both 0 is linear.

    Source: N. J. Gunther, Guerrilla Capacity Planning, Springer 2007.
    Worked number: sigma = 0.0277, kappa = 1.044e-4 peaks at K* = 96.5.
    Limits: the coherency cost is linear in K. A fit has three parameters (sigma, kappa and T(1) or X(1)): three K give
    values, five or more with repeats give useful intervals, and the peak is an extrapolation unless a K beyond it was
    measured. A superlinear start would need a negative sigma; `scalecurve fit` keeps both at 0 or above and says so.
    """,
    parameters=(
        Parameter("contention", "queueing for a shared resource (sigma, alpha)", 0.0, 1.0, term="1 - 1/K"),
        COHERENCY,
    ),
    example={"contention": 0.0277, "coherency": 1.044e-4, "workers": "1..256"},
)
LOGCOMM = Law(
    name="logcomm",
    text="""Serial part plus tree communication: the same machine under strong and under weak scaling.

        strong:  T(K)/T(1) = s + (1 - s)/K + c log2 K          weak:  T(K)/T(1) = 1 + c log2 K

    Here s is the serial share of T(1), and c the cost of communication for each doubling of K, as a share of T(1).

    Strong scaling has a best K: dT/dK = 0 at K* = (1 - s) ln 2 / c.  T falls, then rises, so the best whole K is one of
    its two neighbours; c = 0 has no best K.  In weak scaling s cancels, so weak data cannot determine it.

    Source: the log2 K term is the latency of tree collectives (Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005).
    Worked number: s = 0.05, c = 0.01: strong T(64) = 0.1248, S = 8.01; weak E(128) = 0.935; K* = 65.8.
    Limits: a ring all-reduce grows linearly in latency and saturates in bandwidth; log2 K alone cannot represent it.
    """,
    parameters=(SERIAL, COMM),
    example={"serial": 0.05, "comm": 0.01, "regime": "both", "workers": "1..128"},
)
LOGCOMM_WEAK = replace(LOGCOMM, name="logcomm-weak", parameters=(CANCELS, COMM), regime="weak")
ROOT = Law(
    name="root",
    text="""Serial part plus communication on a grid: what if the ranks form a square and talk along its sides?

        strong:  T(K)/T(1) = s + (1 - s)/K + c (sqrt K - 1)          weak:  T(K)/T(1) = 1 + c (sqrt K - 1)

    Here s is the serial share of T(1), and c the cost of communication for each rank more along a side.

    Source: grids of ranks and the bisection of a mesh (Grama et al., Introduction to Parallel Computing, 2003).
    Worked number: s = 0.05, c = 0.01: strong T(64) = 0.1348, S = 7.42; weak E(64) = 0.935.
    Limits: ranks that talk to all others cost more than the sides of a square.
    """,
    parameters=(SERIAL, GRID),
    example={"serial": 0.05, "comm": 0.01, "regime": "both", "workers": "1..64"},
)
ROOT_WEAK = replace(ROOT, name="root-weak", parameters=(CANCELS, GRID), regime="weak")
LINEAR_COST = Law(
    name="linear-cost",
    text="""A cost for every worker: how long does a K times larger job take when one worker serves all others?

        T(K)/T(1) = 1 + kappa (K - 1)

    kappa = `coherency`, the time for each further worker as a share of T(1).

    Source: a master that sends to every worker in turn; the linear term of Gunther 2007.
    Worked number: kappa = 0.01 gives E(64) = 0.613.
    Limits: a tree of messages costs far less at large K; use logcomm for it.
    """,
    parameters=(replace(COHERENCY, default=None),),
    regime="weak",
    example={"coherency": 0.01, "workers": "1..64"},
)


def peak_k(contention: float, coherency: float) -> float | None:
    """The K of highest throughput; None when throughput never falls (coherency 0); below 1, one worker is best."""
    if coherency == 0:
        return None
    return math.sqrt(max(0.0, 1.0 - contention) / coherency)


def largest_speedup(contention: float, coherency: float) -> float | None:
    """The largest speedup: at the peak, or 1/contention without coherency cost; None when there is no limit."""
    peak = peak_k(contention, coherency)
    if peak is not None:
        return USL.speedup(max(1.0, peak), contention=contention, coherency=coherency)
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
    return min((below, below + 1), key=lambda k: LOGCOMM.time(k, serial=serial, comm=comm))


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
    If the serial part is a share of the work (Amdahl), it adds s w (K - 1) to the overhead:

        E = w/(w + s w (K - 1) + c g(K))     =>     w(K) = c g(K)/(1/E - 1 - s (K - 1))

    Then no work is enough beyond K = 1 + (1/E - 1)/s: there is no isoefficiency function.

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


def work_with_serial_share(k: float, serial: float, comm: float, hold: float, growth: str = "log") -> float | None:
    """The work per worker that holds E when the serial part is a share of the work; None where no amount does."""
    cost = comm * growth_function(growth)(check_k(k))
    if cost == 0 and hold <= 1.0 / (1.0 + serial * (k - 1.0)):
        return 0.0
    room = 1.0 / hold - 1.0 - serial * (k - 1.0)
    return cost / room if room > 0 and cost > 0 else None


def last_k_with_serial_share(serial: float, hold: float) -> float | None:
    """The largest K at which some work holds E when the serial part is a share of the work; None if every K does."""
    return 1.0 + (1.0 / hold - 1.0) / serial if serial > 0 else None
