"""A published table as a claim: columns of K with times, rates, speedups or efficiencies; rows of one K are repeats.

The cells come from the reader of all plain tables, so that a table that `table` reads can be audited.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scalecurve.auditing.claim import Claim
from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.formats.headers import (
    WORDS,
    Statistic,
    ValueColumn,
    in_english,
    k_unit_of,
    parse_header,
    printed_ratio,
    unit_of,
    value_meaning,
)
from scalecurve.formats.reading import ReadOptions, Unclear
from scalecurve.formats.regime import regime_in
from scalecurve.formats.source import Source
from scalecurve.formats.tables.cells import SUMMARY_ROW, CellGrid, DecimalMark, counts_of, no_result, parse_cell
from scalecurve.formats.tables.decision import likely_table, mark_of, measured_columns, tables_in
from scalecurve.formats.tables.shapes import from_header_row
from scalecurve.formats.user_file import validate
from scalecurve.study import Quantity
from scalecurve.study.run import FloatArray

PERCENT_HEADER = 0.01
AVERAGED = r"^(?:geo(?:metric)?[ _-]?)?(?:mean|average|avg\.?)[ _-]?"
EXTRAPOLATED = re.compile(r"\b(extrapolat|project|predict|estimat)ed\b", re.IGNORECASE)
PRINTED = {"seconds", "rate", "rate_per_worker", "speedup", "efficiency"}
TEXTS = {"target", "machine"}
NUMBER_FORMAT = re.compile(r"(fp|bf|tf|int|float)[\s_-]?\d|double|single|half|mixed|\bamp\b", re.IGNORECASE)
ENDS = {Statistic.DEVIATION: "std", Statistic.MINIMUM: "least", Statistic.MAXIMUM: "most"}
MEASURED = {
    Quantity.SECONDS: "seconds",
    Quantity.THROUGHPUT: "rate",
    Quantity.THROUGHPUT_PER_WORKER: "rate_per_worker",
}
SIZE_FILLERS = {"total", "global", "number", "num", "of"}
WORKER = r"(gpu|device|worker|rank|process|core|replica|accelerator|chip|node)"
COLUMNS = {
    "std": r"(time_|runtime_)?(std|sd|stdev|std_?dev(iation)?|standard_deviation|sigma|stderr|error)(_time)?|σ|±|\+/-",
    "n": r"n|n_?runs|(num(ber)?_of_)?(repeats|runs|samples|repetitions|trials)",
    "batch": r"(global_)?batch(_size)?|gbs",
    "batch_per_worker": rf"(local|{WORKER}|per_{WORKER})_batch(_size)?|batch(_size)?[_/](per_)?{WORKER}",
    "iterations": r"(steps|iterations|iters|epochs)(_(to|until|till)_.*)?",
    "target": r"target|accuracy_target",
    "machine": r"machine|cluster|host_type|system|hardware",
    "precision": r"(data_?|d)type|(numerical_)?precision",
    "threads": r"threads(_per_(rank|worker|process))?|omp_num_threads",
    "extrapolated": r"extrapolated|projected|predicted",
}


def read_claim_table(file: Source, options: ReadOptions | None = None) -> Claim:
    """The claim in a table of any form that `scalecurve table` reads, with the same options."""
    name, options = file.name, options or ReadOptions()
    cells = _cells(file, options)
    measured = _measured(cells, options, name)
    grid = from_header_row(cells) if measured is None else measured.grid
    mark, headers = mark_of(grid), [header.strip() for header in grid.headers]
    columns, unit = _columns(headers, measured, name)
    unit = options.k_unit or unit
    counts = counts_of([str(cell) for cell in grid.columns[columns["k"][0]]], mark).values
    averages = [header for header in headers if re.match(rf"{AVERAGED}(speed|eff)", header, re.IGNORECASE)]
    by_k, summaries, faults = _rows_by_k(grid, counts, columns, mark)
    faults += [] if measured else _several_curves(by_k)
    if faults:
        raise FormatError(faults, subject=name)
    data = {
        "statement": "; ".join([*averages, *summaries]) or None,
        "name": Path(name).name,
        "kind": "table",
        "regime": options.regime_word or regime_in(cells.caption),
        "k_unit": unit,
        "points": [_point(same) for same in by_k.values()],
    }
    return validate(Claim, data, subject=name)


def _cells(file: Source, options: ReadOptions) -> CellGrid:
    """The likeliest table of a file, which may be in UTF-8 or in Windows-1252."""
    try:
        return likely_table(tables_in(file, options)[0], options)
    except UnicodeDecodeError:
        if (western := file.in_windows_1252()) is None:
            raise FormatError(Fault("not text in UTF-8", remedy="save it as UTF-8"), subject=file.name) from None
        return _cells(western, options)
    except InputError as problem:
        faults = [*problem.faults, Fault("no table here", remedy="a header such as K,seconds,speedup and rows")]
        raise FormatError(faults, subject=file.name) from None


Rows = dict[int, list[dict[str, Any]]]


def _several_curves(by_k: Rows) -> list[Fault]:
    """A fault for each K whose rows print different ratios: they are of different curves."""
    return [
        Fault(f"rows of K = {k} have different speedups or efficiencies", remedy="keep the rows of one curve")
        for k, same in by_k.items()
        if any(len({row.get(ratio) for row in same}) > 1 for ratio in ("speedup", "efficiency"))
    ]


def _rows_by_k(
    grid: CellGrid, counts: FloatArray, columns: dict[str, tuple[int, float]], mark: DecimalMark
) -> tuple[Rows, list[str], list[Fault]]:
    """The figures of every row under its K, the rows of averages as text, and what is wrong."""
    faults: list[Fault] = []
    averages: list[str] = []
    by_k: Rows = {}
    place = columns["k"][0]
    for i, count in enumerate(counts):
        row = [str(column[i]).strip() for column in grid.columns]
        if SUMMARY_ROW.match(row[place].strip("*_` ")):
            averages.append(" ".join(row))
        elif 1 <= count < 10**9 and count % 1 == 0:
            values = _row_values(grid.where(i), row, columns, mark, faults)
            if any(values.get(figure) is not None for figure in PRINTED):
                if (batch := values.pop("batch_per_worker", None)) is not None:
                    values["batch"] = batch * count
                by_k.setdefault(int(count), []).append(values | {"k": int(count)})
        elif not all(map(no_result, row[:place] + row[place + 1 :])):
            remedy = "write the count, or remove the row"
            faults.append(Fault("not a whole number of workers", grid.where(i), row[place], remedy))
    return by_k, averages, faults


@dataclass(frozen=True, eq=False)
class Measured:
    """The observations of a table: its grid, the columns of K and of values, and what they are."""

    grid: CellGrid
    k: int | None
    value: int
    meaning: ValueColumn
    from_cells: bool


def _measured(cells: CellGrid, options: ReadOptions, subject: str) -> Measured | None:
    """The columns of K and of the observations as `table` chooses them; None where the table prints ratios alone."""
    try:
        chosen, meaning = measured_columns(cells, options, subject)
        return Measured(chosen.view.grid, chosen.k, chosen.value, meaning.column, meaning.from_cells)
    except InputError as problem:
        heads = [parse_header(header) for header in from_header_row(cells).headers]
        has_values = any(value_meaning(head.text) and not head.is_derived for head in heads)
        if has_values or options.k_column is not None or options.value_column is not None:
            offers = problem.offers if isinstance(problem, Unclear) else ()
            raise Unclear(problem.faults, subject=subject, offers=offers) from None
        return None


def _columns(headers: list[str], measured: Measured | None, subject: str) -> tuple[dict[str, tuple[int, float]], str]:
    """The place and the factor of every column with a known meaning, and the unit of K."""
    places: dict[str, tuple[int, float]] = {}
    if measured is not None and measured.k is not None:
        factor = 1.0 if measured.from_cells else measured.meaning.factor
        places = {"k": (measured.k, 1.0), MEASURED[measured.meaning.quantity]: (measured.value, factor)}
    taken, of_values = {place for place, _ in places.values()}, [1.0, *(own for _, own in places.values())][-1]
    unit = next(filter(None, (k_unit_of(headers[place]) for place in taken)), "workers")
    for i, header in enumerate(headers):
        if i in taken:
            continue
        if "k" not in places and (named_unit := k_unit_of(header)):
            places["k"], unit = (i, 1.0), named_unit
        elif named := _meaning(header, of_values):
            places.setdefault(named[0], (i, named[1]))
    if "k" not in places or not places.keys() & {*MEASURED.values(), "speedup", "efficiency"}:
        needed = "one of worker counts and one of times, rates, speedups or efficiencies"
        hint = f"columns seen: {', '.join(headers)}; needed: {needed}"
        raise FormatError(Fault("not a table of a scaling claim", remedy=hint), subject=subject)
    return places, unit


def _meaning(header: str, of_values: float) -> tuple[str, float] | None:
    """What a column beside K and the values holds, and its factor; that of a spread without a unit is `of_values`."""
    plain = re.sub(r"[\s.-]+", "_", in_english(header).lower().strip("*`$\"' ."))
    bare, _, unit = re.sub(r"[)\]]$", "", plain).replace("[", "(").partition("(")
    bare += unit if unit.startswith("per_") else ""
    ratio, head = printed_ratio(re.sub(AVERAGED, "", header, flags=re.IGNORECASE)), parse_header(header)
    name = next((own for own, pattern in COLUMNS.items() if re.fullmatch(pattern, bare.rstrip("_"))), ratio)
    about_time = {*head.base} <= WORDS["time"] and not (head.other_unit or head.unknown_unit)
    if name is None and head.statistic in ENDS and about_time:
        name = ENDS[head.statistic]
    elif name is None and head.unit is None and head.words and {*head.words} <= WORDS["work"] | SIZE_FILLERS:
        name = "work"
    in_percent = any(mark in plain for mark in ("%", "percent", "pct"))
    of_time = name in ENDS.values()
    if name is None or (of_time and in_percent):
        return None
    own = (unit_of(unit) or head.unit) if of_time else None
    factor = of_values if of_time and own is None else 1.0 if own is None else own.factor
    return name, PERCENT_HEADER if name == "efficiency" and in_percent else factor


def _row_values(
    where: str, row: Sequence[str], columns: dict[str, tuple[int, float]], mark: DecimalMark, faults: list[Fault]
) -> dict[str, Any]:
    """The figures of one row; efficiencies stay in the unit they are written in."""
    values: dict[str, Any] = {"written": {}, "last_digit": {}}
    values["extrapolated"] = any(EXTRAPOLATED.search(cell) for cell in row)
    for name, (place, factor) in columns.items():
        cell = row[place]
        if name == "precision":  # not that of a classifier
            values[name] = cell if NUMBER_FORMAT.search(cell) else None
        elif name in TEXTS:
            values[name] = cell or None
        elif name == "extrapolated":
            values[name] |= cell.lower() in ("1", "yes", "true", "x")
        elif name == "k":
            continue
        elif name == "work":
            values[name] = _size(cell, mark)
        elif "," in cell and name in ("speedup", "efficiency") and mark in (DecimalMark.UNKNOWN, DecimalMark.BOTH):
            remedy = "write decimals with a point, or semicolons between the columns"
            faults.append(Fault("the comma may part decimals or thousands", f"{where}, {name}", cell, remedy))
        elif (printed := _number(cell, mark, f"{where}, {name}", faults)) is None:
            values.setdefault(name, None)
        else:
            _add_figure(values, name, cell, printed, factor)
    return values


def _add_figure(values: dict[str, Any], name: str, cell: str, printed: PrintedCell, factor: float) -> None:
    """Put a printed number with its last digit, its spread and its unit among the values of its row."""
    in_percent = name == "efficiency" and (cell.rstrip("*").endswith("%") or factor == PERCENT_HEADER)
    scale = 1.0 if in_percent or printed.in_seconds else factor
    values.setdefault(name, printed.value * scale)
    if name in PRINTED:
        values["written"][name] = cell
        values["last_digit"][name] = printed.last_digit * scale
    if printed.spread is not None and name in MEASURED.values():
        values["std"] = printed.spread * scale
    if in_percent:
        values |= {"efficiency_unit": "percent", "percent_sign": cell.endswith("%")}


def _size(cell: str, mark: DecimalMark) -> float | None:
    """A problem size, also as 512x512 or 64^3; None where the cell is no number."""
    plain = re.sub(r"[×*]", "x", cell.strip("*`$ "))
    if power := re.fullmatch(r"(\d+)\^(\d)", plain):
        return float(int(power[1]) ** int(power[2]))
    numbers = [parse_cell(part, mark) for part in plain.split("x")]
    sizes = [number.value for number in numbers if number is not None and 0 < number.value < math.inf]
    return math.prod(sizes) if len(sizes) == len(numbers) else None


@dataclass(frozen=True)
class PrintedCell:
    """A printed number, the unit of its last digit, the spread behind ± and whether a unit made it seconds."""

    value: float
    last_digit: float
    spread: float | None = None
    in_seconds: bool = False


def _number(cell: str, mark: DecimalMark, where: str, faults: list[Fault]) -> PrintedCell | None:
    """`7.5x`, `1.9×`, `94 %`, `0.00`, `1,200`, `1,9` or `2.0 ± 0.1 s` as a figure; None where there is no result."""
    if no_result(cell):
        return None
    cell = re.sub(r"\s*[(\[][^)\]\d]*[)\]]$", "", cell.strip())  # `9.5 (projected)`
    text = re.sub(r"\s*(?:%|[xX×]|\\times|-?fold)\s*\$?$", "", cell.strip().strip("*`$").strip())
    number = parse_cell(text, mark)
    if number is None or not 0 <= number.value < float("inf"):
        faults.append(
            Fault("not a number from 0", where=where, value=cell, remedy="write one number, or leave it empty")
        )
        return None
    decimal = "," if mark is DecimalMark.COMMA else "."
    digits = re.match(r"[~≈\s]*[-+]?\d[\d'\s.,]*(?:[eEdD][-+]?\d+)?", text)
    mantissa, _, exponent = re.sub(r"[dD]", "e", digits[0].lower() if digits else "0").partition("e")
    last = 10.0 ** (int(exponent or 0) - len(mantissa.strip().rstrip(",. ").partition(decimal)[2]))
    factor = 1.0 if number.unit is None else number.unit.factor
    in_seconds = number.unit is not None and number.unit.quantity is Quantity.SECONDS
    return PrintedCell(number.value, last * factor, number.spread, in_seconds)


def _point(same: list[dict[str, Any]]) -> dict[str, Any]:
    """One K: the mean of its repeats, with their spread."""
    first = same[0]
    measured = next((name for name in MEASURED.values() if first.get(name) is not None), None)
    if len(same) == 1 or measured is None:
        return first
    values = [float(row[measured]) for row in same if row[measured] is not None]
    spread = statistics.stdev(values) if len(values) > 1 else None
    written = {name: text for name, text in first["written"].items() if name != measured}
    # A ratio that differs between the rows is that of each run, not a published figure of this K.
    of_runs = {name: None for name in ("speedup", "efficiency") if len({row.get(name) for row in same}) > 1}
    mean = {measured: statistics.fmean(values), "n": len(values), "std": spread, "samples": tuple(values)}
    return first | mean | {"written": written} | of_runs
