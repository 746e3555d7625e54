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
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import ModuleType


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
            text += f"; {spelled(self.remedy)}"
        return one_line(text)


ON_COMMAND_LINE: ContextVar[bool] = ContextVar("on_command_line", default=False)
"""Whether the caller typed a command: then options are named --value-column, else value_column=."""
TYPED: ContextVar[tuple[str | None, str | None]] = ContextVar("typed", default=("STUDY", "the same"))
"""The words that name the study on the command line (None without one), and the whole command that was typed,
None where one command shows the answers of several."""
COMMAND = re.compile(r"`?scalecurve [^;`]*")
KEYWORDS = (
    "against at baseline-k budget cores critical-batch deadline expected-seconds fleet gate gpus history hold jobs "
    "k-column k-from k-unit largest level max-repeats min-efficiency node-size per-node precision predict price "
    "quantity rates regime run-seconds runs seq series speedup speedups statistic threshold tokens unit value-column "
    "work-per-job workers"
)
"""The options that are keywords of a verb too; other programs have options of their own."""
OPTION = re.compile(rf"--({KEYWORDS.replace(' ', '|')})\b(?!-)(?: (?=[\d\"'{{\[]))?")


def spelled(text: str) -> str:
    """A remedy in the language of the caller: `--value-column` on the command line, `value_column=` in Python.

    Whole commands (`scalecurve measure --resume`) stay as they are.
    """
    if ON_COMMAND_LINE.get() or "--" not in text:
        return text
    text = re.sub(r"--extrapolate\b", "extrapolate=True", text)
    words = "strong|weak|included|excluded|log|linear|both|time|efficiency"
    text = re.sub(rf"--(regime|setup|growth|gate) ({words})", r"\1='\2'", text)
    pieces, end = [], 0
    for command in COMMAND.finditer(text):
        pieces += [_as_keywords(text[end : command.start()]), command[0]]
        end = command.end()
    return "".join([*pieces, _as_keywords(text[end:])])


def _as_keywords(text: str) -> str:
    return OPTION.sub(lambda option: f"{option[1].replace('-', '_')}=", text)


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


DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
WRONG_CALL = re.compile(r"\(\) (missing|takes|got an unexpected|got multiple)")


@contextmanager
def read_as(
    what: str, *, subject: str, where: str | None = None, damage: tuple[type[Exception], ...] = DAMAGE
) -> Iterator[None]:
    """The guard around a reader, which may trust the shape of `what`: the errors it declares as `damage` mean a damaged
    file.  A wrong call, or an attribute that a class of ours lacks, is our fault and stays an internal error."""
    try:
        yield
    except damage as problem:
        if is_our_fault(problem):
            raise
        text = " ".join(str(problem).split())
        message = f"damaged, or not as {what} is written: {type(problem).__name__}: {text}"
        fault = Fault(message[:200], where, remedy=f"check the file; it was read as {what}")
        raise FormatError(fault, subject=subject) from problem


def is_our_fault(problem: Exception) -> bool:
    """Whether no input can cause this error: a function called with wrong arguments, or a missing attribute of ours."""
    if isinstance(problem, AttributeError):
        owner = problem.obj if isinstance(problem.obj, type | ModuleType) else type(problem.obj)
        return (getattr(owner, "__module__", None) or owner.__name__).startswith("scalecurve")
    return isinstance(problem, TypeError) and WRONG_CALL.search(str(problem)) is not None


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
