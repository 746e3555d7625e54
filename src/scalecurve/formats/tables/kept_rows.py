"""Which rows of a reading are measurements, and their K and observations as numbers; every bad cell is a fault."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import compress

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.findings import info, warning
from scalecurve.formats.headers import counted_per_worker, k_unit_of, pattern, unit_of
from scalecurve.formats.reading import Role, capped
from scalecurve.formats.regime import regime_named
from scalecurve.formats.tables.candidates import column_named
from scalecurve.formats.tables.cells import (
    SAMPLE_ROWS,
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
from scalecurve.formats.tables.filters import Verdicts, judged, may_filter, without_summaries
from scalecurve.formats.tables.structure import ENOUGH_FAULTS
from scalecurve.formats.tables.work import Mask, Meaning, TableWork
from scalecurve.study import Quantity, Regime
from scalecurve.study.run import LARGEST_VALUE, MAX_K, SMALLEST_VALUE, FloatArray, IntArray

MOST_OF_A_SWEEP = 20
NO_WORKERS = frozenset(("-", "–", "—", "--", "n/a", "na", "none"))  # beside a serial program
LONGEST_RUN = 9e8  # seconds; 28 years: a date in seconds since 1970


def keep_where(work: TableWork) -> None:
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


def _judged_columns(work: TableWork) -> Iterator[tuple[int, list[str], Verdicts]]:
    """The columns that may say which rows count: their places, their labels, and whether a row of each label does."""
    for i, head in enumerate(work.view.heads):
        if i in (work.chosen.k, work.chosen.value) or i in work.chosen.long.parts:
            continue
        if head.is_repeat or may_filter(head, work.grid.columns[i]):
            labels = labels_of(work.grid.columns[i])
            verdicts = without_summaries(labels) if head.is_repeat else judged(head, labels)
            if verdicts is not None:
                yield i, labels, verdicts


def filter_rows(work: TableWork) -> None:
    """Leave out the rows that a column marks as failed or as warm-up; a mark that is not understood is asked about."""
    grid = work.grid
    for i, labels, verdicts in _judged_columns(work):
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


def _regime_columns(work: TableWork) -> Iterator[tuple[int, list[Regime | None], set[Regime]]]:
    """The columns that state the regime of every row: their places, what they say, and that of the rows kept."""
    if work.options.series is not None:
        return
    for i in range(work.view.width):
        if i in (work.chosen.k, work.chosen.value) or isinstance(work.grid.columns[i], np.ndarray):
            continue
        said = [regime_named(label) for label in labels_of(work.grid.columns[i])]
        kept = list(compress(said, work.keep))
        if kept and None not in kept:
            yield i, said, set(filter(None, kept))


def filter_regime(work: TableWork) -> None:
    """Keep the rows of the stated regime where a column calls some strong and others weak."""
    regime = work.options.regime
    for i, said, named in _regime_columns(work):
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
        if len(set(kept_labels(work, i))) < 2:
            work.use(i, Role.FILTER, f"the rows of {regime} scaling are read")
    work.stop_if_asked()


def numbers_of_rows(work: TableWork, meaning: Meaning, k: int | None) -> tuple[IntArray, FloatArray, FloatArray | None]:
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
    bad_k, bad_value = _without_unmeasured(work, counts, bad_k & work.keep, bad_value & work.keep)
    _refuse_bad_cells(work, bad_k, bad_value, bool(numbers.bad.all()))
    if chosen.k is None and not k:
        remedy = "its group matches the number in the name"
        raise InputError(Fault("the pattern finds no worker count in the file's name", where="--k-from", remedy=remedy))
    if chosen.k is not None:
        work.use(chosen.k, Role.WORKERS, f"worker counts ({k_unit(work)})")
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


def kept_labels(work: TableWork, i: int) -> list[str]:
    labels = labels_of(work.grid.columns[i])
    return labels if work.keep.all() else [label for label, kept in zip(labels, work.keep, strict=True) if kept]


def k_unit(work: TableWork) -> str:
    k = work.chosen.k
    if k is None:
        return "workers"
    if work.chosen.long.parts:
        inner = work.name(work.chosen.long.parts[1])
        per = counted_per_worker(inner)
        return (per[0] if per else k_unit_of(inner)) or "workers"
    return k_unit_of(work.grid.headers[k]) or counted_noun(work.grid.columns[k]) or "workers"
