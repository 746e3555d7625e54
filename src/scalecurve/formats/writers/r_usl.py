"""Data for R's usl package: a CSV of load and throughput, and the line of R that fits it."""

from __future__ import annotations

from scalecurve.errors import Fault, InputError
from scalecurve.study import Quantity, Regime, Study


def to_r_usl(study: Study) -> str:
    """Usl fits throughput by plain least squares: X(K), where times are given 1/T (strong) or K/T (weak)."""
    if not len(study.samples):
        raise InputError(Fault("there are no observations to export"), subject=study.name)
    rows = [
        f"{k},{_throughput(study, k, value)!r}"
        for k, values in study.samples.by_k().items()
        for value in values.tolist()
    ]
    line = '# R: summary(usl::usl(throughput ~ load, read.csv("FILE", comment.char = "#")))'
    return "\n".join([line, "load,throughput", *rows]) + "\n"


def _throughput(study: Study, k: int, value: float) -> float:
    if study.quantity is Quantity.THROUGHPUT:
        return value
    if study.quantity is Quantity.THROUGHPUT_PER_WORKER:
        return k * value
    return (k if study.regime is Regime.WEAK else 1) / value
