"""What stands above each of several reports in one file: `n = 4`, `## nginx`, `===== 8 clients =====`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

MOST_CHARACTERS = 60
REACH = 1000  # characters above a report in which its line is looked for
_LINE = re.compile(r"^[^\w\n]*\w.*$", re.MULTILINE)  # one that says something: no fence, no rule
_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)
_TITLE = re.compile(r"^(#{1,6})\s+(\w.*)$", re.MULTILINE)
_DIGITS = re.compile(r"\d+")
_DIGEST = re.compile(r"(?=(?:[0-9]*[a-f]){2})(?=(?:[a-f]*[0-9]){2})[0-9a-f]{6,}")
_DATES = re.compile(r"(?i)mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec")


@dataclass(frozen=True)
class Above:
    """What is said above a report, "" where that is nothing, and where its line begins."""

    text: str
    begin: int


def above(text: str, starts: list[int], cuts: list[int]) -> list[Above]:
    """The line above each report: reports begin at `starts`, and each but the last is over at its cut or before.

    Of what the tool itself says, nothing counts: lines that stand inside its reports too, or above all of them alike.
    The title of a fenced report stands before its line.
    """
    first = starts[0] if cuts == starts[1:] else 0
    zones = [_zone(text, cut, start) for cut, start in zip([first, *cuts], starts, strict=True)]
    reports = [text[a:b].rstrip() for a, b in zip(starts, [*(zone[0] for zone in zones[1:]), len(text)], strict=True)]
    own = {_shape(line) for report in reports for line in _LINE.findall(report)}
    alike = set.intersection(*({match[0] for match in _LINE.finditer(text, *zone)} for zone in zones))
    is_fenced = _FENCE.search(text) is not None
    lines = _lines(text, zones, alike, own | {"#"} if is_fenced else own)
    if not lines[0].text:  # the others are last lines of reports, which differ
        lines = [Above("", start) for start in starts]
    titles = _titles(text) if is_fenced else []
    said, looped = [], ""
    for line, start in zip(lines, starts, strict=True):
        path = {level: title for place, level, title in titles if place < start}
        looped = line.text or looped  # what a loop says once holds for all that follow
        parts = (*(path[level] for level in sorted(path)), looped)
        said.append(Above(" ".join(dict.fromkeys(filter(None, parts))), line.begin))
    return said


def _zone(text: str, cut: int, start: int) -> tuple[int, int]:
    """Where a line above a report may stand: behind the end of the last one, else the last line that says something."""
    if cut < start:
        return cut, start
    found = list(_LINE.finditer(text, max(0, start - REACH), start))
    return (found[-1].start() if found else start, start)


def words(name: str) -> str:
    """The words of a name without its numbers, dates and digests: what `nginx-c10.txt` and `nginx-c50.txt` share."""
    tokens = re.findall(r"[^\W_]+", name)
    kept = (_DIGITS.sub("", token) for token in tokens if not _DIGEST.fullmatch(token))
    return " ".join(word for word in kept if word and not _DATES.fullmatch(word))


def _lines(text: str, zones: Sequence[tuple[int, int]], alike: set[str], own: set[str]) -> list[Above]:
    """Of each zone the last line that is not the tool's, and of those that differ in words where there are some."""
    foreign = ((line for line in _LINE.finditer(text, *zone) if line[0] not in alike) for zone in zones)
    found = [[line for line in lines if not {_shape(line[0]), line[0][:1]} & own] for lines in foreign]
    common = set.intersection(*({words(line[0]) for line in lines} for lines in found))
    wordy = [[line for line in lines if words(line[0]) not in common] for lines in found]
    chosen = wordy if wordy[0] else found
    return [
        Above(lines[-1][0].strip(" \t#=*->")[:MOST_CHARACTERS], lines[-1].start()) if lines else Above("", zone[1])
        for lines, zone in zip(chosen, zones, strict=True)
    ]


def _titles(text: str) -> list[tuple[int, int, str]]:
    """The titles of a Markdown document outside its fences: place, level and words; one ends those below its level."""
    fences = [0, *(match.start() for match in _FENCE.finditer(text)), len(text)]
    titles: list[tuple[int, int, str]] = []
    for a, b in list(pairwise(fences))[::2]:
        for match in _TITLE.finditer(text, a, b):
            level = len(match[1])
            titles += [(match.start(), below, "") for below in range(level + 1, 7)]
            titles.append((match.start(), level, match[2].strip()))
    return titles


def _shape(line: str) -> str:
    """What lines of one kind have in common: the words before the first number, else all words."""
    return _DIGITS.split(line.strip(), maxsplit=1)[0].strip() or words(line)
