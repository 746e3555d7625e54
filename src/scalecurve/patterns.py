"""Regular expressions that a user writes: checked before they are used, and searched with an end to every search."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import islice
from typing import Any

from scalecurve.errors import Fault, InputError

SEARCH_SECONDS = 5.0
"""Longest search of one pattern, in CPU time; one that backtracks without end is stopped then."""
MOST_PATTERN = 1000
MOST_MATCHES = 100_000

Question = tuple[str, str, str]
"""Whose pattern it is, as a message names it; the pattern; the text that is searched."""
Span = tuple[int, int]


def fault_in(pattern: str, where: str, remedy: str, *, fewest: int = 1, most: int = 100) -> Fault | None:
    """What is wrong with a pattern before it is searched: its length, its form, or how many groups it has."""
    if len(pattern) > MOST_PATTERN:
        return Fault(f"the pattern has more than {MOST_PATTERN} characters", where, pattern, remedy)
    import regex

    try:
        groups = _compiled(pattern).groups
    except (regex.error, OverflowError, RecursionError, MemoryError) as problem:
        return Fault(f"not a regular expression: {problem}", where, pattern, remedy)
    if fewest <= groups <= most:
        return None
    wanted = "; it needs exactly one group" if most == 1 else ""
    return Fault(f"the pattern has {groups or 'no'} group{'s' * (groups > 1)}{wanted}", where, pattern, remedy)


def _compiled(pattern: str) -> Any:
    import regex  # here, as most files are read without a pattern

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about forms that a later version may read differently
        return regex.compile(pattern, regex.MULTILINE)


def spans_of(questions: Sequence[Question], *, limit: float | None = None) -> list[list[Span]]:
    """Where the first group of each match begins and ends, for each question; (-1, -1) where it took no part.

    An InputError names the pattern that was still searching after `limit` seconds of CPU time (SEARCH_SECONDS).
    """
    limit = SEARCH_SECONDS if limit is None else limit
    found: list[list[Span]] = []
    for what, pattern, text in questions:
        own = _compiled(pattern)
        try:
            matches = islice(own.finditer(text, timeout=limit), MOST_MATCHES)
            found.append([match.span(1 if own.groups else 0) for match in matches])
        except TimeoutError:
            trouble = f"the {what} pattern was still searching after {limit:g} s of CPU time"
            raise InputError(Fault(trouble, value=pattern, remedy="write it without nested repetition")) from None
    return found


def search(questions: Sequence[Question], *, limit: float | None = None) -> list[list[str]]:
    """The first groups of all matches, or the matches of a pattern without groups, for each question."""
    found = spans_of(questions, limit=limit)
    return [
        [text[begin:end] if begin >= 0 else "" for begin, end in spans]
        for spans, (_, _, text) in zip(found, questions, strict=True)
    ]
