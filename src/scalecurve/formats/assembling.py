"""From what the readers found to one Study, and the sentence that goes with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.findings import Finding, info, warning
from scalecurve.formats.comparison import compare_runs
from scalecurve.formats.curves import Placed, of_metric, of_series, of_wished_series, place
from scalecurve.formats.headers import worker_unit
from scalecurve.formats.imported import Imported
from scalecurve.formats.reading import Reader, Reading
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.formats.workers import Settled, settle_workers
from scalecurve.study import Baseline, Quantity, Regime, Run, RunStatus, Samples, Study, Treatment, Workload

MOST_RUNS = 20_000  # beyond this many, observations without anything else to say are kept as two columns
SAME_EVERYWHERE = ("host", "hostname", "host_name", "cpu", "cpu_model_name", "processor", "machine", "system")


@dataclass(frozen=True)
class Found:
    """One file, the reader that took it, why, and what it read."""

    source: Source
    reader: Reader
    evidence: str
    reading: Reading


def assemble(files: Sequence[Found], wishes: Wishes) -> Imported:
    """One study from files of one format."""
    subject = files[0].source.name if len(files) == 1 else f"{len(files)} files"
    try:
        return _assemble(files, wishes)
    except FormatError:
        raise
    except InputError as problem:
        raise FormatError(problem.faults, subject=problem.subject or subject) from None


def _assemble(files: Sequence[Found], wishes: Wishes) -> Imported:
    found = [(point, each.source) for each in files for point in each.reading.points]
    if not found:
        raise FormatError(
            Fault(f"no observations in it, read as {files[0].reader.title}", remedy="is it the right file?")
        )
    found = of_metric(of_wished_series(found, wishes.series), wishes.value_column)
    settled = settle_workers(found, wishes, files[0].reading.k_origin)
    chosen, left_out = of_series(place(found, settled), wishes.series)
    quantity, unit = _quantity(chosen, wishes)
    runs, dropped = _runs(chosen, quantity)
    mixed = _mixed(files, wishes)
    base = _common(files, wishes, chosen, settled)
    compared = () if isinstance(runs, Samples) else compare_runs(runs)
    found_out = (*mixed, *_dropped(dropped), *_sizes(chosen, settled, wishes), *compared)
    findings = (*base.findings, *settled.findings, *found_out)
    study = _study(base, runs, wishes, settled, quantity, unit)
    return Imported(
        study=study,
        regime_stated=(wishes.regime or base.regime) is not None,
        format=files[0].reader.title,
        evidence=files[0].evidence,
        files=tuple(each.source.name for each in files),
        k_origin=settled.origin,
        value_origin=next((each.point.metric for each in chosen if each.point.status is RunStatus.OK), "nothing"),
        series=chosen[0].label,
        left_out=left_out,
        assumed=(*base.assumed, *settled.assumed),
        missing=base.missing,
        reader_findings=findings,
    )


def _quantity(chosen: Sequence[Placed], wishes: Wishes) -> tuple[Quantity, str | None]:
    good = [each for each in chosen if each.point.status is RunStatus.OK]
    kinds = {each.point.quantity for each in good}
    units = {each.point.unit for each in good}
    known = kinds.pop() if len(kinds) == 1 else None
    unit = units.pop() if len(units) == 1 else None
    if known is not None and wishes.quantity in (None, known):
        return known, unit
    if wishes.quantity is not None:
        return wishes.quantity, unit if known is None else None
    hint = "say --quantity seconds, throughput (of all workers together) or throughput_per_worker"
    raise InputError(
        Fault("the file does not say whether these are times or rates", seen=chosen[0].point.metric, remedy=hint)
    )


def _runs(chosen: Sequence[Placed], quantity: Quantity) -> tuple[tuple[Run, ...] | Samples, int]:
    """The observations as runs where there is more to say of them than a number, else as two columns."""
    usable = [(each, _usable(each.point.values)) for each in chosen]
    dropped = sum(len(each.point.values) - len(values) for each, values in usable if each.point.status is RunStatus.OK)
    count = sum(len(values) for _, values in usable)
    plain = all(not each.point.details and each.point.status is RunStatus.OK for each, _ in usable)
    if plain or count > MOST_RUNS:
        columns = [(each.k, values) for each, values in usable if each.point.status is RunStatus.OK]
        k = np.repeat(np.array([k for k, _ in columns], dtype=np.int64), [len(values) for _, values in columns])
        return Samples.of(k, [value for _, values in columns for value in values]), dropped
    runs = _joined([run for each, values in usable for run in _runs_of(each, values, quantity)])
    if not any(run.counts for _, run in runs):
        raise InputError(Fault("no run succeeded", remedy="a study needs at least one observation"))
    return tuple(_numbered([run for _, run in runs])), dropped


def _usable(values: Sequence[float]) -> Sequence[float]:
    """Positive and finite; the whole sequence as it is where all of them are."""
    array = np.asarray(values, dtype=np.float64)
    good = (array > 0) & np.isfinite(array)
    return values if good.all() else [value for value, keep in zip(values, good.tolist(), strict=True) if keep]


def _runs_of(each: Placed, values: Sequence[float], quantity: Quantity) -> list[tuple[str | None, Run]]:
    point = each.point
    key = None if point.launch is None else f"{PurePath(each.source.name).parent}/{point.launch}/{each.k}"
    if point.status is not RunStatus.OK:
        wall = values[0] if values and quantity is Quantity.SECONDS else None
        return [(key, Run(k=each.k, status=point.status, wall_seconds=wall, **point.details))]
    return [(key, Run(k=each.k, value=value, **point.details)) for value in values]


def _joined(runs: list[tuple[str | None, Run]]) -> list[tuple[str | None, Run]]:
    """The ranks of one launch as one run: the slowest of them is its time."""
    joined: list[tuple[str | None, Run]] = []
    places: dict[str, int] = {}
    for key, run in runs:
        if key is None or key not in places:
            places |= {key: len(joined)} if key is not None else {}
            joined.append((key, run))
            continue
        before = joined[places[key]][1]
        slowest = max(before, run, key=lambda each: each.value or 0.0)
        ranks = tuple(sorted((*before.ranks, *run.ranks), key=lambda rank: rank.rank))
        joined[places[key]] = (key, replace(slowest, ranks=ranks))
    return joined


def _numbered(runs: Sequence[Run]) -> list[Run]:
    """Repeats counted from 0 within each K, in the order of the file."""
    seen: dict[int, int] = {}
    numbered = []
    for order, run in enumerate(runs):
        seen[run.k] = seen.get(run.k, -1) + 1
        numbered.append(replace(run, repeat=seen[run.k], order=order if run.order is None else run.order))
    return numbered


def _mixed(files: Sequence[Found], wishes: Wishes) -> tuple[Finding, ...]:
    """Results of different machines are not one curve, unless the user insists."""
    differing: dict[str, list[str]] = {}
    for name in SAME_EVERYWHERE:
        seen = list(dict.fromkeys(str(value) for each in files if (value := each.reading.provenance.machine.get(name))))
        if len(seen) > 1:
            differing[name] = seen
    if not differing:
        return ()
    listed = "; ".join(f"{name}: {', '.join(seen[:5])}" for name, seen in differing.items())
    if not wishes.allow_mixed:
        hint = "give the files of one machine, or say import --allow-mixed, which leaves a warning in the study"
        raise InputError(Fault("the files come from different machines", seen=listed, remedy=hint))
    return (warning("mixed-machines", f"the files come from different machines: {listed}", machines=differing),)


def _common(files: Sequence[Found], wishes: Wishes, chosen: Sequence[Placed], settled: Settled) -> Reading:
    """What all files say alike; what they say differently is not said."""
    readings = [each.reading for each in files]
    first = readings[0]
    regimes = {reading.regime for reading in readings}
    name = first.workload.name or chosen[0].label or PurePath(files[0].source.name).stem
    source = PurePath(files[0].source.name).name if len(files) == 1 else f"{len(files)} files"
    machine = {**first.provenance.machine} if not wishes.allow_mixed else {}
    provenance = replace(
        first.provenance, source=source, machine=machine, tool=first.provenance.tool or files[0].reader.name
    )
    return replace(
        first,
        points=(),
        regime=regimes.pop() if len(regimes) == 1 else None,
        k_unit=wishes.k_unit or settled.k_unit or first.k_unit,
        workload=_same_workload(readings, name),
        warmup=_same([reading.warmup for reading in readings]),
        setup=_same([reading.setup for reading in readings]),
        provenance=provenance,
        assumed=_merged(reading.assumed for reading in readings),
        missing=_merged(reading.missing for reading in readings),
        findings=tuple({finding.code + finding.message: finding for r in readings for finding in r.findings}.values()),
    )


def _same_workload(readings: Sequence[Reading], name: str) -> Workload:
    first = readings[0].workload
    alike = all(reading.workload == first for reading in readings)
    return replace(first, name=name) if alike else Workload(name=name)


def _same(treatments: Sequence[Treatment]) -> Treatment:
    return treatments[0] if len(set(treatments)) == 1 else Treatment.UNKNOWN


def _merged(clauses: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(clause for each in clauses for clause in each))


def _dropped(count: int) -> tuple[Finding, ...]:
    if not count:
        return ()
    return (warning("unusable-values", f"{count} observations were not positive and were left out", count=count),)


def _sizes(chosen: Sequence[Placed], settled: Settled, wishes: Wishes) -> tuple[Finding, ...]:
    """A parameter that changes with K under strong scaling: the job may not be the same job."""
    if wishes.regime is not Regime.STRONG:
        return ()
    by_field: dict[str, dict[int, Any]] = {}
    for each in chosen:
        for name, value in each.point.fields.items():
            if name != settled.field and not worker_unit(name) and isinstance(value, int | float | str):
                by_field.setdefault(name, {})[each.k] = value
    return tuple(
        _size_finding(name, values) for name, values in by_field.items() if len({*map(str, values.values())}) > 1
    )


def _size_finding(name: str, values: Mapping[int, Any]) -> Finding:
    listed = ", ".join(f"{k}: {value}" for k, value in list(values.items())[:8])
    text = f"`{name}` changes with K ({listed}); under strong scaling the job must stay the same"
    return info("parameter-changes", text, remedy="if it is the problem size, the regime is weak", field=name)


def _study(
    base: Reading,
    runs: tuple[Run, ...] | Samples,
    wishes: Wishes,
    settled: Settled,
    quantity: Quantity,
    unit: str | None,
) -> Study:
    bulk = isinstance(runs, Samples)
    return Study(
        regime=wishes.regime or base.regime or Regime.STRONG,
        quantity=quantity,
        unit=unit,
        k_unit=base.k_unit or "workers",
        workload=base.workload,
        runs=() if bulk else runs,  # type: ignore[arg-type]
        bulk=runs if bulk else None,  # type: ignore[arg-type]
        baseline=Baseline(k=wishes.baseline_k),
        warmup=base.warmup,
        setup=base.setup,
        node_size=wishes.node_size,
        provenance=base.provenance,
    )
