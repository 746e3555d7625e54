"""Files read whole: within a limit whatever they are, and never replaced by the command that read them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError

MAX_BYTES = 512 * 1024 * 1024  # of any file that is read whole
MAX_TOML_BYTES = 4 * 1024 * 1024
MOST_OF_DEVICE = 16 * 1024 * 1024  # /dev/zero never ends

Identity = tuple[int, int]  # device and inode: a link to a file is the same file
_inputs: ContextVar[set[Identity] | None] = ContextVar("inputs", default=None)


def read_bytes(path: Path, *, limit: int = MAX_BYTES, hint: str | None = None) -> bytes:
    """A whole file of at most `limit` bytes, where it is a pipe or an endless device too; `hint` says how to get one.

    Every file that is read whole comes through here, or through `formats.source`.
    """
    raw = beginning_of(path, limit + 1, hint=hint)
    if len(raw) > limit:
        fault = Fault("the file is too large", remedy=f"the limit is {limit} bytes")
        raise FormatError(fault, subject=str(path))
    return raw


def beginning_of(path: Path, most: int, *, hint: str | None = None) -> bytes:
    """The first `most` bytes of a file, as a file that was read; a device that gives MOST_OF_DEVICE is refused."""
    try:
        with path.open("rb") as file:
            note_input(file.fileno())
            if not stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
                return file.read(most)
            raw = file.read(min(most, MOST_OF_DEVICE))
    except (OSError, ValueError) as problem:
        raise unreadable(str(path), problem, hint) from None
    if len(raw) == MOST_OF_DEVICE:
        raise FormatError(Fault("this is a device without an end", remedy=hint or "name a file"), subject=str(path))
    return raw


def unreadable(name: str, problem: OSError | ValueError, hint: str | None = None) -> FormatError:
    """The error for a file that cannot be opened or read; a ValueError is that of a name with a zero byte."""
    why = (problem.strerror if isinstance(problem, OSError) else None) or problem
    fault = Fault(f"cannot be read: {why}", remedy=hint or "check its name and who may read it")
    return FormatError(fault, subject=name)


def read_text(path: Path, *, limit: int = MAX_BYTES, hint: str | None = None) -> str:
    """The text of a file in UTF-8."""
    try:
        return read_bytes(path, limit=limit, hint=hint).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(Fault("not text in UTF-8", remedy=hint or "save it in UTF-8"), subject=str(path)) from None


def read_toml(path: Path, *, hint: str) -> dict[str, Any]:
    """The tables of a TOML file; `hint` says how to get a file to start from."""
    import tomllib

    text = read_text(path, limit=MAX_TOML_BYTES, hint=hint)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # also numbers of 5,000 digits, and nesting without end
        raise FormatError(Fault(f"not TOML: {problem}", remedy=hint), subject=str(path)) from None


@contextmanager
def keeping_inputs() -> Iterator[None]:
    """A context in which no file that was read can be replaced; the command line runs every command in it."""
    token = _inputs.set(set())
    try:
        yield
    finally:
        _inputs.reset(token)


def note_input(handle: int) -> None:
    """Remember an open file as one that was read."""
    inputs = _inputs.get()
    if inputs is not None:
        inputs.add(_identity(os.fstat(handle)))


def may_replace(path: Path) -> None:
    """Allow that a file is replaced although it was read: a study that is continued."""
    inputs = _inputs.get()
    if inputs is not None and path.exists():
        inputs.discard(_identity(path.stat()))


def refuse_to_replace_an_input(path: Path) -> None:
    """Raise InputError where `path` is one of the files that were read."""
    inputs = _inputs.get()
    if inputs and path.exists() and _identity(path.stat()) in inputs:
        raise InputError(Fault("the output would replace its own input", value=str(path), remedy="name another"))


def _identity(facts: os.stat_result) -> Identity:
    return facts.st_dev, facts.st_ino
