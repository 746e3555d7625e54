"""Which rows of a table are measurements: not those that a column marks as failed, as warm-up or as a summary."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from scalecurve.formats.headers import WORDS, Header, pattern
from scalecurve.formats.tables.cells import ABSENT, FAILED_MARK, NO_RESULT, SAMPLE_ROWS, Cells, is_summary

YES, NO = frozenset(["1", "true", "yes", "y", "t", "x", "1.0"]), frozenset(["0", "false", "no", "n", "f", "0.0"])
WARM, MEASURED, PASSED = WORDS["warm"], WORDS["measured"], WORDS["passed"]
# Words that judge a run whatever their column is called; yes and no answer any question.
NOT_PASSED = WORDS["bad_states"] - frozenset(["no", "false", "bad", "skipped", "nan", "✗", "✘", "✖", "❌"])

Verdicts = dict[str, bool | None]


def without_summaries(labels: Sequence[str]) -> Verdicts | None:
    """For each number of a run that it is one, and for avg, mean or a warm-up that it is none; None without any."""
    verdicts: Verdicts = {
        label: not is_summary(label) and not pattern("filters.warm_mark").search(label) for label in set(labels)
    }
    return verdicts if not all(verdicts.values()) and any(verdicts.values()) else None


def _named_words(head: Header) -> set[str]:
    return {word for word in head.words if word not in WORDS["filter_fillers"]}


def _marks_rows(head: Header) -> bool:
    """Whether a column's name says that it marks rows: warm-up, failed, status."""
    words = _named_words(head)
    return bool(words and (words & WARM or words <= WORDS["failed"] or words <= WORDS["good"] | WORDS["state"]))


def may_filter(head: Header, cells: Cells) -> bool:
    """Whether a column can mark rows: by its name, as notes, or by few values that are words."""
    if isinstance(cells, np.ndarray):
        return _marks_rows(head)
    return _holds_notes(head) or _marks_rows(head) or len(set(cells[:SAMPLE_ROWS])) <= len(WARM | MEASURED)


def judged(head: Header, labels: Sequence[str]) -> Verdicts | None:
    """For each label whether its rows are measurements (None: it does not say); None where this is no such column."""
    words, marks = _named_words(head), set(labels)
    if _holds_notes(head):
        return _judged_notes(marks)
    if head.unit is not None or head.other_unit or (not _marks_rows(head) and len(marks) > len(WARM | MEASURED)):
        return None
    plain = {label: label.strip().lower().replace("-", "_").replace(" ", "_") for label in marks}
    if words & WARM or (words and words <= WORDS["failed"]):
        return _judged_marks(plain)
    if words and words <= WORDS["good"] | WORDS["state"]:
        verdicts: Verdicts = {label: _is_good(words, own) for label, own in plain.items()}
        return verdicts if any(verdict is not None for verdict in verdicts.values()) else None
    return _judged_words(plain)


def _judged_words(plain: dict[str, str]) -> Verdicts | None:
    """The same below any other name: passed beside failed, or warm-up beside measured, and no other word."""
    said = set(plain.values())
    if said & PASSED and said & NOT_PASSED and said <= PASSED | NOT_PASSED | ABSENT:
        return {label: own in PASSED for label, own in plain.items()}
    if said & WARM and said <= WARM | MEASURED:
        return {label: own not in WARM for label, own in plain.items()}
    return None


def _judged_marks(plain: dict[str, str]) -> Verdicts | None:
    """The same of marks below a word for warm-up or failure.

    A number that is neither 0 nor 1 is a size (0.03, 2 %) or a count (11 failed requests), not a mark.
    """
    said = set(plain.values())
    known = YES | NO | ABSENT | WARM | WORDS["bad_states"] | WORDS["failed"]
    if any(re.match(r"[\d.]+", own) and own not in YES | NO for own in said) or not said & known:
        return None
    return {label: own in NO or own in ABSENT for label, own in plain.items()}


def _holds_notes(head: Header) -> bool:
    """Whether a column is one of remarks: by its name, or because it has none."""
    return not head.words or set(head.words) <= WORDS["notes"]


def _judged_notes(marks: set[str]) -> Verdicts | None:
    """For each note whether its rows are measurements: not beside `crashed (OOM)`, unclear beside `node 7 crashed`."""
    plain = {label: label.strip(" .!()[]*").lower() for label in marks}
    words = NO_RESULT - {"x", "✗", "❌"} | {"total", "sum"}
    failed = {
        label: FAILED_MARK.search(note) for label, note in plain.items() if not pattern("filters.retried").search(note)
    }
    bad = {label for label, note in plain.items() if note in words or pattern("filters.warm_mark").match(note)}
    bad |= {label for label, match in failed.items() if match and match.start() == 0 and match["ends"] is not None}
    unclear = {label for label in marks - bad if failed.get(label) or pattern("filters.warm_mark").search(label)}
    return {label: None if label in unclear else label not in bad for label in marks} if bad | unclear else None


def _is_good(words: set[str], plain: str) -> bool | None:
    if words & WORDS["exit_codes"]:
        return plain in ("0", "0.0") if plain.lstrip("-").replace(".", "", 1).isdecimal() else None
    if plain in WORDS["good_states"]:
        return True
    if plain in WORDS["bad_states"] or plain in WARM or plain.split("_")[0] in WORDS["bad_states"]:
        return False
    if words & WORDS["good"]:
        return True if plain in YES else False if plain in NO else None
    return None
