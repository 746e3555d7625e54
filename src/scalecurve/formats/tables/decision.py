"""The reader of all tables: candidate readings are weighed, one far ahead is taken, else the best are shown.

A refusal ends in complete commands, each tried before it is printed.
"""

from __future__ import annotations

import itertools
import re
import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from scalecurve.document import as_typed
from scalecurve.errors import ON_COMMAND_LINE, Fault, InputError
from scalecurve.findings import info, warning
from scalecurve.formats.headers import (
    TIME_UNITS,
    is_worker_time,
    k_unit_of,
    parse_header,
    pattern,
    value_meaning,
    worker_unit,
)
from scalecurve.formats.reading import Reader, Reading, ReadOptions, Unclear
from scalecurve.formats.regime import regime_in, regime_named
from scalecurve.formats.source import Source
from scalecurve.formats.tables.candidates import EMPTY, HEADER, Candidate, candidates, listed, names_workers
from scalecurve.formats.tables.cells import (
    SAMPLE_ROWS,
    CellGrid,
    DecimalMark,
    counts_of,
    decimal_mark,
    labels_of,
    may_be_thousands,
    only_parted,
)
from scalecurve.formats.tables.evidence import (
    UNITS,
    cells_of_k,
    in_order,
    is_proven_k,
    is_setting,
    known_quantity,
    name_of_k,
    weigh,
)
from scalecurve.formats.tables.facts import TableView
from scalecurve.formats.tables.meanings import ALL_WORKERS, meaning_of
from scalecurve.formats.tables.observations import read_candidate
from scalecurve.formats.tables.structure import NamedTable, TableLayout, find_layout, read_grid, with_caption
from scalecurve.formats.tables.work import Meaning
from scalecurve.study import Quantity, Regime

TOO_FAR = 7.5  # behind the best reading: latencies beside a rate are no second reading
AHEAD = 1.0  # by how much the best reading must lead
LEAST_OF_K = -0.5  # what they must come to for a reading to be offered
ENOUGH = 2.0  # what the name and the cells of K must come to
HYPERFINE = ("command", "mean", "stddev", "median", "user", "system", "min", "max")  # its CSV, in seconds
CHECKED_ROWS = 200
MOST_OFFERS, MOST_TRIED, MOST_CURVES_OFFERED = 3, 8, 30
MOSTLY_SAME = 0.9  # of the rows must agree; few digits may differ more
SAME = 0.03  # what the digits of a printed table may leave open
_MARKS_IN_TEXT = (("commas_in_text", True), ("points_in_text", False))
_UNIT_NAMES = {TIME_UNITS[name]: name for name in ("ns", "us", "ms", "s", "min", "h")}


def recognise_text(source: Source) -> str | None:
    is_json = source.looks_like_json or source.name.endswith(".json")
    return None if is_json or b"\x00" in source.head[:4096] else "text without the marks of another format"


def read(source: Source, options: ReadOptions) -> Reading:
    """The curves, in seconds, or in the table's own unit where they are rates."""
    k = None
    if options.k_from is not None:
        from scalecurve.formats.curve_choice import matched_count

        k = matched_count(options.k_from, source.name)
    tables, facts = tables_in(source, options)
    reading = read_tables(tables, options, source.name, k)
    if "scalecurve.regime" not in facts:
        return reading
    return replace(
        reading,
        regime=Regime(facts["scalecurve.regime"]),
        k_unit=facts.get("scalecurve.k_unit") or reading.k_unit,
        workload=replace(reading.workload, name=facts.get("scalecurve.name") or reading.workload.name),
    )


def tables_in(source: Source, options: ReadOptions) -> tuple[Sequence[NamedTable], Mapping[str, str]]:
    """Every table of a source with its heading, and what the metadata of an Arrow table states."""
    if recognise_text(source):
        layout = find_layout(source)
        if layout.tables:
            return [NamedTable(own.title, with_caption(source, own.grid)) for own in layout.tables], {}
        return [NamedTable("", _all_numbers(source, layout, options) or read_grid(source, layout))], {}
    from scalecurve.formats.tables.forms import formed_tables

    return formed_tables(source)


def read_tables(tables: Sequence[NamedTable], options: ReadOptions, name: str, k: int | None = None) -> Reading:
    """The curves of every usable table of a document, named by its heading; or those of the one that was asked for."""
    if options.table is not None:
        return read_table(_asked_for(tables, options.table).grid, options, name, k)
    tables = _with_k_of_titles(tables)
    if len(tables) == 1:
        return read_table(tables[0].grid, options, name, k)
    of_regime = [own for own in tables if options.regime is None or regime_in(own.title) in (None, options.regime)]
    read_ones: list[tuple[int, NamedTable, Reading]] = []
    problems: list[tuple[int, InputError]] = []
    for number, table in enumerate(tables, 1):
        if table not in of_regime:
            continue
        try:
            reading = read_table(table.grid, options, name, k, offering=False)
        except InputError as problem:
            problems.append((number, problem))
        else:
            if any(len(curve.samples.distinct_k) > 1 for curve in reading.curves):
                read_ones.append((number, table, reading))
    named = [own for own in read_ones if len(own[2].k_origin or "") > len("column `P`")]
    read_ones = _said_once(named or read_ones)  # P may count partitions where another table counts threads
    if not read_ones:
        return _refused_all(tables, problems, options, name, k)
    if len(read_ones) == 1:
        return read_ones[0][2]
    return _joined(read_ones, options, name)


def _with_k_of_titles(tables: Sequence[NamedTable]) -> Sequence[NamedTable]:
    """Tables of the same columns whose titles differ in a worker count, as one table with that count; else as given."""
    headers = tables[0].grid.headers
    if len({own.grid.headers for own in tables}) > 1 or any(map(k_unit_of, headers)) or len(tables) < 2:
        return tables
    counts = counts_of([own.title for own in tables], named=False).values
    if not np.isfinite(counts).all() or len(set(counts.tolist())) < 2:
        return tables
    rows = [
        (own.grid, i, f"{count:g}") for own, count in zip(tables, counts, strict=True) for i in range(own.grid.rows)
    ]
    columns = [
        [count for _, _, count in rows],
        *([str(grid.columns[j][i]) for grid, i, _ in rows] for j in range(len(headers))),
    ]
    lines = [grid.lines[i] for grid, i, _ in rows]
    return [NamedTable("", replace(tables[0].grid, headers=("workers", *headers), columns=tuple(columns), lines=lines))]


def _said_once(read_ones: Sequence[tuple[int, NamedTable, Reading]]) -> list[tuple[int, NamedTable, Reading]]:
    """The tables without those that only say again what a longer one says: the means of the runs above them."""

    def means(reading: Reading) -> list[dict[int, float]]:
        return [{k: float(v.mean()) for k, v in curve.samples.by_k().items()} for curve in reading.curves]

    def is_among(one: dict[int, float], others: list[dict[int, float]]) -> bool:
        return any(one.keys() == own.keys() and all(abs(own[k] / one[k] - 1) < 0.01 for k in one) for own in others)

    kept: list[tuple[int, NamedTable, Reading]] = []
    for entry in sorted(read_ones, key=lambda own: -sum(len(curve.samples) for curve in own[2].curves)):
        known = [one for _, _, reading in kept for one in means(reading)]
        if not all(is_among(one, known) for one in means(entry[2])):
            kept.append(entry)
    return sorted(kept, key=lambda own: own[0])


def _asked_for(tables: Sequence[NamedTable], wanted: str) -> NamedTable:
    if wanted.isdecimal() and 1 <= int(wanted) <= len(tables):
        return tables[int(wanted) - 1]
    near = [own for own in tables if own.title == wanted] or [
        own for own in tables if wanted.lower() in own.title.lower()
    ]
    if len(near) != 1:
        names = ", ".join(f"{i} {own.title}".strip() for i, own in enumerate(tables[:20], 1))
        raise InputError(Fault("--table names no single table", value=wanted, remedy=f"there are: {names}"))
    return near[0]


def _refused_all(
    tables: Sequence[NamedTable],
    problems: Sequence[tuple[int, InputError]],
    options: ReadOptions,
    name: str,
    k: int | None,
) -> Reading:
    """The refusal of a document none of whose tables can be read: what the most likely one needs."""
    numbers = [number for number, _ in problems] or [1]
    likely = [n for n in numbers if any(map(k_unit_of, tables[n - 1].grid.headers))] or numbers
    try:
        return read_table(tables[likely[0] - 1].grid, replace(options, table=str(likely[0])), name, k)
    except InputError as problem:
        titles = ", ".join(f"{i} {own.title}".strip() for i, own in enumerate(tables[:20], 1))
        about = Fault(f"there are {len(tables)} tables in the file", value=titles, remedy="choose one with --table")
        offers = problem.offers if isinstance(problem, Unclear) else ()
        raise Unclear([about, *problem.faults], offers=offers) from None


def _joined(read_ones: Sequence[tuple[int, NamedTable, Reading]], options: ReadOptions, name: str) -> Reading:
    """The curves of several tables in one reading, each named by the heading of its table."""
    first = read_ones[0][2]
    kinds = {(own.quantity, own.k_unit if len(read_ones) < 2 else None) for _, _, own in read_ones}
    if len(kinds) > 1:
        quantities = ", ".join(f"{number} {table.title}".strip() for number, table, _ in read_ones)
        fault = Fault(
            "the tables of the file hold different quantities", value=quantities, remedy="choose with --table"
        )
        ways = [{"table": str(number)} for number, _, _ in read_ones]
        offers = [
            line for (_, _, own), way in zip(read_ones, ways, strict=True) for line in _shown(own, way, options, name)
        ]
        raise Unclear(fault, ways=ways, offers=offers)
    titles = [table.title or f"table {number}" for number, table, _ in read_ones]
    titles = [t if titles.count(t) == 1 else f"{t} ({n})" for t, (n, _, _) in zip(titles, read_ones, strict=True)]
    curves = tuple(
        replace(curve, name=" ".join(filter(None, (title, curve.name))), axes={"table": title, **curve.axes})
        for title, (_, _, own) in zip(titles, read_ones, strict=True)
        for curve in own.curves
    )
    text = f"each of {len(read_ones)} tables is a curve: {', '.join(titles)[:200]}"
    found = {(item.code, item.message): item for _, _, own in read_ones for item in own.findings}
    finding = info("tables-are-curves", text, remedy="--table N reads one of them")
    return replace(first, curves=curves, findings=(*found.values(), finding))


def read_table(
    grid: CellGrid, options: ReadOptions, name: str, k: int | None = None, *, offering: bool = True
) -> Reading:
    """The curves of one table by the reading that its evidence favours; a refusal offers commands that work."""
    if grid.headers[: len(HYPERFINE)] == HYPERFINE:
        options = _of_hyperfine(options)
    stated, where = regime_in(grid.caption), "text around the table"
    if stated is None and options.regime is not None:
        stated, where = regime_named(PurePath(name).stem), "name of the file"
    taken = options if options.regime is not None or stated is None else replace(options, regime=stated)
    ranked: list[Candidate] = []
    try:
        ranked = sorted(map(weigh, candidates(grid, taken, mark_of(grid))), key=lambda own: -own.score)
        reading = read_candidate(_decide(ranked, grid, taken), name, k)
    except InputError as problem:
        if offering:
            raise _with_offers(problem, ranked, grid, taken, name, k) from None
        raise
    if stated is None or (options.regime is not None and options.regime is stated):
        return reading
    if options.regime is not None:
        text = f"the {where} says {stated} scaling, and the study is {options.regime}"
        remedy = f"say --regime {stated}, if that is right"
        return replace(reading, findings=(*reading.findings, warning("other-regime-in-text", text, remedy=remedy)))
    text = f"the text around the table says {stated} scaling"
    finding = info("regime-in-text", text, remedy="say --regime if it speaks of something else")
    return replace(reading, regime=stated, findings=(*reading.findings, finding))


def _of_hyperfine(options: ReadOptions) -> ReadOptions:
    """The options with what hyperfine writes into its CSV: the mean of the runs, in seconds, unless asked otherwise."""
    if options.quantity not in (None, Quantity.SECONDS):
        return options
    column = options.value_column or "mean"
    return replace(options, unit=options.unit or 1.0, quantity=Quantity.SECONDS, value_column=column)


def measured_columns(grid: CellGrid, options: ReadOptions, name: str) -> tuple[Candidate, Meaning]:
    """The columns of K and of the observations as every reader of tables chooses them, and what the latter are."""
    ranked = sorted(map(weigh, candidates(grid, options, mark_of(grid))), key=lambda own: -own.score)
    try:
        chosen = _decide(ranked, grid, options)
    except InputError as problem:
        raise _with_offers(problem, ranked, grid, options, name, None) from None
    return chosen, meaning_of(chosen)


def likely_table(tables: Sequence[NamedTable], options: ReadOptions) -> CellGrid:
    """The table that was asked for, the only one, or the first that counts workers."""
    if options.table is not None:
        return _asked_for(tables, options.table).grid
    return next((own.grid for own in tables if any(map(k_unit_of, own.grid.headers))), tables[0].grid)


def _decide(ranked: Sequence[Candidate], grid: CellGrid, options: ReadOptions) -> Candidate:
    """The reading that leads by enough; an Unclear with the rivals where none does."""
    if not ranked:
        raise Unclear(_nothing_fits(grid, options))
    best = ranked[0]
    asked = options.k_column is not None or options.k_from is not None
    if not asked and name_of_k(best) + min(cells_of_k(best), 1.0) < ENOUGH and not is_proven_k(best):
        remedy = f"{listed(grid.headers)}; name it with --k-column (K, workers, gpus, nodes, ranks, threads ...)"
        raise Unclear([Fault("no column of worker counts", remedy=remedy)], ways=_ways(ranked))
    if best.meaning is None and _only_ratios(best):
        raise Unclear(_nothing_fits(grid, options))
    best = best if asked or best.k is None else _with_finest_k(best, ranked)
    close = [own for own in ranked if ranked[0].score - own.score < AHEAD]
    best = next((own for own in close if _is_rate_of(own, best)), best)
    if rivals := [own for own in close if own is not best and not _tell_the_same(best, own)]:
        names = "; ".join(dict.fromkeys(_described(own) for own in (best, *rivals[:3])))
        remedy = "choose with --k-column and --value-column"
        raise Unclear([Fault(f"the table can be read in several ways: {names}", remedy=remedy)], ways=_ways(ranked))
    return best


def _with_finest_k(best: Candidate, ranked: Sequence[Candidate]) -> Candidate:
    """The same curve with the K that counts what is paid for: all cores, not the nodes."""
    alike = [own for own in ranked if own.value == best.value and own.view is best.view and _same_curve(best, own)]
    units = {own: worker_unit(own.view.name(own.k)) for own in alike if own.k is not None}
    return max((own for own in units if units[own]), key=lambda own: UNITS[str(units[own])], default=best)


def _tell_the_same(best: Candidate, other: Candidate) -> bool:
    return _same_curve(best, other) or _are_of_one_summary(best, other) or _is_rate_of(best, other)


def _is_rate_of(rate: Candidate, time: Candidate) -> bool:
    """Whether a rate times a time is K times a constant: the work of each worker is fixed, or one request of each
    client is under way, and the rate tells how that scales."""
    kinds = [own.meaning.quantity if own.meaning else None for own in (rate, time)]
    if kinds != [Quantity.THROUGHPUT, Quantity.SECONDS] or (rate.k, rate.long.how) != (time.k, time.long.how):
        return False
    if len(rate.values) != len(time.values) or (rows := rate.usable & time.usable).sum() < 3:
        return False
    work = rate.values[rows] * time.values[rows] / rate.workers[rows]
    return bool(np.ptp(rate.workers[rows]) > 0 and np.all(abs(work / np.median(work) - 1) <= SAME))


def _are_of_one_summary(one: Candidate, other: Candidate) -> bool:
    """Whether two readings differ in the statistic only: the mean and the median of one quantity."""
    heads = (one.value_head, other.value_head)
    same = one.k == other.k and one.view is other.view and heads[0].base == heads[1].base
    return same and heads[0].statistic is not None and heads[1].statistic is not None


def _described(own: Candidate) -> str:
    k = "the file's name" if own.k is None else own.view.name(own.k) or EMPTY
    return f"K = {k}, T = {own.view.name(own.value) or EMPTY}"


def _only_ratios(own: Candidate) -> bool:
    """Whether the observations are 1 at the smallest K of every curve, as speedups are."""
    rows = own.usable
    if own.k is None or not rows.any():
        return False
    workers, values = own.workers[rows], own.values[rows]
    first = values[workers == workers.min()]
    return len(first) > 1 and bool((first == 1.0).all()) and float(np.ptp(values)) > 0


def _nothing_fits(grid: CellGrid, options: ReadOptions) -> list[Fault]:
    """What to say where no column can be K, or none the observations."""
    view = TableView(grid, options, DecimalMark.POINT)
    faults = []
    if not any(names_workers(view, i) and view.has_counts(i) for i in range(view.width)) and options.k_from is None:
        remedy = f"{listed(grid.headers)}; name it with --k-column (K, workers, gpus, nodes, ranks, threads ...)"
        faults.append(Fault("no column of worker counts", remedy=remedy))
    if sums := [head.text for head in view.heads if is_worker_time(head.text)]:
        remedy = "divide it by the number of workers, and give the elapsed time"
        return [*faults, Fault(ALL_WORKERS, value=", ".join(sums), remedy=remedy)]
    ratios = [
        head.text
        for i, head in enumerate(view.heads)
        if head.is_derived or all(re.fullmatch(r"[\d.,]+\s*[%x×]", label) for label in view.labels(i))
    ]
    if ratios or not faults:
        remedy = "check published figures with `scalecurve audit`, or add the column of times or rates behind them"
        text = "speedups and efficiencies are made of times, and no column holds times or rates"
        named = ", ".join(ratios[:5]) or ", ".join(view.name(i) or EMPTY for i in range(min(view.width, 10)))
        return [*faults, Fault(text, value=named, remedy=remedy)]
    how = "name it with --value-column and say --quantity seconds, throughput or throughput_per_worker"
    return [*faults, Fault("no column of times or rates", remedy=f"{listed(grid.headers)}; {how}")]


def _same_curve(one: Candidate, other: Candidate) -> bool:
    """Whether two readings say the same: counts that rise together, a time in s and in ms, a rate and its time."""
    if len(one.values) != len(other.values) or one.long.how != other.long.how:
        return False
    rows = one.usable & other.usable
    if rows.sum() < 2 or not np.array_equal(one.usable, other.usable):
        return False
    if float(np.ptp(one.workers[rows] / other.workers[rows])) > 1e-9:
        return False
    if one.value == other.value:
        return True
    if rows.sum() < 3 or float(np.ptp(one.values[rows])) <= SAME * float(one.values[rows].max()):
        return False
    return one.meaning is not None and other.meaning is not None and _same_values(one, other, rows)


def _same_values(one: Candidate, other: Candidate, rows: Any) -> bool:
    """Whether observations follow from one another at every K: by a unit, as a rate and its time, by the worker."""
    both = (one, other)
    kinds = [own.meaning.quantity if own.meaning else None for own in both]
    per_worker = Quantity.THROUGHPUT_PER_WORKER in kinds and kinds[0] is not kinds[1]
    a, b = (
        own.values[rows] * (own.workers[rows] if per_worker and kind is Quantity.THROUGHPUT_PER_WORKER else 1.0)
        for own, kind in zip(both, kinds, strict=True)
    )
    inverse = (kinds[0] is Quantity.SECONDS) != (kinds[1] is Quantity.SECONDS)
    same = a * b if inverse else a / b
    level = float(np.median(same))
    units = [own.meaning.factor if own.meaning else 1.0 for own in both]
    texts = "".join(own.value_head.text for own in both)
    is_scaled = inverse or per_worker or "/" in texts or any("per" in " ".join(own.value_head.words) for own in both)
    if not is_scaled and abs(level * units[0] / units[1] - 1) > SAME:
        return False
    return float(np.mean(abs(same / level - 1) <= SAME)) >= MOSTLY_SAME


def _reference(own: Candidate, i: int, shift: int = 0) -> str:
    """How a user names a column: by its header, or by its number where the header is empty or not alone."""
    headers = [header.strip() for header in own.view.grid.headers]
    name = headers[i]
    return name if name and headers.count(name) == 1 and "*" not in name else str(i + 1 - shift)


def _varied(ranked: Sequence[Candidate]) -> list[Candidate]:
    """The best readings, each next with another K or another column of observations than those before."""
    best_of: dict[tuple[str, str], Candidate] = {}
    ranked = [own for own in ranked if own.score > ranked[0].score - TOO_FAR]
    ranked = [
        own for own in ranked if name_of_k(own) + cells_of_k(own) + in_order(own) > LEAST_OF_K and not is_setting(own)
    ]
    ranked = [own for own in ranked if own.meaning is not None or known_quantity(own) is not None] or ranked
    for own in ranked:
        k = "" if own.k is None else own.view.name(own.k)
        best_of.setdefault(("k", f"{own.long.how} {k}"), own)
        best_of.setdefault(("value", own.view.name(own.value)), own)
    varied = dict.fromkeys([*ranked[:1], *best_of.values(), *ranked])
    return sorted(list(varied)[: 2 * MOST_TRIED], key=lambda own: -own.score)[:MOST_TRIED]


def _ways(ranked: Sequence[Candidate]) -> list[dict[str, Any]]:
    """The options that lead to the best readings; both quantities where nothing says which."""
    ways: list[dict[str, Any]] = []
    for own in _varied(ranked):
        way: dict[str, Any] = {}
        shift = 1 if own.long.parts else 0
        if own.long.how == "k-in-headers":
            way["k_column"] = HEADER
        elif own.long.parts:
            way["k_column"] = "*".join(_reference(own, i, shift) for i in own.long.parts)
        elif own.k is not None:
            way["k_column"] = _reference(own, own.k)
        if own.long.how == "curves":
            way["melt"] = True
        elif own.long.value is None:
            way["value_column"] = _reference(own, own.value, shift)
        known = own.meaning is not None or known_quantity(own) is not None
        both = (Quantity.THROUGHPUT, Quantity.SECONDS)
        ways += [way] if known else [{**way, "quantity": quantity} for quantity in both]
    return ways


def _with_offers(
    problem: InputError, ranked: Sequence[Candidate], grid: CellGrid, options: ReadOptions, name: str, k: int | None
) -> InputError:
    """The refusal with the commands that work, each tried; the same refusal where none does."""
    ways = list(problem.ways) if isinstance(problem, Unclear) else []
    combined = [{**way, **own} for way in _ways(ranked[:1]) for own in ways]
    lines: list[str] = []
    shown: set[str] = set()
    left = [(way, 0) for way in (*ways, *combined, *_ways(ranked))][: 3 * MOST_TRIED]
    while left and len(shown) < MOST_OFFERS:
        way, depth = left.pop(0)
        try:
            reading = read_table(grid, replace(options, **way), name, k, offering=False)
        except InputError as other:
            if isinstance(other, Unclear) and depth == 0:  # what that reading would need in turn
                left[:0] = [({**way, **own}, 1) for own in other.ways[:2]]
            continue
        if (facts := _facts_of(reading)) is not None and facts not in shown:
            shown.add(facts)
            lines += _shown(reading, way, options, name)
    return Unclear(problem.faults, subject=problem.subject, ways=ways, offers=lines)


def _facts_of(reading: Reading) -> str | None:
    """What tells a reading from others; None for one that is no answer: no curve with two K, or a tuning sweep."""
    good = [curve for curve in reading.curves if len(curve.samples.distinct_k) > 1]
    ks = [k for curve in good for k in curve.samples.distinct_k.tolist()]
    few = len(good) <= MOST_CURVES_OFFERED or sum(k & (k - 1) == 0 for k in ks) > 3 * len(good)
    facts = [(curve.samples.k.tolist()[:50], curve.samples.values.tolist()[:50]) for curve in good]
    return repr((facts, reading.quantity)) if good and few else None


def _shown(reading: Reading, way: Mapping[str, Any], options: ReadOptions, name: str) -> list[str]:
    """One reading as a small table, with the complete command that gives it."""
    curve = max(reading.curves, key=lambda own: len(own.samples.distinct_k))
    by_k = sorted(curve.samples.by_k().items())[:6]
    more = f" (and {len(reading.curves) - 1} more curves)" if len(reading.curves) > 1 else ""
    sign = "T in s" if reading.quantity is Quantity.SECONDS else "rate"
    means = [(k, float(values.mean())) for k, values in by_k]
    cells = [(str(k), f"{mean:,.0f}" if mean >= 1e4 else f"{mean:.4g}") for k, mean in means]
    widths = [max(map(len, pair)) for pair in cells]
    rows = ["  ".join(pair[i].rjust(width) for pair, width in zip(cells, widths, strict=True)) for i in (0, 1)]
    head = "K".ljust(len(sign))
    return [
        f"  {reading.k_origin} and {reading.value_origin}{more}:",
        f"    {head}  {rows[0]}",
        f"    {sign}  {rows[1]}",
        f"    {command_of(replace(options, **way), name)}",
    ]


def command_of(options: ReadOptions, name: str) -> str:
    """The command that was typed, or `scalecurve table`, with these options."""
    words: list[str] = []
    plain = {
        "regime": options.regime, "quantity": options.quantity, "k-column": options.k_column,
        "value-column": options.value_column, "k-unit": options.k_unit, "k-from": options.k_from,
        "series": options.series, "baseline-k": options.baseline_k, "node-size": options.node_size,
        "unit": None if options.unit is None else _UNIT_NAMES.get(options.unit, "s"), "table": options.table,
    }  # fmt: skip
    for option, value in plain.items():
        words += [] if value is None else [f"--{option}", str(value)]
    for option, values in (("ignore", options.ignore), ("where", options.where), ("accept", options.accept)):
        words += [word for value in values for word in (f"--{option}", value)]
    words += ["--melt"] if options.melt else []
    place, said = "-" if name == "standard input" else shlex.quote(name), shlex.join(words)
    typed = as_typed(f"SAME {said}") if ON_COMMAND_LINE.get() else None
    return typed if typed is not None and place in typed.split() else f"scalecurve table {place} {said}"


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
    if mark is DecimalMark.UNKNOWN and _says_commas(grid.caption):
        return DecimalMark.COMMA
    parts_all = grid.delimiter != ";" and all(map(only_parted, numeric))  # where ; parts cells, a comma parts decimals
    is_parted = mark is DecimalMark.UNKNOWN and (parts_all or _parts_thousands(grid, numeric))
    return DecimalMark.POINT if is_parted else mark


def _says_commas(caption: str) -> bool:
    """Whether the numbers in the text around a table have decimal commas, and none a decimal point."""
    return all((pattern(f"decision.{name}").search(caption) is not None) is own for name, own in _MARKS_IN_TEXT)


def _parts_thousands(grid: CellGrid, numeric: Sequence[Sequence[str]]) -> bool:
    """Whether commas that could be either part thousands: a point parts decimals elsewhere, a count of workers has a
    comma, the digits behind all of them are zeros, or a curve would fall a hundredfold between 801 and 1,573."""
    columns = zip(grid.headers, grid.columns, strict=True)
    texts = [(header, cells[:SAMPLE_ROWS]) for header, cells in columns if not isinstance(cells, np.ndarray)]
    if any(_has_decimal_points(header, cells) or _counts_by_commas(header, cells) for header, cells in texts):
        return True
    with_commas = [{cell.strip() for cell in column[:SAMPLE_ROWS] if "," in cell} for column in numeric]
    in_hundreds = [len(own) > 1 and all(map(pattern("decision.hundreds").fullmatch, own)) for own in with_commas]
    is_plain = bool(numeric) and all(in_hundreds) and all(map(str.isascii, grid.headers))
    return is_plain or (bool(numeric) and all(_leaps_at_1000(column[:SAMPLE_ROWS]) for column in numeric))


def _has_decimal_points(header: str, cells: Sequence[str]) -> bool:
    head = parse_header(header)
    is_number = head.is_derived or head.statistic is not None or value_meaning(header) is not None
    return is_number and any(pattern("decision.decimal_point").fullmatch(cell.strip()) for cell in cells)


def _counts_by_commas(header: str, cells: Sequence[str]) -> bool:
    return k_unit_of(header) is not None and any("," in cell for cell in cells)


def _leaps_at_1000(cells: Sequence[str]) -> bool:
    """Whether all numbers are three digits or have a comma, and as decimals the latter would be far smaller."""
    plain = [int(cell) for cell in cells if re.fullmatch(r"[1-9]\d\d", cell.strip())]
    parted = [float(cell.replace(",", ".")) for cell in cells if re.fullmatch(r"\d{1,3},\d{3}", cell)]
    return bool(plain) and len(plain) + len(parted) >= len(cells) and 10 * max(parted) <= min(plain)


def _all_numbers(source: Source, layout: TableLayout, options: ReadOptions) -> CellGrid | None:
    """A long table of plain numbers by numpy; None where the table has any other form, or a number is out of range."""
    width = len(layout.headers)
    with source.open_text() as file:
        rows = list(itertools.islice((line for n, line in enumerate(file, 1) if n > layout.first), CHECKED_ROWS))
    if width < 2 or len(rows) < CHECKED_ROWS:  # a short table needs no haste
        return None
    cells = [layout.split(line.split("#")[0].strip()) for line in rows if line.split("#")[0].strip()]
    if not cells or any(len(row) != width for row in cells):
        return None
    try:
        sample = CellGrid(layout.headers, tuple(zip(*cells, strict=True)), range(len(cells)))
        [[float(cell) for cell in row] for row in cells]
        if _has_labels(sample) or any(may_be_thousands(sample.headers, column) for column in sample.columns):
            return None
        with source.open_text() as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            delimiter = layout.delimiter if layout.delimiter in (",", ";", "\t") else None
            data = np.loadtxt(file, delimiter=delimiter, skiprows=layout.first, ndmin=2, comments=None, quotechar='"')
    except UnicodeDecodeError:
        raise
    except (ValueError, IndexError):
        return None
    with source.open_text() as file:
        if sum(1 for _ in file) != layout.first + len(data):
            return None  # empty lines may part curves
    numbers = range(layout.first + 1, layout.first + len(data) + 1)
    return with_caption(source, CellGrid(layout.headers, tuple(data.T), numbers))


def _has_labels(sample: CellGrid) -> bool:
    """Whether a column may hold names that look like numbers: versions such as 1.10."""
    for header, cells in zip(sample.headers, sample.columns, strict=True):
        head = parse_header(header)
        measured = head.unit is not None or head.other_unit is not None or head.is_derived
        measured = measured or value_meaning(header) is not None or k_unit_of(header) is not None
        written = labels_of(np.array(list(map(float, cells))))
        if not measured and not head.is_repeat and any(a != b for a, b in zip(written, cells, strict=True)):
            return True
    return False


DAMAGED_TEXT = (ArithmeticError, LookupError, RecursionError, ValueError)  # cells of text cause no TypeError
READER = Reader("plain-table", "plain table", recognise_text, read, damage=DAMAGED_TEXT)
