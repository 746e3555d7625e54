"""Writing a file so that a crash leaves the old one whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from scalecurve.errors import Fault, InputError
from scalecurve.files import refuse_to_replace_an_input


def write_atomically(path: Path, content: bytes) -> None:
    """Temporary file in the same folder, fsync, rename, fsync of the folder."""
    temporary = None
    try:
        if path.exists() and not path.is_file():
            # A pipe or /dev/stdout cannot be replaced by rename.
            path.write_bytes(content)
            return
        refuse_to_replace_an_input(path)
        mask = os.umask(0)
        os.umask(mask)
        # mkstemp makes private files: give the mode the file had, or what a plain open() would give it.
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except BaseException as problem:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        if not isinstance(problem, OSError):
            raise
        fault = Fault(f"cannot be written: {problem.strerror}", remedy="choose another place with -o")
        raise InputError(fault, subject=str(path)) from None
