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

import os
import sys
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
        return one_line(text)


def one_line(text: str) -> str:
    """The text with control characters made visible, so that a name from a file cannot move the cursor or begin a
    line of its own."""
    if text.isprintable():
        return text
    hidden = {ord(char) for char in text if not (char.isprintable() or char == "\xa0")}
    return text.translate({code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in hidden})


def make_inert(noun: object, *names: str) -> None:
    """Make the named texts of a frozen noun one line each: whatever file they come from, they are safe to show."""
    for name in names:
        value = getattr(noun, name)
        if isinstance(value, str) and not value.isprintable():
            object.__setattr__(noun, name, one_line(value))
        elif isinstance(value, tuple):
            object.__setattr__(noun, name, tuple(one_line(item) for item in value))


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
        subject = f"{one_line(self.subject)}: " if self.subject else ""
        if len(lines) == 1:
            return subject + lines[0]
        head = f"{subject}{len(lines)} faults"
        return "\n  ".join([head, *lines])


class FormatError(InputError):
    """A file cannot be read as the format that it claims or that was asked for; bare text gets the remedy of all such
    files."""

    def __init__(self, faults: str | Fault | Iterable[Fault], *, subject: str | None = None) -> None:
        if isinstance(faults, str) and ";" not in faults:
            faults = Fault(faults, remedy="check the file, or write it anew")
        super().__init__(faults, subject=subject)


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


@contextmanager
def code_of_a_user(source: str, *, remedy: str) -> Iterator[None]:
    """The guard around an import of a user's module from the current folder, and around calls of what it holds:
    whatever it raises is a fault of that module."""
    sys.path.insert(0, os.getcwd())
    try:
        yield
    except ScalecurveError:
        raise
    except (Exception, SystemExit) as problem:
        text = " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
        raise InputError(Fault(f"cannot be imported: {text}", value=source, remedy=remedy)) from None
    finally:
        sys.path.pop(0)


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
