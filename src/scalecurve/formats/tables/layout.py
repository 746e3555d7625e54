"""Wide tables made long: a column for each K, a column for each repeat, or a row for each quantity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.headers import (
    REPEAT_WORDS,
    TIME_WORDS,
    WORKER_NOUNS,
    Header,
    parse_header,
    value_meaning,
    worker_unit,
)
from scalecurve.formats.reading import ColumnUse, ReadOptions, Role
from scalecurve.formats.tables.cells import holds_counts, is_absent
from scalecurve.formats.tables.dialects import CellGrid

_MARKS = frozenset(("n", "num", "x", "c"))


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
        repeats = all(parse_header(str(cell)).is_repeat or str(cell).strip().isdigit() for cell in grid.columns[i])
        headers.append("repeat" if repeats else "row" if i in titled or worker_unit(heads[i].text) else heads[i].text)
        columns.append([grid.columns[i][row] for row, _ in rows])
    long = CellGrid(tuple(headers), tuple(columns), [grid.lines[row] for row, _ in rows], grid.row_word)
    uses = tuple(
        ColumnUse(heads[i].text, Role.VALUE, f"the observations at K = {_workers_in(heads[i])}") for i in places
    )
    return LongGrid(long, 1, uses, grid.rows * len(places) - len(rows))
