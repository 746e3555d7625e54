"""Text to a grid of cells, whatever parts them, and wide tables made long: one observation a row.

A dialect is recognised by what all of the first lines have in common, never by the file's name.  What is not one line
for one row of the table (Markdown, LaTeX, HTML, logs) is in `markup`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.headers import (
    REPEAT_WORDS,
    SERIES_WORDS,
    TIME_WORDS,
    WORKER_NOUNS,
    Header,
    is_other_unit,
    k_unit_of,
    parse_header,
    unit_of,
    value_meaning,
    worker_unit,
)
from scalecurve.formats.reading import ColumnUse, ReadOptions, Role, capped
from scalecurve.formats.source import Source, csv_rows
from scalecurve.formats.tables.cells import CellGrid, holds_counts, is_absent, no_result, parse_cell

LOOKED_AT = 1000
COMPARED = 30
MOST_COLUMNS = 10_000
ENOUGH_FAULTS = 10_000
SECTION = "section"  # the name of the column that tells the parts of a file apart
EXPECTED = "expected a header line and rows, such as: K,seconds"
_COMMENTS = ("#", "%", "//")
_RULE = re.compile(r"[\s|+:=_\-─━┄┈═╌┼├┤┌┐└┘┬┴╞╪╡╔╗╚╝╠╣╦╩╬]+")
_MARKUP = re.compile(r"[|│┃║┆&<=:!]")
_TYPE = re.compile(
    r"<?(?:[iuf]\d{1,3}|(?:big|small|tiny)?int(?:eger)?\d*|u?int\d+|float\d*|double|dbl|real|numeric|chr|str|string|text"
    r"|varchar|object|bool|lgl|fct|date|decimal)>?|-{2,}",
    re.IGNORECASE,
)
_MARKS = frozenset(("n", "num", "x", "c"))
BARS = str.maketrans("│┃║┆", "||||")

Lines = Sequence[tuple[int, str]]


@dataclass(frozen=True)
class TableLayout:
    """How a text is parted: `split` gives the cells of a line, `first` is the line of the header, from 1.

    `grid` is the table itself where the text had to be read whole to know its layout.
    """

    delimiter: str | None
    split: Callable[[str], list[str]]
    headers: tuple[str, ...]
    first: int
    grid: CellGrid | None = None


def find_layout(source: Source) -> TableLayout:
    """The dialect and the header of a text table, from its first lines."""
    with source.open_text() as file:
        lines = [(number, line.rstrip("\r\n")) for number, line in zip(range(1, LOOKED_AT), file, strict=False)]
    lines = [(number, line.translate(BARS)) for number, line in lines if line.strip()]
    if lines and re.fullmatch(r"sep=.", lines[0][1].strip()):  # Excel's own line
        lines = lines[1:]
    if not lines:
        raise FormatError(Fault("the file is empty", remedy=EXPECTED))
    if any(_MARKUP.search(line) for _, line in lines):
        from scalecurve.formats.tables.markup import marked_layout

        if (marked := marked_layout(source, lines)) is not None:
            return marked
    return _delimited_layout(source, [(number, line) for number, line in lines if not is_rule(line)])


def _delimited_layout(source: Source, lines: Lines) -> TableLayout:
    """Lines parted by one delimiter or by blanks; where they are parted unevenly they may be a log."""
    body = [(number, re.split(r"\s#", line)[0]) for number, line in lines if not is_comment(line)]
    comments = [(number, line) for number, line in lines if is_comment(line) and (not body or number < body[0][0])]
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
    if any(parse_cell(cell) for cell in headers) or len({len(split(line)) for _, line in body[:COMPARED]}) > 1:
        from scalecurve.formats.tables.markup import log_layout

        if (log := log_layout(source, lines)) is not None:
            return log
    if comments and any(parse_cell(cell) for cell in headers):
        text = comments[-1][1].strip().lstrip("#%/").strip()
        if len(own := _header_cells(text, splitter(_delimiter([text])), width)) > 1 or len(own) == width:
            return TableLayout(delimiter, split, tuple(own), comments[-1][0])
    if len(headers) > MOST_COLUMNS:
        raise FormatError(Fault("too many columns for a table", value=f"{len(headers)} columns", remedy=EXPECTED))
    while len(headers) == width and (below := _continued(split, body[place + 1 : place + 2], width)):
        place, number = place + 1, body[place + 1][0]
        headers = [f"{name} {more}".strip() for name, more in zip(headers, below, strict=True)]
    return TableLayout(delimiter, split, tuple(headers), number)


def _continued(split: Callable[[str], list[str]], lines: Lines, width: int) -> list[str]:
    """The cells of a further line of headers, which are names; none where the line is no such line."""
    cells = split(lines[0][1]) if lines else []
    is_names = len(cells) == width and any(cells) and not is_units_row(cells) and not _is_types_row(cells)
    return (
        cells if is_names and not any(c[:1].isdigit() or parse_cell(c) or (c and no_result(c)) for c in cells) else []
    )


def read_grid(source: Source, layout: TableLayout) -> CellGrid:
    """All rows below the header as a Grid."""
    if layout.grid is not None:
        return layout.grid
    return _plain_grid(source, layout) or squared(layout.headers, *_rows(source, layout), layout.delimiter)


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
    headers, lines, sections = list(headers), list(lines), list(sections)
    while rows and _is_types_row(rows[0]):
        rows, lines, sections = rows[1:], lines[1:], sections[1:]
    width = len(headers)
    alone = bool(rows) and len(rows[0]) == 1 and parse_cell(rows[0][0]) is None
    if mark in (None, "  ") and {len(row) for row in rows[int(alone) :]} == {width + 1}:
        headers = [rows[0][0] if alone else "", *headers]
        rows, lines, sections = rows[int(alone) :], lines[int(alone) :], sections[int(alone) :]
        width += 1
    square: list[list[str]] = []
    faults: list[Fault] = []
    for number, cells in zip(lines, rows, strict=True):
        if len(cells) > width and any(cells[width:]):
            remedy = "write decimals with a point, or separate the columns by semicolons or tabs"
            text = f"the row has {len(cells)} fields where the header has {width}"
            faults.append(Fault(text, f"line {number}", remedy=remedy if mark == "," else None))
            if len(faults) > ENOUGH_FAULTS:
                break  # this is no table: counting two million faults would take minutes
        square.append(cells if len(cells) == width else [*cells, *[""] * (width - len(cells))][:width])
    if faults:
        raise FormatError(capped(faults, counted_all=len(faults) <= ENOUGH_FAULTS))
    if len(set(sections)) > 1:
        headers, square = [*headers, SECTION], [[*row, name] for row, name in zip(square, sections, strict=True)]
    return _grid(headers, square, lines)


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
    if is_units_row(first := lines[0].split(mark)) or _is_types_row(first):
        return None
    cells = text.replace("\n", mark).split(mark)
    numbers = range(layout.first + 1, layout.first + len(lines) + 1)
    return CellGrid(layout.headers, tuple(cells[i::width] for i in range(width)), numbers)


def _rows(source: Source, layout: TableLayout) -> tuple[list[int], list[list[str]], list[str]]:
    """The cells of every row below the header, with its line and what tells its part of the file from the others.

    Parts begin at comments and at empty lines between rows; a comment that stands before every part names none.
    """
    parted = layout.delimiter in (",", ";", "\t")
    numbers: list[int] = []
    rows: list[list[str]] = []
    parts: list[int] = []
    above: list[list[str]] = [[]]
    blanks = 0
    with source.open_text() as file:
        for number, line in enumerate(file, 1):
            text = line.strip()
            blanks = 0 if text else blanks + 1
            is_units = not rows and text.startswith("#") and is_units_row(layout.split(text))
            if (blanks > 1 or is_comment(text)) and parts and parts[-1] == len(above) - 1 and not is_units:
                above.append([])
            if not text or (is_comment(text) and not is_units):
                above[-1] += [text.strip("#%/ ")] if text.strip("#%/ ") else []
                continue
            wanted = number > layout.first and (parted or not is_rule(text))
            if wanted and (cells := layout.split(line.rstrip("\r\n") if parted else text)):
                rows.append(cells)
                numbers.append(number)
                parts.append(len(above) - 1)
    if len(used := set(parts)) < 2:
        return numbers, rows, []
    everywhere = set.intersection(*(set(above[part]) for part in used))
    names = [", ".join(text for text in own if text not in everywhere).strip("\"' ")[:60] for own in above]
    return numbers, rows, [names[part] or f"part {part + 1}" for part in parts]


def splitter(delimiter: str | None) -> Callable[[str], list[str]]:
    """How a line is parted into stripped cells."""
    match delimiter:
        case None:
            return lambda line: re.split(r"\s#", line)[0].split()
        case "  ":
            return lambda line: re.split(r"\s{2,}|\t", line.strip())
        case " (":  # blanks, with a unit in brackets after the word before it
            return lambda line: re.sub(r"\s+(?=[\[(])", "", re.split(r"\s#", line)[0]).split()
        case "|":
            return lambda line: [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
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
    plain = {len(line.split()) for line in lines if line.strip()}
    for candidate in ("  ", " (") if len(plain) > 1 else ("  ",):
        parted = [len(splitter(candidate)(line)) for line in lines if line.strip()]
        usual = max(set(parted), key=parted.count, default=1)
        if usual > 1 and (len(set(parted)) == 1 or _is_titled(parted, usual, lines)):
            return candidate
    return next((c for c in ("\t", ";", ",") if sum(c in line for line in lines) > len(lines) / 2), None)


def _is_titled(widths: Sequence[int], usual: int, lines: Sequence[str]) -> bool:
    """Whether all lines are parted alike below titles of one cell, where single blanks would part them differently."""
    first = next(i for i, width in enumerate(widths) if width == usual)
    plain = {len(line.split()) for line in lines[first:]}
    return len(plain) > 1 and len(widths) - first > 2 and set(widths[first:]) == {usual}


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
            for cell in (() if is_units_row(cells) else cells)
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


def is_comment(line: str) -> bool:
    return line.lstrip().startswith(_COMMENTS)


def is_rule(line: str) -> bool:
    """Whether a line only parts the table from what is above it."""
    return _RULE.fullmatch(line) is not None and re.search("[-=─═_]{2}", line) is not None


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


def _is_types_row(cells: Sequence[str]) -> bool:
    """Whether a row below the header holds the types of the columns, as frames and databases print them."""
    return any(cells) and all(not cell or _TYPE.fullmatch(cell) for cell in cells)


@dataclass(frozen=True, eq=False)
class LongGrid:
    """A grid with one observation a row; `value` is its column of observations where the layout tells it."""

    grid: CellGrid
    value: int | None = None
    uses: tuple[ColumnUse, ...] = ()
    absent: int = 0


def lengthen(grid: CellGrid, options: ReadOptions) -> LongGrid:
    """The same observations, one a row; a table that is long already is returned as it is."""
    heads = [parse_header(header) for header in grid.headers]
    columns = zip(grid.headers, grid.columns, strict=True)
    has_workers = any(worker_unit(header) and holds_counts(column) for header, column in columns)
    if options.k_column is None and options.k_from is None and not has_workers:
        places = [i for i, head in enumerate(heads) if _workers_in(head) is not None]
        if len(places) == len(heads) > 1:
            text = "the first line holds numbers only: it may be a row, or the worker counts"
            remedy = "write a header line such as `K,seconds`, or a name before the counts, such as `time (s),1,2,4`"
            raise FormatError(Fault(text, value=", ".join(grid.headers)[:60], remedy=remedy))
        if len({_workers_in(heads[i]) for i in places}) == len(places) > 1:
            return _from_columns_of_k(grid, heads, places)
    runs = _numbered_runs(heads) if options.value_column is None else []
    return _from_columns_of_runs(grid, heads, runs) if runs else LongGrid(grid)


def _workers_in(head: Header) -> int | None:
    """K of a header such as 4, p=4, 4 threads or np4; None for anything else."""
    nouns = [word for word in head.words if not word.isdigit()]
    named = all(word in WORKER_NOUNS or word in _MARKS for word in nouns)
    return head.number if named and head.number and not head.statistic else None


def _numbered_runs(heads: Sequence[Header]) -> list[int]:
    """The columns run1, run2 ... or t1, t2 ..., numbered without a gap from 0 or 1."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, head in enumerate(heads):
        words = tuple(word for word in head.words if not word.isdigit())
        if head.number is not None and words and all(word in REPEAT_WORDS | TIME_WORDS for word in words):
            groups.setdefault((words, head.unit), []).append(i)
    runs = [group for group in groups.values() if len(group) > 1]
    if len(runs) != 1:
        return []
    numbers = sorted(heads[i].number or 0 for i in runs[0])
    return runs[0] if numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers))) else []


def _from_columns_of_runs(grid: CellGrid, heads: Sequence[Header], runs: Sequence[int]) -> LongGrid:
    others = [i for i in range(len(heads)) if i not in runs]
    rows = [(row, i) for row in range(grid.rows) for i in runs if not is_absent(grid.columns[i][row])]
    name = re.sub(r"\s+(?=[\])])|(?<=[\[(])\s+", "", re.sub(r"[\s_-]*\d+", " ", heads[runs[0]].text, count=1)).strip()
    columns = [[grid.columns[i][row] for row, _ in rows] for i in others]
    columns += [[grid.columns[i][row] for row, i in rows], [heads[i].text for _, i in rows]]
    headers = (*(grid.headers[i] for i in others), name, "run")
    long = CellGrid(headers, tuple(columns), [grid.lines[row] for row, _ in rows], grid.row_word)
    uses = tuple(ColumnUse(heads[i].text, Role.VALUE, "one repeat of every row") for i in runs)
    return LongGrid(long, len(others), uses, grid.rows * len(runs) - len(rows))


def _from_columns_of_k(grid: CellGrid, heads: Sequence[Header], places: Sequence[int]) -> LongGrid:
    """One row for each K and each row of the table; what names the rows says what they are."""
    others = [i for i in range(len(heads)) if i not in places]
    nouns = [word for i in places for word in heads[i].words if word in WORKER_NOUNS]
    k_header = nouns[0] if nouns else next((heads[i].text for i in others if worker_unit(heads[i].text)), "K")
    names = [parse_header(str(cell)) for cell in grid.columns[others[0]]] if len(others) == 1 else []
    if any(value_meaning(name.text) for name in names) and not all(name.is_repeat for name in names):
        labels = [str(cell) for cell in grid.columns[others[0]]]
        cells = [[column[row] for column in (grid.columns[i] for i in places)] for row in range(grid.rows)]
        counts = [str(_workers_in(heads[i])) for i in places]
        return LongGrid(CellGrid((k_header, *labels), (counts, *cells), [*range(1, len(places) + 1)], "column"))
    rows = [(row, i) for row in range(grid.rows) for i in places if not is_absent(grid.columns[i][row])]
    titled = [i for i in others if value_meaning(heads[i].text) is not None and not worker_unit(heads[i].text)]
    with_unit = next((heads[i].text for i in places if heads[i].unit), None)
    value = heads[titled[0]].text if titled else with_unit or "value"
    headers = [k_header, value]
    columns: list[list[Any]] = [
        [str(_workers_in(heads[i])) for _, i in rows],
        [grid.columns[i][row] for row, i in rows],
    ]
    for i in others:
        labels = [str(cell).strip() for cell in grid.columns[i]]
        numbered = [str(j) for j in range(1, len(labels) + 1)] == labels and not heads[i].says(SERIES_WORDS)
        repeats = numbered or all(parse_header(label).is_repeat for label in labels)
        headers.append("repeat" if repeats else "row" if i in titled or worker_unit(heads[i].text) else heads[i].text)
        columns.append([grid.columns[i][row] for row, _ in rows])
    long = CellGrid(tuple(headers), tuple(columns), [grid.lines[row] for row, _ in rows], grid.row_word)
    uses = tuple(
        ColumnUse(heads[i].text, Role.VALUE, f"the observations at K = {_workers_in(heads[i])}") for i in places
    )
    return LongGrid(long, 1, uses, grid.rows * len(places) - len(rows))
