"""Regular expressions that a user writes: checked before they are used, and searched in a process that can be ended."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Sequence

from scalecurve.errors import Fault, InputError

SEARCH_SECONDS = 5.0
"""Longest search, in CPU time; a pattern that backtracks without end is stopped then."""
WAIT = 20
"""Longest wait on a machine where others run: this many times the CPU time."""
MOST_PATTERN = 1000

Question = tuple[str, str, str]
"""Whose pattern it is, as a message names it; the pattern; the text that is searched."""
Span = tuple[int, int]

SEARCH = """
import json, re, signal, sys
asked = json.load(sys.stdin)
signal.setitimer(signal.ITIMER_VIRTUAL, asked["seconds"])
for pattern, text in asked["questions"]:
    spans = []
    for match in re.finditer(pattern, text, re.MULTILINE):
        spans.append(match.span(1 if match.re.groups else 0))
        if len(spans) >= 100_000:
            break
    print(json.dumps(spans), flush=True)
"""
"""Run in a process of its own, which the kernel ends: a pattern may take longer than the universe."""


def fault_in(pattern: str, where: str, remedy: str, *, fewest: int = 1, most: int = 100) -> Fault | None:
    """What is wrong with a pattern before it is searched: its length, its form, or how many groups it has."""
    if len(pattern) > MOST_PATTERN:
        return Fault(f"the pattern has more than {MOST_PATTERN} characters", where, pattern, remedy)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about forms that a later Python may read differently
            groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as problem:
        return Fault(f"not a regular expression: {problem}", where, pattern, remedy)
    if fewest <= groups <= most:
        return None
    wanted = "; it needs exactly one group" if most == 1 else ""
    return Fault(f"the pattern has {groups or 'no'} group{'s' * (groups > 1)}{wanted}", where, pattern, remedy)


def spans_of(questions: Sequence[Question], *, limit: float | None = None) -> list[list[Span]]:
    """Where the first group of each match begins and ends, for each question; (-1, -1) where it took no part.

    An InputError names the pattern that was still searching after `limit` seconds of CPU time (SEARCH_SECONDS).
    """
    import subprocess

    if not questions:
        return []
    limit = SEARCH_SECONDS if limit is None else limit
    asked = [(pattern, text) for _, pattern, text in questions]
    request = json.dumps({"questions": asked, "seconds": limit})
    program = [sys.executable, "-I", "-S", "-c", SEARCH]
    trouble = f"was still searching after {limit:g} s of CPU time"
    try:
        done = subprocess.run(program, input=request, capture_output=True, text=True, timeout=WAIT * limit)
        lines = done.stdout.splitlines()
        if done.returncode > 0:
            trouble = f"cannot be searched: {' '.join(done.stderr.split())[-200:]}"
    except subprocess.TimeoutExpired as late:
        raw = late.stdout or b""
        lines = (raw.decode() if isinstance(raw, bytes) else raw).splitlines()
    except OSError as problem:
        fault = Fault(f"the process that searches patterns cannot start: {problem.strerror}", remedy="try again")
        raise InputError(fault) from None
    if len(lines) < len(questions):
        what, pattern, _ = questions[len(lines)]
        remedy = "write it without nested repetition"
        raise InputError(Fault(f"the {what} pattern {trouble}", value=pattern, remedy=remedy))
    return [[(begin, end) for begin, end in json.loads(line)] for line in lines]


def search(questions: Sequence[Question], *, limit: float | None = None) -> list[list[str]]:
    """The first groups of all matches, or the matches of a pattern without groups, for each question."""
    found = spans_of(questions, limit=limit)
    return [
        [text[begin:end] if begin >= 0 else "" for begin, end in spans]
        for spans, (_, _, text) in zip(found, questions, strict=True)
    ]
