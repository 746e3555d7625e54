"""Studies over several axes: which cells of the grid are measured, and the sweeps that measure them.

A cell is (nodes, ranks per node, threads, size).  Cells that differ only in their number of ranks are one sweep with
one journal.  Block by block every sweep makes its next repeat, in random order, so that a machine that drifts moves
all cells alike.  The result is a StudySet: a curve over nodes (or ranks, or threads) for every combination of the
other axes; with nodes or threads among the axes K counts cores.
"""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, InputError, RunError
from scalecurve.findings import Finding
from scalecurve.measurement.journal import existing
from scalecurve.measurement.ports import World
from scalecurve.measurement.processes import WatchdogLost
from scalecurve.measurement.sentences import say
from scalecurve.measurement.settings import AxesSettings, MeasureSettings, faults_where
from scalecurve.study import Regime, Study, StudySet
from scalecurve.study.file import read_study, save
from scalecurve.study.unfinished import grid_folder

Sweep = Callable[[MeasureSettings, Path, bool], Study]
"""Measures one sweep: its settings, its file, and whether to go on with what is there."""


@dataclass(frozen=True, order=True)
class GridCell:
    """One cell.  `nodes` and `ranks_per_node` are None where the workers are counted and not placed on nodes."""

    workers: int
    threads: int
    size: float | None
    nodes: int | None = None
    ranks_per_node: int | None = None

    @property
    def cores(self) -> int:
        return self.workers * self.threads

    @property
    def values(self) -> dict[str, float]:
        """The axes that this cell states."""
        own = {"nodes": self.nodes, "ranks_per_node": self.ranks_per_node, "threads": self.threads, "size": self.size}
        return {name: value for name, value in own.items() if value is not None}


def grid_cells(settings: MeasureSettings) -> tuple[GridCell, ...]:
    """The cells of the design, in the order of the axes; one at a time, all but one axis are at their first levels."""
    axes = settings.axes or AxesSettings()
    ranks = axes.ranks_per_node or ((1,) if axes.nodes else settings.workers)
    levels: list[Sequence[Any]] = [axes.nodes or (None,), ranks, axes.threads or (1,), axes.size or (None,)]
    first = [own[0] for own in levels]
    cells = []
    for place in product(*levels):
        if axes.design == "full" or sum(a != b for a, b in zip(place, first, strict=True)) <= 1:
            nodes, count, threads, size = place
            cells.append(GridCell((nodes or 1) * count, threads, size, nodes, count if nodes else None))
    return tuple(cells)


@dataclass(frozen=True, kw_only=True)
class GridSweep:
    """Cells that are measured as one sweep, with its settings; `name` is that of its file."""

    name: str
    cells: tuple[GridCell, ...]
    settings: MeasureSettings


def grid_sweeps(settings: MeasureSettings) -> tuple[GridSweep, ...]:
    """One sweep for every combination of ranks per node, threads and size in the design."""
    groups: dict[tuple[int | None, int, float | None], list[GridCell]] = {}
    for cell in grid_cells(settings):
        groups.setdefault((cell.ranks_per_node, cell.threads, cell.size), []).append(cell)
    return tuple(
        GridSweep(name=f"sweep-{i:03d}", cells=tuple(own), settings=_of_sweep(settings, own))
        for i, own in enumerate(groups.values())
    )


def _of_sweep(settings: MeasureSettings, cells: Sequence[GridCell]) -> MeasureSettings:
    """The settings of one sweep: its ranks, and threads, nodes and size as the launcher and the command take them."""
    first, axes = cells[0], settings.axes or AxesSettings()
    levels = {name: (value,) for name, value in first.values.items() if getattr(axes, name)}
    launcher = settings.launcher
    if axes.threads:
        launcher = launcher.model_copy(update={"threads_per_worker": first.threads})
    if first.ranks_per_node is not None:
        slurm = launcher.slurm.model_copy(update={"tasks_per_node": first.ranks_per_node})
        launcher = launcher.model_copy(update={"workers_per_node": first.ranks_per_node, "slurm": slurm})
    nodes = tuple(sorted({cell.nodes for cell in cells if cell.nodes}))
    fixed = "total" if settings.regime is Regime.STRONG else "per_worker"
    return settings.model_copy(
        update={
            "workers": tuple(sorted({cell.workers for cell in cells})),
            "axes": axes.model_copy(update={**levels, "nodes": nodes}),
            "launcher": launcher,
            **({fixed: first.size} if first.size is not None else {}),
        }
    )


def faults_of_grid(settings: MeasureSettings, world: World) -> list[Fault]:
    """Faults that only the axes can have."""
    axes, launcher = settings.axes or AxesSettings(), settings.launcher
    cores, most = len(world.machine.usable_cores()), max(cell.cores for cell in grid_cells(settings))
    nodes, hosts = max(axes.nodes, default=0), launcher.hosts
    beyond = settings.is_local and most > cores and not settings.oversubscribe
    return faults_where(
        (beyond, f"{most} cores are asked for, {cores} are here", "axes",
         "leave the largest cells out, or add --oversubscribe, which marks these points"),
        (nodes > 1 and settings.is_local and not launcher.extra,
         "several nodes are asked for, and there is only this one", "axes.nodes",
         "name the hosts (launcher.hosts), or use the launcher slurm"),
        (hosts and nodes > len(hosts), f"{nodes} nodes, {len(hosts)} hosts", "launcher.hosts",
         "name as many hosts as nodes"),
        (settings.baseline and (axes.nodes or axes.threads), "a baseline is one program on one worker", "baseline",
         "measure the baseline as a study of its own"),
    )  # fmt: skip


ENDED_BY_RESUME = ("cells-failed", "missing-points", "too-few-repeats", "precision-not-reached")
"""Findings that advise `--resume`: the files of the sweeps must be there for it."""


def _grid_folder(output: Path, *, resume: bool, force: bool) -> Path:
    """The folder of the sweeps; what is there is continued or replaced only when told so."""
    folder = grid_folder(output)
    if force:
        shutil.rmtree(folder, ignore_errors=True)
        output.unlink(missing_ok=True)
    if fault := existing(output, is_grid=True, resume=resume, force=force):
        raise InputError(fault, subject=str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def turns_of(
    settings: MeasureSettings, sweeps: Sequence[GridSweep], world: World, began: float
) -> Iterator[tuple[str, MeasureSettings]]:
    """Name and settings of each sweep's next repeat, block by block in random order, until `max_time` has passed."""
    for repeat in range(1, settings.repeats + 1):
        order = list(sweeps)
        random.Random(f"{settings.seed}:{repeat}").shuffle(order)  # noqa: S311 - an order, not a secret
        last = {} if repeat == settings.repeats else {"precision": None}
        for one in order:
            left = None if settings.max_time is None else settings.max_time - (world.clock.now() - began)
            if left is not None and left <= 0:
                return
            yield one.name, one.settings.model_copy(update={"repeats": repeat, "max_time": left, **last})


def run_grid(
    settings: MeasureSettings, world: World, sweep: Sweep, *, output: Path, resume: bool = False, force: bool = False
) -> StudySet:
    """Measure every sweep of the grid, block by block, and write the set to `output`.

    The files of the sweeps stay in `<output>.grid` until all are complete, so that `resume` repeats nothing.
    """
    if faults := faults_of_grid(settings, world):
        raise InputError(faults, subject="axes")
    folder = _grid_folder(output, resume=resume, force=force)
    sweeps, began = grid_sweeps(settings), world.clock.now()
    failed: dict[str, str] = {}
    try:
        for name, own in turns_of(settings, sweeps, world, began):
            if len(failed) == len(sweeps):  # not one cell ran: more blocks of the same would only cost
                break
            try:
                sweep(own, folder / f"{name}.json", True)
                failed.pop(name, None)
            except WatchdogLost:
                raise
            except RunError as problem:
                failed[name] = str(problem)
    except (KeyboardInterrupt, WatchdogLost):
        if any(folder.glob("*.json")):
            save(gathered(settings, sweeps, folder, failed), output)
        raise
    studies = gathered(settings, sweeps, folder, failed)
    save(studies, output)
    in_time = world.clock.now() - began < (settings.max_time or math.inf)
    # A sweep with a launch that failed keeps its journal for `resume`.
    owed = any(folder.glob("*.work")) or any(item.code in ENDED_BY_RESUME for item in studies.findings)
    if in_time and not settings.keep_files and not owed:
        shutil.rmtree(folder, ignore_errors=True)
    return studies


def gathered(settings: MeasureSettings, sweeps: Sequence[GridSweep], folder: Path, failed: dict[str, str]) -> StudySet:
    """The sweeps measured so far as a set of curves; a sweep that never ran well is a finding."""
    parts: dict[tuple[tuple[str, str], ...], list[Study]] = {}
    for one in sweeps:
        path = folder / f"{one.name}.json"
        study = read_study(path) if path.exists() else None
        if study is not None and len(study.samples):
            levels, part = part_of_curve(study, one.cells[0], settings)
            parts.setdefault(levels, []).append(part)
    if not parts:
        raise RunError(next(reversed(failed.values()), "no launch gave a time; no run was made"))
    doubts: tuple[Finding, ...] = ()
    if failed:
        lines = next(iter(failed.values())).splitlines()
        why = ": ".join(dict.fromkeys(line.strip()[:200] for line in (lines[0], lines[-1])))
        doubts = (say("cells-failed", count=len(failed), sweeps=len(sweeps), why=why),)
    curves = {name_of_levels(levels) or own[0].name: (levels, own) for levels, own in parts.items()}
    axes = settings.axes or AxesSettings()
    return StudySet(
        studies={name: joined(name, own, doubts, axes) for name, (_, own) in curves.items()},
        axes={name: dict(levels) for name, (levels, _) in curves.items()},
    )


def part_of_curve(study: Study, cell: GridCell, settings: MeasureSettings) -> tuple[tuple[tuple[str, str], ...], Study]:
    """The levels that name the curve of a sweep, and its study: the levels at every run, and K in cores where the axes
    place threads or nodes."""
    axes, findings = settings.axes or AxesSettings(), study.findings
    in_cores = bool(axes.nodes or axes.threads)
    over_threads = not axes.nodes and len(axes.ranks_per_node or settings.workers) == 1
    shown = {"size", *(() if over_threads else ("threads",)), *(("ranks_per_node",) if axes.nodes else ())}
    facts = {name: own for name, own in cell.values.items() if name != "nodes" and getattr(axes, name)}
    each = cell.threads if in_cores else 1
    if each > 1:  # the sweep counted its workers, the curve counts cores
        words = f"With {each} threads for each of K workers: "
        findings = tuple(
            replace(item, message=words + item.message, evidence=in_units_of(item.evidence, each)) for item in findings
        )
    part = replace(
        study,
        runs=tuple(replace(run, k=run.k * each, observed={**run.observed, "axes": facts}) for run in study.runs),
        k_unit="cores" if in_cores else study.k_unit,
        node_size=(cell.ranks_per_node and cell.ranks_per_node * cell.threads) or study.node_size,
        findings=findings,
    )
    return tuple((name, format_level(own)) for name, own in facts.items() if name in shown), part


def joined(name: str, studies: Sequence[Study], doubts: Sequence[Finding], axes: AxesSettings) -> Study:
    """One curve of all sweeps with the same levels; each finding once."""
    first = studies[0]
    findings = {(item.code, item.message): item for study in studies for item in (*study.findings, *doubts)}
    settings = {**first.provenance.settings, "axes": axes.model_dump(mode="json")}
    return replace(
        first,
        runs=tuple(run for study in studies for run in study.runs),
        workload=replace(first.workload, name=name),
        findings=tuple(findings.values()),
        provenance=replace(first.provenance, source=first.workload.name, settings=settings),
    )


def in_units_of(evidence: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """The evidence of a finding with its `k`, which counts workers, in cores, as the runs of the curve have them."""
    k, by_k = evidence.get("k"), {name: evidence[name] for name in ("quiet", "efficiency") if name in evidence}
    if k is None:
        return dict(evidence)
    rows = {name: {str(int(key) * threads): own for key, own in rows.items()} for name, rows in by_k.items()}
    return {**evidence, **rows, "k": [one * threads for one in k] if isinstance(k, list | tuple) else k * threads}


def name_of_levels(levels: Iterable[tuple[str, str]]) -> str:
    """The levels of axes in words: `2 ranks a node, 1 thread, size 1000000`."""
    words = {"ranks_per_node": "{} rank{} a node", "threads": "{} thread{}"}
    return ", ".join(words.get(axis, axis + " {}").format(value, "" if value == "1" else "s") for axis, value in levels)


def cell_name(axes: AxesSettings) -> str:
    """The levels that one sweep of a grid holds fixed, in words."""
    own = [(name, getattr(axes, name)) for name in ("ranks_per_node", "threads", "size")]
    return name_of_levels((name, format_level(levels[0])) for name, levels in own if levels and len(levels) == 1)


def format_level(value: float) -> str:
    """A level of an axis as text that reads back exactly: 4, 1000000, 0.25."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))
