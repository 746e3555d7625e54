"""What a law is: a pure function T(K)/T(1) of named, bounded parameters, with its question, formula and source."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scalecurve.errors import Fault, InputError

Number = float


@dataclass(frozen=True)
class Parameter:
    """A named number with its meaning and its closed range; `default` None means it must be given."""

    name: str
    meaning: str
    low: float = 0.0
    high: float = math.inf
    default: float | None = None

    def fault(self, value: object) -> Fault | None:
        """What is wrong with a value, if anything."""
        bounds = f"between {self.low:g} and {self.high:g}" if math.isfinite(self.high) else f"at least {self.low:g}"
        remedy = f"{self.meaning}: a number {bounds}"
        if value is None:
            return Fault("parameter is missing", where=self.name, remedy=remedy)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return Fault("parameter is not a finite number", where=self.name, seen=str(value), remedy=remedy)
        if not self.low <= value <= self.high:
            return Fault("parameter is out of range", where=self.name, seen=f"{value:g}", remedy=remedy)
        return None


@dataclass(frozen=True)
class Law:
    """A scaling law in closed form.

    `time_ratio(k, **parameters)` is T(K)/T(1) for the regime of the law; `work_ratio` is the total work relative to
    K = 1 (None: constant, strong scaling).  Speedup is work done per unit of time relative to one worker.
    """

    name: str
    title: str
    question: str
    formula: str
    source: str
    parameters: tuple[Parameter, ...]
    time_ratio: Callable[..., float]
    work_ratio: Callable[..., float] | None = None

    def checked(self, given: Mapping[str, float | None]) -> dict[str, float]:
        """The parameters with defaults filled in, or every fault at once."""
        known = {parameter.name for parameter in self.parameters}
        faults = [
            Fault(f"{self.name} has no such parameter", where=name, remedy=f"it takes {', '.join(sorted(known))}")
            for name in given
            if name not in known
        ]
        values = {p.name: given.get(p.name) if given.get(p.name) is not None else p.default for p in self.parameters}
        faults += [fault for p in self.parameters if (fault := p.fault(values[p.name]))]
        if faults:
            raise InputError(faults, subject=f"law {self.name}")
        return {name: float(value) for name, value in values.items() if value is not None}

    def time(self, k: float, *, at_one: float = 1.0, **parameters: float) -> float:
        """T(K), given T(1) = `at_one`."""
        return at_one * self.time_ratio(check_k(k), **self.checked(parameters))

    def work(self, k: float, **parameters: float) -> float:
        """Total work at K relative to K = 1."""
        return 1.0 if self.work_ratio is None else self.work_ratio(check_k(k), **self.checked(parameters))

    def speedup(self, k: float, **parameters: float) -> float:
        """Work per time relative to one worker; scaled speedup where the work grows."""
        return self.work(k, **parameters) / self.time(k, **parameters)

    def efficiency(self, k: float, **parameters: float) -> float:
        """Speedup per worker."""
        return self.speedup(k, **parameters) / k


def check_k(k: float) -> float:
    """K as a number from 1 up; a law is defined nowhere else."""
    if isinstance(k, bool) or not isinstance(k, int | float) or not (math.isfinite(k) and k >= 1):
        raise InputError(Fault("a worker count is a number from 1", where="k", seen=str(k)))
    return k


def serial_parameter() -> Parameter:
    return Parameter("serial", "share of the K = 1 time that cannot be divided", 0.0, 1.0)


def comm_parameter() -> Parameter:
    return Parameter("comm", "communication cost per doubling of K, as a share of T(1)", 0.0)
