"""From one reading of a table to its curves: every row and column accounted for, every doubt asked about.

A doubt has a code; `--accept CODE` passes over it, and then it is a warning in the study.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.formats.headers import (
    Header,
    Statistic,
    ValueColumn,
    counted_per_worker,
    is_of_one_worker,
    is_split,
    is_worker_time,
    k_unit_of,
    pattern,
    unit_of,
    value_meaning,
    worker_unit,
)
from scalecurve.formats.reading import ColumnUse, Reading, ReadOptions, Role, TableCurve, Unclear, capped
from scalecurve.formats.regime import regime_named
from scalecurve.formats.source import Source
from scalecurve.formats.tables.candidates import Candidate, column_named, listed, telling_apart, unit_column, units_in
from scalecurve.formats.tables.cells import (
    ABSENT,
    SAMPLE_ROWS,
    CellGrid,
    DecimalMark,
    counted_noun,
    counts_of,
    is_serial,
    is_summary,
    labels_of,
    may_be_thousands,
    no_result,
    numbers_of,
    only_parted,
    parse_cell,
)
from scalecurve.formats.tables.evidence import known_quantity, lacks_whole, slope_of
from scalecurve.formats.tables.facts import Kind, TableView, codes_of, has_spread, is_cpu_time, kind_of
from scalecurve.formats.tables.filters import judged, may_filter, without_summaries
from scalecurve.formats.tables.shapes import MODEL
from scalecurve.formats.tables.structure import ENOUGH_FAULTS
from scalecurve.study import Provenance, Quantity, Regime, Samples, Workload
from scalecurve.study.run import LARGEST_VALUE, MAX_K, SMALLEST_VALUE, FloatArray, IntArray, Summary

MOST_CURVES, MOST_OF_A_SWEEP, MOST_SETTINGS = 200, 20, 4
FAR_APART = 3.0  # rows of one K that differ by this factor are hardly repeats of one another
NO_WORKERS = frozenset(("-", "–", "—", "--", "n/a", "na", "none"))  # beside a serial program
RISES = 1.2
FALLS = -0.3  # slope of log T over log K below which observations without a name are times: rates rise with K
GROWS = 0.3  # slope of log T over log K at which a count beside K is more likely the size of the job
MOST_COMPARED = 100_000
LONGEST_RUN = 9e8  # seconds; 28 years: a date in seconds since 1970
LEAP = 100.0  # between neighbouring K; more is another unit
ALL_WORKERS = "this is the time of all workers together, not the elapsed time"
QUANTITIES = (Quantity.SECONDS, Quantity.THROUGHPUT)

_PLAIN_ROLES = {
    Kind.CONSTANT: (Role.CONSTANT, "the same in every row"),
    Kind.REPEAT: (Role.REPEAT, "numbers the repeats"),
    Kind.FOLLOWS_K: (Role.IGNORED, "one value at each K"),
    Kind.LABEL: (Role.IGNORED, "a label that tells no curves apart"),
    Kind.MEASURED: (Role.IGNORED, "another measurement of the same runs"),
}

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Meaning:
    """What the observations are: `stated` is whether a unit is written anywhere, `origin` where; `bare` marks a column
    whose name only says `mean` or nothing; `from_cells`, that the numbers are seconds already."""

    column: ValueColumn
    stated: bool
    origin: str = "the header"
    bare: bool = False
    from_cells: bool = False
    unit_column: int | None = None


@dataclass
class TableWork:
    """What is settled of a table so far; `keep` marks the rows that are measurements."""

    chosen: Candidate
    keep: Mask
    uses: dict[int, ColumnUse] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    ways: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def view(self) -> TableView:
        return self.chosen.view

    @property
    def grid(self) -> CellGrid:
        return self.chosen.view.grid

    @property
    def options(self) -> ReadOptions:
        return self.chosen.view.options

    def head(self, i: int) -> Header:
        return self.view.heads[i]

    def use(self, i: int, role: Role, why: str) -> None:
        self.uses[i] = ColumnUse(self.name(i), role, why)

    def name(self, i: int) -> str:
        return self.view.name(i)

    def doubt(self, code: str, fault: Fault, *ways: Mapping[str, Any], offered: bool = True) -> None:
        """Ask about something, unless the user accepts it by its code; `ways` are options that may settle it.

        Where the table holds nothing that could settle it, accepting it is no way that is `offered`.
        """
        if code in self.options.accept:
            self.findings.append(warning("accepted-doubt", f"accepted by --accept {code}: {fault.message}", doubt=code))
            return
        self.faults.append(fault)
        self.ways += [*ways, *([{"accept": (*self.options.accept, code)}] if offered else [])]

    def stop_if_asked(self) -> None:
        if self.faults:
            raise Unclear(self.faults, ways=self.ways)


def read_candidate(chosen: Candidate, name: str, k: int | None = None) -> Reading:
    """The curves of a reading, with the role of every column; `k` is the worker count that the file's name states."""
    work = TableWork(chosen, np.ones(chosen.view.grid.rows, dtype=bool))
    _keep_where(work)
    meaning = meaning_of(chosen)
    _say_layout(work)
    _filter_rows(work)
    _filter_regime(work)
    workers, values, spread = _columns(work, meaning, k)
    series = _settle_others(work, workers)
    curves = _curves(work, meaning, workers, values, spread, series)
    _refuse_pooling(work, meaning, curves)
    work.stop_if_asked()
    curves = _chosen_curves(work, curves, meaning)
    _name_warm_up(work, curves)
    _say_units(work, curves, meaning)
    work.stop_if_asked()
    uses = [work.uses[i] for i in sorted(work.uses) if not chosen.long.uses or i != chosen.value]
    return _reading(work, curves, (*chosen.long.uses, *uses), name, meaning)


def meaning_of(chosen: Candidate) -> Meaning:
    """What the observations of a reading are, or an Unclear."""
    work = TableWork(chosen, np.ones(chosen.view.grid.rows, dtype=bool))
    meaning = _meaning(work)
    work.stop_if_asked()
    if meaning is None:
        raise Unclear(Fault("it is not clear what the observations are"))
    return meaning


def _say_layout(work: TableWork) -> None:
    long = work.chosen.long
    names = ", ".join(use.name for use in long.uses if use.role is Role.VALUE)
    if long.how == "curves":
        text = f"each of these columns is a curve: {names}"
        work.findings.append(info("columns-are-curves", text, remedy="--value-column picks one"))
    if long.how == "runs" and work.chosen.family is not None and not work.chosen.family.words:
        text = f"the columns {names} agree in every row and were read as repeats"
        work.findings.append(info("columns-are-repeats", text, remedy="--melt reads each of them as a curve"))
    if long.how == "product":
        text = f"K is {work.name(0)}, as no column counts all workers"
        work.findings.append(info("k-is-product", text, remedy="name another column with --k-column"))
    if long.absent:
        work.findings.append(info("absent-cells", f"{long.absent} cells of the table are empty and were left out"))


def _meaning(work: TableWork) -> Meaning | None:
    """What the observations are; a doubt is noted where nothing says it, or where they are no elapsed times."""
    view, options, place = work.view, work.options, work.chosen.value
    head, name = work.head(place), work.name(place)
    if is_worker_time(head.text):
        remedy = "divide it by the number of workers, and give the elapsed time"
        work.faults.append(Fault(ALL_WORKERS, value=name, remedy=remedy))
        return None
    if options.value_column is None:
        _doubt_parts(work, head, name)
    units = unit_column(view, work.chosen.k)
    meaning, origin = _stated_meaning(work, head, units)
    stated = bool(origin) or options.unit is not None
    _doubt_unit(work, head, meaning, stated)
    meaning = _of_asked_unit(work, head, meaning)
    is_rate = meaning is not None and meaning.quantity is not Quantity.SECONDS
    if options.quantity is None and is_rate and is_of_one_worker(name):
        remedy = "give the rate of all workers, or say --quantity throughput_per_worker if all are alike"
        way = {"quantity": Quantity.THROUGHPUT_PER_WORKER}
        work.doubt("rate-of-one", Fault("this is the rate of one worker, not of all", value=name, remedy=remedy), way)
    known = options.quantity or (known_quantity(work.chosen) if meaning is None else None)
    if meaning is None and known is None and not _may_be_bare(work, head):
        remedy = "say --quantity seconds, throughput (of all workers together) or throughput_per_worker"
        text = "the column's name does not say whether it holds times or rates"
        work.faults.append(Fault(text, value=name, remedy=remedy))
        work.ways += [{"quantity": quantity} for quantity in QUANTITIES]
        return None
    bare = meaning is None and known is None
    if meaning is None or options.quantity not in (None, meaning.quantity):
        meaning = _plain_meaning(known or Quantity.SECONDS, name)
    return Meaning(meaning, stated, origin or "the header", bare, view.numbers(place).unit is not None, units)


def _of_asked_unit(work: TableWork, head: Header, meaning: ValueColumn | None) -> ValueColumn | None:
    """The meaning in the unit that the user states, which must not contradict the header."""
    unit, name = work.options.unit, work.name(work.chosen.value)
    if unit is None or work.options.quantity not in (None, Quantity.SECONDS):
        return meaning
    if head.unit is not None and not np.isclose(head.unit.factor, unit):
        text = f"the header states another unit than --unit ({head.unit.factor:g} s and {unit:g} s)"
        work.faults.append(Fault(text, value=name, remedy="leave --unit out"))
    return ValueColumn(Quantity.SECONDS, unit, "s")


def _plain_meaning(quantity: Quantity, name: str) -> ValueColumn:
    return ValueColumn(quantity, unit="s" if quantity is Quantity.SECONDS else name)


def _doubt_parts(work: TableWork, head: Header, name: str) -> None:
    """Ask about CPU time, a part of a run, and parts whose whole is not in the table."""
    for code, is_so, text in (
        ("cpu-time", is_cpu_time(work.view, work.chosen.value), "CPU time is not elapsed time"),
        ("part-of-run", head.is_part, "this is a part of the run or a moment of it, not its time"),
    ):
        if is_so:
            remedy = f"give a column of elapsed times; {listed(work.grid.headers)}"
            work.doubt(code, Fault(text, value=name, remedy=remedy), {"value_column": name})
    if parts := lacks_whole(work.chosen):
        names = [name, *map(work.name, parts)]
        text = f"these are parts of a run, and its whole is not in the table: {', '.join(names)}"
        fault = Fault(text, remedy="give the whole time, or say which part with --value-column")
        work.doubt("no-whole", fault, *({"value_column": own} for own in names))


def _stated_meaning(work: TableWork, head: Header, units: int | None) -> tuple[ValueColumn | None, str]:
    """What cells, a column of units, the header or the text around the table say, and which of them states a unit."""
    cells, meaning = work.view.numbers(work.chosen.value), value_meaning(head.text) or head.unit
    if cells.unit is not None:
        return cells.unit, "the cells"
    if units is not None:
        labels = set(work.view.labels(units))
        of_column = unit_of(labels.pop()) if len(labels) == 1 else ValueColumn(Quantity.SECONDS, 1.0, "s")
        return meaning or of_column, "the unit column"
    if head.unit is not None:
        return meaning, "the header"
    said = None if work.options.unit is not None else _said_of(work, meaning)
    return (meaning, "") if said is None else (said, "the text around the table")


def _may_be_bare(work: TableWork, head: Header) -> bool:
    """Whether observations without a word are most likely times: laid out by K, a mean alone, columns of sizes."""
    long = work.chosen.long
    laid_out = long.value is not None and long.how != "curves"
    slope, workers = slope_of(work.chosen) or 0.0, work.chosen.workers[work.chosen.usable]
    is_plain = len(set(workers.tolist())) > 2 and not head.says("not_seconds")
    sizes = long.how == "curves" and work.chosen.family is not None and slope < 0  # N=10, N=100
    return laid_out or (head.statistic is not None and not head.base) or sizes or (slope < FALLS and is_plain)


def _doubt_unit(work: TableWork, head: Header, meaning: ValueColumn | None, stated: bool) -> None:
    name, cells = work.name(work.chosen.value), work.view.numbers(work.chosen.value)
    quantity = work.options.quantity
    if not stated and head.could_be_minutes and quantity is None and not _has_mean_beside(work):
        remedy = "write `minutes` or `minimum (s)` into the header, or say --unit min or --unit s"
        fault = Fault("`min` may mean minutes or the minimum", value=name, remedy=remedy)
        work.faults.append(fault)
        work.ways += [{"unit": 1.0}, {"unit": 60.0}]
    if not stated and head.unknown_unit and (meaning is None or meaning.quantity is Quantity.SECONDS):
        remedy = "say what one unit is with --unit (ns, us, ms, s, min, h), or write it into the header"
        work.faults.append(Fault(f"`{head.unknown_unit}` is no known unit of time", value=name, remedy=remedy))
        work.ways.append({"unit": 1.0})
    if head.clock is not None and cells.unit is None:
        remedy = "write clock times such as 0:01:02 into the cells, or their unit into the header"
        work.faults.append(Fault("the header says clock times, and the cells hold none", value=name, remedy=remedy))


def _has_mean_beside(work: TableWork) -> bool:
    others = (i for i in range(work.view.width) if i != work.chosen.value)
    return any(work.head(i).statistic is not None and not has_spread(work.head(i)) for i in others)


def _said_of(work: TableWork, meaning: ValueColumn | None) -> ValueColumn | None:
    """What the text around the table says of a column without a unit; several units of time are asked about."""
    quantity = work.options.quantity or (meaning and meaning.quantity)
    captions = [own for own in units_in(work.grid.caption) if quantity in (None, own.quantity)]
    if len(captions) > 1 and quantity is Quantity.SECONDS:
        names = ", ".join(f"{own.factor:g} s" for own in captions)
        remedy = "write the unit into the header, or say --unit"
        text = "the text around the table states several units of time"
        work.faults.append(Fault(text, value=names, remedy=remedy))
        work.ways += [{"unit": own.factor} for own in captions]
    return captions[0] if len(captions) == 1 and (quantity is Quantity.SECONDS or meaning is None) else None


def _keep_where(work: TableWork) -> None:
    """Keep the rows in which columns have the values that the user asks for."""
    for condition in work.options.where:
        name, _, wanted = condition.partition("=")
        i = column_named(work.grid.headers, name, "--where")
        labels = labels_of(work.grid.columns[i])
        good = np.array([label.lower() == wanted.strip().lower() for label in labels], dtype=bool)
        if not (good & work.keep).any():
            values = ", ".join(list(dict.fromkeys(labels))[:20])
            raise InputError(Fault("--where keeps no row", value=condition, remedy=f"{name} is one of: {values}"))
        work.keep &= good


def _filter_rows(work: TableWork) -> None:
    """Leave out the rows that a column marks as failed or as warm-up; a mark that is not understood is asked about."""
    grid = work.grid
    for i, head in enumerate(work.view.heads):
        if i in (work.chosen.k, work.chosen.value) or i in work.chosen.long.parts:
            continue
        if not head.is_repeat and not may_filter(head, grid.columns[i]):
            continue
        labels = labels_of(grid.columns[i])
        verdicts = without_summaries(labels) if head.is_repeat else judged(head, labels)
        if verdicts is None:
            continue
        values = grid.columns[work.chosen.value]
        pairs = zip(labels, values, strict=True)
        unclear = [label for label, value in pairs if verdicts[label] is None and not no_result(value)]
        if unclear:
            text = f"the column {work.name(i)} does not say which rows count"
            fault = Fault(text, value=unclear[0], remedy="remove those rows, or write ok or failed")
            work.doubt("unclear-status", fault, {"ignore": (*work.options.ignore, work.name(i))})
            continue
        good = np.array([verdicts[label] is not False for label in labels], dtype=bool)
        dropped = int((~good & work.keep).sum())
        words = ", ".join(sorted(label or "(empty)" for label, verdict in verdicts.items() if verdict is False)[:5])
        work.use(i, Role.FILTER, f"{dropped} rows left out ({words})" if dropped else "no row left out")
        if dropped:
            name = work.name(i) or f"column {i + 1}"
            text = f"{dropped} of {grid.rows} rows were left out: {name} is {words}"
            work.findings.append(warning("rows-left-out", text, column=work.name(i), count=dropped))
        work.keep &= good
    work.stop_if_asked()
    if not work.keep.any():
        raise FormatError(Fault("no run succeeded", remedy="a study needs at least one observation"))


def _filter_regime(work: TableWork) -> None:
    """Keep the rows of the stated regime where a column calls some strong and others weak."""
    regime = work.options.regime
    for i in range(work.view.width):
        if i in (work.chosen.k, work.chosen.value) or isinstance(work.grid.columns[i], np.ndarray):
            continue
        said = [regime_named(label) for label in labels_of(work.grid.columns[i])]
        named = {label for label, kept in zip(said, work.keep, strict=True) if kept}
        if not named or None in named or work.options.series is not None:
            continue
        if named == {regime} or (len(named) == 1 and regime is None):
            continue
        text = f"the column {work.name(i)} states the regime of each row"
        if regime is None or regime not in named:
            remedy, words = "say --regime as the column does", sorted(filter(None, named))
            work.faults.append(Fault(text, value=", ".join(words), remedy=remedy))
            work.ways += [{"regime": word} for word in words]
            continue
        good = np.array([label is regime for label in said], dtype=bool)
        text = (
            f"{int((~good & work.keep).sum())} of {work.grid.rows} rows were left out: {work.name(i)} is not {regime}"
        )
        work.findings.append(warning("rows-left-out", text, column=work.name(i)))
        work.keep &= good
        if len(set(_kept_labels(work, i))) < 2:
            work.use(i, Role.FILTER, f"the rows of {regime} scaling are read")
    work.stop_if_asked()


def _columns(work: TableWork, meaning: Meaning, k: int | None) -> tuple[IntArray, FloatArray, FloatArray | None]:
    """K, the observations in their unit (times in seconds), and the spread behind ±; every fault with its line."""
    chosen, grid, value = work.chosen, work.grid, work.chosen.value
    numbers = numbers_of(grid.columns[value], work.view.mark, work.head(value).clock)
    _doubt_cells(work, meaning, numbers.ambiguous, numbers.mixed)
    work.stop_if_asked()
    counts = np.full(grid.rows, float(k or 0)) if chosen.k is None else _worker_counts(work, chosen.k)
    factor: float | FloatArray = 1.0 if meaning.from_cells else meaning.column.factor
    if meaning.unit_column is not None:
        factor = _row_factors(work, meaning.unit_column)
    values = numbers.values * factor if isinstance(factor, np.ndarray) or factor != 1 else numbers.values
    with np.errstate(invalid="ignore"):
        bad_k = ~((counts >= 1) & (counts <= MAX_K) & (counts == np.floor(counts))) & work.keep
        bad_value = ~((values >= SMALLEST_VALUE) & (values <= LARGEST_VALUE)) & work.keep
    _leave_out_remarked(work, bad_k)
    bad_k, bad_value = _without_unmeasured(work, counts, bad_k & work.keep, bad_value & work.keep)
    _refuse_bad_cells(work, bad_k, bad_value, bool(numbers.bad.all()))
    if chosen.k is None and not k:
        remedy = "its group matches the number in the name"
        raise InputError(Fault("the pattern finds no worker count in the file's name", where="--k-from", remedy=remedy))
    if chosen.k is not None:
        work.use(chosen.k, Role.WORKERS, f"worker counts ({_k_unit(work)})")
    spread = None if numbers.spread is None else (numbers.spread * factor)[work.keep]
    if not work.keep.all():
        counts, values = counts[work.keep], values[work.keep]
    workers: IntArray = counts.astype(np.int64)
    workers.setflags(write=False)
    return workers, values, spread


def _refuse_bad_cells(work: TableWork, bad_k: Mask, bad_value: Mask, all_bad: bool) -> None:
    grid, chosen, faults = work.grid, work.chosen, []
    for row in np.flatnonzero(bad_k | bad_value)[: ENOUGH_FAULTS + 1].tolist():
        where = grid.where(row)
        if bad_k[row] and chosen.k is not None:
            cell = str(grid.columns[chosen.k][row]).strip()
            remedy = None if parse_cell(cell) else "write the count, or remove the row"
            text = f"{work.name(chosen.k)} is not a whole number of workers from 1"
            faults.append(Fault(text, where, cell, remedy))
        if bad_value[row]:
            cell = str(grid.columns[chosen.value][row]).strip()
            text = f"{work.name(chosen.value)} is not a positive finite number"
            faults.append(Fault(text, where, cell, "correct it, or remove the row"))
    if faults and all_bad:
        remedy = "write plain numbers, with their unit in the header and a spread as `mean ± std`"
        text = f"the column {work.name(chosen.value)} is not all numbers"
        raise InputError(Fault(text, value=str(grid.columns[chosen.value][0]), remedy=remedy))
    zeros = [
        row for row in np.flatnonzero(bad_value).tolist() if str(grid.columns[chosen.value][row]).strip(" 0.") == ""
    ]
    if zeros and len(zeros) == len(faults):
        name = work.name(chosen.value)
        text = f"{len(zeros)} of {grid.rows} cells of {name} are 0: they are shorter than the clock can tell"
        remedy = "measure more work in one run, or keep the rows of larger jobs with --where column=value"
        work.faults.append(Fault(text, grid.where(zeros[0]), remedy=remedy))
        work.ways += [{"where": (*work.options.where, own)} for own in _settings_without(work, zeros)]
        work.stop_if_asked()
    if faults:
        raise FormatError(capped(faults, counted_all=len(faults) <= ENOUGH_FAULTS))


def _settings_without(work: TableWork, rows: Sequence[int]) -> list[str]:
    """The column=value that few rows have and none of these."""
    found = []
    for i in range(work.view.width):
        labels = labels_of(work.grid.columns[i])
        free = set(labels) - {labels[row] for row in rows}
        if i not in (work.chosen.k, work.chosen.value) and len(set(labels)) <= MOST_OF_A_SWEEP:
            found += [f"{work.name(i)}={label}" for label in sorted(free)]
    return found


def _worker_counts(work: TableWork, k: int) -> FloatArray:
    """K of every row; a count with two readings is asked about."""
    numbers = counts_of(work.grid.columns[k], work.view.mark)
    if numbers.ambiguous is not None:
        cell, where = str(work.grid.columns[k][numbers.ambiguous]), work.grid.where(numbers.ambiguous)
        text = f"the count of {work.name(k)} may be in thousands or in units of 1,024"
        raise FormatError(Fault(text, where, cell, "write the number in full"))
    forms: dict[float, set[str]] = {}
    for cell, count in zip(work.grid.columns[k][:SAMPLE_ROWS], numbers.values, strict=False):
        forms.setdefault(float(count), set()).add("".join(str(cell).split()).strip("*`"))
    is_split = pattern("observations.split").search
    if torn := next((own for own in forms.values() if len(own) > 1 and any(map(is_split, own))), None):
        text = f"the same number of workers is split in several ways in the column {work.name(k)}"
        remedy = "keep the rows of one split, or name the split in a column of its own"
        work.doubt("several-splits", Fault(text, value=", ".join(sorted(torn)), remedy=remedy), offered=False)
        work.stop_if_asked()
    serial = [str(cell) for cell in work.grid.columns[k][:SAMPLE_ROWS] if is_serial(cell)]
    if serial and not numbers.bad.any():
        text = f"{serial[0]} was taken for K = 1: it may be another program than that of the other K"
        remedy = "measure the parallel program at K = 1"
        work.findings.append(info("serial-row", text, remedy=remedy, column=work.name(k)))
    return numbers.values


def _leave_out_remarked(work: TableWork, bad_k: Mask) -> None:
    """Ask about counts with a remark behind a comma (8, with admission control); accepted, their rows are left out."""
    cells = () if work.chosen.k is None else work.grid.columns[work.chosen.k]
    bad = np.flatnonzero(bad_k).tolist()
    remarked = [row for row in bad if pattern("observations.remarked").fullmatch(str(cells[row]).strip())]
    if not remarked or len(remarked) < len(bad) or 2 * len(remarked) > work.grid.rows:
        return
    first = remarked[0]
    text = f"{work.name(work.chosen.k or 0)} holds a count with a remark: accepted, such rows are left out"
    work.doubt("count-with-remark", Fault(text, work.grid.where(first), str(cells[first]).strip()))
    work.stop_if_asked()
    work.keep[remarked] = False


def _without_unmeasured(work: TableWork, counts: FloatArray, bad_k: Mask, bad_value: Mask) -> tuple[Mask, Mask]:
    """Leave out rows without a measurement (OOM, n/a, >3600), rows of totals and means, and notes below the table."""
    values = work.grid.columns[work.chosen.value]
    workers = None if work.chosen.k is None else work.grid.columns[work.chosen.k]
    bad = np.flatnonzero(bad_k | bad_value)
    if not len(bad) or len(bad) > ENOUGH_FAULTS:
        return bad_k, bad_value
    last = int(np.flatnonzero(work.keep & ~bad_k)[-1]) if (work.keep & ~bad_k).any() else work.grid.rows
    reasons: dict[str, list[str]] = {}
    for row in bad.tolist():
        label = "" if workers is None else str(workers[row]).strip(" *_`")
        is_aside = is_summary(label) or label.lower() in NO_WORKERS or (row > last and no_result(values[row]))
        if bad_k[row] and not is_aside:
            continue
        if not bad_k[row] and not no_result(values[row]):
            continue
        cell = str(values[row]).strip() or "empty"
        name = work.name(work.chosen.value)
        why = label or "empty" if bad_k[row] else f"{name} is {cell} at K = {counts[row]:g}"
        reasons.setdefault(why, []).append(work.grid.where(row))
        work.keep[row] = False
    left = sum(map(len, reasons.values()))
    if left and work.keep.any():
        text = f"{left} of {work.grid.rows} rows were left out: {'; '.join(list(reasons)[:5])}"
        work.findings.append(warning("rows-left-out", text, column=work.name(work.chosen.value), unmeasured=left))
    elif left:
        work.keep[bad] = True
    return bad_k & work.keep, bad_value & work.keep


def _doubt_cells(work: TableWork, meaning: Meaning, ambiguous: int | None, mixed: int | None) -> None:
    """Cells with two readings are asked about, never chosen."""
    place, name, grid = work.chosen.value, work.name(work.chosen.value), work.grid
    if ambiguous is not None:
        cell, where = str(grid.columns[place][ambiguous]), grid.where(ambiguous)
        remedy = f"{name}: write 0:{cell.strip()} for minutes:seconds, or {cell.strip()}:00 for hours:minutes"
        fault = Fault("this clock time may be minutes:seconds or hours:minutes", where, cell, remedy)
        work.doubt("clock-of-two-parts", fault)
    longest = _in_seconds(work, meaning)
    if len(longest) and float(longest.min()) > LONGEST_RUN and float(longest.max()) > 1.1 * float(longest.min()):
        remedy = "say what one unit is with --unit (ns, us, ms), or write it into the header"
        fault = Fault("times of more than 28 years in seconds have another unit", value=name, remedy=remedy)
        work.faults.append(fault)
        work.ways += [{"unit": unit} for unit in (1e-9, 1e-6, 1e-3)]
    elif _is_time_of_day(work, meaning):
        text = "these look like times of day or dates, not elapsed times"
        fault = Fault(text, value=name, remedy="give a column with the time that each run took")
        work.doubt("time-of-day", fault)
    if mixed is not None:
        cell, where = str(grid.columns[place][mixed]), grid.where(mixed)
        text = f"{name} states a unit in some cells and not, or another, in this one"
        work.faults.append(Fault(text, where, cell, "write the unit into every cell, or into the header alone"))
    if may_be_thousands(grid.headers, grid.columns[place]):
        remedy = f"{name}: write thousands without a point, or decimals with another number of digits"
        cell = str(grid.columns[place][0])
        work.doubt("decimal-point", Fault("the point may part decimals or thousands", grid.where(0), cell, remedy))
    if work.view.mark is not DecimalMark.COMMA and only_parted(grid.columns[place][:SAMPLE_ROWS]):
        text = f"the commas of the column {name} were read as parting thousands"
        work.findings.append(info("thousands-assumed", text, remedy="write decimals with a point, if they are"))
    columns = [i for i in (work.chosen.k, place) if i is not None]
    commas = [(i, row) for i in columns for row, cell in enumerate(grid.columns[i][:SAMPLE_ROWS]) if "," in str(cell)]
    if commas and work.view.mark in (DecimalMark.UNKNOWN, DecimalMark.BOTH):
        i, row = commas[0]
        remedy = f"{work.name(i)}: write decimals with a point and no thousands separators"
        text = "the comma may part decimals or thousands"
        if work.view.mark is DecimalMark.BOTH:
            text = "commas part decimals in some cells and thousands in others"
        work.faults.append(Fault(text, grid.where(row), str(grid.columns[i][row]), remedy))


def _is_time_of_day(work: TableWork, meaning: Meaning) -> bool:
    """Whether the observations are seconds since 1970, or h:mm:ss that rise from row to row and stay within a tenth."""
    cells = work.grid.columns[work.chosen.value]
    plain = _in_seconds(work, meaning)
    if len(plain) and float(plain.min()) > LONGEST_RUN:
        return True
    if not meaning.from_cells or len(cells) < 3 or work.head(work.chosen.value).clock is not None:
        return False
    if not all(re.fullmatch(r"\s*(?:[01]?\d|2[0-3]):\d\d:\d\d(?:\.\d+)?\s*", str(cell)) for cell in cells):
        return False
    times = numbers_of(cells).values
    return bool((np.diff(times) > 0).all() and times[-1] < 1.1 * times[0])


def _in_seconds(work: TableWork, meaning: Meaning) -> FloatArray:
    """The first times, in seconds, where they are numbers without a unit in the cells; else none."""
    first = numbers_of(work.grid.columns[work.chosen.value][:SAMPLE_ROWS], work.view.mark).values
    is_plain = not meaning.from_cells and meaning.unit_column is None and bool(np.isfinite(first).all())
    return first * meaning.column.factor if is_plain and meaning.column.quantity is Quantity.SECONDS else first[:0]


def _row_factors(work: TableWork, place: int) -> FloatArray:
    """What one unit is in seconds, for every row, by the column of units."""
    labels = labels_of(work.grid.columns[place])
    meanings = {label: unit_of(label) for label in set(labels)}
    kinds = {meaning.quantity for meaning in meanings.values() if meaning}
    header = work.head(work.chosen.value).unit
    factors = {label: meaning.factor for label, meaning in meanings.items() if meaning}
    differ = header is not None and any(not np.isclose(factor, header.factor) for factor in factors.values())
    if len(kinds) > 1 or differ:
        text = f"the columns {work.name(work.chosen.value)} and {work.name(place)} state different units"
        raise FormatError(Fault(text, value=", ".join(sorted(factors)), remedy="keep one of the two"))
    work.use(place, Role.UNIT, f"the unit of {work.name(work.chosen.value)}: {', '.join(sorted(factors))}")
    return np.array([factors[label] for label in labels])


def _settle_others(work: TableWork, workers: IntArray) -> dict[str, list[str]]:
    """A role for every other column; the labels of those that tell curves apart, by name, of the rows kept."""
    settled = {work.chosen.k, work.chosen.value, *work.uses, *work.chosen.long.parts}
    ignored = {column_named(work.grid.headers, name, "--ignore") for name in work.options.ignore}
    left = [i for i in range(work.view.width) if i not in settled]
    places = np.unique(workers, return_inverse=True)[1] if left else workers
    is_time = work.chosen.meaning is not None and work.chosen.meaning.quantity is Quantity.SECONDS
    rises = is_time and (slope_of(work.chosen) or 0.0) > GROWS
    open_ones: dict[Kind, dict[int, list[str]]] = {Kind.FACTOR: {}, Kind.UNCLEAR: {}}
    for i in left:
        if i in ignored:
            work.use(i, Role.IGNORED, "left out by --ignore")
            continue
        labels = _kept_labels(work, i)
        if work.head(i).says("series") and labels[0] and "" in labels:
            labels = _filled_down(work, i, labels)
        kind = kind_of(work.view, i, labels, places)
        if kind is not Kind.FACTOR and _is_spread_or_count(work, i):
            continue
        if kind in open_ones:
            open_ones[kind][i] = labels
            continue
        role, why = _PLAIN_ROLES[kind]
        work.use(i, role, f"{why}: {labels[0][:60] or '(empty)'}" if kind is Kind.CONSTANT else why)
        if kind is Kind.FOLLOWS_K:
            _change_with_k(work, i, dict(zip(workers.tolist(), labels, strict=True)), rises)
    factors = _without_outcomes(work, places, open_ones[Kind.FACTOR])
    return _name_curves(work, workers, places, factors, open_ones[Kind.UNCLEAR])


def _without_outcomes(work: TableWork, places: IntArray, factors: dict[int, list[str]]) -> dict[int, list[str]]:
    """The factors without numbers that vary from repeat to repeat: what came out of a run is no setting of it.

    Where numbered repeats and the factors that stand at every K part all rows already, nothing else set them.
    """
    repeats = [_kept_labels(work, i) for i, use in work.uses.items() if use.role is Role.REPEAT]
    for i, labels in list(factors.items()):
        if any(len(set(zip(labels, own, strict=True))) == len(set(labels)) for own in repeats) and not _is_whole(
            labels
        ):
            work.use(i, Role.IGNORED, "one value for each repeat")
            del factors[i]
    crossed = {i: labels for i, labels in factors.items() if _stands_at_every_k(labels, places)}
    rest = [i for i in factors if i not in crossed and work.view.is_numeric(i)]
    if not repeats or not rest or not all(_stands_at_every_k(labels, places) for labels in repeats):
        return factors
    rows = list(zip(places.tolist(), *repeats, *crossed.values(), strict=True))
    if len(set(rows)) < len(rows):
        return factors
    for i in rest:
        work.use(i, Role.IGNORED, "varies from repeat to repeat, as a result does")
    return {i: labels for i, labels in factors.items() if i not in rest}


def _is_whole(labels: Sequence[str]) -> bool:
    """Whether some labels are words or whole numbers, as people choose them."""
    return any(re.fullmatch(r"[-+]?\d*\.\d*(?:[eE][-+]?\d+)?|[\d.]+[eE]-\d+", label) is None for label in labels)


def _stands_at_every_k(labels: Sequence[str], places: IntArray) -> bool:
    at: dict[str, set[int]] = {}
    for label, place in zip(labels, places.tolist(), strict=True):
        at.setdefault(label, set()).add(place)
    return all(len(own) == int(places.max()) + 1 for own in at.values())


def _name_curves(
    work: TableWork, workers: IntArray, places: IntArray, factors: dict[int, list[str]], unclear: dict[int, list[str]]
) -> dict[str, list[str]]:
    """The labels of the columns that tell curves apart; what varies beside them without need is said or asked about."""
    series: dict[str, list[str]] = {}
    needed = telling_apart(work.view, factors, places)
    for i, labels in factors.items():
        if i not in needed:
            work.use(i, Role.IGNORED, "changes with the columns that tell the curves apart")
            continue
        work.use(i, Role.SERIES, f"tells {len(set(labels))} curves apart")
        series[_free_name(work.name(i) or f"column {i + 1}", series)] = labels
        if worker_unit(work.name(i)) and work.options.k_column is None and work.chosen.k is not None:
            names = [work.name(work.chosen.k), work.name(i)]
            text = f"{names[0]} and {names[1]} both count workers, and vary apart from each other"
            fault = Fault(text, remedy="say which of them is K with --k-column")
            work.doubt("several-splits", fault, *({"k_column": own} for own in names))
    if not unclear:
        return series | _splits(work, workers, series)
    groups = codes_of(list(zip(places.tolist(), *needed.values(), strict=True)))
    for i, labels in unclear.items():
        if len(set(zip(groups.tolist(), labels, strict=True))) == int(groups.max()) + 1:
            work.use(i, Role.IGNORED, "changes with K and with the columns that tell the curves apart")
        elif len(set(zip(places.tolist(), labels, strict=True))) > len(set(labels)):  # one at several K is a curve
            work.use(i, Role.SERIES, f"tells {len(set(labels))} curves apart")
            series[_free_name(work.name(i) or f"column {i + 1}", series)] = labels
        else:
            _doubt_column(work, i, labels)
    return series | _splits(work, workers, series)


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    return name if name not in taken else f"{name} ({len(taken) + 1})"


def _kept_labels(work: TableWork, i: int) -> list[str]:
    labels = labels_of(work.grid.columns[i])
    return labels if work.keep.all() else [label for label, kept in zip(labels, work.keep, strict=True) if kept]


def _doubt_column(work: TableWork, i: int, labels: Sequence[str]) -> None:
    """Ask about a column that varies at one K without telling curves apart."""
    name = work.name(i)
    text = f"the column {name} varies at one K, and no value of it was measured at two K"
    remedy = f"keep the rows of one curve, or rename {name} to `repeat` if the rows are repeats"
    way = {"ignore": (*work.options.ignore, name or str(i + 1))}
    work.doubt("varies-at-one-k", Fault(text, value=labels[0], remedy=remedy), way)


def _splits(work: TableWork, workers: IntArray, series: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Where K is a product, the split of the workers that tells runs of one K apart; empty where K tells all."""
    if not work.chosen.long.parts:
        return {}
    outer, inner = work.chosen.long.parts
    for i in (outer, inner):
        work.use(i, Role.WORKERS, "a factor of K")
    groups = codes_of(list(zip(*series.values(), strict=True))) if series else np.zeros(len(workers), dtype=np.int64)
    inner_labels = _kept_labels(work, inner)
    at: dict[tuple[int, int], set[str]] = {}
    for group, k, label in zip(groups.tolist(), workers.tolist(), inner_labels, strict=True):
        at.setdefault((group, k), set()).add(label)
    torn = {group for (group, _), labels in at.items() if len(labels) > 1}
    if not torn:
        return {}
    if work.options.k_column is None and work.chosen.long.how == "product":
        names = [work.name(i) for i in (outer, inner)]
        text = f"the same number of workers is split in several ways, by {names[0]} and {names[1]}"
        fault = Fault(text, remedy="say which of them is K: their product, or one of them")
        ways = [{"k_column": own} for own in ("*".join(names), *names)]
        work.doubt("several-splits", fault, *ways)
    text = f"the same number of workers is split in several ways: each {work.name(inner)} is a curve"
    remedy = f"--k-column '{work.name(outer)}' or '{work.name(inner)}' reads one of them as K"
    work.findings.append(info("splits-side-by-side", text, remedy=remedy))
    labels = [label if group in torn else "" for group, label in zip(groups.tolist(), inner_labels, strict=True)]
    return {work.name(inner): labels}


def _change_with_k(work: TableWork, i: int, by_k: dict[int, str], rises: bool) -> None:
    """What is said of a column that changes with K and names the machine or the program; another job is asked about."""
    head, name, regime = work.head(i), work.name(i), work.options.regime
    if counted_per_worker(name):
        _doubt_split(work, i)
        return
    if work.view.is_measured(i):
        return
    pairs = ", ".join(f"{k}: {by_k[k][:40] or '(empty)'}" for k in sorted(by_k)[:8])
    if name.endswith(MODEL):
        text = f"several models stand in one column, and no two of them at one K ({pairs})"
        work.faults.append(Fault(text, remedy="keep the rows of one model"))
        models = [own for own, count in Counter(by_k.values()).items() if count > 1]
        work.ways += [{"where": (*work.options.where, f"{name}={own}")} for own in models]
    elif head.says("machine") and not head.says("cpu"):
        text = f"the machine changes with K, by the column {name} ({pairs}): K and the machine cannot be told apart"
        work.findings.append(warning("machine-changes", text, remedy="measure every K on one machine", column=name))
    elif regime is not Regime.WEAK and (
        (head.says("job") and _names_jobs(work, by_k)) or ((rises or "model" in head.words) and name and _grows(by_k))
    ):
        remedy = f"keep the rows of one {name}, or rename the column to `note` if the job is the same at every K"
        text = f"different jobs were run at different K, by the column {name}"
        way = {"ignore": (*work.options.ignore, name)}
        work.doubt("other-jobs", Fault(text, value=pairs, remedy=remedy), way)
    elif head.says("work") and regime is not Regime.WEAK:
        text = f"{name} changes with K ({pairs}); under strong scaling the job must stay the same"
        remedy = "if it is the problem size, the regime is weak; else keep the rows of one job"
        work.findings.append(warning("parameter-changes", text, remedy=remedy, column=name))
    elif (head.says("series") and not head.says("work")) or (not head.says("label") and _names_jobs(work, by_k)):
        text = f"{name} changes with K ({pairs}): what it does cannot be told apart from what K does"
        remedy = "keep it the same at every K, where it can be chosen"
        work.findings.append(info("parameter-changes", text, remedy=remedy, column=name))


def _grows(by_k: dict[int, str]) -> bool:
    """Whether the labels are sizes that rise from K to K and not as K does: 10,000, 50,000, 200,000; 1B, 7B params."""
    sizes = []
    for k in sorted(by_k):
        match = pattern("observations.size").match(by_k[k].replace(",", ""))
        if match is None:
            return False
        sizes.append(float(match["size"]) * {"K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}.get(match["by"], 1.0))
    per_k = [size / k for k, size in zip(sorted(by_k), sizes, strict=True)]
    is_weak = max(per_k) < RISES * min(per_k)  # the work of each worker stays the same
    return len(sizes) > 2 and not is_weak and all(b > a for a, b in pairwise(sizes))


def _doubt_split(work: TableWork, i: int) -> None:
    """Ask where K counts the nodes and each K has another number of workers on a node."""
    k, name = work.chosen.k, work.name(i)
    if k is None or work.options.k_column is not None or not is_split(work.name(k), name):
        return
    text = f"{name} counts workers too and changes with {work.name(k)}"
    fault = Fault(text, remedy="say which of them is K, or their product, with --k-column")
    ways = [{"k_column": own} for own in (work.name(k), f"{work.name(k)}*{name}", name)]
    work.doubt("several-splits", fault, *ways)


def _names_jobs(work: TableWork, by_k: dict[int, str]) -> bool:
    """Whether the labels name jobs: words that are neither numbered, nor made of K, nor ways to run one job."""
    from scalecurve.formats.headers import WORDS

    labels = list(by_k.values())
    words = {word for label in labels for word in re.findall(r"[a-z]+", label.lower())}
    with_k = all(str(k) in re.findall(r"\d+", label) for k, label in by_k.items())
    return _are_words(work, labels) and not with_k and not words <= WORDS["ways_to_run"]


def _are_words(work: TableWork, labels: Sequence[str]) -> bool:
    """Whether labels are words that somebody chose: no numbers, dates or paths, and not one word that is numbered."""
    filled = [label for label in labels if label not in ABSENT]
    if 2 * len(filled) <= len(labels) or not numbers_of(filled, work.view.mark).bad.all():
        return False
    names = {pattern("observations.identifier").sub("#", label) for label in filled}
    is_chosen = len(names) > 1 and any(sign.isalpha() for name in names for sign in name)
    return is_chosen and not any(pattern("observations.path_or_date").fullmatch(label) for label in filled)


def _filled_down(work: TableWork, i: int, labels: Sequence[str]) -> list[str]:
    """The labels of a column whose name stands only in the first row of each block."""
    filled: list[str] = []
    for label in labels:
        filled.append(label or filled[-1])
    text = f"empty cells of the column {work.name(i)} were taken to repeat the name above them"
    work.findings.append(info("filled-down", text, column=work.name(i)))
    return filled


def _is_spread_or_count(work: TableWork, i: int) -> bool:
    """Note spreads, extremes and counts that belong to the observations."""
    head = work.head(i)
    numeric = work.view.is_numeric(i)
    if has_spread(head) and numeric:
        work.use(i, Role.SPREAD, f"the {head.statistic} of the observations")
    elif head.statistic is not None and numeric and value_meaning(work.name(i)) is not None:
        work.use(i, Role.SPREAD, f"the {head.statistic} beside the observations")
    elif head.is_count and numeric and (head.words != ("n",) or any(own.statistic for own in work.view.heads)):
        if numbers_of(work.grid.columns[i]).bad.any():
            return False
        work.use(i, Role.COUNT, "how many runs stand behind each row")
    return i in work.uses


def _curves(
    work: TableWork,
    meaning: Meaning,
    workers: IntArray,
    values: FloatArray,
    spread: FloatArray | None,
    axes: Mapping[str, list[str]],
) -> list[TableCurve]:
    """The rows of each curve, in the order in which the curves appear."""
    if not axes:
        samples, rows = Samples.of(workers, values), np.ones(len(workers), dtype=bool)
        return [TableCurve("", samples, _summary(work, meaning, samples, rows, spread), {})]
    names = next(iter(axes.values()))
    if len(axes) > 1:
        rows_of = zip(*axes.values(), strict=True)
        names = [" ".join(f"{n}={v}" for n, v in zip(axes, row, strict=True) if v) for row in rows_of]
    codes = codes_of(names)
    if codes.max() >= MOST_CURVES:
        remedy = "keep the rows of a few with --where column=value, or leave columns out with --ignore column"
        text = f"{codes.max() + 1} curves are too many to tell apart"
        raise FormatError(Fault(text, value=", ".join(axes), remedy=remedy))
    curves = []
    for code in range(int(codes.max()) + 1):
        rows = codes == code
        first = int(np.argmax(rows))
        samples = Samples.of(workers[rows], values[rows])
        own = {name: column[first] for name, column in axes.items()}
        summary = _summary(work, meaning, samples, rows, spread)
        curves.append(TableCurve(names[first] or "(empty)", samples, summary, own))
    return curves


def _summary(
    work: TableWork, meaning: Meaning, samples: Samples, rows: Mask, spread: FloatArray | None
) -> tuple[Summary, ...]:
    """What columns of spreads and counts say, where each K has one row."""
    if len(samples.distinct_k) != len(samples):
        return ()
    kept = np.flatnonzero(work.keep)[rows]
    counting = [i for i, use in work.uses.items() if use.role is Role.COUNT]
    counts = numbers_of(work.grid.columns[counting[0]]).values[kept] if counting else None
    std = _deviations(work, meaning, kept, counts) if spread is None else spread[rows]
    if std is None and counts is None:
        return ()
    ns = [int(n) if n >= 1 else None for n in counts] if counts is not None else [None] * len(samples)
    stds = [float(own) if own >= 0 else None for own in std] if std is not None else [None] * len(samples)
    return tuple(Summary(int(k), n, own) for k, n, own in zip(samples.k, ns, stds, strict=True))


def _deviations(work: TableWork, meaning: Meaning, kept: IntArray, counts: FloatArray | None) -> FloatArray | None:
    """The standard deviations in the unit of the observations, by a column of them or of standard errors."""
    base = work.head(work.chosen.value).base
    beside = [i for i, use in work.uses.items() if use.role is Role.SPREAD]
    beside.sort(key=lambda i: (set(work.head(i).base) != set(base), i))
    deviations = [i for i in beside if work.head(i).statistic is Statistic.DEVIATION]
    errors = [i for i in beside if set(work.head(i).words) & {"sem", "stderr", "se"}]
    for i in (*deviations[:1], *errors[:1]):
        numbers, own = numbers_of(work.grid.columns[i], work.view.mark), work.head(i).unit
        taken = 1.0 if meaning.from_cells else meaning.column.factor
        std: FloatArray = numbers.values[kept] * (1.0 if numbers.unit else own.factor if own else taken)
        if i not in errors or counts is not None:
            return std * np.sqrt(counts) if i in errors and counts is not None else std
    return None


def _refuse_pooling(work: TableWork, meaning: Meaning, curves: Sequence[TableCurve]) -> None:
    """Ask where rows of one K rise from row to row, lie far apart, or leap from K to K as another unit does."""
    repeats = [i for i, use in work.uses.items() if use.role is Role.REPEAT]
    name = work.name(work.chosen.value)
    if all(work.head(i).says("steps") for i in repeats):
        if any(map(_is_running_clock, curves)):
            text = (
                f"{name} rises from row to row at every K: it may be the time since the start and not that of each run"
            )
            remedy = "give the time of each run, or a column `repeat` that numbers the runs of each K"
            fault = Fault(text, work.grid.where(0), str(work.grid.columns[work.chosen.value][0]), remedy)
            work.doubt("running-clock", fault)
        _refuse_rows_far_apart(work, curves)
    if meaning.column.quantity is Quantity.SECONDS and any(map(_leaps, curves)):
        text = f"{name} leaps between K by more than {LEAP:g} times, as times in two units do"
        work.doubt("mixed-units", Fault(text, value=name, remedy="write all times in one unit"))


def _refuse_rows_far_apart(work: TableWork, curves: Sequence[TableCurve]) -> None:
    """Ask where half of the K of a curve have rows too far apart to be repeats of one another."""
    ignored = [i for i, use in work.uses.items() if use.role is Role.IGNORED]
    telling = [i for i in ignored if _may_tell(work, i)]
    for curve in curves:
        several = [values for values in curve.samples.by_k().values() if len(values) > 1]
        apart = sum(float(values.max()) > FAR_APART * float(values.min()) for values in several)
        if not several or 2 * apart < len(several) or not (telling or len(several) > 1):
            continue
        names = ", ".join(map(work.name, telling[:5]))
        why = f"the column {names} varies with them" if telling else "no column says why"
        remedy = f"keep the rows of one curve, or rename {names} to `repeat` if the rows are repeats"
        remedy = remedy if telling else "keep the rows of one job, or number its repeats in a column `repeat`"
        text = f"rows of one K differ more than {FAR_APART:g} times, and {why}"
        ways = [{"where": (*work.options.where, own)} for i in telling for own in _settings_at_several_k(work, i)]
        work.doubt("rows-far-apart", Fault(text, remedy=remedy), *ways, offered=False)
        return


def _settings_at_several_k(work: TableWork, i: int) -> list[str]:
    """The column=value that were measured at several K, those with most rows first."""
    counts = work.grid.columns[work.chosen.k] if work.chosen.k is not None else ()
    at: dict[str, set[str]] = {}
    for label, count in zip(labels_of(work.grid.columns[i]), labels_of(counts), strict=False):
        at.setdefault(label, set()).add(count)
    several = [label for label, ks in at.items() if len(ks) > 1]
    return [f"{work.name(i)}={label}" for label in sorted(several, key=lambda label: -len(at[label]))[:3]]


def _may_tell(work: TableWork, i: int) -> bool:
    return not work.head(i).says("dated") and work.uses[i].why not in ("one value at each K", "left out by --ignore")


def _leaps(curve: TableCurve) -> bool:
    """Whether times fall and rise again by a factor that only another unit explains: 100, 55000, 31000."""
    by_k = curve.samples.by_k()
    means = [float(np.median(by_k[k])) for k in sorted(by_k)]
    steps = [b / a for a, b in pairwise(means)]
    leaps = [step for step in steps if not 1 / LEAP <= step <= LEAP]
    return len(leaps) == 1 < len(steps) and all(0.2 < step < 2 for step in steps if step not in leaps)


def _is_running_clock(curve: TableCurve) -> bool:
    """Whether at each of several K three values or more rise in the order of their rows, and double at least."""
    groups = list(curve.samples.by_k().values()) if len(curve.samples) < MOST_COMPARED else []
    return len(groups) > 1 and all(
        len(values) > 2 and values[-1] >= 2 * values[0] and bool((np.diff(values) > 0).all()) for values in groups
    )


def _chosen_curves(work: TableWork, curves: list[TableCurve], meaning: Meaning) -> list[TableCurve]:
    """All curves, or the one asked for; a curve at a single K is said and left out where others have more."""
    if work.options.series is not None:
        return _asked_curve(work.options.series, curves)
    if len(curves) == 1:
        return curves
    several = [curve for curve in curves if len(curve.samples.distinct_k) > 1]
    telling = [i for i, use in work.uses.items() if use.role is Role.SERIES]
    columns = ", ".join(map(work.name, telling))
    if not several:
        text = f"each curve that {columns} tells apart was measured at a single K"
        remedy = f"keep the rows of one curve, or rename {columns} to `repeat` if the rows are repeats"
        names = [work.name(i) or str(i + 1) for i in telling]
        ways = [{"ignore": (*work.options.ignore, *own)} for own in (*((name,) for name in names), names)]
        raise Unclear(Fault(text, remedy=remedy), ways=ways)
    is_pairs = all(len(curve.samples.distinct_k) < 3 for curve in several)
    if len(several) >= MOST_OF_A_SWEEP and len(telling) >= MOST_SETTINGS and is_pairs:
        text = f"{len(several)} curves of two K each: this is a sweep over {columns}"
        raise FormatError(Fault(text, remedy="keep the rows of one setting with --where column=value"))
    if len(several) < len(curves):
        left = ", ".join(curve.name for curve in curves if curve not in several)
        text = f"curves measured at a single K were left out ({columns}): {left}"
        work.findings.append(warning("curves-left-out", text, column=columns))
    return several


def _asked_curve(series: str, curves: list[TableCurve]) -> list[TableCurve]:
    names = [curve.name for curve in curves]
    near = [c for c in curves if series == c.name or series in (f"{n}={v}" for n, v in c.axes.items())]
    near = near or [curve for curve in curves if series in curve.name]
    if len(near) == 1 and curves[0].axes:
        return near
    what = "--series names no curve of the table" if not near else "--series fits several curves"
    what = what if curves[0].axes else "the table holds a single curve"
    raise InputError(Fault(what, value=series, remedy=f"there are: {', '.join(names[:20]) or 'no names'}"))


def _name_warm_up(work: TableWork, curves: Sequence[TableCurve]) -> None:
    """Say where the first repeat is the slowest at every K: it warms up, and can be left out."""
    repeats = [i for i, use in work.uses.items() if use.role is Role.REPEAT]
    if len(repeats) != 1 or not curves:
        return
    name, labels = work.name(repeats[0]), _kept_labels(work, repeats[0])
    first = min(labels, key=lambda label: (len(label), label))
    slower = [
        len(values) > 2 and float(values[0]) > 1.1 * float(np.max(values[1:]))
        for curve in curves
        for values in curve.samples.by_k().values()
    ]
    if len(slower) > 1 and all(slower) and first in ("0", "1"):
        text = f"the first run ({name} = {first}) is the slowest at every K: it warms up"
        remedy = f"remove the rows with {name} = {first}, where warming up is no part of the job"
        work.findings.append(warning("first-run-slower", text, remedy=remedy, column=name))


def _say_units(work: TableWork, curves: Sequence[TableCurve], meaning: Meaning) -> None:
    """The finding where a unit is assumed, where means stand for runs, and where a quantity cannot be assumed."""
    name, head = work.name(work.chosen.value), work.head(work.chosen.value)
    if meaning.bare:
        longest = max(curves, key=lambda own: len(own.samples.distinct_k))
        means = [float(values.mean()) for _, values in sorted(longest.samples.by_k().items())]
        if means[-1] > RISES * means[0]:
            text = "the column's name does not say whether it holds times or rates, and its values rise with K"
            remedy = "say --quantity seconds, throughput or throughput_per_worker"
            work.faults.append(Fault(text, value=name, remedy=remedy))
            work.ways += [{"quantity": quantity} for quantity in reversed(QUANTITIES)]
            return
    is_time = meaning.column.quantity is Quantity.SECONDS
    if is_time and not meaning.stated:
        remedy = "write the unit into the header, such as `time (ms)`, or say --unit ms"
        text = f"the column {name} states no unit: seconds assumed"
        work.findings.append(info("seconds-assumed", text, remedy=remedy))
    what = meaning.column.quantity.replace("_", " ")
    says = "say" if meaning.from_cells else "says"
    unit = f" in {_unit_name(meaning)}, as {meaning.origin} {says}" if meaning.stated else ""
    unit = unit or (", seconds assumed" if is_time else "")
    statistic = f", the {head.statistic} of each row" if head.statistic else ""
    work.use(work.chosen.value, Role.VALUE, f"{what}{unit}{statistic}")
    if any(curve.summary for curve in curves) or head.statistic is not None:
        _say_summary(work, curves, name)


def _say_summary(work: TableWork, curves: Sequence[TableCurve], name: str) -> None:
    items = [item for curve in curves for item in curve.summary]
    has_interval = any(item.n and item.n > 1 and item.std is not None for item in items)
    how = "intervals are computed from n and the standard deviation" if has_interval else "there are no intervals"
    text = f"the table holds a summary of each K ({name}), not the runs behind it: {how}"
    has_std, has_n = any(item.std is not None for item in items), any(item.n is not None for item in items)
    needed = "n, the number of runs behind each mean" if has_std else "std, the standard deviation of the runs"
    needed = needed if has_std or has_n else "n and a column std"
    remedy = f"add a column {needed}, or give the single runs"
    remedy = "give the single runs where they are at hand" if has_interval else remedy
    others = [use.name for use in work.uses.values() if use.role is Role.SPREAD]
    work.findings.append(info("summary", text, remedy=remedy, beside=others))


def _k_unit(work: TableWork) -> str:
    k = work.chosen.k
    if k is None:
        return "workers"
    if work.chosen.long.parts:
        inner = work.name(work.chosen.long.parts[1])
        per = counted_per_worker(inner)
        return (per[0] if per else k_unit_of(inner)) or "workers"
    return k_unit_of(work.grid.headers[k]) or counted_noun(work.grid.columns[k]) or "workers"


def _unit_name(meaning: Meaning) -> str:
    column = meaning.column
    if column.quantity is not Quantity.SECONDS or meaning.from_cells or meaning.unit_column is not None:
        return column.unit or "its unit"
    names = {1e-9: "ns", 1e-6: "us", 1e-3: "ms", 1.0: "seconds", 60.0: "minutes", 3600.0: "hours", 86400.0: "days"}
    return names.get(column.factor, f"units of {column.factor:g} s")


def _reading(
    work: TableWork, curves: Sequence[TableCurve], uses: tuple[ColumnUse, ...], name: str, meaning: Meaning
) -> Reading:
    source, chosen = Source(name), work.chosen
    column = meaning.column
    k_name = None if chosen.k is None else work.name(chosen.k)
    value_name = work.name(chosen.value)
    constant = [f"{use.name}: {use.why.partition(': ')[2]}" for use in work.uses.values() if use.role is Role.CONSTANT]
    assumed = any(finding.code == "seconds-assumed" for finding in work.findings)
    return Reading(
        curves=tuple(curves),
        columns=uses,
        quantity=column.quantity,
        unit=column.unit,
        k_unit=_k_unit(work),
        k_origin="the file's name" if k_name is None else f"column `{k_name}`",
        value_origin=f"column `{value_name}`",
        workload=Workload(name=source.stem),
        provenance=Provenance(
            source=source.file_name,
            tool="plain table",
            notes=(f"columns {k_name or 'K from the name'} and {value_name}", *constant[:20]),
        ),
        assumed=("seconds",) if assumed else (),
        findings=tuple(work.findings),
    )
