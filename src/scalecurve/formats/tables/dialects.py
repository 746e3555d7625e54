"""The dialects of text tables, each to the same Grid: delimited, Markdown and other bars, LaTeX, labels and blanks.

A dialect is recognised by what all of the first lines have in common, never by the file's name.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.columns import csv_rows
from scalecurve.formats.headers import is_other_unit, k_unit_of, parse_header, unit_of, value_meaning
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
_LABEL = re.compile(r"([^\W\d][\w./-]*)\s*[=:]\s*([^\s,;=:|]+(?::\d[\d.:]*)?(?:\s(?:[nuµm]?s|sec|seconds|min|h)\b)?)")
_BARS = str.maketrans("│┃║", "|||")
_LATEX_SKIP = re.compile(
    r"\\(?:toprule|midrule|bottomrule|hline|cmidrule(?:\(\w+\))?\{[^}]*\}|cline\{[^}]*\}|endhead|endfoot)"
)
_LATEX_PLAIN = (
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
    if any(re.search(r"<(?:!doctype html|html|table|tr)\b", line, re.IGNORECASE) for _, line in lines[:COMPARED]):
        raise FormatError(Fault("this is HTML", remedy="copy its table into a CSV or Markdown file"))
    if any("\\begin{tab" in line or "\\begin{longtab" in line for _, line in lines) or _all_end_in_slashes(lines):
        return _latex_layout(lines)
    if (parted := _bar_layout(lines) or _label_layout(lines)) is not None:
        return parted
    lines = [(number, line) for number, line in lines if not (_RULE.fullmatch(line) and re.search("[-=─═]{2}", line))]
    body = [(number, re.split(r"\s#", line)[0]) for number, line in lines if not _is_comment(line)]
    comments = [(number, line) for number, line in lines if _is_comment(line) and (not body or number < body[0][0])]
    if not body and comments:
        body, comments = [(n, line.strip().lstrip("#%/ ")) for n, line in comments], []
    delimiter = _delimiter([line for _, line in body[: COMPARED + 5]])
    split = splitter(delimiter)
    width = max((len(split(line)) for _, line in body[1 : COMPARED + 1]), default=len(split(body[0][1])))
    place = _header_place([split(line) for _, line in body[:COMPARED]]) if width > 1 else 0
    number, line = body[place]
    headers = _header_cells(line, split, width)
    if place and len(set(headers)) < len([cell for cell in headers if cell]):
        headers = _below(_header_cells(body[place - 1][1], split, width), headers)
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
    if (plain := _plain_grid(source, layout)) is not None:
        return plain
    numbers, rows = _rows(source, layout)
    if set(map(len, rows)) == {width}:
        return _grid(layout.headers, rows, numbers)
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
    return _grid(layout.headers, square, numbers)


def _grid(headers: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[int], word: str = "line") -> CellGrid:
    """The grid of equally long rows; a first row that holds units only becomes a part of the headers."""
    if rows and _is_units_row(rows[0]):
        units = zip(headers, rows[0], strict=True)
        headers = [name if is_absent(unit) else f"{name} ({unit.strip('()[] ')})" for name, unit in units]
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise FormatError(Fault("there are no rows below the header", remedy="one observation per row"))
    return CellGrid(tuple(headers), tuple(zip(*rows, strict=True)), lines, word)


def _plain_grid(source: Source, layout: TableLayout) -> CellGrid | None:
    """A table without quotes, comments, empty lines, padding or rows of other lengths, all at once; None for others."""
    mark, width = layout.delimiter, len(layout.headers)
    if mark not in (",", ";", "\t"):
        return None
    with source.open_text() as file:
        for _ in range(layout.first):
            file.readline()
        text = file.read().replace("\r\n", "\n").removesuffix("\n")
    if not text or any(
        sign in text for sign in ('"', "#", "%", "//", "\n\n", "\r", f" {mark}", f"{mark} ", "\n ", " \n")
    ):
        return None
    lines = text.split("\n")
    if text[0] == " " or text[-1] == " " or set(map(operator.methodcaller("count", mark), lines)) != {width - 1}:
        return None
    if _is_units_row(lines[0].split(mark)):
        return None
    cells = text.replace("\n", mark).split(mark)
    numbers = range(layout.first + 1, layout.first + len(lines) + 1)
    return CellGrid(layout.headers, tuple(cells[i::width] for i in range(width)), numbers)


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
            if cells := layout.split(line.rstrip("\r\n") if parted else text):
                rows.append(cells)
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
    return next((c for c in ("\t", ";", ",") if sum(c in line for line in lines) > len(lines) / 2), None)


def grid_of_rows(rows: Sequence[Sequence[str]]) -> CellGrid:
    """The rows of a sheet as a grid: titles above the header are passed over, and so are empty columns."""
    width, place = max(len(row) for row in rows), _header_place(rows[:COMPARED])
    square = [[*row, *[""] * (width - len(row))] for row in rows[place:]]
    headers, *body = square
    if len(set(headers)) < len([cell for cell in headers if cell]) and place:
        headers = _below(rows[place - 1], headers)
    kept = [i for i in range(width) if any(row[i] for row in square)]
    return _grid(
        [headers[i] for i in kept], [[row[i] for i in kept] for row in body], range(place + 2, len(rows) + 1), "row"
    )


def _header_place(rows: Sequence[Sequence[str]]) -> int:
    """The row of the headers: above the first numbers, below titles and facts, the one that names most columns."""
    first = next((i for i, cells in enumerate(rows) if sum(map(bool, cells)) > 1), 0)
    best, most = first, -1
    for i, cells in enumerate(rows[first:], first):
        numbers = sum(parse_cell(cell) is not None for cell in cells)
        if i > first and numbers >= min(2, len(cells) - 1):
            break
        names = sum(
            bool(k_unit_of(cell) or value_meaning(cell) or (head := parse_header(cell)).statistic or head.is_derived)
            for cell in (() if _is_units_row(cells) else cells)
        )
        if names > most:
            best, most = i, names
    return best


def _below(groups: Sequence[str], names: Sequence[str]) -> list[str]:
    """Headers of two lines: the name of a group reaches to the right until the next one."""
    joined, group = [], ""
    for i, name in enumerate(names):
        group = (groups[i] if i < len(groups) else "") or group
        joined.append(f"{group} {name}".strip() if names.count(name) > 1 else name)
    return joined


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
    units = [cell.strip("()[] ") for cell in cells if not is_absent(cell) and cell.strip() not in ("#", "count")]
    times_or_rates = sum(unit_of(unit) is not None for unit in units)
    return (
        times_or_rates > 0
        and len(units) < len(cells)
        and all(unit_of(u) is not None or is_other_unit(u) for u in units)
    )


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
    cells = [_LATEX_SKIP.sub("", cell) for cell in re.split(r"(?<!\\)&", text)]
    for pattern, plain in _LATEX_PLAIN:
        cells = [re.sub(pattern, plain, cell) for cell in cells]
    return [cell.strip() for cell in cells]


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


def _label_layout(lines: Sequence[tuple[int, str]]) -> TableLayout | None:
    """Lines such as `threads=4 elapsed=2.95s`, all with the same labels, one of them a worker count; None for others.

    Lines without the first label are passed over, as a log has them; one that has it must have all the others.
    """
    first = next((i for i, (_, line) in enumerate(lines) if len(_labels(line)) > 1), None)
    if first is None:
        return None
    names = tuple(_labels(lines[first][1]))
    begins = re.compile(rf"(?<![\w./-]){re.escape(names[0])}\s*[=:]")
    alike = sum(tuple(_labels(line)) == names for _, line in lines)
    if alike < 2 or not any(map(k_unit_of, names)) or not any(map(value_meaning, names)):
        return None

    def values(line: str) -> list[str]:
        own = _labels(line)
        if begins.search(line) and tuple(own) != names:
            hint = f"every line of a run needs {', '.join(names)}; delete the lines of runs that failed"
            raise FormatError(Fault("a line has other labels", value=line[:80], remedy=hint))
        return list(own.values()) if tuple(own) == names else []

    return TableLayout("=", values, names, lines[first][0] - 1)


def _labels(line: str) -> dict[str, str]:
    """The labels of a line with their values; empty unless the whole line consists of them."""
    return {} if re.search(r"[^\s,;|]", _LABEL.sub("", line)) else dict(_LABEL.findall(line))
