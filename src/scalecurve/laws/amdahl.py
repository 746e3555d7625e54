"""Amdahl's law: how far does a fixed job get when a share of it is serial?

    T(K)/T(1) = s + (1 - s)/K        S(K) = 1/(s + (1 - s)/K)        E(K) = 1/(1 + s (K - 1))

Source: G. M. Amdahl, Validity of the single processor approach, AFIPS Spring Joint Computer Conference, 1967.
Worked number: s = 0.05 gives S(16) = 9.14, E(16) = 0.571, and never more than S = 20.
Limits: s is a property of the program *and* its problem size; nothing here communicates, so T never rises again.
"""

from __future__ import annotations

import math
from fractions import Fraction

from scalecurve.errors import Fault, InputError
from scalecurve.laws.contract import SERIAL, Law


def time_ratio(k: float, serial: float) -> float:
    return serial + (1.0 - serial) / k


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
    return serial / time_ratio(k, serial)


def exactly(value: float) -> Fraction:
    """The decimal number that a float prints as."""
    return Fraction(repr(float(value)))


def check_efficiency(value: float) -> float:
    if not 0 < value <= 1:
        raise InputError(Fault("an efficiency is above 0 and at most 1", where="efficiency", value=f"{value:g}"))
    return value


AMDAHL = Law(
    name="amdahl",
    title="Amdahl's law",
    question="How far does a fixed job get when a share of it is serial?",
    formula="T(K)/T(1) = s + (1-s)/K",
    source="Amdahl 1967",
    parameters=(SERIAL,),
    time_ratio=time_ratio,
)
