"""What is fitted: one log time (of a unit of work) per K, with the noise that repeats show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalecurve.analysis.summary import summarise
from scalecurve.errors import Fault, InputError
from scalecurve.fitting.positive import Array
from scalecurve.study import Quantity, Regime, Study


@dataclass(frozen=True)
class Observations:
    """`log_time` is minus the log performance (per worker under weak scaling).

    `noise` is the pooled relative standard deviation of single runs, None without repeats; `error` the standard
    error of each mean by it; `freedom` the degrees of freedom behind it.
    """

    k: Array
    log_time: Array
    runs: Array
    noise: float | None
    freedom: float

    @property
    def error(self) -> Array | None:
        return None if self.noise is None else self.noise / np.sqrt(self.runs)

    def __len__(self) -> int:
        return len(self.k)


def observe(study: Study) -> Observations:
    """The study's means as log times."""
    if len(study.all_k) < 2:
        remedy = "measure at least two, better five, worker counts"
        raise InputError(Fault("a fit needs at least two worker counts", remedy=remedy), subject=study.name)
    summary = summarise(study.samples)
    k = summary.k.astype(np.float64)
    log_time = np.log(summary.mean) * (1.0 if study.quantity is Quantity.SECONDS else -1.0)
    log_time = log_time + _work(study, k)
    spread, degrees = summary.std / summary.mean, summary.n - 1.0
    freedom = float(degrees.sum())
    noise = float(np.sqrt(np.nansum(degrees * spread**2) / freedom)) if freedom >= 1 else None
    return Observations(k, log_time, summary.n.astype(np.float64), noise, freedom)


def _work(study: Study, k: Array) -> Array:
    """Log of the workers whose work a value counts: turns rates of all, or of one, into the regime's own time."""
    if study.quantity is Quantity.THROUGHPUT and study.regime is Regime.WEAK:
        return np.log(k)
    if study.quantity is Quantity.THROUGHPUT_PER_WORKER and study.regime is Regime.STRONG:
        return -np.log(k)
    return np.zeros_like(k)
