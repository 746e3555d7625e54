"""The Karp-Flatt metric: which serial share would explain the speedup measured at K?

    e(K) = (1/S - 1/K) / (1 - 1/K),   K > 1

Read it over K: flat means a serial part; rising means overhead that grows (communication); below zero means a
superlinear step or a weak baseline.  With T = s + (1-s)/K + c log2 K it is e = s + c log2(K) K/(K-1).

Source: A. H. Karp and H. P. Flatt, Measuring parallel processor performance, Communications of the ACM 33(5), 1990.
Worked number: S(8) = 5.33 gives e = 0.0716.
Limits: the error of e is about (relative noise) T(K)/T(1) K/(K-1): at K = 2 and 1 % noise, a serial share below
1 % cannot be detected.
"""

from __future__ import annotations

from scalecurve.errors import Fault, InputError
from scalecurve.laws.contract import check_k


def serial_fraction(k: float, speedup: float) -> float | None:
    """The experimentally determined serial fraction; None at K = 1, where it is not defined."""
    if not speedup > 0:
        raise InputError(Fault("a speedup is above 0", where="speedup", value=f"{speedup:g}"))
    if check_k(k) == 1:
        return None
    return (1.0 / speedup - 1.0 / k) / (1.0 - 1.0 / k)
