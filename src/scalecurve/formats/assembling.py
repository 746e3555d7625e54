"""From what the readers gave to one Study, and what has to be said with it."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.formats.curve_choice import (
    FilePoint,
    PlacedPoint,
    WorkerCounts,
    choose_curves,
    choose_metric,
    choose_workers,
    narrow_series,
    place_points,
)
from scalecurve.formats.detection import Detection
from scalecurve.formats.headers import worker_unit
from scalecurve.formats.imported import Imported
from scalecurve.formats.reading import Reading, ReadOptions, Unclear
from scalecurve.formats.source import Source
from scalecurve.formats.tables.decision import command_of
from scalecurve.study import Quantity, Regime, Run, RunStatus, Samples, Treatment, Workload
from scalecurve.study.study import StudySet

MOST_OFFERS = 3
MOST_DIGITS = 12  # that two measurements may have in common
MOST_RUNS = 20_000  # beyond this many, observations without further facts are kept as two columns
SAME_EVERYWHERE = ("host", "hostname", "host_name", "cpu", "cpu_model_name", "processor", "machine", "system")

Item = TypeVar("Item")


@dataclass(frozen=True)
class FileReading:
    """One file: how it was recognised, and what its reader gave."""

    detection: Detection
    reading: Reading


def assemble(files: Sequence[FileReading], options: ReadOptions, left_out: Sequence[Fault] = ()) -> Imported:
    """One study from files of one format; `left_out` are the faults of those that could not be read."""
    first = files[0]
    try:
        if first.reading.curves:
            imported = imported_table(first.reading, options, [first.detection.source])
        else:
            imported = _import_points(files, options)
        if left_out:
            text = f"{len(left_out)} of {len(files) + len(left_out)} reports could not be read: {left_out[0]}"
            unread = warning("files-left-out", text, remedy="look whether a run at that K failed", count=len(left_out))
            imported = replace(imported, reader_findings=(*imported.reader_findings, unread))
        return replace(
            imported,
            format=first.detection.name,
            evidence=first.detection.evidence,
            alternatives=first.detection.alternatives(),
            files=tuple(file.detection.source.name for file in files),
        )
    except InputError as problem:
        subject = first.detection.source.name if len(files) == 1 else f"{len(files)} files"
        if isinstance(problem, Unclear):
            problem.subject = problem.subject or subject
            raise
        raise FormatError(problem.faults, subject=problem.subject or subject) from None


def with_offers(problem: Unclear, files: Sequence[FileReading], options: ReadOptions, place: str) -> Unclear:
    """The refusal with the commands that work on a file or folder, each tried."""
    lines: list[str] = []
    for way in problem.ways:
        asked = replace(options, **way)
        try:
            curves = assemble(files, asked).curves
        except InputError:
            continue
        longest = max((curve.samples.by_k() for curve in curves.values()), key=len)
        if len(longest) > 1 and len(lines) < 2 * MOST_OFFERS:
            cells = ", ".join(f"{k}: {float(values.mean()):.4g}" for k, values in sorted(longest.items())[:6])
            lines += [f"  {next(iter(way.values()))} gives {cells}", f"    {command_of(asked, place)}"]
    return Unclear(problem.faults, subject=problem.subject, offers=lines)


def imported_table(table: Reading, options: ReadOptions, sources: Sequence[Source]) -> Imported:
    """What a table or several files that were read as one became."""
    return Imported(
        study=table.studies(options),
        columns=table.columns,
        assumed=table.assumed,
        reader_findings=table.findings,
        regime_stated=table.stated_regime(options) is not None,
        k_origin=table.k_origin or "",
        value_origin=table.value_origin or "",
        format="plain table",
        evidence=f"{len(sources)} files without the marks of another format",
        files=tuple(source.name for source in sources),
    )


def _import_points(files: Sequence[FileReading], options: ReadOptions) -> Imported:
    first = files[0]
    points = _told_once([(point, file.detection.source) for file in files for point in file.reading.points])
    if not points:
        text = f"it has no observations, read as {first.detection.name}"
        raise FormatError(Fault(text, remedy="check that this is the right file"))
    points = choose_metric(narrow_series(points, options.series), options.value_column)
    workers = choose_workers(points, options, first.reading.k_origin)
    curves, left_out = choose_curves(place_points(points, workers), options.series)
    parts = {name: _import_curve(files, options, curve, workers) for name, curve in curves.items()}
    part = next(iter(parts.values()))
    if len(parts) == 1:
        return replace(part, series=next(iter(parts)), left_out=left_out)
    studies = {
        name: replace(own.single, workload=replace(own.single.workload, name=name)) for name, own in parts.items()
    }
    findings = {(item.code, item.message): item for own in parts.values() for item in own.reader_findings}
    return replace(part, study=StudySet(studies=studies), left_out=left_out, reader_findings=tuple(findings.values()))


def _told_once(points: Sequence[FilePoint]) -> list[FilePoint]:
    """The points without those that a summary repeats digit by digit from other files."""
    first: dict[Any, str] = {}
    kept = []
    for point, source in points:
        digits = any(len(f"{value!r}".replace(".", "")) > MOST_DIGITS for value in point.values)
        key = (point.metric, point.series, point.k, point.values)
        if not digits or first.setdefault(key, source.name) == source.name:
            kept.append((point, source))
    return kept


def _import_curve(
    files: Sequence[FileReading], options: ReadOptions, curve: Sequence[PlacedPoint], workers: WorkerCounts
) -> Imported:
    """One curve of foreign files as a study."""
    shared = _shared(files, options, curve, workers)
    runs, dropped = _observations(curve, shared.quantity)
    findings = [*shared.findings, *workers.findings, *_mixed_machines(files, options)]
    if dropped:
        text = f"{dropped} observations were not positive and were left out"
        findings.append(warning("unusable-values", text, count=dropped))
    if options.regime is Regime.STRONG:
        findings += _changing_parameters(curve, workers)
    if not isinstance(runs, Samples):
        findings += _changing_work(runs)
    return Imported(
        study=shared.study(options, samples=runs) if isinstance(runs, Samples) else shared.study(options, runs),
        regime_stated=shared.stated_regime(options) is not None,
        k_origin=workers.origin,
        value_origin=next((item.point.metric for item in curve if item.point.status is RunStatus.OK), "nothing"),
        assumed=(*shared.assumed, *workers.assumed),
        missing=shared.missing,
        reader_findings=tuple(findings),
    )


def _shared(
    files: Sequence[FileReading], options: ReadOptions, curve: Sequence[PlacedPoint], workers: WorkerCounts
) -> Reading:
    """What all files say alike, with the quantity of the chosen curve; what they say differently is dropped."""
    readings = [file.reading for file in files]
    first, source = readings[0], files[0].detection.source
    quantity, unit = _quantity(options, curve)
    folders = [os.path.dirname(os.path.abspath(file.detection.source.name)) for file in files]
    fallback = source.stem if len(files) == 1 else os.path.basename(os.path.commonpath(folders)) or source.stem
    name = first.workload.name or curve[0].label or fallback
    alike = all(reading.workload == first.workload for reading in readings)
    return replace(
        first,
        points=(),
        quantity=quantity,
        unit=unit,
        regime=_only(reading.regime for reading in readings),
        k_unit=workers.k_unit or first.k_unit,
        workload=replace(first.workload, name=name) if alike else Workload(name=name),
        warmup=_only(reading.warmup for reading in readings) or Treatment.UNKNOWN,
        setup=_only(reading.setup for reading in readings) or Treatment.UNKNOWN,
        provenance=replace(
            first.provenance,
            source=source.file_name if len(files) == 1 else f"{len(files)} files",
            machine={} if options.allow_mixed else {**first.provenance.machine},
            tool=first.provenance.tool or files[0].detection.reader.name,
        ),
        assumed=tuple(dict.fromkeys(clause for reading in readings for clause in reading.assumed)),
        missing=tuple(dict.fromkeys(clause for reading in readings for clause in reading.missing)),
        findings=tuple({item.code + item.message: item for r in readings for item in r.findings}.values()),
    )


def _quantity(options: ReadOptions, curve: Sequence[PlacedPoint]) -> tuple[Quantity, str | None]:
    """What the good points of a curve have in common, or what the user says they are; with their unit."""
    good = [item.point for item in curve if item.point.status is RunStatus.OK]
    if not good:
        raise InputError(Fault("no run succeeded", remedy="a study needs at least one observation"))
    quantity, unit = _only(point.quantity for point in good), _only(point.unit for point in good)
    if options.quantity not in (None, quantity):
        return options.quantity, None
    if quantity is None:
        remedy = "say --quantity seconds, throughput (of all workers together) or throughput_per_worker"
        text = "the file does not say whether these are times or rates"
        raise InputError(Fault(text, value=curve[0].point.metric, remedy=remedy))
    return quantity, unit


def _only(values: Iterable[Item]) -> Item | None:
    """The value that all have in common; None where they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _observations(curve: Sequence[PlacedPoint], quantity: Quantity | None) -> tuple[tuple[Run, ...] | Samples, int]:
    """The observations as runs where more is recorded of them than a number, else as two columns; how many dropped.

    Values that are not positive are dropped.  The ranks of one launch are one run, whose time is the slowest rank's.
    """
    usable: list[tuple[PlacedPoint, Sequence[float]]] = []
    dropped = 0
    for item in curve:
        array = np.asarray(item.point.values, dtype=np.float64)
        good = (array > 0) & np.isfinite(array)
        usable.append((item, item.point.values if good.all() else array[good].tolist()))
        dropped += int((~good).sum()) if item.point.status is RunStatus.OK else 0
    plain = all(not item.point.details and item.point.status is RunStatus.OK for item, _ in usable)
    if plain or sum(len(values) for _, values in usable) > MOST_RUNS:
        columns = [(item.k, values) for item, values in usable if item.point.status is RunStatus.OK]
        k = np.repeat(np.array([k for k, _ in columns], dtype=np.int64), [len(values) for _, values in columns])
        return Samples.of(k, [value for _, values in columns for value in values]), dropped
    runs = _joined_ranks(usable, quantity)
    if not any(run.counts for run in runs):
        raise InputError(Fault("no run succeeded", remedy="a study needs at least one observation"))
    repeats: dict[int, int] = {}
    for order, run in enumerate(runs):
        repeats[run.k] = repeats.get(run.k, -1) + 1
        runs[order] = replace(run, repeat=repeats[run.k], order=order if run.order is None else run.order)
    return tuple(runs), dropped


def _joined_ranks(points: Sequence[tuple[PlacedPoint, Sequence[float]]], quantity: Quantity | None) -> list[Run]:
    """One run for every value; the ranks of one launch are one run, with the time of the slowest rank."""
    runs: list[Run] = []
    launches: dict[tuple[str, str, int], int] = {}
    sizes: dict[int, int | None] = {}
    for item, values in points:
        point = item.point
        if point.status is not RunStatus.OK:
            wall = values[0] if values and quantity is Quantity.SECONDS else None
            runs.append(Run(k=item.k, status=point.status, wall_seconds=wall, **point.details))
            continue
        for value in values:
            run = Run(k=item.k, value=value, **point.details)
            place = len(runs)
            if point.launch is not None:
                place = launches.setdefault((str(PurePath(item.source.name).parent), point.launch, item.k), len(runs))
                sizes[place] = point.launch_ranks
            if place == len(runs):
                runs.append(run)
            else:
                ranks = tuple(sorted((*runs[place].ranks, *run.ranks), key=lambda rank: rank.rank))
                slowest = max(runs[place], run, key=lambda run: run.value or 0.0)
                runs[place] = replace(slowest, ranks=ranks)
    faults = []
    for (folder, _, _), place in launches.items():
        size, present = sizes[place], [rank.rank for rank in runs[place].ranks]
        if size is not None and (len(present) != size or present != list(range(size))):
            text = f"{size} ranks took part, but the files of {len(present)} are here"
            faults.append(Fault(text, where=folder, remedy="give the files of all ranks, one folder for each launch"))
    if faults:
        raise InputError(faults)
    return runs


def _mixed_machines(files: Sequence[FileReading], options: ReadOptions) -> list[Finding]:
    """Results of different machines are an error, or a warning where the user allows them."""
    differing: dict[str, list[str]] = {}
    for name in SAME_EVERYWHERE:
        machines = [str(value) for file in files if (value := file.reading.provenance.machine.get(name))]
        if len(set(machines)) > 1:
            differing[name] = list(dict.fromkeys(machines))
    if not differing:
        return []
    text = "; ".join(f"{name}: {', '.join(machines[:5])}" for name, machines in differing.items())
    if not options.allow_mixed:
        remedy = "give the files of one machine, or say import --allow-mixed, which leaves a warning in the study"
        raise InputError(Fault("the files come from different machines", value=text, remedy=remedy))
    return [warning("mixed-machines", f"the files come from different machines: {text}", machines=differing)]


def _changing_parameters(curve: Sequence[PlacedPoint], workers: WorkerCounts) -> list[Finding]:
    """Parameters that change with K although the total work is said to be fixed."""
    by_field: dict[str, dict[int, Any]] = {}
    for item in curve:
        for name, value in item.point.fields.items():
            if name != workers.field and not worker_unit(name) and isinstance(value, int | float | str):
                by_field.setdefault(name, {})[item.k] = value
    findings = []
    for name, values in by_field.items():
        if len({*map(str, values.values())}) > 1:
            pairs = ", ".join(f"{k}: {value}" for k, value in list(values.items())[:8])
            text = f"`{name}` changes with K ({pairs}); under strong scaling the job must stay the same"
            remedy = "if it is the problem size, the regime is weak"
            findings.append(info("parameter-changes", text, remedy=remedy, field=name))
    return findings


def _changing_work(runs: Sequence[Run]) -> list[Finding]:
    """A batch that grows with K is another optimisation problem, and more samples are more work."""
    batches: dict[int, set[float]] = {}
    work: dict[int, set[float]] = {}
    for run in sorted((run for run in runs if run.counts), key=lambda run: run.k):
        for value, by_k in ((run.observed.get("global_batch_size"), batches), (run.work, work)):
            if isinstance(value, int | float):
                by_k.setdefault(run.k, set()).add(float(value))
    findings = []
    if len(set().union(*batches.values())) > 1:
        text = (
            f"the global batch size changes with K ({_by_k(batches)}): the runs solve different optimisation problems"
        )
        remedy = "compare time to the same quality, and see `scalecurve plan` for the batch that still pays"
        lists = {str(k): sorted(values) for k, values in batches.items()}
        findings.append(warning("batch-changes", text, remedy=remedy, batches=lists))
    if len(set().union(*work.values())) > 1:
        text = f"the samples trained on change with K ({_by_k(work)}): a larger batch may need more of them"
        findings.append(warning("work-changes", text, work={str(k): sorted(v) for k, v in work.items()}))
    return findings


def _by_k(values: dict[int, set[float]]) -> str:
    parts = [f"K = {k}: {'/'.join(f'{v:g}' for v in sorted(numbers)[:3])}" for k, numbers in values.items()]
    return ", ".join(parts[:8])
