"""Writing a file so that a crash leaves the old one whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from scalecurve.errors import Fault, InputError


def write_atomically(path: Path, content: bytes) -> None:
    """Temporary file in the same folder, fsync, rename, fsync of the folder."""
    if path.exists() and not path.is_file():
        # A pipe or /dev/stdout cannot be replaced by rename; there is nothing to tear there either.
        path.write_bytes(content)
        return
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.", suffix=".tmp")
    except OSError as problem:
        raise _cannot_write(path, problem) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode_of(path))
        os.replace(name, path)
        _sync_folder(path.parent)
    except OSError as problem:
        Path(name).unlink(missing_ok=True)
        raise _cannot_write(path, problem) from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode_of(path: Path) -> int:
    """The mode the file had, or what a plain open() would give it (mkstemp makes private files)."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cannot_write(path: Path, problem: OSError) -> InputError:
    return InputError(
        Fault(f"cannot be written: {problem.strerror}", remedy="choose another place with -o"), subject=str(path)
    )
