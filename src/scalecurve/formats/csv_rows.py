"""The fields of delimited lines; what Python's csv cannot part is a fault of the file, said as one."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from scalecurve.errors import FormatError


def csv_rows(lines: Iterable[str], *, delimiter: str = ",", subject: str | None = None) -> Iterator[list[str]]:
    """One list of fields for every record."""
    try:
        yield from csv.reader(lines, delimiter=delimiter)
    except csv.Error as problem:
        raise FormatError(f"not delimited text: {problem}", subject=subject) from None
