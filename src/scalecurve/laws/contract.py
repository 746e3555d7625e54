"""What a law is: T(K)/T(1) as a formula of named, bounded parameters, and its page; all surfaces are made from it."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from scalecurve.errors import Fault, InputError
from scalecurve.laws.formula import Formula, formula

if TYPE_CHECKING:
    import numpy.typing as npt

K = TypeVar("K", float, "npt.NDArray[Any]")  # one worker count or an array of them; answers have the same shape
SHARED = {"strong": "1/K", "weak": "1"}  # one worker's share of the work that the regime holds fixed


@dataclass(frozen=True)
class Parameter:
    """A named number with its meaning and its closed range; `default` None means that it is required.

    `term` is the formula over K that it multiplies in T(K)/T(1), 0 at K = 1; None where T(K) is not a sum of terms.
    """

    name: str
    meaning: str
    low: float = 0.0
    high: float = math.inf
    default: float | None = None
    term: str | None = None

    def fault(self, value: object) -> Fault | None:
        """What is wrong with a value, or None."""
        bounds = f"between {self.low:g} and {self.high:g}" if math.isfinite(self.high) else f"at least {self.low:g}"
        remedy = f"{self.meaning}: a number {bounds}"
        number = _plain(value)
        if value is None:
            return Fault("parameter is missing", where=self.name, remedy=remedy)
        if number is None or not math.isfinite(number):
            return Fault("parameter is not a finite number", where=self.name, value=str(value), remedy=remedy)
        if not self.low <= number <= self.high:
            return Fault("parameter is out of range", where=self.name, value=f"{number:g}", remedy=remedy)
        return None


@dataclass(frozen=True)
class Law:
    """A scaling law.  Every method takes one K or a numpy array of K.

    `text` is its page: a first line `Title: question?`, and paragraphs of which one starts with `Source:`.  T(K)/T(1)
    is `closed`, or the share of one worker in its regime plus each parameter times its term.  `work` is the total work
    relative to K = 1, where it is not that of the regime (1 under strong scaling, K under weak).  `example` are the
    parameters and options of the example on its page.
    """

    name: str
    text: str
    parameters: tuple[Parameter, ...] = ()
    closed: str | None = None
    work_formula: str | None = None
    regime: str = "strong"
    example: Mapping[str, float | str] = field(default_factory=dict, compare=False)

    @property
    def title(self) -> str:
        return self.text.lstrip().partition("\n")[0].partition(": ")[0]

    @property
    def question(self) -> str:
        question = self.text.lstrip().partition("\n")[0].partition(": ")[2]
        return question[:1].upper() + question[1:]

    @property
    def source(self) -> str:
        named = re.search(r"^\s*Source: (.+?)$", self.text, re.MULTILINE)
        return named[1] if named else ""

    @property
    def base(self) -> str:
        """The first term of a sum: the work that the regime holds fixed."""
        return SHARED[self.regime]

    @property
    def terms(self) -> tuple[tuple[str, str], ...]:
        """The parameters that multiply a term, with the term; empty where T(K) is no such sum."""
        return () if self.closed else tuple((p.name, p.term) for p in self.parameters if p.term)

    @cached_property
    def time_ratio(self) -> Formula:
        """T(K)/T(1) over K and the parameters."""
        terms = [f"{name}*({term})" if " " in term else f"{name}*{term}" for name, term in self.terms]
        return formula(self.closed or " + ".join([self.base, *terms]))

    @property
    def work_ratio(self) -> Formula | None:
        """The total work relative to K = 1; None where it stays."""
        text = self.work_formula or ("K" if self.regime == "weak" else None)
        return None if text is None else formula(text)

    @property
    def formula(self) -> str:
        """T(K)/T(1) as people write it, and the work where it grows by a rule of the law."""
        work = f", work {formula(self.work_formula).words}" if self.work_formula else ""
        return f"T(K)/T(1) = {self.time_ratio.words}{work}"

    def checked(self, parameters: Mapping[str, float | None]) -> dict[str, float]:
        """The parameters as floats with defaults filled in; an InputError lists every fault."""
        names = [parameter.name for parameter in self.parameters]
        faults = [
            Fault(f"{self.name} has no such parameter", where=name, remedy=f"it takes {', '.join(names)}")
            for name in parameters
            if name not in names
        ]
        values = {p.name: p.default if parameters.get(p.name) is None else parameters[p.name] for p in self.parameters}
        faults += [fault for p in self.parameters if (fault := p.fault(values[p.name]))]
        if faults:
            raise InputError(faults, subject=f"law {self.name}")
        return {name: float(value) for name, value in values.items() if value is not None}

    def time(self, k: K, *, at_one: float = 1.0, **parameters: float) -> K:
        """T(K) in the unit of `at_one`, which is T(1)."""
        values = self.checked(parameters)
        time: K = _over(k, lambda workers: at_one * float(self.time_ratio(K=workers, **values)))
        return time

    def work(self, k: K, **parameters: float) -> K:
        """Total work at K relative to K = 1."""
        values, ratio = self.checked(parameters), self.work_ratio
        work: K = _over(k, lambda workers: 1.0 if ratio is None else float(ratio(K=workers, **values)))
        return work

    def speedup(self, k: K, **parameters: float) -> K:
        """Work per time relative to one worker; scaled speedup where the work grows."""
        speedup: K = self.work(k, **parameters) / self.time(k, **parameters)
        return speedup

    def efficiency(self, k: K, **parameters: float) -> K:
        """Speedup per worker."""
        efficiency: K = self.speedup(k, **parameters) / _over(k, float)
        return efficiency


def _plain(value: object) -> float | None:
    """A Python or numpy number as a Python number; None for anything else, True and False included."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return math.inf if isinstance(value, int) and value > sys.float_info.max else value


def _over(k: object, ratio: Callable[[float], float]) -> Any:
    """`ratio` of one K, or of every K of an array or list."""
    if not getattr(k, "ndim", 0) and not isinstance(k, list | tuple):
        return ratio(check_k(k))
    import numpy as np

    counts = np.asarray(k)
    return np.array([ratio(check_k(count)) for count in counts.ravel().tolist()], float).reshape(counts.shape)


def check_k(k: object) -> float:
    """K as a Python number from 1 up; no law is defined below 1."""
    count = _plain(k)
    if count is None or not (math.isfinite(count) and count >= 1):
        raise InputError(Fault("a worker count is a number from 1", where="k", value=str(k)))
    return count
