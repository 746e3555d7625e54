"""Sun and Ni's memory-bounded law: what if the problem grows as far as the memory of K workers allows?

    S(K) = (s + (1-s) G) / (s + (1-s) G/K),     G(K) = K^growth

growth 0 is Amdahl (fixed work), 1 is Gustafson (fixed time), 1.5 the matrix product (memory n^2, work n^3).

Source: X.-H. Sun and L. M. Ni, Another view on parallel speedup, Supercomputing 1990.
Worked number: s = 0.05, growth 1.5, K = 64 gives S = 63.6.
Limits: assumes that memory limits the problem size and that somebody wants the larger problem.
"""

from __future__ import annotations

from scalecurve.laws.contract import SERIAL, Law, Parameter


def time_ratio(k: float, serial: float, growth: float) -> float:
    return float(serial + (1.0 - serial) * k**growth / k)


def work_ratio(k: float, serial: float, growth: float) -> float:
    return float(serial + (1.0 - serial) * k**growth)


SUN_NI = Law(
    name="sun-ni",
    title="Sun-Ni's memory-bounded law",
    question="What if the problem grows as far as the memory of K workers allows?",
    formula="S(K) = (s + (1-s) G)/(s + (1-s) G/K), G = K^growth",
    source="Sun and Ni 1990",
    parameters=(
        SERIAL,
        Parameter("growth", "exponent of the work's growth with K (1.5 for a matrix product)", 0.0, 10.0),
    ),
    time_ratio=time_ratio,
    work_ratio=work_ratio,
)
