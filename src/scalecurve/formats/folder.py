"""The files meant by what the user named: a file, several, or a folder (its visible files, three levels deep)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scalecurve.errors import Fault, InputError
from scalecurve.formats.source import Source, standard_input

MOST_FILES = 10_000
DEEPEST = 3


def sources_of(given: Sequence[str | Path]) -> list[Source]:
    """One Source per file; a folder's files in the order of their names."""
    found: list[Source] = []
    for each in given:
        path = Path(each)
        if str(each) == "-":
            found.append(standard_input())
        elif path.is_dir():
            found += _inside(path)
        else:
            found.append(Source(str(each), path=path))
    if not found:
        listed = ", ".join(str(each) for each in given)
        raise InputError(Fault("there are no files in it", seen=listed or None), subject="import")
    return found


def _inside(folder: Path) -> list[Source]:
    files = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if len(parts) <= DEEPEST and not any(part.startswith(".") for part in parts) and path.is_file():
            files.append(Source(str(path), path=path))
        if len(files) > MOST_FILES:
            raise InputError(Fault("too many files", remedy=f"at most {MOST_FILES}; name them"), subject=str(folder))
    return files
