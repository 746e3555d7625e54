"""From a Grid to curves: every column gets a role, and rows of different curves are never pooled.

All tables come through `read_table`; `READER` takes those that are text.  Our own Parquet export states its regime, its
unit of K and its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.findings import info, warning
from scalecurve.formats.headers import (
    Statistic,
    k_unit_of,
    parse_header,
    unit_of,
    value_meaning,
)
from scalecurve.formats.reading import ColumnUse, Reader, Reading, ReadOptions, Role, TableCurve, capped
from scalecurve.formats.source import Source
from scalecurve.formats.tables.cells import (
    SAMPLE_ROWS,
    CellGrid,
    DecimalMark,
    counted_noun,
    counts_of,
    decimal_mark,
    is_serial,
    is_summary,
    labels_of,
    may_be_thousands,
    no_result,
    numbers_of,
    parse_cell,
)
from scalecurve.formats.tables.choice import Chooser, Chosen, all_numbers
from scalecurve.formats.tables.dialects import ENOUGH_FAULTS, find_layout, from_columns_of_curves, lengthen, read_grid
from scalecurve.formats.tables.roles import Mask, TableWork, codes_of, filter_rows, settle_others
from scalecurve.study import Provenance, Quantity, Regime, Samples, Workload
from scalecurve.study.run import LARGEST_VALUE, MAX_K, SMALLEST_VALUE, FloatArray, IntArray, Summary

MOST_CURVES = 200
HYPERFINE = ("command", "mean", "stddev", "median", "user", "system", "min", "max")  # its CSV, in seconds
FAR_APART = 3.0  # rows of one K that differ by this factor are hardly repeats of one another
RISES = 1.2
MOST_COMPARED = 100_000
STEPS = frozenset(("step", "epoch", "iteration", "iter"))
LONGEST_RUN = 9e8  # seconds; 28 years: a date in seconds since 1970
_REGIME = re.compile(r"\b(strong|weak)[\s_-]+scal(?:ing|ability)", re.IGNORECASE)
_HUNDREDS = re.compile(r"[1-9]\d{0,2},\d00\W*")
_DECIMAL_POINT = re.compile(r"[-+~]?\d+\.(?:\d{1,2}|\d{4,})\s*[A-Za-zµ%×/]*")


def recognise_text(source: Source) -> str | None:
    is_json = source.looks_like_json or source.name.endswith(".json")
    return None if is_json or b"\x00" in source.head[:4096] else "text without the marks of another format"


def read(source: Source, options: ReadOptions) -> Reading:
    """The curves, in seconds, or in the table's own unit where they are rates."""
    facts: Mapping[str, str] = {}
    k = None
    if options.k_from is not None:
        from scalecurve.formats.curve_choice import matched_count

        k = matched_count(options.k_from, source.name)
    if recognise_text(source):
        layout = find_layout(source)
        grid = all_numbers(source, layout, options) or read_grid(source, layout)
    else:
        from scalecurve.formats.tables.forms import formed_grid

        grid, facts = formed_grid(source)
    reading = read_table(grid, options, source.name, k)
    if "scalecurve.regime" not in facts:
        return reading
    return replace(
        reading,
        regime=Regime(facts["scalecurve.regime"]),
        k_unit=facts.get("scalecurve.k_unit") or reading.k_unit,
        workload=replace(reading.workload, name=facts.get("scalecurve.name") or reading.workload.name),
    )


def read_table(grid: CellGrid, options: ReadOptions, name: str, k: int | None = None) -> Reading:
    """The curves of a table, with the role of every column; `k` is the worker count that the file's name states."""
    mark, finding = mark_of(grid), None
    if grid.headers[: len(HYPERFINE)] == HYPERFINE:
        options = replace(options, unit=options.unit or 1.0)
    caption_regime = None if options.regime else regime_in(grid.caption)
    options = options if caption_regime is None else replace(options, regime=caption_regime)
    long = lengthen(grid, options)
    product = long.product
    chosen = Chooser(long.grid, options, mark, long.value, grid.caption).choose()
    if chosen.curves:
        columns = ", ".join(long.grid.headers[i].strip() for i in chosen.curves)
        finding = info(
            "columns-are-curves", f"each of these columns is a curve: {columns}", remedy="--value-column picks one"
        )
        long, kept = from_columns_of_curves(long.grid, chosen.curves)
        k_place, unit = (None if old is None else kept.index(old) for old in (chosen.k, chosen.unit_column))
        chosen = replace(chosen, k=k_place, unit_column=unit, value=long.value or 0, curves=())
    heads = [parse_header(header) for header in long.grid.headers]
    work = TableWork(long.grid, options, mark, chosen, heads, np.ones(long.grid.rows, dtype=bool))
    work.findings += [finding] if finding else []
    if product:
        text = f"K is {product}, as no column counts all workers"
        work.findings.append(info("k-is-product", text, remedy="name another column with --k-column"))
    if long.absent:
        work.findings.append(info("absent-cells", f"{long.absent} cells of the table are empty and were left out"))
    filter_rows(work)
    workers, values, spread = _columns(work, k)
    series, repeated = settle_others(work, workers)
    curves = _curves(work, workers, values, spread, series)
    _refuse_pooling(work, curves, repeated)
    curves = _chosen_curves(work, curves)
    _say_units(work, curves)
    uses = (*long.uses, *(work.uses[i] for i in sorted(work.uses) if long.value is None or i != long.value))
    if options.regime not in (None, regime_in(grid.caption) or options.regime):
        text = f"the text around the table says {regime_in(grid.caption)} scaling, and the study is {options.regime}"
        work.findings.append(
            warning("other-regime-in-text", text, remedy="say --regime as the text does, if it is right")
        )
    if caption_regime is not None:
        text = f"the text around the table says {caption_regime} scaling"
        work.findings.append(info("regime-in-text", text, remedy="say --regime if it speaks of something else"))
    return replace(_reading(work, curves, uses, name), regime=caption_regime)


def regime_in(caption: str) -> Regime | None:
    """The regime that the text around a table states; None where it names none or both."""
    words = {word.lower() for word in _REGIME.findall(caption)}
    return Regime(words.pop()) if len(words) == 1 else None


def mark_of(grid: CellGrid) -> DecimalMark:
    """What a comma means in the columns that hold numbers."""
    cells: list[str] = []
    numeric: list[Sequence[str]] = []
    for column in grid.columns:
        if not isinstance(column, np.ndarray) and "," in "\n".join(column):
            first = next((cell for cell in column if any(sign.isdecimal() for sign in cell)), "")
            if re.match(r"[\s$*~+-]*[\d.]", first):
                cells += column
                numeric.append(column)
    mark = decimal_mark(cells)
    return DecimalMark.POINT if mark is DecimalMark.UNKNOWN and _parts_thousands(grid, numeric) else mark


def _parts_thousands(grid: CellGrid, numeric: Sequence[Sequence[str]]) -> bool:
    """Whether commas that could be either part thousands: a point parts decimals elsewhere, a count of workers has a
    comma, the digits behind all of them are zeros, or a curve would fall a hundredfold between 801 and 1,573."""
    for header, column in zip(grid.headers, grid.columns, strict=True):
        if isinstance(column, np.ndarray):
            continue
        head = parse_header(header)
        is_number = head.is_derived or head.statistic is not None or value_meaning(header) is not None
        if is_number and any(_DECIMAL_POINT.fullmatch(cell.strip()) for cell in column[:SAMPLE_ROWS]):
            return True
        if k_unit_of(header) and any("," in cell for cell in column[:SAMPLE_ROWS]):
            return True
    with_commas = [{cell.strip() for cell in column[:SAMPLE_ROWS] if "," in cell} for column in numeric]
    ends_in_zeros = [len(own) > 1 and all(map(_HUNDREDS.fullmatch, own)) for own in with_commas]
    if numeric and all(ends_in_zeros) and all(map(str.isascii, grid.headers)):
        return True
    for column in numeric:
        plain = [int(cell) for cell in column[:SAMPLE_ROWS] if re.fullmatch(r"[1-9]\d\d", cell.strip())]
        parted = [
            float(cell.replace(",", ".")) for cell in column[:SAMPLE_ROWS] if re.fullmatch(r"\d{1,3},\d{3}", cell)
        ]
        if not plain or len(plain) + len(parted) < len(column[:SAMPLE_ROWS]) or 10 * max(parted) > min(plain):
            return False
    return bool(numeric)


def _columns(work: TableWork, k: int | None) -> tuple[IntArray, FloatArray, FloatArray | None]:
    """K, the observations in their unit (times in seconds), and the spread behind ±; every fault with its line."""
    chosen, grid = work.chosen, work.grid
    numbers = numbers_of(grid.columns[chosen.value], work.mark, work.heads[chosen.value].clock)
    _refuse_two_readings(work, numbers.ambiguous, numbers.mixed)
    counts = np.full(grid.rows, float(k or 0)) if chosen.k is None else _worker_counts(work, chosen.k)
    factor: float | FloatArray = 1.0 if chosen.from_cells else chosen.meaning.factor
    if chosen.unit_column is not None:
        factor = _row_factors(work)
    values = numbers.values * factor if isinstance(factor, np.ndarray) or factor != 1 else numbers.values
    with np.errstate(invalid="ignore"):
        bad_k = ~((counts >= 1) & (counts <= MAX_K) & (counts == np.floor(counts))) & work.keep
        bad_value = ~((values >= SMALLEST_VALUE) & (values <= LARGEST_VALUE)) & work.keep
    bad_k, bad_value = _without_unmeasured(work, counts, bad_k, bad_value)
    faults: list[Fault] = []
    for row in np.flatnonzero(bad_k | bad_value)[: ENOUGH_FAULTS + 1].tolist():
        where = grid.where(row)
        if bad_k[row] and chosen.k is not None:
            text = f"{work.name(chosen.k)} is not a whole number of workers from 1"
            cell = str(grid.columns[chosen.k][row]).strip()
            remedy = None if parse_cell(cell) else "write the count, or remove the row"
            faults.append(Fault(text, where, cell, remedy))
        if bad_value[row]:
            text = f"{work.name(chosen.value)} is not a positive finite number"
            cell = str(grid.columns[chosen.value][row]).strip()
            faults.append(Fault(text, where, cell, "correct it, or remove the row"))
    if faults:
        if numbers.bad.all():
            name = work.name(chosen.value)
            remedy = "write plain numbers, with their unit in the header and a spread as `mean ± std`"
            first = str(grid.columns[chosen.value][0])
            raise InputError(Fault(f"the column {name} is not all numbers", value=first, remedy=remedy))
        raise FormatError(capped(faults, counted_all=len(faults) <= ENOUGH_FAULTS))
    if chosen.k is None and not k:
        raise InputError(
            Fault(
                "the pattern finds no worker count in the file's name",
                where="--k-from",
                remedy="its group matches the number in the name",
            )
        )
    if chosen.k is not None:
        work.use(chosen.k, Role.WORKERS, f"worker counts ({_k_unit(work)})")
    spread = None if numbers.spread is None else (numbers.spread * factor)[work.keep]
    if not work.keep.all():
        counts, values = counts[work.keep], values[work.keep]
    workers: IntArray = counts.astype(np.int64)
    workers.setflags(write=False)
    return workers, values, spread


def _worker_counts(work: TableWork, k: int) -> FloatArray:
    """K of every row; a count with two readings is asked about."""
    numbers = counts_of(work.grid.columns[k], work.mark)
    if numbers.ambiguous is not None:
        cell, where = str(work.grid.columns[k][numbers.ambiguous]), work.grid.where(numbers.ambiguous)
        text = f"the count of {work.name(k)} may be in thousands or in units of 1,024"
        raise FormatError(Fault(text, where, cell, "write the number in full"))
    serial = [str(cell) for cell in work.grid.columns[k][:SAMPLE_ROWS] if is_serial(cell)]
    if serial and not numbers.bad.any():
        text = f"{serial[0]} was taken for K = 1: it may be another program than that of the other K"
        work.findings.append(
            info("serial-row", text, remedy="measure the parallel program at K = 1", column=work.name(k))
        )
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
        if bad_k[row] and not is_summary(label) and not (row > last and no_result(values[row])):
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


def _refuse_two_readings(work: TableWork, ambiguous: int | None, mixed: int | None) -> None:
    """Cells with two readings are asked about, never chosen."""
    place, name = work.chosen.value, work.name(work.chosen.value)
    faults = []
    if ambiguous is not None:
        cell, where = str(work.grid.columns[place][ambiguous]), work.grid.where(ambiguous)
        remedy = f"{name}: write 0:{cell.strip()} for minutes:seconds, or {cell.strip()}:00 for hours:minutes"
        faults.append(Fault("this clock time may be minutes:seconds or hours:minutes", where, cell, remedy))
    if _is_time_of_day(work):
        remedy = "give a column with the time that each run took"
        faults.append(Fault("these look like times of day or dates, not elapsed times", value=name, remedy=remedy))
    if mixed is not None:
        cell, where = str(work.grid.columns[place][mixed]), work.grid.where(mixed)
        remedy = "write the unit into every cell, or into the header alone"
        faults.append(
            Fault(f"{name} states a unit in some cells and not, or another, in this one", where, cell, remedy)
        )
    if may_be_thousands(work.grid.headers, work.grid.columns[place]):
        remedy = f"{name}: write thousands without a point, or decimals with another number of digits"
        cell = str(work.grid.columns[place][0])
        faults.append(Fault("the point may part decimals or thousands", work.grid.where(0), cell, remedy))
    columns = [i for i in (work.chosen.k, place) if i is not None]
    commas = [
        (i, row) for i in columns for row, cell in enumerate(work.grid.columns[i][:SAMPLE_ROWS]) if "," in str(cell)
    ]
    if commas and work.mark in (DecimalMark.UNKNOWN, DecimalMark.BOTH):
        i, row = commas[0]
        cell = str(work.grid.columns[i][row])
        remedy = f"{work.name(i)}: write decimals with a point and no thousands separators"
        text = "the comma may part decimals or thousands"
        text = "commas part decimals in some cells and thousands in others" if work.mark is DecimalMark.BOTH else text
        faults.append(Fault(text, work.grid.where(row), cell, remedy))
    if faults:
        raise FormatError(faults)


def _is_time_of_day(work: TableWork) -> bool:
    """Whether the observations are seconds since 1970, or h:mm:ss that rise from row to row and stay within a tenth."""
    cells, chosen = work.grid.columns[work.chosen.value], work.chosen
    if chosen.meaning.quantity is Quantity.SECONDS and not chosen.from_cells and chosen.unit_column is None:
        first = numbers_of(cells[:SAMPLE_ROWS], work.mark).values
        if np.isfinite(first).all() and float(first.min()) * chosen.meaning.factor > LONGEST_RUN:
            return True
    if not work.chosen.from_cells or len(cells) < 3 or work.heads[work.chosen.value].clock is not None:
        return False
    if not all(re.fullmatch(r"\s*(?:[01]?\d|2[0-3]):\d\d:\d\d(?:\.\d+)?\s*", str(cell)) for cell in cells):
        return False
    times = numbers_of(cells).values
    return bool((np.diff(times) > 0).all() and times[-1] < 1.1 * times[0])


def _row_factors(work: TableWork) -> FloatArray:
    """What one unit is in seconds, for every row, by the column of units."""
    place = work.chosen.unit_column or 0
    labels = labels_of(work.grid.columns[place])
    meanings = {label: unit_of(label) for label in set(labels)}
    kinds = {meaning.quantity for meaning in meanings.values() if meaning}
    header = work.heads[work.chosen.value].unit
    factors = {label: meaning.factor for label, meaning in meanings.items() if meaning}
    if len(kinds) > 1 or (
        header is not None and any(not np.isclose(factor, header.factor) for factor in factors.values())
    ):
        text = f"the columns {work.name(work.chosen.value)} and {work.name(place)} state different units"
        raise FormatError(Fault(text, value=", ".join(sorted(factors)), remedy="keep one of the two"))
    work.use(place, Role.UNIT, f"the unit of {work.name(work.chosen.value)}: {', '.join(sorted(factors))}")
    return np.array([factors[label] for label in labels])


def _curves(
    work: TableWork, workers: IntArray, values: FloatArray, spread: FloatArray | None, series: Sequence[int]
) -> list[TableCurve]:
    """The rows of each curve, in the order in which the curves appear."""
    if not series:
        samples, rows = Samples.of(workers, values), np.ones(len(workers), dtype=bool)
        return [TableCurve("", samples, _summary(work, samples, rows, spread), {})]
    kept = np.flatnonzero(work.keep)
    axes = {}
    for i in series:
        labels = labels_of(work.grid.columns[i])
        axes[work.name(i)] = [labels[row] for row in kept]
    names = next(iter(axes.values()))
    if len(axes) > 1:
        names = [
            " ".join(f"{n}={v}" for n, v in zip(axes, row, strict=True)) for row in zip(*axes.values(), strict=True)
        ]
    codes = codes_of(names)
    if codes.max() >= MOST_CURVES:
        columns = ", ".join(axes)
        remedy = "keep the rows of a few curves, or rename the column to `repeat` if the rows are repeats"
        raise FormatError(Fault(f"{codes.max() + 1} curves are too many to tell apart", value=columns, remedy=remedy))
    curves = []
    for code in range(int(codes.max()) + 1):
        rows = codes == code
        first = int(np.argmax(rows))
        samples = Samples.of(workers[rows], values[rows])
        own = {name: column[first] for name, column in axes.items()}
        curves.append(TableCurve(names[first] or "(empty)", samples, _summary(work, samples, rows, spread), own))
    return curves


def _summary(work: TableWork, samples: Samples, rows: Mask, spread: FloatArray | None) -> tuple[Summary, ...]:
    """What columns of spreads and counts say, where each K has one row."""
    if len(samples.distinct_k) != len(samples):
        return ()
    roles = {use.role: i for i, use in reversed(list(work.uses.items())) if use.role in (Role.SPREAD, Role.COUNT)}
    deviations = [i for i, head in enumerate(work.heads) if head.statistic is Statistic.DEVIATION and i in work.uses]
    errors = [i for i, head in enumerate(work.heads) if set(head.words) & {"sem", "stderr", "se"} and i in work.uses]
    kept = np.flatnonzero(work.keep)[rows]
    counts = numbers_of(work.grid.columns[roles[Role.COUNT]]).values[kept] if Role.COUNT in roles else None
    std = None if spread is None else spread[rows]
    for i, is_error in [*((i, False) for i in deviations[:1]), *((i, True) for i in errors[:1])]:
        if std is None:
            numbers = numbers_of(work.grid.columns[i], work.mark)
            own = work.heads[i].unit
            factor = (
                1.0
                if numbers.unit
                else own.factor
                if own
                else 1.0
                if work.chosen.from_cells
                else work.chosen.meaning.factor
            )
            std = numbers.values[kept] * factor
            if is_error:
                std = None if counts is None else std * np.sqrt(counts)
    if std is None and counts is None:
        return ()
    return tuple(
        Summary(
            int(k),
            None if counts is None or not counts[j] >= 1 else int(counts[j]),
            None if std is None or not std[j] >= 0 else float(std[j]),
        )
        for j, k in enumerate(samples.k)
    )


def _refuse_pooling(work: TableWork, curves: Sequence[TableCurve], unaccounted: Sequence[int]) -> None:
    """Rows of one K that rise from row to row, or that lie far apart beside a column that may be why: asked about."""
    runs = [i for i, use in work.uses.items() if use.role is Role.REPEAT and not work.heads[i].says(STEPS)]
    if not runs and any(map(_is_running_clock, curves)):
        name = work.name(work.chosen.value)
        text = f"{name} rises from row to row at every K: it may be the time since the start and not that of each run"
        remedy = "give the time of each run, or a column `repeat` that numbers the runs of each K"
        raise FormatError(Fault(text, work.grid.where(0), str(work.grid.columns[work.chosen.value][0]), remedy))
    if not unaccounted:
        return
    for curve in curves:
        several = [values for values in curve.samples.by_k().values() if len(values) > 1]
        apart = sum(float(values.max()) > FAR_APART * float(values.min()) for values in several)
        if several and 2 * apart >= len(several):
            names = ", ".join(work.name(i) for i in unaccounted)
            text = f"rows of one K differ more than {FAR_APART:g} times, and the column {names} varies with them"
            remedy = f"keep the rows of one curve, or rename {names} to `repeat` if the rows are repeats"
            raise FormatError(Fault(text, remedy=remedy))


def _is_running_clock(curve: TableCurve) -> bool:
    """Whether at each of several K three values or more rise in the order of their rows, and double at least."""
    groups = list(curve.samples.by_k().values()) if len(curve.samples) < MOST_COMPARED else []
    return len(groups) > 1 and all(
        len(values) > 2 and values[-1] >= 2 * values[0] and bool((np.diff(values) > 0).all()) for values in groups
    )


def _chosen_curves(work: TableWork, curves: list[TableCurve]) -> list[TableCurve]:
    """All curves, or the one asked for; a curve at a single K is said and left out where others have more."""
    series = work.options.series
    if series is not None:
        names = [curve.name for curve in curves]
        near = [c for c in curves if series == c.name or series in (f"{n}={v}" for n, v in c.axes.items())]
        near = near or [curve for curve in curves if series in curve.name]
        if len(near) != 1 or not curves[0].axes:
            what = "--series names no curve of the table" if not near else "--series fits several curves"
            what = what if curves[0].axes else "the table holds a single curve"
            raise InputError(Fault(what, value=series, remedy=f"there are: {', '.join(names[:20]) or 'no names'}"))
        return near
    if len(curves) == 1:
        return curves
    several = [curve for curve in curves if len(curve.samples.distinct_k) > 1]
    columns = ", ".join(use.name for use in work.uses.values() if use.role is Role.SERIES)
    if not several:
        remedy = f"keep the rows of one curve, or rename {columns} to `repeat` if the rows are repeats"
        raise FormatError(Fault(f"each curve that {columns} tells apart was measured at a single K", remedy=remedy))
    if len(several) < len(curves):
        left = ", ".join(curve.name for curve in curves if curve not in several)
        text = f"curves measured at a single K were left out ({columns}): {left}"
        work.findings.append(warning("curves-left-out", text, column=columns))
    return several


def _say_units(work: TableWork, curves: Sequence[TableCurve]) -> None:
    """The finding where a unit is assumed, where means stand for runs, and where a quantity cannot be assumed."""
    chosen, name, head = work.chosen, work.name(work.chosen.value), work.heads[work.chosen.value]
    if chosen.bare:
        samples = curves[0].samples.by_k()
        means = [float(values.mean()) for values in samples.values()]
        if means[-1] > RISES * means[0]:
            text = "the column's name does not say whether it holds times or rates, and its values rise with K"
            raise InputError(
                Fault(text, value=name, remedy="say --quantity seconds, throughput or throughput_per_worker")
            )
    if chosen.meaning.quantity is Quantity.SECONDS and not chosen.stated:
        remedy = "write the unit into the header, such as `time (ms)`, or say --unit ms"
        work.findings.append(
            info("seconds-assumed", f"the column {name} states no unit: seconds assumed", remedy=remedy)
        )
    what = chosen.meaning.quantity.replace("_", " ")
    statistic = f", the {head.statistic} of each row" if head.statistic else ""
    origin = "the cells" if chosen.from_cells else "the unit column" if chosen.unit_column is not None else "the header"
    origin = "the text around the table" if chosen.from_caption else origin
    unit = (
        f" in {_unit_name(chosen)}, as {origin} {'say' if chosen.from_cells else 'says'}"
        if chosen.stated
        else ", seconds assumed"
        if what == "seconds"
        else ""
    )
    work.use(chosen.value, Role.VALUE, f"{what}{unit}{statistic}")
    others = [use.name for use in work.uses.values() if use.role is Role.SPREAD]
    if any(curve.summary for curve in curves) or head.statistic is not None:
        has_interval = any(item.n and item.n > 1 and item.std is not None for c in curves for item in c.summary)
        how = "intervals are computed from n and the standard deviation" if has_interval else "there are no intervals"
        text = f"the table holds a summary of each K ({name}), not the runs behind it: {how}"
        has_std = any(item.std is not None for c in curves for item in c.summary)
        has_n = any(item.n is not None for c in curves for item in c.summary)
        needed = "n, the number of runs behind each mean" if has_std else "std, the standard deviation of the runs"
        needed = needed if has_std or has_n else "n and a column std"
        remedy = f"add a column {needed}, or give the single runs"
        remedy = "give the single runs where they are at hand" if has_interval else remedy
        work.findings.append(info("summary", text, remedy=remedy, beside=others))


def _k_unit(work: TableWork) -> str:
    k = work.chosen.k
    named = None if k is None else k_unit_of(work.grid.headers[k]) or counted_noun(work.grid.columns[k])
    return named or "workers"


def _unit_name(chosen: Chosen) -> str:
    if chosen.meaning.quantity is not Quantity.SECONDS or chosen.from_cells or chosen.unit_column is not None:
        return chosen.meaning.unit or "its unit"
    names = {1e-9: "ns", 1e-6: "us", 1e-3: "ms", 1.0: "seconds", 60.0: "minutes", 3600.0: "hours", 86400.0: "days"}
    return names.get(chosen.meaning.factor, f"units of {chosen.meaning.factor:g} s")


def _reading(work: TableWork, curves: Sequence[TableCurve], uses: tuple[ColumnUse, ...], name: str) -> Reading:
    source, chosen = Source(name), work.chosen
    k_name = None if chosen.k is None else work.name(chosen.k)
    value_name = work.name(chosen.value)
    constant = [f"{use.name}: {use.why.partition(': ')[2]}" for use in work.uses.values() if use.role is Role.CONSTANT]
    assumed = any(finding.code == "seconds-assumed" for finding in work.findings)
    return Reading(
        curves=tuple(curves),
        columns=uses,
        quantity=chosen.meaning.quantity,
        unit=chosen.meaning.unit,
        k_unit=_k_unit(work),
        k_origin="the file's name" if k_name is None else f"column `{k_name}`",
        value_origin=f"column `{value_name}`",
        workload=Workload(name=source.stem),
        provenance=Provenance(
            source=source.file_name,
            tool="plain table",
            notes=(f"columns {k_name or 'K from the name'} and {value_name}", *constant[:20]),
        ),
        assumed=(*chosen.notes, *(("seconds",) if assumed else ())),
        findings=tuple(work.findings),
    )


READER = Reader("plain-table", "plain table", recognise_text, read)
