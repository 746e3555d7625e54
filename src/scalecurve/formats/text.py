"""Text files of bounded size, read whole, with the usual complaints."""

from __future__ import annotations

from pathlib import Path

from scalecurve.errors import Fault, FormatError

MAX_BYTES = 512 * 1024 * 1024


def read_text(path: Path, *, limit: int = MAX_BYTES) -> str:
    """The file's text, or a FormatError."""
    try:
        size = path.stat().st_size
        if size > limit:
            raise FormatError(Fault("the file is too large", seen=f"{size} bytes"), subject=str(path))
        return path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise FormatError(f"cannot be read: {problem.strerror}", subject=str(path)) from None
    except UnicodeDecodeError:
        raise FormatError("not text in UTF-8", subject=str(path)) from None


def read_lines(path: Path) -> list[str]:
    return read_text(path).splitlines()
