"""What the cells of a table say of its columns: numbers, counts, labels; and what each column is once K is known.

A column whose values return at several K tells curves apart whatever it is called; one that is numeric and never
repeats itself was measured; one that has a single value at each K follows K.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.formats.headers import (
    WORDS,
    Header,
    Statistic,
    grid_sides,
    parse_header,
    pattern,
    value_meaning,
    worker_unit,
)
from scalecurve.formats.reading import ReadOptions
from scalecurve.formats.tables.cells import (
    ABSENT,
    SAMPLE_ROWS,
    CellGrid,
    DecimalMark,
    Numbers,
    counts_of,
    labels_of,
    no_result,
    numbers_of,
)
from scalecurve.study import Quantity
from scalecurve.study.run import MAX_K, FloatArray, IntArray

MOSTLY = 0.9


class Kind(StrEnum):
    """What a column is beside K and the observations."""

    CONSTANT = "constant"
    FOLLOWS_K = "follows K"
    REPEAT = "repeat"
    FACTOR = "factor"
    LABEL = "label"
    MEASURED = "measured"
    UNCLEAR = "unclear"


class TableView:
    """A table with what its cells say, worked out once for each column and only where it is asked for.

    `rows` are all rows of a short table, and rows spread evenly over a long one.
    """

    def __init__(self, grid: CellGrid, options: ReadOptions, mark: DecimalMark) -> None:
        self.grid, self.options, self.mark = grid, options, mark
        self.heads: list[Header] = [parse_header(header) for header in grid.headers]
        few = grid.rows <= SAMPLE_ROWS
        self.rows: Any = slice(None) if few else np.unique(np.linspace(0, grid.rows - 1, SAMPLE_ROWS).astype(int))
        self._numbers: dict[int, Numbers] = {}
        self._counts: dict[int, Numbers] = {}
        self._labels: dict[int, list[str]] = {}
        self._kinds: dict[int | None, dict[int, Kind]] = {}

    def name(self, i: int) -> str:
        return self.grid.headers[i].strip()

    def sample(self, i: int) -> Any:
        column = self.grid.columns[i]
        if isinstance(self.rows, slice) or isinstance(column, np.ndarray):
            return column[self.rows]
        return [column[row] for row in self.rows]

    def numbers(self, i: int) -> Numbers:
        """The column as numbers, of the rows looked at."""
        if i not in self._numbers:
            self._numbers[i] = numbers_of(self.sample(i), self.mark)
        return self._numbers[i]

    def counts(self, i: int) -> FloatArray:
        """The column as worker counts, of the rows looked at; NaN for any other cell."""
        if i not in self._counts:
            self._counts[i] = counts_of(self.sample(i), self.mark)
        values = self._counts[i].values
        with np.errstate(invalid="ignore"):
            good = (values >= 1) & (values <= MAX_K) & (values == np.floor(values))
        return np.where(good, values, np.nan)

    def labels(self, i: int) -> list[str]:
        if i not in self._labels:
            self._labels[i] = labels_of(self.sample(i))
        return self._labels[i]

    def is_numeric(self, i: int) -> bool:
        """Whether some cells are numbers and most of the others stand for no value."""
        bad = self.numbers(i).bad
        absent = sum(no_result(cell) for cell, wrong in zip(self.sample(i), bad, strict=True) if wrong)
        rest = len(bad) - absent
        return rest > 0 and 2 * int(bad.sum() - absent) < rest

    def has_counts(self, i: int) -> bool:
        """Whether at least half of the cells are worker counts."""
        return 2 * int(np.isfinite(self.counts(i)).sum()) >= len(self.counts(i))

    def kinds(self, k: int | None) -> dict[int, Kind]:
        """What every column but spreads is where this one is K; looked at in the rows of the sample."""
        if k not in self._kinds:
            places = codes_of(np.ones(len(self.labels(0))) if k is None else self.counts(k).tolist())
            others = [i for i in range(self.width) if i != k and not has_spread(self.heads[i])]
            self._kinds[k] = {i: kind_of(self, i, self.labels(i), places) for i in others}
        return self._kinds[k]

    @cached_property
    def width(self) -> int:
        return len(self.heads)

    @cached_property
    def sides(self) -> tuple[int, int] | None:
        """The columns of a grid of processes, such as P and Q."""
        return grid_sides(self.grid.headers)

    def is_measured(self, i: int) -> bool:
        """Whether its header says that the column holds something that was measured or made of such numbers."""
        head = self.heads[i]
        named = head.unit is not None or bool(head.other_unit) or head.is_derived or head.says("cpu")
        return named or head.statistic is not None or head.is_part or value_meaning(self.name(i)) is not None


def is_cpu_time(view: TableView, i: int) -> bool:
    """Whether a column holds CPU time; beside the same column of a GPU, `cpu` names where the program ran."""
    value = view.heads[i].value
    if not view.heads[i].says("cpu") or (value is not None and value.quantity is not Quantity.SECONDS):
        return False
    rest = {*view.heads[i].words} - WORDS["cpu"]
    return not any({*own.words} & WORDS["device"] and {*own.words} - WORDS["device"] == rest for own in view.heads)


def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The distinct values in order; np.unique takes five times the memory, or the import of masked arrays."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def codes_of(labels: Any) -> IntArray:
    """Each label as the number of its first appearance."""
    memo = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return np.fromiter(map(memo.__getitem__, labels), dtype=np.int64, count=len(labels))


@lru_cache(maxsize=4096)
def is_moment(label: str) -> bool:
    """Whether a label is a date with its time of day, or seconds since 1970."""
    return pattern("facts.moment").fullmatch(label) is not None


def kind_of(view: TableView, i: int, labels: list[str], places: npt.NDArray[Any]) -> Kind:
    """What a column is, by its cells at each K (`places` numbers the K of every row); its name breaks ties."""
    codes, head = codes_of(labels), view.heads[i]
    values, ks = int(codes.max()) + 1, int(places.max()) + 1
    if values == 1:
        return Kind.CONSTANT
    if _numbers_repeats(head, labels):
        return Kind.REPEAT
    pairs = distinct(codes * ks + places)
    at_k = np.bincount(pairs % ks, minlength=ks)  # how many values each K has
    at = np.bincount(pairs // ks)  # at how many K each value was measured
    if at_k.max() == 1:
        return Kind.FACTOR if _parts_k(codes, places, at, labels) else Kind.FOLLOWS_K
    filled = [pattern("facts.times").sub("", label) for label in labels if label.lower() not in ABSENT]
    numbers = numbers_of(filled, view.mark) if filled else None
    if numbers is None or numbers.bad.any():
        return _kind_of_words(head, labels, at, values)
    if (ks > 1 and bool((at == ks).all()) and 2 * values <= len(codes)) or worker_unit(head.text):
        return Kind.FACTOR
    if len(set(filled)) >= MOSTLY * len(filled) and len(filled) > 2 and not head.says("series", "work"):
        return Kind.LABEL if head.says("label") else Kind.MEASURED
    if _is_result(view, i, numbers.values, values, places):
        return Kind.MEASURED
    return _kind_of_numbers(head, codes, at, ks)


def _is_result(view: TableView, i: int, numbers: FloatArray, values: int, places: npt.NDArray[Any]) -> bool:
    """Whether numbers came out of the runs: broken ones that hardly return, or what is named as such."""
    if 3 * values > len(places) and not bool((numbers == np.floor(numbers)).all()):
        return True
    return view.is_measured(i) and not view.heads[i].says("series", "work")


def _kind_of_numbers(head: Header, codes: IntArray, at: IntArray, ks: int) -> Kind:
    """What a column of numbers is that varies at one K and is no result by its cells."""
    is_set = head.says("series", "work")
    if (at > 1).any() and (is_set or len(at) <= max(2, len(codes) / 2)):
        returns = float(at[codes].mean()) >= min(2, ks)
        return Kind.FACTOR if returns else Kind.UNCLEAR if is_set else Kind.MEASURED
    return Kind.UNCLEAR if head.says("series") else Kind.LABEL if head.says("label") else Kind.MEASURED


def _parts_k(codes: IntArray, places: npt.NDArray[Any], at: IntArray, labels: list[str]) -> bool:
    """Whether words part the K of a table into curves that lie among each other: 2, 4, 8 of one and 3, 6 of another."""
    several = np.flatnonzero(at > 1)
    if len(several) < 2 or any(label[:1].isdecimal() for label in labels):
        return False
    reach = [(places[codes == code].min(), places[codes == code].max()) for code in several]
    return any(a[0] < b[1] and b[0] < a[1] for n, a in enumerate(reach) for b in reach[n + 1 :])


def _kind_of_words(head: Header, labels: list[str], at: IntArray, values: int) -> Kind:
    """What a column of words is that varies at one K."""
    if sum(map(is_moment, labels)) > MOSTLY * len(labels):
        return Kind.LABEL
    if values >= MOSTLY * len(labels):
        named = head.says("label", "dated", "notes", "job_list")
        return Kind.LABEL if named or any(map(pattern("facts.path").fullmatch, labels)) else Kind.UNCLEAR
    if head.says("notes") and "" in labels:
        return Kind.LABEL
    if (at > 1).any():
        return Kind.FACTOR
    return Kind.LABEL if head.says("label", "notes") and not head.says("series") else Kind.UNCLEAR


def _numbers_repeats(head: Header, labels: list[str]) -> bool:
    """Whether a column numbers the repeats: whole numbers or names such as run 3 below a word for runs."""
    if not (head.is_repeat or (head.says("seed") and head.statistic is None)):
        return False
    distinct = set(labels)
    if all(pattern("facts.whole").fullmatch(label) or parse_header(label).is_repeat or not label for label in distinct):
        return True
    forms = {pattern("facts.digits").sub("#", label) for label in distinct}  # 20260630_rep1, 20260630_rep2
    return (
        all(map(pattern("facts.digits").search, distinct))
        and len(forms) == 1
        and any(sign.isalpha() for sign in forms.pop())
    )


def has_spread(head: Header) -> bool:
    return head.statistic in (Statistic.DEVIATION, Statistic.SPREAD)
