"""What follows from a serial share: ceilings, the K that loses an efficiency, and the fraction of Karp and Flatt."""

from __future__ import annotations

import math
from fractions import Fraction

from scalecurve.errors import Fault, InputError
from scalecurve.laws import law
from scalecurve.laws.contract import check_k


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
    return serial * law("amdahl").speedup(k, serial=serial)


def exactly(value: float) -> Fraction:
    """The decimal number that a float prints as."""
    return Fraction(repr(float(value)))


def check_efficiency(value: float) -> float:
    if not 0 < value <= 1:
        raise InputError(Fault("an efficiency is above 0 and at most 1", where="efficiency", value=f"{value:g}"))
    return value


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
