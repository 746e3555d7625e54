"""Which column is K and which holds the observations; everything that is unclear is asked about at once."""

from __future__ import annotations

import re
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
from scalecurve.formats.tables.cells import (
    SAMPLE_ROWS,
    DecimalMark,
    counts_of,
    holds_counts,
    labels_of,
    no_result,
    numbers_of,
)
from scalecurve.formats.tables.dialects import CellGrid
from scalecurve.study import Quantity

CENTRAL = (Statistic.MEAN, None, Statistic.MEDIAN)
ALL_WORKERS = "this is the time of all workers together, not the elapsed time"
DIVIDE = "divide it by the number of workers, and give the elapsed time"
QUANTITY_HELP = "say --quantity seconds, throughput (of all workers together) or throughput_per_worker"
UNIT_WORDS = frozenset(("unit", "units", "uom"))


@dataclass(frozen=True)
class Chosen:
    """The columns of K and of the observations, and what the observations are.

    `k` is None where the file's name says K.  `stated` is whether a unit is written anywhere, `from_cells` whether it
    stands in the cells, so that they are seconds already; `bare` marks a column whose name only says `mean` or `run`.
    """

    k: int | None
    value: int
    meaning: ValueColumn
    stated: bool
    from_cells: bool = False
    bare: bool = False
    unit_column: int | None = None
    candidates: tuple[int, ...] = ()


class Chooser:
    """One table's columns, judged by their headers and their first rows."""

    def __init__(self, grid: CellGrid, options: ReadOptions, mark: DecimalMark, laid_out: int | None) -> None:
        self.grid, self.options, self.mark, self.laid_out = grid, options, mark, laid_out
        self.heads: list[Header] = [parse_header(header) for header in grid.headers]
        self.faults: list[Fault] = []

    def choose(self) -> Chosen:
        """The columns, or an InputError with every question."""
        k = None if self.options.k_from is not None and self.options.k_column is None else self._choose_k()
        chosen = self._choose_value(k)
        if self.faults or chosen is None:
            raise InputError(self.faults)
        return chosen

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
        if len(places) == 1:
            return self._described(k, places[0], units, tuple(candidates))
        names = ", ".join(self.grid.headers[i].strip() for i in places)
        remedy = f"they are {names}; choose with --value-column"
        several = Fault("several columns could be the observations", remedy=remedy)
        self.faults.append(several if places else self._no_value())
        return None

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


def listed(headers: Sequence[str]) -> str:
    """The columns of a table in one clause."""
    return "the columns are: " + ", ".join(header.strip() or "(empty)" for header in headers[:40])
