"""Wide tables made long: K in the header row, a column for each run, a column for each curve; and K as a product.

Every function gives the same observations with one a row, and what became of the columns that were laid down.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from scalecurve.formats.headers import (
    WORDS,
    WORKER_NOUNS,
    Header,
    k_unit_of,
    parse_header,
    pattern,
    value_meaning,
    worker_unit,
)
from scalecurve.formats.reading import ColumnUse, Role
from scalecurve.formats.tables.cells import (
    CellGrid,
    Cells,
    are_sizes,
    counts_of,
    holds_counts,
    is_absent,
    is_serial,
    is_summary,
    model_and_count,
)

_MARKS = frozenset(("n", "num", "x", "c", "t", "p", "k"))
_PARALLEL = WORDS["ways_to_run"] | {*WORKER_NOUNS} - {"k", "p"}
METRIC_WORDS = WORDS["time"] | WORDS["rate"] | WORDS["whole"] | WORDS["metric"]
MODEL = "(model)"  # ends the name of a column of models: A100, H100


@dataclass(frozen=True, eq=False)
class LongGrid:
    """A grid with one observation a row.

    `k` and `value` are its columns of K and of observations where the layout tells them, `parts` the two columns whose
    product K is, `uses` what became of columns that were laid down, `absent` how many empty cells were left out, and
    `how` names the layout: "", "k-in-headers", "runs", "curves", "product".
    """

    grid: CellGrid
    value: int | None = None
    k: int | None = None
    uses: tuple[ColumnUse, ...] = ()
    absent: int = 0
    how: str = ""
    parts: tuple[int, ...] = ()
    laid: tuple[int, ...] = field(default=())


@dataclass(frozen=True)
class NumberedColumns:
    """Columns whose headers differ in one number: 1, 2, 4; p=1, p=2; run1, run2; N=10, N=100."""

    words: tuple[str, ...]
    places: tuple[int, ...]
    numbers: tuple[int, ...]

    @property
    def counts_runs(self) -> bool:
        """Whether they are numbered from 0 or 1 without a gap below a word for runs or times."""
        named = bool(self.words) and all(word in WORDS["repeat"] | WORDS["time"] for word in self.words)
        return named and self.is_gapless

    @property
    def is_gapless(self) -> bool:
        """Whether they are numbered from 0 or 1 without a gap."""
        steps = list(range(self.numbers[0], self.numbers[0] + len(self.numbers)))
        return self.numbers[0] in (0, 1) and sorted(self.numbers) == steps

    @property
    def names_workers(self) -> bool:
        return any(word in WORKER_NOUNS for word in self.words)

    @property
    def may_be_workers(self) -> bool:
        """Whether the numbers may be worker counts: below nothing, a noun of workers, a mark, or a word for times."""
        known = _MARKS | WORDS["time"] | WORDS["worker_fillers"] | WORDS["ways_to_run"] - WORDS["one_worker"]
        named = all(word in WORKER_NOUNS or word in known for word in self.words)
        times = {self.numbers.count(number) for number in self.numbers}  # each K as often as any other
        return named and len(set(self.numbers)) > 1 and len(times) == 1 and min(self.numbers) > 0


def numbered_columns(heads: Sequence[Header]) -> list[NumberedColumns]:
    """The families of at least two columns whose headers differ in one number only."""
    families: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for i, head in enumerate(heads):
        text = pattern("shapes.thousands").sub("", head.text)
        found = pattern("shapes.number").findall(text)
        if len(found) != 1 or head.statistic is not None or head.is_derived or float(found[0]) > 1e9:
            continue
        words = tuple(
            _in_one_form(word) for word in parse_header(pattern("shapes.number").sub(" ", text)).words if word
        )
        families.setdefault((words, head.unit and head.unit.factor), []).append((i, int(float(found[0]))))
    return [
        NumberedColumns(words, tuple(i for i, _ in own), tuple(number for _, number in own))
        for (words, _), own in families.items()
        if len(own) > 1
    ]


def _in_one_form(word: str) -> str:
    """A noun of workers in the plural, so that 1 thread and 2 threads are of one family."""
    return f"{word}s" if f"{word}s" in WORKER_NOUNS else word


def cells_of(values: list[Any]) -> Cells:
    """Cells taken from several columns: text where any of them is text, else an array of numbers."""
    numeric = bool(values) and not any(isinstance(value, str) for value in values)
    return np.array(values, dtype=np.float64) if numeric else [str(value) for value in values]


def _laid_down(grid: CellGrid, places: Sequence[int], by_column: bool) -> tuple[list[tuple[int, int]], int]:
    """The (row, column) of every cell of these columns that holds something, and how many hold nothing."""
    order = itertools.product(places, range(grid.rows)) if by_column else itertools.product(range(grid.rows), places)
    pairs = [(b, a) if by_column else (a, b) for a, b in order]
    kept = [(row, i) for row, i in pairs if not is_absent(grid.columns[i][row])]
    return kept, len(pairs) - len(kept)


def from_columns_of_runs(grid: CellGrid, heads: Sequence[Header], runs: Sequence[int]) -> LongGrid:
    """One row for each row and each run of it."""
    others = [i for i in range(len(heads)) if i not in runs]
    rows, absent = _laid_down(grid, runs, by_column=False)
    name = re.sub(r"\s+(?=[\])])|(?<=[\[(])\s+", "", re.sub(r"[\s_-]*\d+", " ", heads[runs[0]].text, count=1)).strip()
    name = name or "value"  # the headers are numbers only
    columns = [cells_of([grid.columns[i][row] for row, _ in rows]) for i in others]
    columns += [cells_of([grid.columns[i][row] for row, i in rows]), [str(runs.index(i) + 1) for _, i in rows]]
    headers = (*(grid.headers[i] for i in others), name, "run")
    long = replace(grid, headers=headers, columns=tuple(columns), lines=[grid.lines[row] for row, _ in rows])
    uses = tuple(ColumnUse(heads[i].text, Role.VALUE, "one repeat of every row") for i in runs)
    return LongGrid(long, len(others), None, uses, absent, "runs", laid=tuple(runs))


def from_columns_of_curves(grid: CellGrid, curves: Sequence[int], name: str = "series") -> LongGrid:
    """One row for each row and each column of a curve, which tells the curves apart."""
    spreads = [i for i, header in enumerate(grid.headers) if parse_header(header).statistic is not None]
    others = [i for i in range(len(grid.headers)) if i not in {*curves, *spreads}]  # a spread is that of one curve
    rows, absent = _laid_down(grid, curves, by_column=True)
    whole = [grid.headers[i].strip() for i in curves]
    short = _what_differs(whole)
    names = dict(zip(curves, short, strict=True))
    columns = [cells_of([grid.columns[i][row] for row, _ in rows]) for i in others]
    columns += [[names[i] for _, i in rows], cells_of([grid.columns[i][row] for row, i in rows])]
    headers = (*(grid.headers[i] for i in others), name, _title_of(whole, short))
    long = replace(grid, headers=headers, columns=tuple(columns), lines=[grid.lines[row] for row, _ in rows])
    uses = [ColumnUse(own, Role.VALUE, "the observations of one curve") for own in whole]
    left = [grid.headers[i].strip() for i in spreads if i not in curves]
    uses += [ColumnUse(own, Role.IGNORED, "beside several curves") for own in left]
    return LongGrid(long, len(others) + 1, None, tuple(uses), absent, "curves", laid=tuple(curves))


def _title_of(whole: Sequence[str], short: Sequence[str]) -> str:
    """What the columns of curves hold: how all their names end, else one that says it, best not that of CPU time."""
    ends = {own[len(part) :].strip(" ,:-") for own, part in zip(whole, short, strict=True)}
    title = re.sub(r"^[\[(](.*)[\])]$", r"\1", ends.pop()) if len(ends) == 1 else ""
    if value_meaning(title := title or "value"):
        return title
    return next(filter(value_meaning, sorted(whole, key=lambda own: parse_header(own).says("cpu"))), title)


def _what_differs(names: Sequence[str]) -> list[str]:
    """The names without the words that all of them end with: gcc, clang of gcc time (s), clang time (s)."""
    words = [name.split()[::-1] for name in names]
    end = sum(1 for _ in itertools.takewhile(lambda same: len(set(same)) == 1, zip(*words, strict=False)))
    short = [" ".join(own[end:][::-1]).strip(" ,:-") for own in words]
    is_whole = all(own and own.count("(") == own.count(")") for own in short)  # not `sum(a` of sum(a, b), sort(a, b)
    return short if is_whole and len(set(short)) == len(short) else list(names)


def from_columns_of_k(grid: CellGrid, heads: Sequence[Header], family: NumberedColumns) -> LongGrid:
    """One row for each K and each row of the table; what names the rows says what they are."""
    places, others = family.places, [i for i in range(len(heads)) if i not in family.places]
    workers = dict(zip(places, map(str, family.numbers), strict=True))
    corner = re.split(r"\s*[/\\|]\s*", grid.headers[others[0]]) if others else []
    k_header = _name_of_k(heads, family, others, corner)
    titled = [i for i in others if value_meaning(heads[i].text) is not None and not worker_unit(heads[i].text)]
    if len(others) == 1 and not titled and _name_metrics(grid.columns[others[0]]):
        return _with_metrics_as_columns(grid, others[0], places, (k_header, list(workers.values())))
    rows, absent = _laid_down(grid, places, by_column=False)
    headers = [k_header, heads[titled[0]].text if titled else _name_of_values(heads, family)]
    columns: list[Cells] = [[workers[i] for _, i in rows], cells_of([grid.columns[i][row] for row, i in rows])]
    for i in others:
        is_row = i in titled or worker_unit(heads[i].text) is not None
        headers.append(_name_of_rows(grid.columns[i], heads[i], corner, is_row))
        columns.append(cells_of([grid.columns[i][row] for row, _ in rows]))
    lines = [grid.lines[row] for row, _ in rows]
    long = replace(grid, headers=tuple(headers), columns=tuple(columns), lines=lines)
    uses = tuple(ColumnUse(heads[i].text, Role.VALUE, f"the observations at K = {workers[i]}") for i in places)
    return LongGrid(long, 1, 0, uses, absent, "k-in-headers", laid=places)


def _name_of_k(heads: Sequence[Header], family: NumberedColumns, others: Sequence[int], corner: Sequence[str]) -> str:
    """What K counts where it stands in the header row: by a corner such as size/threads, the headers, other columns."""
    if len(corner) == 2 and k_unit_of(corner[1]):
        return corner[1]
    nouns = [word for word in family.words if word in WORKER_NOUNS]
    return next(iter([*nouns, *(heads[i].text for i in others if k_unit_of(heads[i].text))]), "K")


def _name_of_rows(cells: Cells, head: Header, corner: Sequence[str], is_row: bool) -> str:
    if _number_repeats(cells, head):
        return "repeat"
    return "row" if is_row else corner[0] if len(corner) == 2 else head.text


def _name_of_values(heads: Sequence[Header], family: NumberedColumns) -> str:
    with_unit = next((heads[i].text for i in family.places if heads[i].unit), None)
    timed = " ".join(family.words) if any(value_meaning(heads[i].text) for i in family.places) else None
    return with_unit or timed or "value"


def _name_metrics(cells: Cells) -> bool:
    """Whether the names of rows are metrics and nothing more: time (s), throughput, img/s."""
    names = [parse_header(str(cell)) for cell in cells]
    metrics = [own for own in names if value_meaning(own.text) and (own.unit or {*own.base} <= METRIC_WORDS)]
    return bool(metrics) and not all(name.is_repeat for name in names)


def _with_metrics_as_columns(grid: CellGrid, names: int, places: Sequence[int], k: tuple[str, list[str]]) -> LongGrid:
    """The table turned: one row for each K, one column for each metric that named a row."""
    headers = (k[0], *(str(cell) for cell in grid.columns[names]))
    cells = [cells_of([grid.columns[i][row] for i in places]) for row in range(grid.rows)]
    lines = [*range(1, len(places) + 1)]
    turned = replace(grid, headers=headers, columns=(k[1], *cells), lines=lines, row_word="column")
    return LongGrid(turned, None, 0, how="k-in-headers", laid=tuple(places))


def _number_repeats(cells: Cells, head: Header) -> bool:
    """Whether the names of rows number repeats: 1, 2, 3, or run 1, run 2 beside their mean."""
    runs = [label for label in (str(cell).strip() for cell in cells) if not is_summary(label)]
    if runs == [str(j) for j in range(1, len(runs) + 1)]:
        return bool(runs) and not head.says("series")
    return bool(runs) and all(parse_header(label).is_repeat for label in runs)


def grid_of_parted_labels(grid: CellGrid) -> CellGrid | None:
    """The grid with labels such as omp_2, 8x H100 parted into what runs and how many; None where no column has them.

    A label without a number is a program of its own: serial ones at K = 1, others at no K.
    """
    for i, column in enumerate(grid.columns):
        rows = [] if isinstance(column, np.ndarray) else _parted([cell.strip(" *`") for cell in column])
        if rows:
            kept = [row for row, _, _ in rows]
            others = [j for j in range(len(grid.headers)) if j != i]
            columns: list[Cells] = [[count for _, count, _ in rows], [kind for _, _, kind in rows]]
            columns += [[grid.columns[j][row] for row in kept] for j in others]
            kind = MODEL if all(map(model_and_count, map(str, column))) else "(series)"
            headers = ("workers", f"{grid.headers[i].strip()} {kind}", *(grid.headers[j] for j in others))
            return replace(grid, headers=headers, columns=tuple(columns), lines=[grid.lines[row] for row in kept])
    return None


def _parted(labels: Sequence[str]) -> list[tuple[int, str, str]]:
    """The row, the count and the kind of each label of that form; nothing where most are none, or K is one."""
    models = [model_and_count(label) for label in labels] if labels and model_and_count(labels[0]) else []
    if len(models) > len({own[0] for own in models if own}) > 1 and all(models) and not are_sizes(labels):
        return [(row, own[1], own[0]) for row, own in enumerate(models) if own]
    matches = [pattern("shapes.label").fullmatch(label) for label in labels]
    found = [own for own in matches if own is not None]
    names = {own["name"].lower() for own in found}
    if 2 * len(found) < len(labels) or len({own["count"] for own in found}) < 2 or not names <= _PARALLEL:
        return []
    return [
        (row, own["count"] if own else "1", own["name"] if own else label)
        for row, (own, label) in enumerate(zip(matches, labels, strict=True))
        if own or is_serial(label)
    ]


def from_header_row(grid: CellGrid) -> CellGrid:
    """The grid with K from its header row where no column counts workers; else the grid as it is."""
    heads = [parse_header(header) for header in grid.headers]
    families = [own for own in numbered_columns(heads) if own.may_be_workers and len(own.places) < len(heads)]
    has_counts = any(worker_unit(h) and holds_counts(c) for h, c in zip(grid.headers, grid.columns, strict=True))
    return from_columns_of_k(grid, heads, families[0]).grid if families and not has_counts else grid


def with_product(grid: CellGrid, pair: tuple[int, int]) -> LongGrid:
    """The grid with a first column that is the product of two others: ranks x threads, nodes x GPUs per node."""
    a, b = (counts_of(grid.columns[i]).values for i in pair)
    name = f"{grid.headers[pair[0]].strip()} x {grid.headers[pair[1]].strip()}"
    product: Cells = a * b
    whole = replace(grid, headers=(name, *grid.headers), columns=(product, *grid.columns))
    return LongGrid(whole, None, 0, how="product", parts=(pair[0] + 1, pair[1] + 1))
