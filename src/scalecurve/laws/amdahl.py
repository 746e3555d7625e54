"""Amdahl's law and its relatives, with one serial share: Gustafson (fixed time), Sun-Ni (fixed memory), Karp-Flatt."""

from __future__ import annotations

import math
from fractions import Fraction

from scalecurve.errors import Fault, InputError
from scalecurve.laws.contract import SERIAL, Law, Parameter, check_k

LINEAR = Law(
    name="linear",
    text="""Linear speedup: how fast is a job that K workers share evenly and for free?

        T(K)/T(1) = 1/K        S(K) = K        E(K) = 1

    Source: the definition of speedup; no program keeps it for every K.
    Worked number: S(16) = 16.
    Limits: nothing is serial, nobody waits and nothing is exchanged.
    """,
)
CONSTANT = Law(
    name="constant",
    text="""Perfect weak scaling: how long does a K times larger job take when nothing else costs time?

        T(K)/T(1) = 1        S(K) = K        E(K) = 1

    Source: the definition of weak scaling; the line that measured curves are compared with.
    Worked number: S(16) = 16.
    Limits: nobody waits and nothing is exchanged.
    """,
    regime="weak",
)
AMDAHL = Law(
    name="amdahl",
    text="""Amdahl's law: how far does a fixed job get when a share of it is serial?

        T(K)/T(1) = s + (1 - s)/K        S(K) = 1/(s + (1 - s)/K)        E(K) = 1/(1 + s (K - 1))

    Here s is the serial share of T(1), from 0 to 1.

    Source: G. M. Amdahl, Validity of the single processor approach, AFIPS Spring Joint Computer Conference, 1967.
    Worked number: s = 0.05 gives S(16) = 9.14, E(16) = 0.571, and never more than S = 20.
    Limits: s is a property of the program *and* its problem size; nothing here communicates, so T never rises again.
    """,
    parameters=(SERIAL,),
    example={"serial": 0.05},
)
GUSTAFSON = Law(
    name="gustafson",
    text="""Gustafson's law: how much more work gets done in the same time when the parallel part grows with K?

        S(K) = f + (1 - f) K = K - f (K - 1),     f = serial share of the time measured *on the K-worker run*

    Relation to Amdahl's s, the serial share of the one-worker run: f = s/(s + (1-s)/K) and s = f/(f + K (1-f)).
    The two laws state one identity about two different fractions; keep these apart and the laws agree.

    Source: J. L. Gustafson, Reevaluating Amdahl's law, Communications of the ACM 31(5), 1988.
    Worked number: f = 0.05 gives S(64) = 60.85.
    Limits: the law assumes that somebody wants a K times larger problem and that its serial part takes no longer.
    """,
    parameters=(Parameter("serial_scaled", "serial share of the time on the K-worker run", 0.0, 1.0),),
    closed="1",
    work_formula="serial_scaled + (1 - serial_scaled)*K",
    example={"serial_scaled": 0.05, "workers": "1..64"},
)
SUN_NI = Law(
    name="sun-ni",
    text="""Sun and Ni's memory-bounded law: what if the problem grows as far as the memory of K workers allows?

        S(K) = (s + (1-s) G) / (s + (1-s) G/K),     G(K) = K^growth

    Here s is the serial share of T(1), and G(K) the parallel work at K relative to K = 1.

    Use it instead of Gustafson's law where the memory of K workers, and not the time, sets the size of the problem.
    growth 0 is Amdahl (fixed work), 1 is Gustafson (fixed time), 1.5 the matrix product (memory n^2, work n^3).

    Source: X.-H. Sun and L. M. Ni, Another view on parallel speedup, Supercomputing 1990.
    Worked number: s = 0.05, growth 1.5, K = 64 gives S = 63.6.
    Limits: the law assumes that memory limits the problem size and that somebody wants the larger problem.
    """,
    parameters=(
        SERIAL,
        Parameter("growth", "exponent of the work's growth with K (1.5 for a matrix product)", 0.0, 10.0),
    ),
    closed="serial + (1 - serial)*K**(growth - 1)",
    work_formula="serial + (1 - serial)*K**growth",
    example={"serial": 0.05, "growth": 1.5, "workers": "1..64"},
)


def ceiling(serial: float) -> float | None:
    """The speedup that no K exceeds, 1/s; None when nothing is serial."""
    return 1.0 / serial if serial > 0 else None


def first_k_below(serial: float, efficiency: float) -> int | None:
    """The smallest whole K with E(K) < efficiency, compared exactly; None when nothing is serial.

    E(K) < e  <=>  K - 1 > (1/e - 1)/s.  The floats are read as the decimals they print as, so that E = e itself
    (s = 0.2, K = 6, e = 0.5) is not below.
    """
    if serial == 0:
        return None
    limit = (1 / exactly(check_efficiency(efficiency)) - 1) / exactly(serial)
    return math.floor(limit) + 2


def serial_for(efficiency: float, k: float) -> float | None:
    """The largest serial share with E(K) at or above `efficiency`: (1/E - 1)/(K - 1); None at K = 1 (any)."""
    if k == 1:
        return None
    return min(1.0, (1.0 / check_efficiency(efficiency) - 1.0) / (k - 1.0))


def share_of_ceiling(k: float, serial: float) -> float:
    """S(K) divided by 1/s."""
    return serial * AMDAHL.speedup(k, serial=serial)


def exactly(value: float) -> Fraction:
    """The decimal number that a float prints as."""
    return Fraction(repr(float(value)))


def check_efficiency(value: float) -> float:
    if not 0 < value <= 1:
        raise InputError(Fault("an efficiency is above 0 and at most 1", where="efficiency", value=f"{value:g}"))
    return value


def scaled_from_serial(serial: float, k: float) -> float:
    """Gustafson's f at K workers from Amdahl's s."""
    return serial / (serial + (1.0 - serial) / k)


def serial_from_scaled(serial_scaled: float, k: float) -> float:
    """Amdahl's s from Gustafson's f measured at K workers."""
    return serial_scaled / (serial_scaled + k * (1.0 - serial_scaled))


def serial_fraction(k: float, speedup: float) -> float | None:
    """The Karp-Flatt metric: which serial share would explain the speedup measured at K?

        e(K) = (1/S - 1/K) / (1 - 1/K),   K > 1; None at K = 1

    Read it over K: flat means a serial part; rising means overhead that grows (communication); below zero means a
    superlinear step or a weak baseline.  With T = s + (1-s)/K + c log2 K it is e = s + c log2(K) K/(K-1).

    Source: A. H. Karp and H. P. Flatt, Measuring parallel processor performance, Communications of the ACM 33(5), 1990.
    Worked number: S(8) = 5.33 gives e = 0.0716.
    Limits: the error of e is about (relative noise) T(K)/T(1) K/(K-1): at K = 2 and 1 % noise, a serial share below
    1 % cannot be detected.
    """
    if not speedup > 0:
        raise InputError(Fault("a speedup is above 0", where="speedup", value=f"{speedup:g}"))
    if check_k(k) == 1:
        return None
    return (1.0 / speedup - 1.0 / k) / (1.0 - 1.0 / k)
