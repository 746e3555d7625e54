"""From one reading of a table to its curves: every row and column accounted for, every doubt asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.findings import info, warning
from scalecurve.formats.headers import Statistic, counted_per_worker
from scalecurve.formats.reading import ColumnUse, Reading, Role, TableCurve, Unclear
from scalecurve.formats.regime import CLEAR_FALL, falls, regime_of_columns
from scalecurve.formats.source import Source
from scalecurve.formats.tables.candidates import Candidate
from scalecurve.formats.tables.cells import labels_of, numbers_of
from scalecurve.formats.tables.facts import codes_of
from scalecurve.formats.tables.kept_rows import (
    MOST_OF_A_SWEEP,
    filter_regime,
    filter_rows,
    k_unit,
    keep_where,
    kept_labels,
    numbers_of_rows,
)
from scalecurve.formats.tables.meanings import meaning_of, say_units
from scalecurve.formats.tables.roles import settle_others
from scalecurve.formats.tables.work import Mask, Meaning, TableWork
from scalecurve.study import Provenance, Quantity, Regime, Samples, Workload
from scalecurve.study.run import FloatArray, IntArray, Summary

FAR_APART = 3.0  # rows of one K that differ by this factor are hardly repeats of one another
MOST_COMPARED = 100_000
MOST_CURVES, MOST_SETTINGS = 200, 4
LEAP = 100.0  # between neighbouring K; more is another unit


def read_candidate(chosen: Candidate, name: str, k: int | None = None) -> Reading:
    """The curves of a reading, with the role of every column; `k` is the worker count that the file's name states."""
    work = TableWork(chosen, np.ones(chosen.view.grid.rows, dtype=bool))
    keep_where(work)
    meaning = meaning_of(chosen)
    _say_layout(work)
    filter_rows(work)
    filter_regime(work)
    workers, values, spread = numbers_of_rows(work, meaning, k)
    series = settle_others(work, workers)
    curves = _curves(work, meaning, workers, values, spread, series)
    _refuse_pooling(work, meaning, curves)
    work.stop_if_asked()
    curves = _chosen_curves(work, curves, meaning)
    _name_warm_up(work, curves)
    say_units(work, curves, meaning)
    work.stop_if_asked()
    uses = [work.uses[i] for i in sorted(work.uses) if not chosen.long.uses or i != chosen.value]
    return _reading(work, curves, (*chosen.long.uses, *uses), name, meaning)


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
    is_weak = work.options.regime is Regime.WEAK
    grows = is_weak and len(several) < len(curves) and any(work.view.heads[i].says("work") for i in telling)
    if not several or grows:  # in weak scaling the size is chosen anew at each K, and is no curve
        text = f"{'a' if several else 'each'} curve that {columns} tells apart was measured at a single K"
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
    name, labels = work.name(repeats[0]), kept_labels(work, repeats[0])
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


def _reading(
    work: TableWork, curves: Sequence[TableCurve], uses: tuple[ColumnUse, ...], name: str, meaning: Meaning
) -> Reading:
    source, chosen = Source(name), work.chosen
    column = meaning.column
    k_name = None if chosen.k is None else work.name(chosen.k)
    value_name = work.name(chosen.value)
    constant = {use.name: use.why.partition(": ")[2] for use in work.uses.values() if use.role is Role.CONSTANT}
    assumed = any(finding.code == "seconds-assumed" for finding in work.findings)
    unit = k_unit(work)
    return Reading(
        curves=tuple(curves),
        regime=_held_fixed(work, curves, constant, column.quantity),
        node_size=_node_size(constant, unit),
        columns=uses,
        quantity=column.quantity,
        unit=column.unit,
        k_unit=unit,
        k_origin="the file's name" if k_name is None else f"column `{k_name}`",
        value_origin=f"column `{value_name}`",
        workload=Workload(name=source.stem),
        provenance=Provenance(
            source=source.file_name,
            tool="plain table",
            notes=(
                f"columns {k_name or 'K from the name'} and {value_name}",
                *(f"{head}: {cell}" for head, cell in [*constant.items()][:20]),
            ),
        ),
        assumed=("seconds",) if assumed else (),
        findings=tuple(work.findings),
    )


def _held_fixed(
    work: TableWork, curves: Sequence[TableCurve], constant: Mapping[str, str], quantity: Quantity
) -> Regime | None:
    """The regime that columns of one cell show, with a finding that says so; None where the regime was stated, or the
    times fall although the work per worker is the same, as those of an epoch do."""
    if work.options.regime is not None or (shown := regime_of_columns(constant)) is None:
        return None
    regime, name = shown
    share = falls(curve.samples.by_k() for curve in curves) if quantity is Quantity.SECONDS else None
    if regime is Regime.WEAK and share is not None and share <= CLEAR_FALL:
        return None
    text = f"column `{name}` is {constant[name]} in every row: {regime} scaling, {regime.held_fixed}"
    work.findings.append(info("regime-in-text", text, remedy="say --regime if that is wrong"))
    return regime


def _node_size(constant: Mapping[str, str], unit: str | None) -> int | None:
    """The workers of a node, from a column that holds one count of them: Ranks/node where K counts ranks."""
    sizes = [cell for name, cell in constant.items() if counted_per_worker(name) in ((unit, "nodes"), (unit, "hosts"))]
    return next((int(cell) for cell in sizes if cell.isdecimal() and int(cell) > 0), None)
