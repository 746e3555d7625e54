"""Which column is K and which holds the observations; everything that is unclear is asked about at once.

A table of plain numbers is handed to numpy whole, so that ten million rows stay cheap.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scalecurve.errors import Fault, InputError
from scalecurve.formats.headers import (
    CPU_WORDS,
    LABEL_WORDS,
    STATE_WORDS,
    TIME_WORDS,
    Header,
    Statistic,
    ValueColumn,
    is_worker_time,
    k_unit_of,
    parse_header,
    unit_of,
    value_meaning,
    worker_unit,
)
from scalecurve.formats.reading import ReadOptions
from scalecurve.formats.source import Source
from scalecurve.formats.tables.cells import (
    SAMPLE_ROWS,
    CellGrid,
    DecimalMark,
    counts_of,
    holds_counts,
    labels_of,
    no_result,
    numbers_of,
)
from scalecurve.formats.tables.dialects import TableLayout, lengthen
from scalecurve.study import Quantity
from scalecurve.study.run import LARGEST_VALUE, MAX_K, SMALLEST_VALUE, FloatArray

CHECKED_ROWS = 200
CENTRAL = (Statistic.MEAN, None, Statistic.MEDIAN)
ALL_WORKERS = "this is the time of all workers together, not the elapsed time"
DIVIDE = "divide it by the number of workers, and give the elapsed time"
QUANTITY_HELP = "say --quantity seconds, throughput (of all workers together) or throughput_per_worker"
ROUNDING = 0.03  # what the digits of a printed table may leave open
MOST_DOUBT = 3  # rows from which on two columns may be found to say the same
_WHOLE = frozenset(("total", "overall", "elapsed", "wall", "walltime", "wallclock", "real"))
UNIT_WORDS = frozenset(("unit", "units", "uom"))


@dataclass(frozen=True)
class Chosen:
    """The columns of K and of the observations, and what the observations are.

    `k` is None where the file's name says K.  `stated` is whether a unit is written anywhere, `from_cells` whether it
    stands in the cells, so that they are seconds already; `bare` marks a column whose name only says `mean` or `run`.
    `notes` say what was taken for granted.
    """

    k: int | None
    value: int
    meaning: ValueColumn
    stated: bool
    from_cells: bool = False
    bare: bool = False
    unit_column: int | None = None
    candidates: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


class Chooser:
    """One table's columns, judged by their headers and their first rows."""

    def __init__(self, grid: CellGrid, options: ReadOptions, mark: DecimalMark, laid_out: int | None) -> None:
        self.grid, self.options, self.mark, self.laid_out = grid, options, mark, laid_out
        self.heads: list[Header] = [parse_header(header) for header in grid.headers]
        self.faults: list[Fault] = []
        self.notes: list[str] = []

    def choose(self) -> Chosen:
        """The columns, or an InputError with every question."""
        k = None if self.options.k_from is not None and self.options.k_column is None else self._choose_k()
        chosen = self._choose_value(k)
        if self.faults or chosen is None:
            raise InputError(self.faults)
        return replace(chosen, notes=tuple(self.notes))

    def _choose_k(self) -> int | None:
        if self.options.k_column is not None:
            return self._named(self.options.k_column, "--k-column")
        names = self.grid.headers
        places = [
            i for i, name in enumerate(names) if worker_unit(name) and holds_counts(self.grid.columns[i], self.mark)
        ]
        places = places or [
            i for i, name in enumerate(names) if k_unit_of(name) and holds_counts(self.grid.columns[i], self.mark)
        ]
        places = places or [i for i in range(len(names)) if self._counts_with_nouns(i)]
        if len(places) > 1:
            places = [i for i in places if len(set(labels_of(self.grid.columns[i]))) > 1] or places[:1]
        if len(places) == 1:
            return places[0]
        what = "no column of worker counts" if not places else "several columns could be the worker counts"
        which = listed(names) if not places else "they are " + ", ".join(names[i].strip() for i in places)
        remedy = f"{which}; name it with --k-column (K, workers, gpus, nodes, ranks, threads ...)"
        self.faults.append(Fault(what, remedy=remedy))
        return None

    def _counts_with_nouns(self, i: int) -> bool:
        """Whether every cell is a count with its noun, such as 16 GPUs."""
        cells = self.grid.columns[i][:SAMPLE_ROWS]
        named = counts_of(cells, self.mark, named=False)
        return bool(numbers_of(cells, self.mark).bad.all()) and not named.bad.any()

    def _numeric(self, i: int) -> bool:
        """Whether some of the first cells are numbers and most of the others stand for no value."""
        cells = self.grid.columns[i][:SAMPLE_ROWS]
        bad = numbers_of(cells, self.mark).bad
        absent = sum(no_result(cell) for cell, wrong in zip(cells, bad, strict=True) if wrong)
        return 2 * int(bad.sum() - absent) < len(cells) - absent if absent < len(cells) else False

    def _choose_value(self, k: int | None) -> Chosen | None:
        units = self._unit_column(k)
        if self.options.value_column is not None:
            place = self._named(self.options.value_column, "--value-column")
            return None if place is None else self._described(k, place, units, ())
        if self.laid_out is not None:
            return self._described(k, self.laid_out, units, ())
        others = [
            i
            for i, name in enumerate(self.grid.headers)
            if i not in (k, units) and not worker_unit(name) and self._numeric(i)
        ]
        candidates = [i for i in others if self._may_be_value(i, units)]
        if not candidates:  # a column of times without a number in it has faults to list
            candidates = [i for i, head in enumerate(self.heads) if i != k and value_meaning(head.text) is not None]
        places = self._central(candidates)
        if self.options.quantity is not None:
            places = [i for i in places if self._quantity(i) in (None, self.options.quantity)]
        free = [i for i in others if not self._has_another_use(i)]
        if not places and len(free) == 1:
            places = free
        if not places and len(free := [i for i in others if i not in free and not self.heads[i].is_derived]) == 1:
            places = free if self.options.quantity is not None else []
        if len(places) > 1:
            places = self._whole_of(places) or self._same_curve(k, places) or places
        if len(places) == 1:
            return self._described(k, places[0], units, tuple(candidates))
        names = ", ".join(self.grid.headers[i].strip() for i in places)
        remedy = f"they are {names}; choose with --value-column"
        several = Fault("several columns could be the observations", remedy=remedy)
        self.faults.append(several if places else self._no_value())
        return None

    def _seconds_or_rates(self, i: int, k: int | None) -> tuple[Quantity, FloatArray] | None:
        """A candidate in seconds or as the rate of all workers; None where its cells are not all numbers."""
        numbers = numbers_of(self.grid.columns[i], self.mark)
        meaning = numbers.unit or value_meaning(self.heads[i].text)
        if meaning is None or numbers.bad.any() or numbers.ambiguous is not None or numbers.mixed is not None:
            return None
        values = numbers.values if numbers.unit else numbers.values * meaning.factor
        if meaning.quantity is Quantity.THROUGHPUT_PER_WORKER:
            if k is None:
                return None
            return Quantity.THROUGHPUT, values * counts_of(self.grid.columns[k], self.mark).values
        return meaning.quantity, values

    def _whole_of(self, places: Sequence[int]) -> list[int]:
        """The one time that is called total and that no other of them exceeds: compute, comm, total."""
        named = [i for i in places if self.heads[i].says(_WHOLE)]
        read = {i: self._seconds_or_rates(i, None) for i in places}
        if len(named) != 1 or any(item is None or item[0] is not Quantity.SECONDS for item in read.values()):
            return []
        times = {i: item[1] for i, item in read.items() if item is not None}
        return named if all((times[i] <= times[named[0]]).all() for i in places) else []

    def _same_curve(self, k: int | None, places: Sequence[int]) -> list[int]:
        """The first of several columns that say the same of every row: a time in s and in ms, a rate and the time
        behind it, the rate of one worker and that of all; empty where they say different things."""
        read = {i: item for i in places if (item := self._seconds_or_rates(i, k)) is not None}
        if len(read) < len(places) or self.grid.rows < MOST_DOUBT or any((own[1] <= 0).any() for own in read.values()):
            return []
        order = (Quantity.SECONDS, Quantity.THROUGHPUT, Quantity.THROUGHPUT_PER_WORKER)
        ranked = sorted(places, key=lambda i: order.index(self._quantity(i) or read[i][0]))
        quantity, first = read[ranked[0]]
        for i in ranked[1:]:
            other, values = read[i]
            same = values / first if other is quantity else values * first
            level = 1.0 if other is quantity else float(np.median(same))
            if not (abs(same / level - 1) <= ROUNDING).all() or np.ptp(first) <= ROUNDING * first.max():
                return []
        others = ", ".join(self.grid.headers[i].strip() for i in ranked[1:])
        self.notes.append(f"{self.grid.headers[ranked[0]].strip()} is the observation ({others} say the same)")
        return ranked[:1]

    def _no_value(self) -> Fault:
        """What to ask where no column can hold the observations; a percentage or a multiple (1.9x) is a ratio."""
        if sums := [head.text for head in self.heads if is_worker_time(head.text)]:
            return Fault(ALL_WORKERS, value=", ".join(sums), remedy=DIVIDE)
        ratios = []
        for head, column in zip(self.heads, self.grid.columns, strict=True):
            cells = [str(cell).strip() for cell in column[:SAMPLE_ROWS]]
            if head.is_derived or all(re.fullmatch(r"[\d.,]+\s*[%x×]", cell) for cell in cells):
                ratios.append(head.text)
        if ratios:
            remedy = "check published figures with `scalecurve audit`, or add the column of times or rates behind them"
            text = "speedups and efficiencies are made of times, and no column holds times or rates"
            return Fault(text, value=", ".join(ratios[:5]), remedy=remedy)
        how = "name it with --value-column and say --quantity seconds, throughput or throughput_per_worker"
        return Fault("no column of times or rates", remedy=f"{listed(self.grid.headers)}; {how}")

    def _unit_column(self, k: int | None) -> int | None:
        for i, head in enumerate(self.heads):
            if i != k and head.words and all(word in UNIT_WORDS or word in TIME_WORDS for word in head.words):
                if not set(head.words) & UNIT_WORDS:
                    continue
                if all(unit_of(label) is not None for label in set(labels_of(self.grid.columns[i]))):
                    return i
        return None

    def _has_another_use(self, i: int) -> bool:
        head = self.heads[i]
        spread = head.statistic in (Statistic.DEVIATION, Statistic.SPREAD)
        named = head.says(LABEL_WORDS) or head.says(STATE_WORDS - {"result"}) or head.says(CPU_WORDS)
        named = named or is_worker_time(head.text)
        return spread or head.is_count or head.is_repeat or head.is_derived or bool(head.other_unit) or named

    def _may_be_value(self, i: int, units: int | None) -> bool:
        head = self.heads[i]
        if head.statistic in (Statistic.DEVIATION, Statistic.SPREAD) or head.is_derived or head.says(CPU_WORDS):
            return False
        if value_meaning(head.text) is not None or head.statistic is not None:
            return not head.is_count
        in_cells = numbers_of(self.grid.columns[i][:SAMPLE_ROWS], self.mark)
        return in_cells.unit is not None or (units is not None and not self._has_another_use(i))

    def _quantity(self, i: int) -> Quantity | None:
        meaning = value_meaning(self.heads[i].text)
        return meaning.quantity if meaning else None

    def _central(self, candidates: Sequence[int]) -> list[int]:
        """Of each family (mean_time, min_time, max_time) the central one; extremes alone only where nothing else is."""
        families: dict[tuple[tuple[str, ...], Quantity | None], list[int]] = {}
        for i in candidates:
            families.setdefault((self.heads[i].base, self._quantity(i)), []).append(i)
        central: list[int] = []
        extremes: list[int] = []
        for family in families.values():
            for statistic in CENTRAL:
                if same := [i for i in family if self.heads[i].statistic is statistic]:
                    central += same
                    break
            else:
                extremes += family
        return central or extremes

    def _described(self, k: int | None, place: int, units: int | None, candidates: tuple[int, ...]) -> Chosen | None:
        """The observations with their quantity and unit; a Fault is noted where the unit has two readings."""
        head, name = self.heads[place], self.grid.headers[place].strip()
        if is_worker_time(head.text):
            self.faults.append(Fault(ALL_WORKERS, value=name, remedy=DIVIDE))
            return None
        if head.says(CPU_WORDS) and self.options.value_column is None:
            remedy = f"give a column of elapsed times; --value-column {name!r} takes this one for it"
            self.faults.append(Fault("CPU time is not elapsed time", value=name, remedy=remedy))
            return None
        cells = numbers_of(self.grid.columns[place][:SAMPLE_ROWS], self.mark)
        meaning, quantity = value_meaning(head.text) or head.unit, self.options.quantity
        stated = head.unit is not None or cells.unit is not None or units is not None or self.options.unit is not None
        only_statistic = not head.base and head.statistic is not None
        if not stated and head.could_be_minutes and not [i for i in candidates if i != place] and quantity is None:
            remedy = "write `minutes` or `minimum (s)` into the header, or say --unit min or --unit s"
            self.faults.append(Fault("`min` may mean minutes or the minimum", value=name, remedy=remedy))
            return None
        if not stated and head.unknown_unit and (meaning is None or meaning.quantity is Quantity.SECONDS):
            remedy = "say what one unit is with --unit (ns, us, ms, s, min, h), or write it into the header"
            self.faults.append(Fault(f"`{head.unknown_unit}` is no known unit of time", value=name, remedy=remedy))
            return None
        if head.clock is not None and cells.unit is None:
            remedy = "write clock times such as 0:01:02 into the cells, or their unit into the header"
            self.faults.append(Fault("the header says clock times, and the cells hold none", value=name, remedy=remedy))
            return None
        if units is not None and meaning is None:
            labels = set(labels_of(self.grid.columns[units]))
            meaning = unit_of(labels.pop()) if len(labels) == 1 else ValueColumn(Quantity.SECONDS, 1.0, "s")
        meaning = cells.unit or meaning
        bare = False
        if self.options.unit is not None and quantity in (None, Quantity.SECONDS):
            meaning = self._with_option(head, meaning, name)
        if meaning is None or quantity not in (None, meaning.quantity):
            bare = meaning is None and quantity is None and (only_statistic or place == self.laid_out)
            if meaning is None and quantity is None and not bare:
                text = "the column's name does not say whether it holds times or rates"
                self.faults.append(Fault(text, value=name, remedy=QUANTITY_HELP))
                return None
            in_seconds = (quantity or Quantity.SECONDS) is Quantity.SECONDS
            meaning = ValueColumn(quantity or Quantity.SECONDS, unit="s" if in_seconds else name)
        return Chosen(k, place, meaning, stated, cells.unit is not None, bare, units, candidates)

    def _with_option(self, head: Header, meaning: ValueColumn | None, name: str) -> ValueColumn:
        factor = self.options.unit or 1.0
        if head.unit is not None and not np.isclose(head.unit.factor, factor):
            text = f"the header states another unit than --unit ({head.unit.factor:g} s and {factor:g} s)"
            self.faults.append(Fault(text, value=name, remedy="leave --unit out"))
        return replace(meaning or ValueColumn(Quantity.SECONDS), quantity=Quantity.SECONDS, factor=factor, unit="s")

    def _named(self, name: str, option: str) -> int | None:
        places = [i for i, header in enumerate(self.grid.headers) if header.strip() == name.strip()]
        if len(places) == 1:
            return places[0]
        self.faults.append(Fault(f"{option} names no single column", value=name, remedy=listed(self.grid.headers)))
        return None


def all_numbers(source: Source, layout: TableLayout, options: ReadOptions) -> CellGrid | None:
    """A long table of plain numbers by numpy; None where the table has any other form, or a number is out of range."""
    width = len(layout.headers)
    if width < 2 or layout.grid is not None:
        return None
    with source.open_text() as file:
        rows = itertools.islice((line for n, line in enumerate(file, 1) if n > layout.first), CHECKED_ROWS)
        lines = [line.split("#")[0] for line in rows]
    cells = [layout.split(line.strip()) for line in lines if line.strip()]
    if not cells or any(len(row) != width for row in cells):
        return None
    try:
        sample = CellGrid(layout.headers, tuple(zip(*cells, strict=True)), range(len(cells)))
        chosen = Chooser(sample, options, DecimalMark.POINT, None).choose()
        if chosen.k is None or lengthen(sample, options).grid is not sample or _has_labels(sample, chosen):
            return None
        with source.open_text() as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            delimiter = layout.delimiter if layout.delimiter in (",", ";", "\t") else None
            data = np.loadtxt(file, delimiter=delimiter, skiprows=layout.first, ndmin=2, comments=None, quotechar='"')
    except UnicodeDecodeError:
        raise
    except (ValueError, IndexError, InputError):
        return None
    with source.open_text() as file:
        if sum(1 for _ in file) != layout.first + len(data):
            return None  # empty lines may part curves
    k, value = data[:, chosen.k], data[:, chosen.value] * chosen.meaning.factor
    good_k = bool(((k >= 1) & (k <= MAX_K) & (k == np.floor(k))).all())
    if not good_k or not bool(((value >= SMALLEST_VALUE) & (value <= LARGEST_VALUE)).all()):
        return None
    return CellGrid(layout.headers, tuple(np.ascontiguousarray(column) for column in data.T), range(1, len(data) + 1))


def _has_labels(sample: CellGrid, chosen: Chosen) -> bool:
    """Whether a column beside K and the observations may hold names that look like numbers: versions such as 1.10."""
    for i, header in enumerate(sample.headers):
        head = parse_header(header)
        measured = head.unit is not None or head.other_unit is not None or head.is_derived
        if i not in (chosen.k, chosen.value) and not measured and not head.is_repeat:
            cells = sample.columns[i]
            if chosen.unit_column == i or any(
                label != cell for label, cell in zip(labels_of(np.array(list(map(float, cells)))), cells, strict=True)
            ):
                return True
    return False


def listed(headers: Sequence[str]) -> str:
    """The columns of a table in one clause."""
    return "the columns are: " + ", ".join(header.strip() or "(empty)" for header in headers[:40])
