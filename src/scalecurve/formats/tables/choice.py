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
    BEFORE_WORDS,
    CPU_WORDS,
    LABEL_WORDS,
    LATENCY_WORDS,
    MOMENT_WORDS,
    RATE_WORDS,
    STATE_WORDS,
    TIME_WORDS,
    WHOLE_WORDS,
    WORKER_NOUNS,
    Header,
    Statistic,
    ValueColumn,
    counted_per_worker,
    in_english,
    is_of_one_worker,
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
    may_be_thousands,
    no_result,
    numbers_of,
)
from scalecurve.formats.tables.dialects import TableLayout, lengthen, nameless, with_caption
from scalecurve.study import Quantity
from scalecurve.study.run import LARGEST_VALUE, MAX_K, SMALLEST_VALUE, FloatArray

CHECKED_ROWS = 200
CENTRAL = (Statistic.MEAN, None, Statistic.MEDIAN)
ALL_WORKERS = "this is the time of all workers together, not the elapsed time"
DIVIDE = "divide it by the number of workers, and give the elapsed time"
QUANTITY_HELP = "say --quantity seconds, throughput (of all workers together) or throughput_per_worker"
ROUNDING = 0.03  # what the digits of a printed table may leave open
SAME_UNIT = 1e-3  # two columns in one unit that differ by more are two measurements
MOST_DOUBT = 3  # rows from which on two columns may be found to say the same
WORKERS = frozenset(WORKER_NOUNS) - {"k", "p"}
UNIT_WORDS = frozenset(("unit", "units", "uom"))
_SAID = re.compile(
    r"(?:\bin\s+(?:units?\s+of\s+)?|[\[(]\s*(?:in\s+)?|(?P<word>(?:\b|_)units?\b)\W{1,3}(?:is\s|are\s|of\s)?)"
    r"(?P<unit>(?:[x×*]?\s*(?:10\^-?\d{1,2}|10+|1e-?\d{1,2})\s*[x×*]?\s*)?[^\s)\]{},;:]+)",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"\b(?:(?:run|wall)?-?times?|timings?|durations?|latenc(?:y|ies)|elapsed|clock|measurements?|values|numbers|results"
    r"|throughputs?|performance|speed|bandwidth|rates?)\b",
    re.IGNORECASE,
)
DEVICES = frozenset(("gpu", "gpus", "cuda", "tpu", "device", "accelerator"))


@dataclass(frozen=True)
class Chosen:
    """The columns of K and of the observations, and what the observations are.

    `k` is None where the file's name says K.  `stated` is whether a unit is written anywhere, `from_cells` whether it
    stands in the cells, so that they are seconds already, `from_caption` whether it stands around the table; `bare`
    marks a column whose name only says `mean` or `run`.
    `notes` say what was taken for granted.  `curves` are the columns that hold a curve each, where several do; `value`
    is the first of them.
    """

    k: int | None
    value: int
    meaning: ValueColumn
    stated: bool
    from_cells: bool = False
    from_caption: bool = False
    bare: bool = False
    unit_column: int | None = None
    candidates: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    curves: tuple[int, ...] = ()


class Chooser:
    """One table's columns, judged by their headers and their first rows."""

    def __init__(
        self, grid: CellGrid, options: ReadOptions, mark: DecimalMark, laid_out: int | None, caption: str = ""
    ) -> None:
        self.grid, self.options, self.mark, self.laid_out = grid, options, mark, laid_out
        self.said = units_in(caption)
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
        loads = [i for i, name in enumerate(names) if k_unit_of(name) and holds_counts(self.grid.columns[i], self.mark)]
        if not any(map(self._varies, places)) and any(self._varies(i) for i in loads if i not in places):
            places = [i for i in loads if i not in places]  # 8, 16, 32 clients on 2 threads
        places = places or loads
        for i, column in () if places else enumerate(self.grid.columns):  # 16 GPUs, 32 GPUs
            cells = column[:SAMPLE_ROWS]
            if numbers_of(cells, self.mark).bad.all() and not counts_of(cells, self.mark, named=False).bad.any():
                places.append(i)
        if not places and names == nameless(len(names)) and holds_counts(self.grid.columns[0], self.mark):
            places = [0]
        if len(places) > 1:
            places = [i for i in places if self._varies(i)] or places[:1]
            places = self._product(places) or places
        if len(places) == 1:
            return places[0]
        what = "no column of worker counts" if not places else "several columns could be the worker counts"
        remedy = (
            f"say --k-column {self._readings(places)}"
            if places
            else f"{listed(names)}; name it with --k-column (K, workers, gpus, nodes, ranks, threads ...)"
        )
        self.faults.append(Fault(what, remedy=remedy))
        return None

    def _varies(self, i: int) -> bool:
        return len(set(labels_of(self.grid.columns[i]))) > 1

    def _product(self, places: Sequence[int]) -> list[int]:
        """The count that is the product of two others: cores, of ranks and threads; empty where there is none."""
        each = [
            i
            for i, head in enumerate(self.heads)
            if i in places or ((head.says(WORKERS) or counted_per_worker(head.text)) and self._numeric(i))
        ]
        counts = {i: np.minimum(counts_of(self.grid.columns[i], self.mark).values, MAX_K) for i in each}
        for i in places:
            factors = itertools.combinations([counts[j] for j in each if j != i], 2)
            if any(np.array_equal(counts[i], a * b) for a, b in factors):
                self.notes.append(f"{self.grid.headers[i].strip()} is K, the product of two other columns")
                return [i]
        return []

    def _readings(self, places: Sequence[int]) -> str:
        """The columns that could be K with their ranges, and whether E depends on the choice."""
        counts = [counts_of(self.grid.columns[i], self.mark).values for i in places]
        names = [self.grid.headers[i].strip() for i in places]
        ranges = [f"{name} ({min(k):g} to {max(k):g})" for name, k in zip(names, counts, strict=True)]
        same = all(np.ptp(k / np.maximum(counts[0], 1)) == 0 for k in counts)
        return f"{' or '.join(ranges)}{'; E is the same either way' if same else ''}"

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
            named = (i for i, head in enumerate(self.heads) if i != k and value_meaning(head.text) is not None)
            candidates = [i for i in named if not self.heads[i].is_derived]
        places = self._central(candidates)
        if self.options.quantity is not None:
            places = [i for i in places if self._quantity(i) in (None, self.options.quantity)]
        free = [i for i in others if not self._has_another_use(i)]
        if not places and len(free) == 1:
            places = free
        if not places and len(free := [i for i in others if i not in free and not self.heads[i].is_derived]) == 1:
            places = free if self.options.quantity is not None else []
        if len(places) > 1:
            places = self._of_the_run(places) or places
            places = self._whole_of(places) or self._same_curve(k, places) or places
        if len(places) == 1 and self.heads[places[0]].is_part:
            name = self.grid.headers[places[0]].strip()
            remedy = f"give a column of elapsed times; --value-column {name!r} takes this one for it"
            self.faults.append(
                Fault("this is a part of the run or a moment of it, not its time", value=name, remedy=remedy)
            )
            return None
        if len(places) == 1:
            return self._described(k, places[0], units, tuple(candidates))
        if not places and (self.options.quantity is not None or self._said_of(None) is not None):
            places = [i for i in others if not self._has_another_use(i)]
        if len(places) > 1 and (curves := self._curves(places)):
            chosen = self._described(k, places[0], units, ())
            return chosen and replace(chosen, curves=curves)
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

    def _of_the_run(self, places: Sequence[int]) -> list[int]:
        """The columns without times in the queue, and without latencies of requests where their rate is there."""
        places = [i for i in places if not self.heads[i].says(BEFORE_WORDS)]
        rates = [i for i in places if self._quantity(i) not in (None, Quantity.SECONDS)]
        late = [i for i in places if self.heads[i].says(LATENCY_WORDS) or re.search(r"(?i)\bp\d\d", self.heads[i].text)]
        return [i for i in places if i not in late] if rates else list(places)

    def _whole_of(self, places: Sequence[int]) -> list[int]:
        """The one time that is called total and that no other of them exceeds, or that is the sum of the others."""
        named = [i for i in places if self.heads[i].says(WHOLE_WORDS)]
        rest = [i for i in places if not self.heads[i].is_part and not self._is_per_item(i)]
        if not named and len(rest) == 1 and {*self.heads[rest[0]].base} <= TIME_WORDS:
            named = rest
        read = {i: self._seconds_or_rates(i, None) for i in places}
        if any(item is None or item[0] is not Quantity.SECONDS for item in read.values()):
            return []
        times = {i: item[1] for i, item in read.items() if item is not None}
        if len(places) > 2:
            everything = sum(times.values())
            named = [i for i in places if np.allclose(2 * times[i], everything, rtol=ROUNDING)] or named
        if len(named) != 1:
            return []
        return named if all((times[i] <= times[named[0]]).all() for i in places) else []

    def _same_curve(self, k: int | None, places: Sequence[int]) -> list[int]:
        """The first of several columns that say the same of every row: a time in s and in ms, a rate and the time
        behind it, the rate of one worker and that of all; empty where they say different things."""
        read = {i: item for i in places if (item := self._seconds_or_rates(i, k)) is not None}
        if len(read) < len(places) or self.grid.rows < MOST_DOUBT or any((own[1] <= 0).any() for own in read.values()):
            return []
        order = (Quantity.SECONDS, Quantity.THROUGHPUT, Quantity.THROUGHPUT_PER_WORKER)
        ranked = sorted(places, key=lambda i: (order.index(self._quantity(i) or read[i][0]), self._is_per_item(i)))
        quantity, first = read[ranked[0]]
        for i in ranked[1:]:
            other, values = read[i]
            same = values / first if other is quantity else values * first
            is_scaled = other is not quantity or self._is_per_item(i)
            one_unit = (
                other is quantity and _unit_words(self.heads[i]) == _unit_words(self.heads[ranked[0]]) is not None
            )
            level = float(np.median(same)) if is_scaled and not one_unit else 1.0
            allowed = SAME_UNIT if one_unit else ROUNDING
            if not (abs(same / level - 1) <= allowed).all() or np.ptp(first) <= ROUNDING * first.max():
                return []
        others = ", ".join(self.grid.headers[i].strip() for i in ranked[1:])
        self.notes.append(f"{self.grid.headers[ranked[0]].strip()} is the observation ({others} say the same)")
        return ranked[:1]

    def _is_cpu_time(self, i: int) -> bool:
        """Whether a column holds CPU time; beside the same column of a GPU, `cpu` names where the program ran."""
        own = {*self.heads[i].words}
        if not own & CPU_WORDS:
            return False
        return not any({*h.words} & DEVICES and {*h.words} - DEVICES == own - CPU_WORDS for h in self.heads)

    def _is_per_item(self, i: int) -> bool:
        """Whether a time is that of one of many items: time/image, time per step."""
        return self.heads[i].says(frozenset(("per",))) or "/" in self.heads[i].text

    def _curves(self, places: Sequence[int]) -> tuple[int, ...]:
        """The columns where each holds a curve of its own, all in one unit: gcc (s), icc (s); empty for others."""
        heads = [self.heads[i] for i in places]
        numbered = [str(n) for n in range(1, len(heads) + 1)]
        if self.grid.headers == nameless(len(self.heads)):
            return ()
        if any(head.is_part for head in heads) or len({WHOLE_WORDS.intersection(head.words) for head in heads}) > 1:
            return ()  # parts of a run, or its whole beside them
        if any(head.says(CPU_WORDS) for head in heads) and any(head.says(frozenset(("cuda",))) for head in heads):
            return ()  # a profiler's time on the host and on the device, of one run
        if len({head.statistic for head in heads}) > 1 or heads[0].statistic not in CENTRAL:
            return ()
        if [head.text for head in heads] in (numbered, [str(int(n) - 1) for n in numbered]):
            remedy = "write run 1, run 2 ... above them if they are repeats, or a name above each"
            self.faults.append(
                Fault("the numbered columns may be repeats or curves", value=", ".join(numbered), remedy=remedy)
            )
            return ()
        same = {_unit_words(head) for head in heads}
        is_known = None not in same or self.options.quantity is not None or self._said_of(None) is not None
        return tuple(places) if len(same) == 1 and is_known else ()

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
        named = head.says(LABEL_WORDS) or head.says(STATE_WORDS - {"result"}) or self._is_cpu_time(i)
        named = named or head.is_part or is_worker_time(head.text)
        return spread or head.is_count or head.is_repeat or head.is_derived or bool(head.other_unit) or named

    def _may_be_value(self, i: int, units: int | None) -> bool:
        head = self.heads[i]
        if head.statistic in (Statistic.DEVIATION, Statistic.SPREAD) or head.is_derived or self._is_cpu_time(i):
            return False
        if head.says(MOMENT_WORDS) and head.is_part:
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
            # Of the ranks of one run the slowest ends it; of several runs the mean stands for all.
            over_workers = all(self.heads[i].says(WORKERS) for i in family)
            for statistic in (Statistic.MAXIMUM, *CENTRAL) if over_workers else CENTRAL:
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
        if self._is_cpu_time(place) and self.options.value_column is None:
            remedy = f"give a column of elapsed times; --value-column {name!r} takes this one for it"
            self.faults.append(Fault("CPU time is not elapsed time", value=name, remedy=remedy))
            return None
        cells = numbers_of(self.grid.columns[place][:SAMPLE_ROWS], self.mark)
        meaning, quantity = value_meaning(head.text) or head.unit, self.options.quantity
        has_unit = head.unit is not None or cells.unit is not None or units is not None or self.options.unit is not None
        captioned = None if has_unit else self._said_of(meaning)
        has_unit, meaning = has_unit or captioned is not None, captioned or meaning
        only_statistic = not head.base and head.statistic is not None
        if not has_unit and head.could_be_minutes and not [i for i in candidates if i != place] and quantity is None:
            remedy = "write `minutes` or `minimum (s)` into the header, or say --unit min or --unit s"
            self.faults.append(Fault("`min` may mean minutes or the minimum", value=name, remedy=remedy))
            return None
        if not has_unit and head.unknown_unit and (meaning is None or meaning.quantity is Quantity.SECONDS):
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
            factor = self.options.unit
            if head.unit is not None and not np.isclose(head.unit.factor, factor):
                text = f"the header states another unit than --unit ({head.unit.factor:g} s and {factor:g} s)"
                self.faults.append(Fault(text, value=name, remedy="leave --unit out"))
            meaning = replace(
                meaning or ValueColumn(Quantity.SECONDS), quantity=Quantity.SECONDS, factor=factor, unit="s"
            )
        if quantity is None and meaning and meaning.quantity is not Quantity.SECONDS and is_of_one_worker(name):
            remedy = "give the rate of all workers, or say --quantity throughput_per_worker if all are alike"
            self.faults.append(Fault("this is the rate of one worker, not of all", value=name, remedy=remedy))
            return None
        if meaning is None or quantity not in (None, meaning.quantity):
            bare = meaning is None and quantity is None and (only_statistic or place == self.laid_out)
            if meaning is None and quantity is None and not bare:
                text = "the column's name does not say whether it holds times or rates"
                self.faults.append(Fault(text, value=name, remedy=QUANTITY_HELP))
                return None
            in_seconds = (quantity or Quantity.SECONDS) is Quantity.SECONDS
            meaning = ValueColumn(quantity or Quantity.SECONDS, unit="s" if in_seconds else name)
        return Chosen(
            k, place, meaning, has_unit, cells.unit is not None, captioned is not None, bare, units, candidates
        )

    def _said_of(self, meaning: ValueColumn | None) -> ValueColumn | None:
        """What the text around the table says of a column without a unit; several units of time are asked about."""
        quantity = self.options.quantity or (meaning and meaning.quantity)
        captions = [own for own in self.said if quantity in (None, own.quantity)]
        if len(captions) > 1 and quantity is Quantity.SECONDS:
            names = ", ".join(f"{own.factor:g} s" for own in captions)
            remedy = "write the unit into the header, or say --unit"
            text = "the text around the table states several units of time"
            self.faults.append(Fault(text, value=names, remedy=remedy))
        return captions[0] if len(captions) == 1 and (quantity is Quantity.SECONDS or meaning is None) else None

    def _named(self, name: str, option: str) -> int | None:
        places = [i for i, header in enumerate(self.grid.headers) if header.strip() == name.strip()]
        if len(places) == 1:
            return places[0]
        self.faults.append(Fault(f"{option} names no single column", value=name, remedy=listed(self.grid.headers)))
        return None


def units_in(caption: str) -> list[ValueColumn]:
    """The units that a text states of times or rates: all times in ms, Throughput (images/s), unit: ms."""
    columns: dict[tuple[Quantity, float], ValueColumn] = {}
    for line in caption.splitlines():
        plain = in_english(line[:500])
        for match in _SAID.finditer(plain):
            unit = unit_of(match["unit"])
            if unit is not None and (match["word"] or _MEASURE.search(plain, 0, match.start())):
                columns.setdefault((unit.quantity, unit.factor), unit)
    return list(columns.values())


def _unit_words(head: Header) -> str | None:
    """The unit of a header, to be compared with others; None where it states none."""
    if head.unit is None:
        return head.words[-1] if head.words and head.words[-1] in RATE_WORDS else None
    if head.unit.quantity is Quantity.SECONDS:
        return f"{head.unit.factor:g} s"
    inside = re.search(r"[\[(]([^\])]*)[\])]\s*$", head.text)
    last = re.search(r"\S+\s+per\s+\S+$|\S+$", head.text.lower())
    return inside[1].lower() if inside else last and last[0]


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
        if (
            chosen.k is None
            or chosen.curves
            or lengthen(sample, options).grid is not sample
            or _has_labels(sample, chosen)
            or may_be_thousands(sample.headers, sample.columns[chosen.value])
        ):
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
    k, value, factor = data[:, chosen.k], data[:, chosen.value], chosen.meaning.factor
    good_k = k.min() >= 1 and k.max() <= MAX_K and bool((k == np.floor(k)).all())
    if not good_k or not value.min() * factor >= SMALLEST_VALUE or not value.max() * factor <= LARGEST_VALUE:
        return None
    numbers = range(layout.first + 1, layout.first + len(data) + 1)
    return with_caption(source, CellGrid(layout.headers, tuple(data.T), numbers))


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
