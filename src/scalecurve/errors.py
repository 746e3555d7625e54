"""Everything the package raises on purpose.

    ScalecurveError
    ├── InputError          what was given is wrong: every fault at once           (exit 2)
    │   └── FormatError     a file that cannot be read as what it claims to be     (exit 2)
    ├── Refused             the data cannot support the answer; says what would    (exit 2)
    │   └── Undecided       several laws explain the data equally well             (exit 2)
    ├── MissingExtra        an optional engine is not installed                    (exit 2)
    └── RunError            a measured job or its launcher failed                  (exit 2)

A message says what is wrong, where, the value seen and the way out.  Nothing here is for control flow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing wrong with an input: where it is, what it is, what was seen there and how to mend it."""

    message: str
    where: str | None = None
    seen: str | None = None
    remedy: str | None = None

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        if self.seen is not None:
            text += f" (saw {shorten(self.seen)})"
        if self.remedy:
            text += f"; {self.remedy}"
        return text


def shorten(seen: str, limit: int = 80) -> str:
    """A value quoted for a message: control characters escaped, long text cut."""
    quoted = repr(seen)
    return quoted if len(quoted) <= limit else quoted[: limit - 4] + "...'"


class ScalecurveError(Exception):
    """Base of all deliberate errors; `exit_code` is what the command line returns."""

    exit_code = 2


class InputError(ScalecurveError):
    """What was given is wrong; carries every fault found, not only the first."""

    def __init__(self, faults: str | Fault | Iterable[Fault], *, subject: str | None = None) -> None:
        self.subject = subject
        self.faults = _as_faults(faults)
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [str(fault) for fault in self.faults]
        if len(lines) == 1:
            return f"{self.subject}: {lines[0]}" if self.subject else lines[0]
        head = f"{self.subject}: {len(lines)} faults" if self.subject else f"{len(lines)} faults"
        return "\n  ".join([head, *lines])


def _as_faults(faults: str | Fault | Iterable[Fault]) -> tuple[Fault, ...]:
    if isinstance(faults, str):
        return (Fault(faults),)
    if isinstance(faults, Fault):
        return (faults,)
    return tuple(faults)


class FormatError(InputError):
    """A file that cannot be read as what it claims, or is asked, to be."""


class Refused(ScalecurveError):
    """The data cannot support the answer asked for."""


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
    """A measured job, or the launcher that was to start it, failed."""
