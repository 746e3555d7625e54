"""The errors that the package raises on purpose; the command line exits with 2 for each of them.

    ScalecurveError
    ├── InputError          the input is wrong; lists every fault
    │   └── FormatError     a file cannot be read as the format it should be
    ├── Refused             the data cannot support the answer; says which data would
    │   └── Undecided       several laws explain the data equally well
    ├── MissingExtra        an optional package is not installed
    └── RunError            a measured job or its launcher failed

A message says what is wrong, where, the value, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing wrong with an input: where it is, what it is, the value there and how to correct it."""

    message: str
    where: str | None = None
    value: str | None = None
    remedy: str | None = None

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        if self.value is not None:
            text += f" (got {shorten(self.value)})"
        if self.remedy:
            text += f"; {self.remedy}"
        return text


def shorten(value: str, limit: int = 80) -> str:
    """A value quoted for a message: control characters escaped, long text cut."""
    quoted = repr(value)
    return quoted if len(quoted) <= limit else quoted[: limit - 4] + "...'"


class ScalecurveError(Exception):
    """Base of all deliberate errors; `exit_code` is what the command line returns."""

    exit_code = 2


class InputError(ScalecurveError):
    """The input is wrong; `faults` holds every fault, not only the first."""

    def __init__(self, faults: str | Fault | Iterable[Fault], *, subject: str | None = None) -> None:
        self.subject = subject
        listed = Fault(faults) if isinstance(faults, str) else faults
        self.faults = (listed,) if isinstance(listed, Fault) else tuple(listed)
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [str(fault) for fault in self.faults]
        if len(lines) == 1:
            return f"{self.subject}: {lines[0]}" if self.subject else lines[0]
        head = f"{self.subject}: {len(lines)} faults" if self.subject else f"{len(lines)} faults"
        return "\n  ".join([head, *lines])


class FormatError(InputError):
    """A file cannot be read as the format that it claims or that was asked for."""


@contextmanager
def read_as(what: str, *, subject: str, where: str | None = None) -> Iterator[None]:
    """The guard around a reader: it may trust the shape of `what`, and whatever breaks it is a damaged file."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as problem:
        text = " ".join(str(problem).split())
        message = f"damaged, or not as {what} is written: {type(problem).__name__}: {text}"
        fault = Fault(message[:200], where, remedy=f"check the file; it was read as {what}")
        raise FormatError(fault, subject=subject) from None


class Refused(ScalecurveError):
    """The data cannot support the answer."""


class Undecided(Refused):
    """Several laws explain the data equally well; `laws` names them."""

    def __init__(self, message: str, laws: Iterable[str] = ()) -> None:
        self.laws = tuple(laws)
        super().__init__(message)


class MissingExtra(ScalecurveError):
    """An optional part needs a package that is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{purpose} needs an optional package: pip install 'scalecurve[{extra}]'")


class RunError(ScalecurveError):
    """A measured job or its launcher failed."""
