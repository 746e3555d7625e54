"""A Document as text: the answer and what fits 24 lines, or all of it; on a terminal colours say verdicts.

A table that is too wide wraps its headers and its text.  Where that does not suffice it is wider in a pipe; on a
terminal it loses the columns that matter least (`Column.rank`), then it goes on below.  Every text passes through
`document.one_line`, so that no name moves the cursor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from unicodedata import combining, east_asian_width

from scalecurve.document import (
    Block,
    Document,
    FindingList,
    Heading,
    Listing,
    Paragraph,
    Table,
    Tone,
    safe_lines,
)
from scalecurve.errors import one_line
from scalecurve.findings import Finding, Severity

GAP = "  "
LEAST_WRAPPED = 14  # columns of text that a wrapped cell keeps
MOST_PROSE = 100  # columns; longer lines are hard to read
CODES: dict[str, str] = {"good": "32", "bad": "31", "warn": "33", "muted": "2", "assumed": "3", "bold": "1"}
SEVERITY_TONES: dict[Severity, Tone] = {Severity.ERROR: "bad", Severity.WARNING: "warn", Severity.INFO: "muted"}
RANKS = (Severity.ERROR, Severity.WARNING, Severity.INFO)
ALWAYS = 2  # sections that always stand: what it is about, and the table
MOST_RESERVED = 3  # warnings for which later sections give way
MOST_LINES = 24


@dataclass(frozen=True, kw_only=True)
class Screen:
    """A terminal: its width in characters, the lines of an answer, and whether it shows colours.

    `wide` is whether it takes tables that are wider.
    """

    width: int = 100
    height: int = MOST_LINES
    colour: bool = False
    wide: bool = False

    def paint(self, text: str, tone: str) -> str:
        """The text in the colour of a tone, where the terminal shows colours."""
        return f"\x1b[{CODES[tone]}m{text}\x1b[0m" if self.colour and tone in CODES and text else text


def to_text(document: Document, *, whole: bool = False) -> str:
    """The document as plain text of 100 columns, tables of many numbers wider; without the last end of line.  The
    details are in the `whole` text."""
    return to_terminal(document, Screen(wide=True), whole=whole).removesuffix("\n")


def to_terminal(document: Document, screen: Screen, *, whole: bool = False) -> str:
    """The document as lines of the screen's width, its answer first.

    The `whole` document has every block and finding.  Else it has as many sections and warnings as `screen.height`
    holds, the first sections in any case, and a last line says what --verbose would add.
    """
    head = _head(document, screen)
    if whole:
        parts = [text for block in document.all_blocks if (text := _block(block, screen))]
    else:
        parts = _short(document, screen, _lines(head))
    return "\n\n".join(head + parts) + "\n"


def _head(document: Document, screen: Screen) -> list[str]:
    """The answer, its decision in bold; else the title."""
    if document.answer is None:
        return [screen.paint("\n".join(_prose(document.title, screen)), "bold")] if document.title else []
    decision, *support = document.answer.lines()
    said = [screen.paint(line, "bold") for line in _prose(decision, screen)]
    return ["\n".join([*said, *(line for text in support for line in _prose(text, screen))])]


def _lines(parts: Sequence[str]) -> int:
    """Lines that parts take, each with the blank line below it."""
    return sum(part.count("\n") + 2 for part in parts)


def _short(document: Document, screen: Screen, used: int) -> list[str]:
    """The sections and the warnings that fit below `used` lines, and what was left out."""
    findings = [item for block in document.blocks if isinstance(block, FindingList) for item in block.findings]
    grave = [item for item in findings if item.severity is not Severity.INFO or document.answer is None]
    warnings = [_finding(item, screen) for item in sorted(grave, key=lambda item: RANKS.index(item.severity))]
    sections = _sections(document, screen)
    room = screen.height - used - 1  # the last line
    reserved = _lines(warnings[:1]) and 1 + sum(text.count("\n") + 1 for text in warnings[:MOST_RESERVED])
    kept, left = _fitting(sections, room - reserved)
    room -= _lines(kept) + 1
    shown: list[str] = []
    for text in warnings:
        room -= text.count("\n") + 1
        if room < 0:
            break
        shown.append(text)
    counts = {"more part": left, "more warning": len(warnings) - len(shown)}
    rest = [f"{count} {name}{'s' * (count > 1)}" for name, count in counts.items() if count]
    more = rest or document.details or len(findings) > len(grave)
    said = f"--verbose shows {' and '.join(rest) or 'the rest'}." if more else ""
    return [*kept, *filter(None, ["\n".join(shown), screen.paint(said, "muted")])]


def _fitting(sections: Sequence[Sequence[str]], room: int) -> tuple[list[str], int]:
    """The texts of the first sections, which stand in any case, and of those that fit; how many are left out."""
    kept: list[str] = []
    for place, texts in enumerate(sections):
        if place >= ALWAYS and _lines([*kept, *texts]) > room:
            return kept, len(sections) - place
        kept += texts
    return kept, 0


def _sections(document: Document, screen: Screen) -> list[list[str]]:
    """The texts of the blocks that are not findings, a heading together with the block below it."""
    sections: list[list[str]] = []
    below_heading = False
    for block in document.blocks:
        text = "" if isinstance(block, FindingList) else _block(block, screen)
        if text and below_heading:
            sections[-1].append(text)
        elif text:
            sections.append([text])
        below_heading = isinstance(block, Heading) or (below_heading and not text)
    return sections


def _block(block: Block, screen: Screen) -> str:
    match block:
        case Heading(text):
            lines = _prose(text, screen)
            rule = [] if screen.colour else ["-" * max(map(cells, lines))]
            return "\n".join([*(screen.paint(line, "bold") for line in lines), *rule])
        case Paragraph(text, tone):
            return "\n".join(screen.paint(line, tone) for line in _prose(text, screen))
        case Listing(text):
            return "\n".join("    " + line for line in safe_lines(text))
        case Table():
            return "\n".join(_table(block, screen))
        case FindingList(findings):
            return "\n".join(_finding(finding, screen) for finding in findings)


def _prose(text: str, screen: Screen) -> list[str]:
    return [line.rstrip() for part in safe_lines(text) for line in fold(part, min(screen.width, MOST_PROSE))]


def fold(text: str, width: int) -> list[str]:
    """A text as lines of at most `width` columns; one that fits keeps its spaces, one that goes on keeps its indent."""
    if cells(text) <= width:
        return [text]
    indent = text[: len(text) - len(text.lstrip())][: width // 4]
    return _wrapped(text, width if cells(text) == len(text) else max(1, width // 2), indent) or [""]


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    """Lines of at most `width` characters; a percent sign stays with its number, and a value with its name: K = 1."""
    joined = text.replace(" %", "\xa0%").replace(" = ", "\xa0=\xa0")
    lines = wrap(joined, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\xa0%", " %").replace("\xa0=\xa0", " = ") for line in lines]


def finding_text(finding: Finding, width: int = MOST_PROSE) -> str:
    """A finding as lines wrapped at `width`: severity, code, sentence and remedy."""
    text = f"{finding.severity} [{finding.code}] {finding.message}"
    if finding.remedy:
        text += f" -> {finding.remedy}"
    return "\n".join(_wrapped(one_line(" ".join(text.split())), width, "    "))


def _finding(finding: Finding, screen: Screen) -> str:
    """A finding, its severity in colour."""
    text, word = finding_text(finding, min(screen.width, MOST_PROSE)), str(finding.severity)
    return screen.paint(word, SEVERITY_TONES[finding.severity]) + text.removeprefix(word)


def cells(text: str) -> int:
    """How many columns of a terminal a text takes: two for wide characters, none for marks on others."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _table(block: Table, screen: Screen) -> Iterator[str]:
    """The lines of a table that fits: headers wrapped, the least needed columns dropped, text wrapped, or continued."""
    grid = [[one_line(cell.text) for cell in row] for row in block.rows]
    heads = [one_line(column.header) for column in block.columns]
    natural, words, least = _widths(heads, grid)
    shown, dropped = _shown(block, least, screen)
    for place in (i for i in shown if block.columns[i].align == "left"):
        least[place] = max(words[place], min(least[place], LEAST_WRAPPED))
    if screen.wide and _total(least, shown) > screen.width:
        least = natural
    parts, most = ([shown], max(natural)) if screen.wide else (_parts(least, shown, screen.width), screen.width)
    yield from _prose(block.caption or "", screen) if block.caption else ()
    for number, part in enumerate(parts):
        fitted = _squeezed(natural, least, part, screen.width)
        yield from ([""] if number else [])
        yield from _grid(block, grid, [min(fitted[i], most) for i in part], part, screen)
    if dropped:
        names = ", ".join(block.columns[i].meaning or heads[i] for i in dropped)
        left = f"(left out at {screen.width} columns: {names})"
        yield from (screen.paint(line, "muted") for line in _prose(left, screen))


def _widths(heads: Sequence[str], grid: Sequence[Sequence[str]]) -> tuple[list[int], list[int], list[int]]:
    """Of every column: the width of its longest text, of the longest word of its header, and the least it can have."""
    contents = [max((cells(row[i]) for row in grid), default=0) for i in range(len(heads))]
    words = [max(map(cells, [*head.split(), ""])) for head in heads]
    natural = list(map(max, map(cells, heads), contents))
    return natural, words, list(map(max, words, contents))


def _shown(block: Table, least: Sequence[int], screen: Screen) -> tuple[list[int], list[int]]:
    """The columns for which there is room, and those that a terminal leaves out, the highest rank first."""
    shown, dropped = list(range(len(block.columns))), []
    for place in sorted((i for i in shown if block.columns[i].rank), key=lambda i: -block.columns[i].rank):
        if not screen.wide and _total(least, shown) > screen.width:
            shown.remove(place)
            dropped.append(place)
    return shown, dropped


def _squeezed(natural: Sequence[int], least: Sequence[int], shown: Sequence[int], width: int) -> list[int]:
    """Widths of the columns shown that fit where they can: the widest gives way first, none beyond its least."""
    widths = list(natural)
    while _total(widths, shown) > width:
        soft = [i for i in shown if widths[i] > least[i]]
        if not soft:
            break
        widths[max(soft, key=lambda i: widths[i])] -= 1
    return widths


def _total(widths: Sequence[int], shown: Sequence[int]) -> int:
    return sum(widths[i] for i in shown) + len(GAP) * (len(shown) - 1)


def _parts(widths: Sequence[int], shown: Sequence[int], width: int) -> list[list[int]]:
    """The columns in groups that fit the width, the first column before each group."""
    parts: list[list[int]] = [[shown[0]]]
    for place in shown[1:]:
        if len(parts[-1]) > 1 and _total(widths, [*parts[-1], place]) > width:
            parts.append([shown[0]])
        parts[-1].append(place)
    return parts


def _grid(
    block: Table, grid: Sequence[Sequence[str]], widths: Sequence[int], part: Sequence[int], screen: Screen
) -> Iterator[str]:
    """A header, a rule and the rows of some columns; a cell that is too long goes on in the next line."""

    def line(texts: Sequence[str], tones: Sequence[str]) -> Iterator[str]:
        columns = [fold(text, width) for text, width in zip(texts, widths, strict=True)]
        for own in zip_longest(*columns, fillvalue=""):
            pieces = []
            for place, text, width, tone in zip(part, own, widths, tones, strict=True):
                blank = " " * (width - cells(text))
                text = screen.paint(text, tone)
                pieces.append(text + blank if block.columns[place].align == "left" else blank + text)
            yield GAP.join(pieces).rstrip()

    yield from line([one_line(block.columns[i].header) for i in part], ["bold"] * len(part))
    yield GAP.join("-" * width for width in widths)
    for row, texts in zip(block.rows, grid, strict=True):
        yield from line([texts[i] for i in part], [row[i].tone for i in part])
