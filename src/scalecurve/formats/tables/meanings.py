"""What the observations of a reading are: times or rates, in which unit, and who says so; doubts are asked about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scalecurve.errors import Fault
from scalecurve.findings import info
from scalecurve.formats.headers import Header, ValueColumn, is_of_one_worker, is_worker_time, unit_of, value_meaning
from scalecurve.formats.reading import Role, TableCurve, Unclear
from scalecurve.formats.tables.candidates import Candidate, listed, unit_column, units_in
from scalecurve.formats.tables.evidence import known_quantity, lacks_whole, slope_of
from scalecurve.formats.tables.facts import is_cpu_time
from scalecurve.formats.tables.work import Meaning, TableWork
from scalecurve.study import Quantity

RISES = 1.2
FALLS = -0.3  # slope of log T over log K below which observations without a name are times: rates rise with K
ALL_WORKERS = "this is the time of all workers together, not the elapsed time"
QUANTITIES = (Quantity.SECONDS, Quantity.THROUGHPUT)


def meaning_of(chosen: Candidate) -> Meaning:
    """What the observations of a reading are, or an Unclear."""
    work = TableWork(chosen, np.ones(chosen.view.grid.rows, dtype=bool))
    meaning = _meaning(work)
    work.stop_if_asked()
    if meaning is None:
        raise Unclear(Fault("it is not clear what the observations are"))
    return meaning


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
    if not stated and head.could_be_minutes and quantity is None:
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


def say_units(work: TableWork, curves: Sequence[TableCurve], meaning: Meaning) -> None:
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


def _unit_name(meaning: Meaning) -> str:
    column = meaning.column
    if column.quantity is not Quantity.SECONDS or meaning.from_cells or meaning.unit_column is not None:
        return column.unit or "its unit"
    names = {1e-9: "ns", 1e-6: "us", 1e-3: "ms", 1.0: "seconds", 60.0: "minutes", 3600.0: "hours", 86400.0: "days"}
    return names.get(column.factor, f"units of {column.factor:g} s")
