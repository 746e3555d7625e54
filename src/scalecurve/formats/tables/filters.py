"""Columns that say which rows are measurements: failed runs and warm-ups are counted and left out."""

from __future__ import annotations

from collections.abc import Sequence

from scalecurve.formats.headers import FAILED_WORDS, GOOD_WORDS, STATE_WORDS, Header, vocabulary
from scalecurve.formats.tables.cells import ABSENT

YES = vocabulary("1 true yes y t x 1.0")
NO = vocabulary("0 false no n f 0.0")
EXIT_CODES = vocabulary("exit_code exitcode returncode return_code rc exit")
GOOD_STATES = vocabulary(
    "ok okay pass passed success successful succeeded complete completed done finished good valid true yes normal ✓"
)
BAD_STATES = vocabulary(
    "fail failed failure error errored timeout timedout timed_out crash crashed cancelled canceled killed "
    "aborted abort oom out_of_memory node_fail invalid bad skipped no false preempted ✗ nan"
)
WARM = vocabulary("warmup warm_up warming warm cold_start")
MEASURED = vocabulary("measure measured measurement timed run benchmark bench steady real hot main test")
_FILLERS = vocabulary("is has was run job test did the")


def keeps(head: Header, labels: Sequence[str]) -> dict[str, bool | None] | None:
    """For each label whether its rows are measurements (None: it does not say); None where this is no such column."""
    words = {word for word in head.words if word not in _FILLERS}
    named = words and (words & WARM or words <= FAILED_WORDS or words <= GOOD_WORDS | STATE_WORDS)
    marks = set(labels)
    if head.unit is not None or head.other_unit or (not named and len(marks) > len(WARM | MEASURED)):
        return None
    distinct = {label: _plain(label) for label in marks}
    if words & WARM or (words and words <= FAILED_WORDS):
        return {label: _is_unmarked(plain) for label, plain in distinct.items()} if _is_flag(head, distinct) else None
    if words and words <= GOOD_WORDS | STATE_WORDS:
        judge = {label: _is_good(words, plain) for label, plain in distinct.items()}
        return judge if any(verdict is not None for verdict in judge.values()) else None
    if set(distinct.values()) & WARM and set(distinct.values()) <= WARM | MEASURED:
        return {label: plain not in WARM for label, plain in distinct.items()}
    return None


def _plain(label: str) -> str:
    return label.strip().lower().replace("-", "_").replace(" ", "_")


def _is_flag(head: Header, distinct: dict[str, str]) -> bool:
    """A number that is neither 0 nor 1 is a size (an error of 0.03) or a count (11 failed requests), not a mark."""
    numbers = [plain for plain in distinct.values() if plain.replace(".", "", 1).isdigit()]
    return all(plain in YES | NO for plain in numbers)


def _is_unmarked(plain: str) -> bool:
    return plain in NO or plain in ABSENT


def _is_good(words: set[str], plain: str) -> bool | None:
    if words & EXIT_CODES:
        return plain in ("0", "0.0") if plain.lstrip("-").replace(".", "", 1).isdigit() else None
    if plain in GOOD_STATES:
        return True
    if plain in BAD_STATES or plain in WARM or plain.split("_")[0] in BAD_STATES:
        return False
    if words & GOOD_WORDS:
        return True if plain in YES else False if plain in NO else None
    return None
