"""The dialects of text tables, each to the same Grid: delimited, Markdown and other bars, LaTeX, and blanks.

A dialect is recognised by what all of the first lines have in common, never by the file's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.columns import csv_rows
from scalecurve.formats.headers import unit_of
from scalecurve.formats.reading import capped
from scalecurve.formats.source import Source
from scalecurve.formats.tables.cells import Cells, is_absent, parse_cell

LOOKED_AT = 1000
COMPARED = 30
MOST_COLUMNS = 10_000
ENOUGH_FAULTS = 10_000
EXPECTED = "expected a header line and rows, such as: K,seconds"
_COMMENTS = ("#", "%", "//")
_RULE = re.compile(r"[\s|+:=\-─━┄┈═╌┼├┤┌┐└┘┬┴╞╪╡╔╗╚╝╠╣╦╩╬]+")
_BARS = str.maketrans("│┃║", "|||")
_LATEX_SKIP = re.compile(
    r"\\(?:toprule|midrule|bottomrule|hline|cmidrule(?:\(\w+\))?\{[^}]*\}|cline\{[^}]*\}|endhead|endfoot)"
)


@dataclass(frozen=True, eq=False)
class CellGrid:
    """A table: the headers as written, the cells by column (text, or an array of numbers), the line of each row."""

    headers: tuple[str, ...]
    columns: tuple[Cells, ...]
    lines: Sequence[int]
    row_word: str = "line"

    @property
    def rows(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        return f"{self.row_word} {self.lines[row]}"


@dataclass(frozen=True)
class TableLayout:
    """How a text is parted: `split` gives the cells of a line, `first` is the line of the header, from 1."""

    delimiter: str | None
    split: Callable[[str], list[str]]
    headers: tuple[str, ...]
    first: int


def find_layout(source: Source) -> TableLayout:
    """The dialect and the header of a text table, from its first lines."""
    with source.open_text() as file:
        lines = [(number, line.rstrip("\r\n")) for number, line in zip(range(1, LOOKED_AT), file, strict=False)]
    lines = [(number, line.translate(_BARS)) for number, line in lines if line.strip()]
    if lines and re.fullmatch(r"sep=.", lines[0][1].strip()):  # Excel's own line
        lines = lines[1:]
    if not lines:
        raise FormatError(Fault("the file is empty", remedy=EXPECTED))
    if any("\\begin{tab" in line or "\\begin{longtab" in line for _, line in lines) or _all_end_in_slashes(lines):
        return _latex_layout(lines)
    if (bars := _bar_layout(lines)) is not None:
        return bars
    lines = [(number, line) for number, line in lines if not (_RULE.fullmatch(line) and re.search("[-=─═]{2}", line))]
    body = [(number, re.split(r"\s#", line)[0]) for number, line in lines if not _is_comment(line)]
    comments = [(number, line) for number, line in lines if _is_comment(line) and (not body or number < body[0][0])]
    if not body and comments:
        body, comments = [(n, line.strip().lstrip("#%/ ")) for n, line in comments], []
    delimiter = _delimiter([line for _, line in body[: COMPARED + 5]])
    split = splitter(delimiter)
    width = max((len(split(line)) for _, line in body[1 : COMPARED + 1]), default=len(split(body[0][1])))
    place = next((i for i, (_, line) in enumerate(body) if len(split(line)) > 1), 0) if width > 1 else 0
    number, line = body[place]
    headers = _header_cells(line, split, width)
    if comments and any(parse_cell(cell) for cell in headers):
        text = comments[-1][1].strip().lstrip("#%/").strip()
        if len(own := _header_cells(text, splitter(_delimiter([text])), width)) > 1 or len(own) == width:
            return TableLayout(delimiter, split, tuple(own), comments[-1][0])
    if len(headers) > MOST_COLUMNS:
        raise FormatError(Fault("too many columns for a table", value=f"{len(headers)} columns", remedy=EXPECTED))
    return TableLayout(delimiter, split, tuple(headers), number)


def read_grid(source: Source, layout: TableLayout) -> CellGrid:
    """All rows below the header as a Grid; a row that is too long is a fault, a short one has absent cells."""
    width = len(layout.headers)
    numbers, rows = _plain_rows(source, layout) or _rows(source, layout)
    if set(map(len, rows)) != {width}:
        rows = _squared(rows, numbers, layout)
    headers = layout.headers
    if rows and _is_units_row(rows[0]):
        units = zip(headers, rows[0], strict=True)
        headers = tuple(name if is_absent(unit) else f"{name} ({unit.strip('()[] ')})" for name, unit in units)
        rows, numbers = rows[1:], numbers[1:]
    if not rows:
        raise FormatError(Fault("there are no rows below the header", remedy="one observation per row"))
    return CellGrid(headers, tuple(zip(*rows, strict=True)), numbers)


def _squared(rows: list[list[str]], numbers: Sequence[int], layout: TableLayout) -> list[list[str]]:
    """Rows of equal length; those that are too long are faults."""
    width = len(layout.headers)
    square: list[list[str]] = []
    faults: list[Fault] = []
    for number, cells in zip(numbers, rows, strict=True):
        if len(cells) > width and any(cells[width:]):
            remedy = "write decimals with a point, or separate the columns by semicolons or tabs"
            text = f"the row has {len(cells)} fields where the header has {width}"
            faults.append(Fault(text, f"line {number}", remedy=remedy if layout.delimiter == "," else None))
            if len(faults) > ENOUGH_FAULTS:
                break  # this is no table: counting two million faults would take minutes
        square.append([*cells, *[""] * (width - len(cells))][:width])
    if faults:
        raise FormatError(capped(faults, counted_all=len(faults) <= ENOUGH_FAULTS))
    return square


def _plain_rows(source: Source, layout: TableLayout) -> tuple[Sequence[int], list[list[str]]] | None:
    """The rows of a large table without quotes, comments, empty lines or padding, all at once; None for others."""
    if layout.delimiter not in (",", ";", "\t"):
        return None
    with source.open_text() as file:
        text = file.read()
    if any(sign in text for sign in ('"', "#", "\n\n", "\r\n\r", " ")) or not text.strip():
        return None
    lines = text.splitlines()[layout.first :]
    return range(layout.first + 1, layout.first + len(lines) + 1), [line.split(layout.delimiter) for line in lines]


def _rows(source: Source, layout: TableLayout) -> tuple[Sequence[int], list[list[str]]]:
    """The cells of every row below the header, with its line; comments, rules and empty lines are passed over."""
    bars, latex, parted = layout.delimiter == "|", layout.delimiter == "&", layout.delimiter in (",", ";", "\t")
    numbers: list[int] = []
    rows: list[list[str]] = []
    with source.open_text() as file:
        for number, line in enumerate(file, 1):
            if number <= layout.first or not (text := line.strip()) or _is_comment(text):
                continue
            if not parted:
                text = text.translate(_BARS)
                if (latex and "\\end{" in text) or (bars and "|" not in text and not _RULE.fullmatch(text)):
                    break
                if _RULE.fullmatch(text) or _LATEX_SKIP.fullmatch(text) or (latex and "&" not in text):
                    continue
            rows.append(layout.split(line.rstrip("\r\n") if parted else text))
            numbers.append(number)
    return numbers, rows


def splitter(delimiter: str | None) -> Callable[[str], list[str]]:
    """How a line is parted into stripped cells."""
    match delimiter:
        case None:
            return lambda line: re.split(r"\s#", line)[0].split()
        case "  ":
            return lambda line: re.split(r"\s{2,}|\t", line.strip())
        case "|":
            return lambda line: [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
        case "&":
            return _latex_cells
    return lambda line: [cell.strip() for cell in next(csv_rows([line], delimiter=delimiter, skip_blanks=True), [])]


def _delimiter(lines: Sequence[str]) -> str | None:
    """The delimiter that parts all lines alike; else the first one in the header; None for blanks."""
    for candidate in ("\t", ";", ","):
        widths = {len(splitter(candidate)(line)) for line in lines if line.strip()}
        if len(widths) == 1 and widths != {1}:
            return candidate
    first = lines[0] if lines else ""
    for candidate in ("\t", ";", ","):
        rows = [line for line in lines[1:6] if candidate in line]
        if candidate in first and (rows or len(lines) == 1 or candidate == ","):
            return candidate
    widths = {len(splitter("  ")(line)) for line in lines if line.strip()}
    if len(widths) == 1 and widths != {1}:
        return "  "
    return next((c for c in (",", ";", "\t") if sum(c in line for line in lines) > len(lines) / 2), None)


def _header_cells(line: str, split: Callable[[str], list[str]], width: int) -> list[str]:
    """The headers of a line; where blanks part them, a unit in brackets belongs to the word before it."""
    cells = split(line.strip().lstrip("#").strip() if line.strip().startswith("# ") else line)
    if len(cells) == width or len(cells) < 2:
        return cells
    for variant in (re.sub(r"\s+(?=[\[(])", "", line),):
        if len(other := split(variant.strip().lstrip("#").strip())) == width:
            return other
    wide = splitter("  ")(line.strip().lstrip("#").strip())
    return wide if len(wide) == width else cells


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(_COMMENTS)


def _is_units_row(cells: Sequence[str]) -> bool:
    units = [cell.strip("()[] ") for cell in cells if not is_absent(cell)]
    return bool(units) and len(units) < len(cells) and all(unit_of(unit) is not None for unit in units)


def _all_end_in_slashes(lines: Sequence[tuple[int, str]]) -> bool:
    rows = [line for _, line in lines if "&" in line]
    return len(rows) > 1 and all(
        line.rstrip().rstrip("\\hline").rstrip().endswith("\\") or "\\\\" in line for line in rows
    )


def _latex_layout(lines: Sequence[tuple[int, str]]) -> TableLayout:
    rows = [(number, line) for number, line in lines if "&" in line and "\\begin{" not in line]
    starts = sum("\\begin{tab" in line and "\\begin{table" not in line for _, line in lines)
    if starts > 1:
        raise FormatError(Fault(f"there are {starts} tables in the file", remedy="give a file with one of them"))
    if not rows:
        raise FormatError(Fault("the LaTeX table has no rows", remedy="one row a line, cells parted by &"))
    number, line = rows[0]
    return TableLayout("&", _latex_cells, tuple(_latex_cells(line)), number)


def _latex_cells(line: str) -> list[str]:
    text = line.strip().removesuffix("\\hline").rstrip()
    text = re.sub(r"\\\\(?:\[[^\]]*\])?\s*$", "", text)
    return [_plain_latex(cell) for cell in re.split(r"(?<!\\)&", text)]


def _plain_latex(cell: str) -> str:
    text = _LATEX_SKIP.sub("", cell)
    for pattern, plain in (
        (r"\\(?:multicolumn|multirow)\{\d+\}\{[^}]*\}\{(.*)\}", r"\1"),
        (r"\\(?:SI|qty)\{([^{}]*)\}\{\\?([^{}]*)\}", r"\1 \2"),
        (r"\$?\\(?:mu|micro)\$?\s*", "µ"),
        (r"\$?\\pm\$?", "±"),
        (r"\\(?:textbf|textit|emph|mathbf|mathrm|text|num|bfseries|si|unit)\b\s*\{([^{}]*)\}", r"\1"),
        (r"(?<=\d)(?:\\,|\{,\}|~)(?=\d{3})", ""),
        (r"\\,|~|\\ ", " "),
        (r"\\(?:milli\\?second|ms)\b", "ms"),
        (r"\\second\b", "s"),
        (r"\\(?=[_%#&$])", ""),
        (r"[${}]", ""),
    ):
        text = re.sub(pattern, plain, text)
    return text.strip()


def _bar_layout(lines: Sequence[tuple[int, str]]) -> TableLayout | None:
    """A Markdown, psql, MySQL or org table, or lines parted by bars alone; None where there are no bars."""
    barred = [(number, line) for number, line in lines if "|" in line and not _RULE.fullmatch(line)]
    rules = [number for number, line in lines if _RULE.fullmatch(line) and re.search(r"[-─═━]", line)]
    if len(barred) < 2:
        return None
    split = splitter("|")
    widths = {len(split(line)) for _, line in islice(barred, COMPARED)}
    under = [(number, line) for number, line in barred if any(0 < rule - number <= 1 for rule in rules)]
    heads = [
        (number, line)
        for number, line in under
        if not any(other != number and 0 < number - other <= 2 for other, _ in barred)
        and not any(parse_cell(c) for c in split(line)[:1])
    ]
    if len(heads) > 1:
        raise FormatError(Fault(f"there are {len(heads)} tables in the file", remedy="give a file with one of them"))
    if not heads and (len(widths) != 1 or widths == {1} or len(barred) < 0.6 * len(lines)):
        return None
    number, line = heads[0] if heads else barred[0]
    return TableLayout("|", split, tuple(split(line)), number)
