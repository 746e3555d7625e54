"""Candidate readings of a table: which column or header row is K, which holds the observations, long or wide.

Nothing is decided here: every reading that the cells admit is listed, and `evidence` weighs them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.formats.headers import (
    WORDS,
    WORKER_NOUNS,
    Header,
    ValueColumn,
    counted_per_worker,
    in_english,
    is_worker_time,
    pattern,
    unit_of,
    value_meaning,
    worker_unit,
)
from scalecurve.formats.reading import ReadOptions
from scalecurve.formats.tables.cells import CellGrid, DecimalMark
from scalecurve.formats.tables.facts import Kind, TableView, codes_of, distinct, has_spread, is_cpu_time
from scalecurve.formats.tables.shapes import (
    LongGrid,
    NumberedColumns,
    from_columns_of_curves,
    from_columns_of_k,
    from_columns_of_runs,
    grid_of_parted_labels,
    numbered_columns,
    with_product,
)
from scalecurve.study import Quantity
from scalecurve.study.run import FloatArray, IntArray

HEADER = "(header)"  # what --k-column says where K stands in the header row
EMPTY = "(empty)"
NEARLY_SAME = 1.15  # by how much repeats in columns without a name may differ
MOST_K, MOST_VALUES, MOST_COLUMNS = 8, 12, 400


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to read a table: a long grid, its column of K (None: the file's name says it) and of observations.

    `family` are the numbered columns that were laid down, `score` the sum of the evidence and `reasons` its largest
    pieces.
    """

    view: TableView
    long: LongGrid
    k: int | None
    value: int
    family: NumberedColumns | None = None
    score: float = 0.0
    reasons: tuple[str, ...] = field(default=())

    @property
    def value_head(self) -> Header:
        return self.view.heads[self.value]

    @cached_property
    def workers(self) -> FloatArray:
        """K of the rows looked at; NaN where a row has none."""
        return np.full(len(self.values), 1.0) if self.k is None else self.view.counts(self.k)

    @cached_property
    def values(self) -> FloatArray:
        return self.view.numbers(self.value).values

    @cached_property
    def usable(self) -> Any:
        """Which of the rows looked at have a K and a positive value."""
        with np.errstate(invalid="ignore"):
            return np.isfinite(self.workers) & (self.values > 0) & np.isfinite(self.values)

    @cached_property
    def meaning(self) -> ValueColumn | None:
        """What the observations are by the cells, the header or the user; None where nothing says it."""
        cells, quantity = self.view.numbers(self.value).unit, self.view.options.quantity
        meaning = cells or value_meaning(self.view.name(self.value)) or self.value_head.unit
        if quantity is not None and (meaning is None or meaning.quantity is not quantity):
            return ValueColumn(quantity)
        return meaning

    @cached_property
    def kinds(self) -> dict[int, Kind]:
        """What every other column is, given this K; looked at in the rows of the sample."""
        skipped = {self.k, self.value, *self.long.parts}
        return {i: kind for i, kind in self.view.kinds(self.k).items() if i not in skipped}

    @cached_property
    def groups(self) -> IntArray:
        """The number of the curve of each of the rows looked at."""
        places = codes_of(self.workers.tolist())
        telling = {i: self.view.labels(i) for i, kind in self.kinds.items() if kind is Kind.FACTOR}
        columns = list(telling_apart(self.view, telling, places).values())
        return codes_of(list(zip(*columns, strict=True))) if columns else np.zeros(len(self.values), dtype=np.int64)


def telling_apart(view: TableView, factors: dict[int, list[str]], places: IntArray) -> dict[int, list[str]]:
    """The factors that are needed to tell the rows of one K apart, the strongest first.

    One that has a single value at each K of every curve that the others tell apart changes with them and tells nothing.
    """

    def strength(i: int) -> tuple[bool, bool, int]:
        head = view.heads[i]
        counted = worker_unit(view.name(i)) is not None or bool({*head.words} & WORDS["perhaps_workers"])
        return counted, head.says("dated", "label", "machine") and not head.says("series"), i

    needed: dict[int, list[str]] = {}
    groups = places
    for i in sorted(factors, key=strength):
        codes = codes_of(factors[i])
        pairs = codes_of(list(zip(groups.tolist(), codes.tolist(), strict=True)))
        is_parting = int(np.max(np.bincount(groups)[groups] != np.bincount(pairs)[pairs])) > 0
        if is_parting or not needed:
            needed[i], groups = factors[i], pairs
    return {i: needed[i] for i in sorted(needed)}


def column_named(headers: Sequence[str], name: str, option: str) -> int:
    """The place of the column that a user names, by its header, its number from 1, or `(empty)`; else an InputError."""
    plain = [header.strip() for header in headers]
    wanted = name.strip()
    places = [i for i, header in enumerate(plain) if header == wanted]
    if not places:
        places = [i for i, header in enumerate(plain) if header.lower() == wanted.lower()]
    if not places and wanted.lower() == EMPTY:
        places = [i for i, header in enumerate(plain) if not header]
    if not places and wanted.isdecimal() and 1 <= int(wanted) <= len(plain):
        places = [int(wanted) - 1]
    if len(places) != 1:
        raise InputError(Fault(f"{option} names no single column", value=name, remedy=listed(headers)))
    return places[0]


def listed(headers: Sequence[str]) -> str:
    """The columns of a table in one clause."""
    return "the columns are: " + ", ".join(header.strip() or EMPTY for header in headers[:40])


def candidates(grid: CellGrid, options: ReadOptions, mark: DecimalMark) -> list[Candidate]:
    """Every reading that the cells admit, or that the user's options name."""
    found: list[Candidate] = []
    for long, family in _shapes(grid, options, mark):
        view = TableView(long.grid, options, mark)
        for k in _workers(view, long, options):
            wide, own, place, fixed = long, view, k, long.value
            if isinstance(k, tuple):
                wide = replace(with_product(view.grid, k), uses=long.uses, absent=long.absent, laid=long.laid)
                own, place, fixed = TableView(wide.grid, options, mark), 0, None if fixed is None else fixed + 1
            elif k is not None and long.how != "k-in-headers":
                wide = replace(long, parts=factors_of(view, k))
            if fixed is not None and options.value_column is None:
                found.append(Candidate(own, wide, place, fixed, family))  # type: ignore[arg-type]
                continue
            values = list(_observations(own, place, wide.parts, options))  # type: ignore[arg-type]
            found += [Candidate(own, wide, place, i, family) for i in values]  # type: ignore[arg-type]
            if options.value_column is None and not isinstance(k, tuple):
                found += _columns_as_curves(own, k, values, options, mark)
    return found


def _shapes(
    grid: CellGrid, options: ReadOptions, mark: DecimalMark
) -> Iterator[tuple[LongGrid, NumberedColumns | None]]:
    """The table as it is, and made long where headers differ in a number only."""
    view = TableView(grid, options, mark)
    families = _families(view) if options.value_column is None else []
    runs = [own for own in families if own.counts_runs or _are_nameless_runs(view, own)]
    if runs and not options.melt:
        yield from_columns_of_runs(grid, view.heads, runs[0].places), runs[0]
        return
    yield LongGrid(grid), None
    named = options.k_column is not None or options.value_column is not None
    if not named and not any(names_workers(view, i) and view.has_counts(i) for i in range(view.width)):
        yield from ((LongGrid(parted), None) for parted in map(grid_of_parted_labels, [grid]) if parted is not None)
    for own in families:
        rest = [i for i in range(view.width) if i not in own.places]
        if _may_hold_k(view, own, rest):
            yield from_columns_of_k(grid, view.heads, own), own
        has_times = [any(_names_times(view, i) and view.is_numeric(i) for i in places) for places in (rest, own.places)]
        if options.k_column != HEADER and rest and (options.melt or has_times != [True, False]):
            yield from_columns_of_curves(grid, own.places, " ".join(own.words) or "column"), own


def _families(view: TableView) -> list[NumberedColumns]:
    """The families of numbered columns that may be laid down: of numbers, and not the serial 1, serial 2 of a ratio."""
    families = [own for own in numbered_columns(view.heads) if all(map(view.is_numeric, own.places))]
    return [own for own in families if not WORDS["one_worker"].intersection(own.words)]


def _may_hold_k(view: TableView, family: NumberedColumns, rest: Sequence[int]) -> bool:
    """Whether the numbers in the headers of a family may be K, by the user's word and by the columns beside them."""
    options = view.options
    if options.k_column not in (None, HEADER) or options.k_from is not None or options.melt:
        return False
    names = [view.name(i) for i in rest if view.name(i)]
    is_plain = bool(rest) and len(set(names)) == len(names)
    return family.may_be_workers and (is_plain or options.k_column == HEADER)


def _are_nameless_runs(view: TableView, family: NumberedColumns) -> bool:
    """Whether columns 1, 2, 3 beside one of worker counts agree in every row and fall from row to row: repeats."""
    rest = [i for i in range(view.width) if i not in family.places]
    if family.words or not family.is_gapless or len(rest) != 1 or worker_unit(view.name(rest[0])) is None:
        return False
    counts = view.counts(rest[0])
    values = np.array([view.numbers(i).values for i in family.places])
    if len(set(counts.tolist())) < max(2, len(counts)) or not np.isfinite([*counts, *values.ravel()]).all():
        return False
    if values.min() <= 0:
        return False
    apart = float((values.max(axis=0) / values.min(axis=0)).max())
    first, last = (values[:, int(place)].mean() for place in (counts.argmin(), counts.argmax()))
    return apart <= NEARLY_SAME and bool(first / last > apart)


def _workers(view: TableView, long: LongGrid, options: ReadOptions) -> list[int | tuple[int, int] | None]:
    """The columns that may be K, and pairs of columns whose product may be."""
    if options.k_column == HEADER:
        return [long.k] if long.how == "k-in-headers" else []
    if options.k_column is not None:
        names = re.split(r"\s*[*×]\s*", options.k_column)
        if len(names) == 1 or options.k_column in view.grid.headers:
            return [column_named(view.grid.headers, options.k_column, "--k-column")]
        first, second, *_ = (column_named(view.grid.headers, name, "--k-column") for name in names)
        return [(first, second)]
    if options.k_from is not None:
        return [None]
    if long.k is not None:
        return [long.k]
    series = None if long.value is None or long.how != "curves" else long.value - 1
    counting = [i for i in range(min(view.width, MOST_COLUMNS)) if i not in (long.value, series) and may_count(view, i)]
    named = [i for i in counting if names_workers(view, i)]
    rest = [i for i in counting if i not in named]
    return [*[*named, *rest][:MOST_K], *_products(view, named)]


def may_count(view: TableView, i: int) -> bool:
    """Whether the cells of a column may be worker counts."""
    head = view.heads[i]
    if head.unit is not None or head.other_unit or head.is_derived or has_spread(head) or counted_per_worker(head.text):
        return False
    if "per" in head.words or ("/" in head.text and any(word in WORKER_NOUNS for word in head.words)):
        return False  # threads per socket
    return view.has_counts(i) and view.numbers(i).unit is None


def names_workers(view: TableView, i: int) -> bool:
    head = view.heads[i]
    return (
        worker_unit(head.text) is not None
        or any(word in WORKER_NOUNS or word in WORDS["perhaps_workers"] for word in head.words)
        or i in (view.sides or ())
    )


def _products(view: TableView, named: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of columns whose product counts all workers: nodes and GPUs per node, ranks and threads, P and Q."""
    each = [i for i in range(min(view.width, MOST_COLUMNS)) if counted_per_worker(view.name(i)) and view.has_counts(i)]
    sides = view.sides if all(map(view.has_counts, view.sides or ())) and not _are_counted(view, named) else None
    counts = {i: view.counts(i) for i in {*named, *each} - {*(sides or ())}}
    varying = [i for i in counts if len(distinct(counts[i][np.isfinite(counts[i])])) > 1]
    pairs = [sides] if sides else []
    for a, b in itertools.combinations(sorted(varying), 2):
        first, second = (b, a) if a in each or worker_unit(view.name(a)) == "threads" else (a, b)
        if first in each or not _is_hierarchy(view, first, second, second in each):
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            is_whole = bool(np.nanmax(counts[second] % counts[first], initial=0) == 0) and second not in each
            nested = is_whole and bool((counts[second] >= counts[first]).all())
            made = [i for i in counts if i not in (a, b) and np.array_equal(counts[i], counts[a] * counts[b])]
        if not nested and not made:
            pairs.append((first, second))
    return pairs[:4]


def _are_counted(view: TableView, named: Sequence[int]) -> bool:
    """Whether a column of cores or GPUs counts something else than a grid of processes."""
    if view.sides is None:
        return False
    grid = view.counts(view.sides[0]) * view.counts(view.sides[1])
    named = [i for i in named if worker_unit(view.name(i)) in ("cores", "gpus") and i not in view.sides]
    return any(float(np.nanmax(ratio) / np.nanmin(ratio)) > 1.01 for ratio in (view.counts(i) / grid for i in named))


def factors_of(view: TableView, k: int) -> tuple[int, ...]:
    """The two columns whose product a column is, the one with fewer values last; empty where there are none."""
    counts = view.counts(k)
    small = [
        i
        for i in range(min(view.width, MOST_COLUMNS))
        if i != k and view.heads[i].unit is None and view.has_counts(i) and len(set(view.labels(i))) > 1
    ][:12]
    for a, b in itertools.combinations(small, 2):
        product = view.counts(a) * view.counts(b)
        if np.array_equal(product, counts) and not np.array_equal(view.counts(b), counts):
            return (a, b) if len(set(view.labels(b))) <= len(set(view.labels(a))) else (b, a)
    return ()


def _is_hierarchy(view: TableView, outer: int, inner: int, per: bool) -> bool:
    """Whether each of the outer workers may have so many of the inner ones: nodes of ranks, ranks of threads."""
    order = ("nodes", "gpus", "ranks", "processes", "workers", "cores", "threads")
    units = [worker_unit(view.name(i)) or _perhaps(view, i) for i in (outer, inner)]
    if per:
        return units[0] is not None
    return all(unit in order for unit in units) and order.index(str(units[0])) < order.index(str(units[1]))


def _perhaps(view: TableView, i: int) -> str | None:
    words = view.heads[i].words
    nouns = [WORKER_NOUNS[word] for word in words if word in WORKER_NOUNS]
    weak = "threads" if {"omp", "openmp"} & {*words} else "ranks" if "mpi" in words else None
    return nouns[-1] if nouns else weak


def _observations(view: TableView, k: int | None, parts: Sequence[int], options: ReadOptions) -> Iterator[int]:
    """The columns that may hold the observations."""
    if options.value_column is not None:
        yield column_named(view.grid.headers, options.value_column, "--value-column")
        return
    units = unit_column(view, k)
    ranked = [
        i
        for i in range(min(view.width, MOST_COLUMNS))
        if i not in (k, units, *parts) and may_be_observed(view, i) and (view.is_numeric(i) or _names_times(view, i))
    ]
    named = [i for i in ranked if _names_times(view, i) or view.numbers(i).unit is not None]
    yield from [*named, *(i for i in ranked if i not in named)][:MOST_VALUES]


def _names_times(view: TableView, i: int) -> bool:
    return value_meaning(view.name(i)) is not None


def may_be_observed(view: TableView, i: int) -> bool:
    """Whether a column may hold times or rates: no spread, no ratio, no size, no count of workers."""
    head, name = view.heads[i], view.name(i)
    excluded = has_spread(head) or head.is_derived or bool(head.other_unit) or worker_unit(name) is not None
    excluded = excluded or (head.is_repeat and view.has_counts(i)) or counted_per_worker(name) is not None
    if value_meaning(name) is None and view.has_counts(i) and {*head.words} & WORDS["perhaps_workers"]:
        return {*head.words} <= WORDS["whole"] and not _are_whole(view, i)
    return not excluded and not is_worker_time(head.text)


def _are_whole(view: TableView, i: int) -> bool:
    values = view.numbers(i).values
    return bool((values[np.isfinite(values)] == np.floor(values[np.isfinite(values)])).all())


def unit_column(view: TableView, k: int | None) -> int | None:
    """The column that states the unit of every row; None where there is none."""
    for i, head in enumerate(view.heads):
        named = head.words and {*head.words} & WORDS["unit"] and {*head.words} <= WORDS["unit"] | WORDS["time"]
        if i != k and named and all(unit_of(label) is not None for label in set(view.labels(i))):
            return i
    return None


def _columns_as_curves(
    view: TableView, k: int | None, values: Sequence[int], options: ReadOptions, mark: DecimalMark
) -> Iterator[Candidate]:
    """The reading in which each of several like columns is a curve of its own: gcc (s), icc (s)."""
    named = [i for i in values if _names_times(view, i) or view.numbers(i).unit is not None]
    for places in (named, _free(view, values, named)):
        places = [i for i in places if options.melt or not _is_reference(view, k, i)]
        kept = [i for i in range(view.width) if i not in places and view.heads[i].statistic is None]
        if len(places) < 2 or k not in (None, *kept) or not (options.melt or _are_alike(view, places, k)):
            continue
        long = from_columns_of_curves(view.grid, places)
        yield Candidate(
            TableView(long.grid, options, mark), long, None if k is None else kept.index(k), long.value or 0
        )


def _free(view: TableView, values: Sequence[int], named: Sequence[int]) -> list[int]:
    """The columns without a word for times that may be curves, where none has one or the user says what they are."""
    if named and view.options.quantity is None and not view.options.melt:
        return []
    numbered = {i for family in numbered_columns(view.heads) for i in family.places}
    return [i for i in values if i not in {*named, *numbered} and not _has_another_use(view, i)]


def _is_reference(view: TableView, k: int | None, i: int) -> bool:
    """Whether each value of a column stands at half of all K or more, as the serial time behind a speedup does."""
    if k is None or view.grid.rows < 3:
        return False
    counts = set(view.labels(k))
    at: dict[str, set[str]] = {}
    for label, count in zip(view.labels(i), view.labels(k), strict=True):
        at.setdefault(label, set()).add(count)
    has_ratio = len(at) > 1 or any(head.is_derived for head in view.heads)
    return has_ratio and min(map(len, at.values())) >= max(2, len(counts) / 2)


def _has_another_use(view: TableView, i: int) -> bool:
    head = view.heads[i]
    return head.is_count or head.is_repeat or head.is_part or head.says("label", "state", "cpu", "work")


def _are_alike(view: TableView, places: Sequence[int], k: int | None) -> bool:
    """Whether columns may hold one curve each: one unit, one statistic, no parts of a run, no whole beside them."""
    heads = [view.heads[i] for i in places]
    units = [view.numbers(i).unit or value_meaning(view.name(i)) for i in places]
    on_host = k is not None and view.heads[k].says("cpu")  # cpu_threads
    of_profiler = any("cuda" in head.words for head in heads) and any(head.says("cpu") for head in heads)
    of_one_run = [
        any(head.is_part or head.says("before") for head in heads),
        any(is_cpu_time(view, i) for i in places),
        any(head.says("one_worker") for head in heads),  # the reference of a speedup
        of_profiler and not on_host,  # a profiler's time on the device and on the host
        len({WORDS["whole"].intersection(head.words) for head in heads}) > 1,
        len({is_time_per_item(head) for head in heads}) > 1,  # the time of a run and of one of its steps
        any(head.statistic is not None for head in heads),
        len({_unit_words(head) for head in heads}) > 1,
        len({unit.quantity for unit in units if unit is not None}) > 1,
    ]
    return not any(of_one_run)


def is_time_per_item(head: Header) -> bool:
    """Whether a header names the time of one of many items: time/iter (s), seconds per step."""
    is_rate = head.unit is not None and head.unit.quantity is not Quantity.SECONDS
    return not is_rate and ("per" in head.words or pattern("candidates.per_item").search(head.text) is not None)


def _unit_words(head: Header) -> str | None:
    """The unit of a header, to be compared with others; None where it states none."""
    if head.unit is None:
        return head.words[-1] if head.words and head.words[-1] in WORDS["rate"] else None
    if head.unit.quantity is Quantity.SECONDS:
        return f"{head.unit.factor:g} s"
    inside = re.search(r"[\[(]([^\])]*)[\])]\s*$", head.text)
    last = re.search(r"\S+\s+per\s+\S+$|\S+$", head.text.lower())
    return inside[1].lower() if inside else last and last[0]


def units_in(caption: str) -> list[ValueColumn]:
    """The units that a text states of times or rates: all times in ms, Throughput (images/s), unit: ms."""
    columns: dict[tuple[Quantity, float], ValueColumn] = {}
    for line in caption.splitlines():
        plain = in_english(line[:500])
        said = [
            match["unit"]
            for match in pattern("candidates.said").finditer(plain)
            if match["word"] or pattern("candidates.measure").search(plain, 0, match.start())
        ]
        if ends := pattern("candidates.heading_unit").search(line):
            said.append(ends["unit"])
        for unit in filter(None, map(unit_of, said)):
            columns.setdefault((unit.quantity, unit.factor), unit)
    return list(columns.values())
