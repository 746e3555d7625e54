"""Gustafson's law: how much more work gets done in the same time when the parallel part grows with K?

    S(K) = f + (1 - f) K = K - f (K - 1),     f = serial share of the time measured *on the K-worker run*

Relation to Amdahl's s, the serial share of the one-worker run: f = s/(s + (1-s)/K) and s = f/(f + K (1-f)).
The two laws state one identity about two different fractions; keep these apart and the laws agree.

Source: J. L. Gustafson, Reevaluating Amdahl's law, Communications of the ACM 31(5), 1988.
Worked number: f = 0.05 gives S(64) = 60.85.
Limits: assumes that somebody wants a K times larger problem and that its serial part takes no longer.
"""

from __future__ import annotations

from scalecurve.laws.contract import Law, Parameter


def time_ratio(k: float, serial_scaled: float) -> float:
    """1: the time stays and the work grows."""
    return 1.0


def work_ratio(k: float, serial_scaled: float) -> float:
    return serial_scaled + (1.0 - serial_scaled) * k


def scaled_from_serial(serial: float, k: float) -> float:
    """Gustafson's f at K workers from Amdahl's s."""
    return serial / (serial + (1.0 - serial) / k)


def serial_from_scaled(serial_scaled: float, k: float) -> float:
    """Amdahl's s from Gustafson's f measured at K workers."""
    return serial_scaled / (serial_scaled + k * (1.0 - serial_scaled))


GUSTAFSON = Law(
    name="gustafson",
    title="Gustafson's law",
    question="How much more work gets done in the same time when the parallel part grows with K?",
    formula="S(K) = f + (1-f) K",
    source="Gustafson 1988",
    parameters=(Parameter("serial_scaled", "serial share of the time on the K-worker run", 0.0, 1.0),),
    time_ratio=time_ratio,
    work_ratio=work_ratio,
)
