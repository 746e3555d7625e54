"""Text to a grid of cells, whatever parts them, and wide tables made long: one observation a row.

A dialect is recognised by what all of the first lines have in common, never by the file's name.  What is not one line
for one row of the table (Markdown, LaTeX, HTML, logs) is in `markup`.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.headers import (
    is_other_unit,
    k_unit_of,
    parse_header,
    pattern,
    unit_of,
    value_meaning,
    worker_unit,
)
from scalecurve.formats.reading import capped
from scalecurve.formats.source import Source, csv_rows
from scalecurve.formats.tables.cells import CellGrid, is_absent, no_result, parse_cell

LOOKED_AT = 1000
MOST_LINES = 100_000
MOSTLY_TEXT = 0.7  # of the lines are rows where a table stands inside of a text
COMPARED = 30
MOST_COLUMNS = 10_000
ENOUGH_FAULTS = 10_000
SECTION = "section"  # the name of the column that tells the parts of a file apart
EXPECTED = "expected a header line and rows, such as: K,seconds"
PARTING = ("\t", ";", ",")
BLANKS = (None, "  ", " (")
_COMMENTS = ("#", "%", "//")
BARS = str.maketrans("│┃║┆", "||||")

Lines = Sequence[tuple[int, str]]


@dataclass(frozen=True, eq=False)
class NamedTable:
    """A table of a document with its heading or caption, "" where it has none."""

    title: str
    grid: CellGrid


@dataclass(frozen=True)
class TableLayout:
    """How a text is parted: `split` gives the cells of a line, `first` is the line of the header, from 1.

    `tables` are the tables themselves where the text had to be read whole to know its layout.
    """

    delimiter: str | None
    split: Callable[[str], list[str]]
    headers: tuple[str, ...]
    first: int
    tables: tuple[NamedTable, ...] = ()


def find_layout(source: Source) -> TableLayout:
    """The dialect and the header of a text table, from its first lines."""
    with source.open_text() as file:
        lines = [(number, line.rstrip("\r\n")) for number, line in zip(range(1, LOOKED_AT), file, strict=False)]
    lines = [(number, line.translate(BARS)) for number, line in lines if line.strip()]
    if lines and re.fullmatch(r"sep=.", lines[0][1].strip()):  # Excel's own line
        lines = lines[1:]
    if not lines:
        raise FormatError(Fault("the file is empty", remedy=EXPECTED))
    if any(pattern("structure.markup").search(line) for _, line in lines):
        from scalecurve.formats.tables.markup import marked_layout

        if (marked := marked_layout(source, lines)) is not None:
            return marked
    return _delimited_layout(source, [(number, line) for number, line in lines if not is_rule(line)])


def _delimited_layout(source: Source, lines: Lines) -> TableLayout:
    """Lines parted by one delimiter or by blanks; where they are parted unevenly they may be a log."""
    body = [(number, pattern("structure.note").split(line)[0]) for number, line in lines if not is_comment(line)]
    comments = [(number, line) for number, line in lines if is_comment(line) and (not body or number < body[0][0])]
    if not body and comments:
        body, comments = [(n, line.strip().lstrip("#%/ ")) for n, line in comments], []
    if body and body[0][1].rstrip().endswith(":") and len({_form(line.split()) for _, line in body[1:]}) == 1:
        body = body[1:]  # a title, which names no columns
    if not body:
        raise FormatError(Fault("the file holds rules and no rows", remedy=EXPECTED))
    delimiter = _delimiter([line for _, line in body[: COMPARED + 5]])
    split = splitter(delimiter)
    rows = [split(line) for _, line in body[:COMPARED]]
    width = max(map(len, [split(line) for _, line in body[1 : COMPARED + 1]] or rows))
    place = _header_place(rows) if width > 1 else 0
    headers = _header_cells(body[place][1], split, width)
    if place and len(set(headers)) < len([cell for cell in headers if cell]):
        headers = _below(_header_cells(body[place - 1][1], split, width), headers)
    is_uneven = len(set(map(len, rows))) > 1
    for way in (_as_log, _as_aligned, _as_blocks) if is_uneven or delimiter not in (",", ";", "\t") else (_as_log,):
        if (layout := way(source, lines, body, headers, rows[place:], delimiter, is_uneven)) is not None:
            return layout
    return _with_header(delimiter, split, width, place, headers, body, comments)


Rows = Sequence[Sequence[str]]


def _as_log(
    source: Source, lines: Lines, body: Lines, headers: Sequence[str], rows: Rows, mark: str | None, is_uneven: bool
) -> TableLayout | None:
    """The runs of a log, where lines are parted unevenly or the first of them states numbers."""
    states = pattern("structure.states").search
    if not is_uneven and not states(lines[0][1]) and not any(parse_cell(cell) or states(cell) for cell in headers):
        return None
    from scalecurve.formats.tables.markup import log_layout

    return log_layout(source, lines)


def _as_aligned(
    source: Source, lines: Lines, body: Lines, headers: Sequence[str], rows: Rows, mark: str | None, is_uneven: bool
) -> TableLayout | None:
    """Columns that stand below each other, where blanks part the lines unevenly."""
    is_titled = mark == "  " and len(set(map(len, rows))) == 1
    has_index = mark is None and set(map(len, rows[1:])) == {len(headers) + 1}  # a frame prints its rows with a number
    layout = _aligned_layout(body) if is_uneven and not is_titled and not has_index and mark in BLANKS else None
    is_prose = layout is not None and not any(map(k_unit_of, layout.headers))
    return _as_blocks(source, lines, body, headers, rows, mark, is_uneven) or layout if is_prose else layout


def _as_blocks(
    source: Source, lines: Lines, body: Lines, headers: Sequence[str], rows: Rows, mark: str | None, is_uneven: bool
) -> TableLayout | None:
    """The tables inside of a text, where no header names a column of the whole or fits the rows below it."""
    is_header = any(k_unit_of(cell) or value_meaning(cell) for cell in headers)
    fitting = sum(len(row) - len(headers) in (0, 1) for row in rows[1:])
    is_prose = not is_header or 2 * fitting < len(rows) - 1
    tables = blocks(source) if is_prose and (is_uneven or mark in BLANKS) else []
    if tables and (is_uneven or sum(table.grid.rows for table in tables) < MOSTLY_TEXT * len(body)):
        return TableLayout(None, str.split, tables[0].grid.headers, tables[0].grid.lines[0], tuple(tables))
    return None


def _with_header(
    delimiter: str | None,
    split: Callable[[str], list[str]],
    width: int,
    place: int,
    headers: list[str],
    body: Lines,
    comments: Lines,
) -> TableLayout:
    """The layout of a delimited table whose header is a row of its own, a comment above it, or absent."""
    number = body[place][0]
    if comments and any(map(parse_cell, headers)) and (named := _names_in_comments(comments, width)):
        return TableLayout(delimiter, split, *named)
    is_like_rows = all(cell[:1].isdecimal() for cell in headers) and len({_form(split(line)) for _, line in body}) == 1
    is_count_of_rows = len(headers) > 2 and all(map(str.isdecimal, headers))
    if len(headers) > 1 and (is_like_rows or all(map(parse_cell, headers))) and not is_count_of_rows:
        return TableLayout(delimiter, split, nameless(width), number - 1)
    if len(headers) > MOST_COLUMNS:
        raise FormatError(Fault("too many columns for a table", value=f"{len(headers)} columns", remedy=EXPECTED))
    while len(headers) == width and place + 1 < len(body) and _is_names_row(below := split(body[place + 1][1]), width):
        place, number = place + 1, body[place + 1][0]
        joined = [f"{name} {more}".strip() for name, more in zip(headers, below, strict=True)]
        headers = _with_index_names(headers, below) or joined
    return TableLayout(delimiter, split, tuple(headers), number)


def _form(cells: Sequence[str]) -> str:
    """What the cells of a row have besides numbers: c, p, s of 1c 5p 134s."""
    return " ".join(re.sub(r"[\d.,]+", "", cell) for cell in cells)


def _names_in_comments(comments: Lines, width: int) -> tuple[tuple[str, ...], int] | None:
    """The headers in the last comment that holds as many names as there are columns, or in the last one; its line.

    Each name may have a # of its own; what stands behind an arrow is a remark.
    """
    for number, line in reversed(comments):
        text = pattern("structure.columns").sub("", line.strip().lstrip("#%/").strip())
        each = [name.strip() for name in re.split(r"\s*->|\s*#", text)]
        ways = [_header_cells(text, splitter(_delimiter([text])), width), each[:width]]
        for own in ways:
            if len(set(own)) == len(own) == width and not any(map(parse_cell, own)):
                return tuple(own), number
        if number == comments[-1][0]:
            last = (tuple(ways[0]), number) if len(ways[0]) > 1 else None
    return last if last is not None and abs(len(last[0]) - width) <= 1 else None


def blocks(source: Source) -> list[NamedTable]:
    """The tables inside of a text: lines that one delimiter parts into equally many cells, most of them numbers."""
    with source.open_text() as file:
        lines = [line.rstrip("\r\n") for line in itertools.islice(file, MOST_LINES)]
    found: list[tuple[int, list[NamedTable]]] = []
    for delimiter in (",", ";", "\t", "  ", None):
        tables = _blocks_parted_by(lines, delimiter)
        found.append((sum(table.grid.rows for table in tables), tables if any(t.grid.rows > 2 for t in tables) else []))
    return max(found, key=operator.itemgetter(0))[1]


def _blocks_parted_by(lines: Sequence[str], delimiter: str | None) -> list[NamedTable]:
    split = splitter(delimiter)
    cells = [split(line) if line.strip() and not is_rule(line) else [] for line in lines]
    is_row = [len(own) > 1 and 2 * sum(parse_cell(cell) is not None for cell in own) > len(own) for own in cells]
    tables, place = [], 0
    while place < len(lines):
        end = place
        while end < len(lines) and _belongs(end, place, is_row, cells, delimiter in (",", ";", "	")):
            end += 1
        taken = [i for i in range(place, end) if is_row[i]]
        if len(taken) > 1 and len({tuple(cells[i]) for i in taken}) > 1:
            headers, above = _names_above(lines, place, split, len(cells[place]))
            titles = (line.strip("#*_ :=-\"'") for line in reversed(lines[:above]))
            grid = _grid(headers, [cells[i] for i in taken], [i + 1 for i in taken])
            tables.append(NamedTable(next(filter(None, titles), "")[:80], grid))
        place = max(end, place + 1)
    return tables


def _names_above(
    lines: Sequence[str], place: int, split: Callable[[str], list[str]], width: int
) -> tuple[Sequence[str], int]:
    """The headers in the line above a row, and where what stands above the table ends."""
    above = place - 1
    while above >= 0 and is_rule(lines[above]) and lines[above].strip():
        above -= 1
    names = _header_cells(lines[above], split, width) if above >= 0 and lines[above].strip() else []
    is_named = len(names) == width and not any(map(parse_cell, names))
    return (names, above) if is_named else (nameless(width), above + 1)


def _belongs(at: int, first: int, is_row: Sequence[bool], cells: Sequence[Sequence[str]], is_parted: bool) -> bool:
    """Whether a line is a row of the table that begins at another one, or of a log and stands between two rows."""
    if is_row[at]:
        return len(cells[at]) == len(cells[first])
    is_between = is_parted and 0 < at < len(cells) - 1 and is_row[at - 1] and is_row[at + 1]
    return is_between and bool(cells[at]) and len(cells[at + 1]) == len(cells[first])


def _aligned_layout(body: Lines) -> TableLayout | None:
    """A table whose columns stand below each other, with empty cells between them; None where they do not."""
    texts = [line.expandtabs() for _, line in body]
    filled = [any(line[i : i + 1].strip() for line in texts) for i in range(max(map(len, texts)))]
    starts = [i for i, own in enumerate(filled) if own and (i == 0 or not filled[i - 1])]
    ends = [*starts[1:], len(filled)]
    rows = [[line[a:b].strip() for a, b in zip(starts, ends, strict=True)] for line in texts]
    first = next((i for i, row in enumerate(rows) if any(map(parse_cell, row))), len(rows))
    if not 0 < first < len(rows) - 1 or len(body) >= LOOKED_AT - 1:
        return None
    names = [i for i in range(len(starts)) if not any(row[i] for row in rows[first:])]  # time, of time (s)
    for row in rows:
        for i in reversed(names):
            row[i : i + 2] = [" ".join(row[i : i + 2]).strip()]
    if len(rows[0]) < 2 or any(sum(map(bool, row)) < 2 for row in rows[first:]):
        return None
    headers, first = _stacked_headers(rows[:first])
    grid = squared(headers, [number for number, _ in body[first:]], rows[first:])
    return TableLayout(None, str.split, grid.headers, body[first][0], (NamedTable("", grid),))


def _stacked_headers(rows: Sequence[list[str]]) -> tuple[list[str], int]:
    """The headers of several lines, and how many lines they take; a line of units is left to the rows."""
    headers = rows[0]
    for row in rows[1:]:
        if is_units_row(row):
            return headers, len(rows) - 1
        if not is_types_row([cell for cell in row if cell]):
            headers = _with_index_names(headers, row) or _below(headers, row)
    return headers, len(rows)


def _is_names_row(cells: Sequence[str], width: int) -> bool:
    """Whether a row below the header holds further names, and neither numbers nor units nor types."""
    if len(cells) != width or not any(cells) or is_units_row(cells) or is_types_row(cells):
        return False
    return not any(cell[:1].isdecimal() or parse_cell(cell) or (cell and no_result(cell)) for cell in cells)


def nameless(width: int) -> tuple[str, ...]:
    """The names of the columns of a table without a header line."""
    return tuple(f"column {i}" for i in range(1, width + 1))


def read_grid(source: Source, layout: TableLayout) -> CellGrid:
    """All rows below the header as a Grid."""
    grid = _plain_grid(source, layout) or squared(layout.headers, *_rows(source, layout), layout.delimiter)
    return with_caption(source, grid)


def with_caption(source: Source, grid: CellGrid) -> CellGrid:
    """The grid with the text around its rows, which is not that of its headers: comments, a caption, titles."""
    rows, names = set(grid.lines[:LOOKED_AT]), set(pattern("structure.sentence").findall(" ".join(grid.headers)))
    with source.open_text() as file:
        lines = [line.strip("#%/ \r\n") for n, line in zip(range(1, LOOKED_AT), file, strict=False) if n not in rows]
    words = {line: set(pattern("structure.sentence").findall(line)) for line in lines}
    return replace(grid, caption="\n".join(line for line, own in words.items() if 2 * len(own & names) < len(own)))


def _with_index_names(headers: Sequence[str], cells: Sequence[str]) -> list[str]:
    """The headers with the names of the first columns from a row of their own, as frames print them; else nothing."""
    filled = [i for i, cell in enumerate(cells) if cell]
    if not filled or filled != list(range(len(filled))) or len(filled) >= len(headers):
        return []
    if filled == [0] and worker_unit(headers[0]) and all(header.isdecimal() for header in headers[1:]):
        return [cells[0], *(f"{headers[0]}={header}" for header in headers[1:])]
    replaced = [not headers[i] or (k_unit_of(cells[i]) and not k_unit_of(headers[i])) for i in filled]
    if not all(replaced) or any(parse_cell(cells[i]) for i in filled):
        return []
    return [*(cells[i] for i in filled), *headers[len(filled) :]]


def _with_names_below(headers: Sequence[str], cells: Sequence[str]) -> list[str]:
    """The headers with the names of a second line, where the first repeats itself; else nothing."""
    named = [header for header in headers if header]
    if len(set(named)) == len(named) or len(cells) != len(headers):
        return []
    pairs = list(zip(headers, cells, strict=True))
    repeated = {header for header in named if named.count(header) > 1 and worker_unit(header)}
    counted = [cell for header, cell in pairs if header in repeated]
    if len(counted) > 1 and all(map(str.isdecimal, counted)):  # Threads over 1, 2, 4
        return [f"{f'{worker_unit(head)} =' if head in repeated else head} {cell}".strip() for head, cell in pairs]
    return _joined_names(named, pairs) if _is_names_row(cells, len(headers)) else []


def _joined_names(named: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The names of two lines: below one title, below a quantity of all columns, or each below its group."""
    is_measured = any(value_meaning(cell) for _, cell in pairs)
    if len(set(named)) == 1 and is_measured and value_meaning(named[0]) is None:
        return [name or head for head, name in pairs]
    if len({header for header in named if not worker_unit(header)}) == 1 and not is_measured:
        return [f"{name} {head}".strip() for head, name in pairs]  # Wall time (s) over codes
    return [f"{head} {name}".strip() if name != head else name for head, name in pairs]


def squared(
    headers: Sequence[str],
    lines: Sequence[int],
    rows: list[list[str]],
    sections: Sequence[str] = (),
    mark: str | None = None,
) -> CellGrid:
    """The grid of rows: one that is too long is a fault, a short one has absent cells.

    Where all rows have one cell more than the header, the first column has no name, or the name on a line of its own.
    """
    lines, sections = list(lines), list(sections)
    headers, above = _mended_headers(list(headers), rows, mark)
    rows, lines, sections = rows[above:], lines[above:], sections[above:]
    width = len(headers)
    square: list[list[str]] = []
    faults: list[Fault] = []
    for number, cells in zip(lines, rows, strict=True):
        if len(cells) > width and any(cells[width:]):
            remedy = "give it as many fields as the header, or put a field that holds the separator in quotes"
            if mark == ",":
                remedy = "write decimals with a point, or separate the columns by semicolons or tabs"
            text = f"the row has {len(cells)} fields where the header has {width}"
            faults.append(Fault(text, f"line {number}", remedy=remedy))
            if len(faults) > ENOUGH_FAULTS:
                break  # this is no table: counting two million faults would take minutes
        square.append(cells if len(cells) == width else [*cells, *[""] * (width - len(cells))][:width])
    if faults:
        raise FormatError(capped(faults, counted_all=len(faults) <= ENOUGH_FAULTS))
    if len(set(sections)) > 1:
        headers, square = [*headers, SECTION], [[*row, name] for row, name in zip(square, sections, strict=True)]
    return _grid(headers, square, lines)


def _mended_headers(headers: list[str], rows: Sequence[list[str]], mark: str | None) -> tuple[list[str], int]:
    """The headers that the rows show, and how many of the first rows are a part of them."""
    above = next((i for i, cells in enumerate(rows) if not is_types_row(cells)), len(rows))
    if not (rows := rows[above:]):
        return headers, above
    first, width = rows[0], len(headers)
    alone = len(first) == 1 and parse_cell(first[0]) is None
    if {len(cells) for cells in rows[int(alone) :]} == {width + 1}:
        if mark == "," and _has_nameless_end(headers, rows):
            return [*headers, ""], above
        if mark in (None, "  "):
            return [first[0] if alone else "", *headers], above + int(alone)
    if own := _with_index_names(headers, first) or _with_names_below(headers, first):
        return own, above + 1
    if not all(headers) and _is_names_row(first, width) and any(map(k_unit_of, first)):
        return _below(headers, first), above + 1
    return headers, above


def _has_nameless_end(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the last column has no name: the first name fits the first cells, and points part the decimals."""
    first = all(cells[0].isdecimal() for cells in rows[:COMPARED]) == bool(k_unit_of(headers[0]))
    return first and all(any("." in cell for cell in cells) for cells in rows[:COMPARED])


def _grid(headers: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[int], word: str = "line") -> CellGrid:
    """The grid of equally long rows; a first row that holds units only becomes a part of the headers."""
    if rows and is_units_row([cell for cell, name in zip(rows[0], headers, strict=True) if name != SECTION]):
        units = zip(headers, rows[0], strict=True)
        headers = [
            name if name == SECTION or is_absent(unit := cell.strip("()[] ")) or unit == "#" else f"{name} ({unit})"
            for name, cell in units
        ]
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise FormatError(Fault("there are no rows below the header", remedy="one observation per row"))
    return CellGrid(tuple(headers), tuple(zip(*rows, strict=True)), lines, word)


def _plain_grid(source: Source, layout: TableLayout) -> CellGrid | None:
    """A table without quotes, comments, empty lines, padding or uneven rows, read in one pass; None for any other."""
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
    if mark.join(layout.headers) in text:
        return None
    if text[0] == " " or text[-1] == " " or set(map(operator.methodcaller("count", mark), lines)) != {width - 1}:
        return None
    if is_units_row(first := lines[0].split(mark)) or is_types_row(first):
        return None
    cells = text.replace("\n", mark).split(mark)
    numbers = range(layout.first + 1, layout.first + len(lines) + 1)
    columns = tuple(cells[i::width] for i in range(width))
    return CellGrid(layout.headers, columns, numbers, delimiter=layout.delimiter)


def _rows(source: Source, layout: TableLayout) -> tuple[list[int], list[list[str]], list[str]]:
    """The cells of every row below the header, with its line and what tells its part of the file from the others.

    Parts begin at comments and at empty lines between rows; a comment that stands before every part names none.
    """
    parted = layout.delimiter in PARTING
    found = _Parts()
    blanks, is_aside = 0, False
    with source.open_text() as file:
        for number, line in enumerate(file, 1):
            text = line.strip()
            is_after_blank, blanks = blanks > 0 or number == 1 or is_aside, 0 if text else blanks + 1
            is_units = not found.rows and text.startswith("#") and is_units_row(layout.split(text))
            is_title = is_after_blank and number != layout.first and _is_title(text, layout)
            is_aside = (is_comment(text) or is_title) and not is_units
            if is_aside or (blanks > 1 and not is_units):
                found.end_part()
            if not text or is_aside:
                found.above[-1] += filter(None, [text.strip("#%/ ")])
            elif number > layout.first and (parted or not is_rule(text)):
                found.add(number, layout.split(line.rstrip("\r\n") if parted else text), layout.headers)
    return found.numbers, found.rows, found.names()


@dataclass
class _Parts:
    """The rows of a text so far, the part of each, and the lines above each part."""

    numbers: list[int] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    above: list[list[str]] = field(default_factory=lambda: [[]])

    def end_part(self) -> None:
        if self.parts and self.parts[-1] == len(self.above) - 1:
            self.above.append([])

    def add(self, number: int, cells: list[str], headers: Sequence[str]) -> None:
        """Another row; the header again begins another table, or another run of the script."""
        if tuple(cells) == headers:
            self.end_part()
        elif cells:
            self.numbers.append(number)
            self.rows.append(cells)
            self.parts.append(len(self.above) - 1)

    def names(self) -> list[str]:
        """What names the part of each row; nothing where there is one part."""
        used = set(self.parts)
        if len(used) < 2:
            return []
        everywhere = set.intersection(*(set(self.above[part]) for part in used))
        names = [", ".join(text for text in own if text not in everywhere).strip("\"' ")[:60] for own in self.above]
        return [names[part] or f"part {part + 1}" for part in self.parts]


def _is_title(text: str, layout: TableLayout) -> bool:
    """Whether a line after an empty one is a title: it has words only, and not as many cells as the table."""
    cells = layout.split(text)
    filled = [cell for cell in cells if cell]
    is_of_words = len(pattern("structure.sentence").findall(text)) > 1 or len(filled) == 1
    return is_of_words and len(filled) != len(layout.headers) and not any(map(parse_cell, cells))


def splitter(delimiter: str | None) -> Callable[[str], list[str]]:
    """How a line is parted into stripped cells."""
    match delimiter:
        case None:
            plain = pattern("structure.numbered").sub
            return lambda line: plain(r"\1 ", pattern("structure.note").split(line)[0]).split()
        case "  ":
            return lambda line: re.split(r"\s{2,}|\t", line.strip())
        case " (":  # blanks, with a unit in brackets after the word before it
            return lambda line: re.sub(r"\s+(?=[\[(])", "", pattern("structure.note").split(line)[0]).split()
        case "|":
            return lambda line: [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
    return lambda line: [cell.strip() for cell in next(csv_rows([line], delimiter=delimiter, skip_blanks=True), [])]


def _delimiter(lines: Sequence[str]) -> str | None:
    """The delimiter that parts all lines alike; else the first one in the header; None for blanks."""
    filled = [line for line in lines if line.strip()]
    for mark in PARTING:
        widths = {len(splitter(mark)(line)) for line in filled}
        if len(widths) == 1 and widths != {1}:
            return mark
    for mark in PARTING:
        if lines and mark in lines[0] and 2 * sum(mark in line for line in lines) > len(lines):
            return mark
    if (blank := _blank_between(lines, filled)) is not None:
        return blank or None
    return next((mark for mark in PARTING if sum(mark in line for line in lines) > len(lines) / 2), None)


def _blank_between(lines: Sequence[str], filled: Sequence[str]) -> str | None:
    """How blanks part the lines, "" where every blank does; None where they part no table."""
    plain = {len(line.split()) for line in filled}
    if len(plain) == 1 < max(plain) and all(parse_cell(cell) for line in lines[1:] for cell in line.split()):
        return ""  # every blank parts numbers, however many blanks there are
    for blank in ("  ", " (") if len(plain) > 1 else ("  ",):
        parted = [len(splitter(blank)(line)) for line in filled]
        usual = max(set(parted), key=parted.count, default=1)
        if usual > 1 and (len(set(parted)) == 1 or _is_titled(parted, usual, lines)):
            return blank
    return None


def _is_titled(widths: Sequence[int], usual: int, lines: Sequence[str]) -> bool:
    """Whether all lines below the titles are parted alike, where single blanks would part one of them wrongly."""
    first = next(i for i, width in enumerate(widths) if width == usual)
    has_names = first > 0 and not any(map(parse_cell, splitter("  ")(lines[first])))
    is_needed = has_names or len({len(line.split()) for line in lines[first:]}) > 1
    return is_needed and len(widths) - first > 2 and set(widths[first:]) == {usual}


def grid_of_rows(rows: Sequence[Sequence[str]]) -> CellGrid:
    """The rows of a sheet as a grid: titles above the header are passed over, and so are empty columns."""
    width, place = max(len(row) for row in rows), _header_place(rows[:COMPARED])
    square = [[*row, *[""] * (width - len(row))] for row in rows[place:]]
    headers, *body = square
    if len(set(headers)) < len([cell for cell in headers if cell]) and place:
        headers = _below(rows[place - 1], headers)
    if body and (joined := _with_names_below(headers, body[0])):
        headers, place, body = joined, place + 1, body[1:]
    kept = [i for i in range(width) if any(row[i] for row in square)]
    numbers = range(place + 2, len(rows) + 1)
    grid = _grid([headers[i] for i in kept], [[row[i] for i in kept] for row in body], numbers, "row")
    return replace(
        grid, caption="\n".join(" ".join(filter(None, row)) for row in rows[: _header_place(rows[:COMPARED])])
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
            for cell in (() if is_units_row(cells) else cells)
            if not cell[:1].isdecimal()  # 2026-01-01T10:00 is no name
        )
        if names > most:
            best, most = i, names
    return best


def _below(groups: Sequence[str], names: Sequence[str]) -> list[str]:
    """Headers of two lines: the name of a group reaches to the right until the next one."""
    joined, group = [], ""
    for i, name in enumerate(names):
        group = (groups[i] if i < len(groups) else "") or group
        above = groups[i] if i < len(groups) else ""
        joined.append(above if not name else f"{group} {name}".strip() if names.count(name) > 1 else name)
    return joined


def _header_cells(line: str, split: Callable[[str], list[str]], width: int) -> list[str]:
    """The headers of a line; where blanks part them, a unit in brackets belongs to the word before it."""
    cells = split(line.strip().lstrip("#").strip() if line.strip().startswith("# ") else line)
    if len(cells) == width or len(cells) < 2:
        return cells
    within = pattern("structure.comma_within").sub("\0", line)  # T(n, 1), N=10,000: no commas between cells
    for variant in (re.sub(r"\s+(?=[\[(])", "", line), within):
        if len(other := split(variant.strip().lstrip("#").strip())) == width:
            return [cell.replace("\0", ",") for cell in other]
    wide = splitter("  ")(line.strip().lstrip("#").strip())
    return wide if len(wide) == width else cells


def is_comment(line: str) -> bool:
    """Whether a line is outside the table: a comment, or a note to the reader."""
    text = line.lstrip()
    return text.startswith(_COMMENTS) or pattern("structure.remark").match(text) is not None


def is_rule(line: str) -> bool:
    """Whether a line only parts the table from what is above it."""
    return (
        pattern("structure.rule").fullmatch(line) is not None and re.search("[-=_\u2500-\u257f]{2}", line) is not None
    )


def is_units_row(cells: Sequence[str]) -> bool:
    """Whether a row below the header holds units and nothing else."""
    bare = [cell.strip("()[] ") for cell in cells]
    units = [cell for cell in bare if not is_absent(cell) and cell not in ("#", "count")]
    times_or_rates = sum(unit_of(unit) is not None for unit in units)
    return (
        times_or_rates > 0
        and len(units) < len(cells)
        and all(unit_of(u) is not None or is_other_unit(u) for u in units)
    )


def is_types_row(cells: Sequence[str]) -> bool:
    """Whether a row below the header holds the types of the columns, as frames and databases print them."""
    return any(cells) and all(not cell or pattern("structure.type").fullmatch(cell) for cell in cells)
