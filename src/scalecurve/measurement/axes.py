"""Studies over several axes: which cells of the grid are measured, what they cost, and the sweeps that measure them.

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
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from scalecurve.document import Answer, Column, Document, FindingList, Paragraph, Result, table
from scalecurve.errors import Fault, InputError, RunError
from scalecurve.findings import Finding, info, warning
from scalecurve.measurement.journal import existing
from scalecurve.measurement.ports import World
from scalecurve.measurement.processes import WatchdogLost
from scalecurve.measurement.settings import AxesSettings, MeasureSettings
from scalecurve.study import Regime, Study, StudySet
from scalecurve.study.file import read_study, save
from scalecurve.study.unfinished import grid_folder
from scalecurve.units import format_count, format_seconds_range

Sweep = Callable[[MeasureSettings, Path, bool], Study]
"""Measures one sweep: its settings, its file, and whether to go on with what is there."""

LATIN_TRIES = 400


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
    """The cells of the design, in the order of the axes."""
    axes = settings.axes or AxesSettings()
    placed = (
        [(nodes * ranks, nodes, ranks) for nodes, ranks in product(axes.nodes, axes.ranks_per_node or (1,))]
        if axes.nodes
        else [(workers, None, None) for workers in axes.ranks_per_node or settings.workers]
    )
    columns: list[Sequence[Any]] = [axes.threads or (1,), axes.size or (None,)]
    levels = [axes.nodes, axes.ranks_per_node or (1,)] if axes.nodes else [[own for own, _, _ in placed]]
    levels = [*levels, *columns]
    by_levels = {
        ((nodes, ranks) if axes.nodes else (workers,)) + (threads, size): GridCell(workers, threads, size, nodes, ranks)
        for (workers, nodes, ranks), threads, size in product(placed, *columns)
    }
    chosen = list(by_levels)
    if axes.design == "one-at-a-time":
        first = tuple(own[0] for own in levels)
        chosen = [key for key in chosen if sum(a != b for a, b in zip(key, first, strict=True)) <= 1]
    if axes.design == "latin":
        chosen = latin(levels, settings, lambda key: cell_cost(by_levels[key], settings))
    return tuple(by_levels[key] for key in chosen)


def latin(
    levels: Sequence[Sequence[Any]], settings: MeasureSettings, cost: Callable[[tuple[Any, ...]], float | None]
) -> list[tuple[Any, ...]]:
    """Cells that use every level of every axis as equally often as possible, spread out, within the budget.

    The largest number of cells that `points` and `budget` (core-time by the upper bound) admit is taken; without
    either, as many as the longest axis has levels, twice.
    """
    axes = settings.axes or AxesSettings()
    total = math.prod(len(own) for own in levels)
    most = min(axes.points or (total if axes.budget is not None else 2 * max(len(own) for own in levels)), total)
    rng = random.Random(settings.seed)  # noqa: S311 - a design, not a secret
    launches = settings.repeats + settings.warmup_launches
    for count in range(most, 0, -1):
        best = _spread_out(levels, count, rng)
        if axes.budget is None:
            return best
        costs = [cost(key) for key in best]
        if sum(own or 0.0 for own in costs) * launches <= axes.budget:
            return best
    remedy = "raise axes.budget, or leave out the largest levels"
    raise InputError(Fault("the budget pays for no cell", where="axes.budget", remedy=remedy))


def _spread_out(levels: Sequence[Sequence[Any]], count: int, rng: random.Random) -> list[tuple[Any, ...]]:
    """Of some hundred balanced designs the one whose nearest cells are farthest apart."""
    places = [{level: i / max(len(own) - 1, 1) for i, level in enumerate(own)} for own in levels]
    best: tuple[float, list[tuple[Any, ...]]] = (-1.0, [])
    for _ in range(LATIN_TRIES if count <= 60 else 20):
        columns = []
        for own in levels:
            column = [level for _ in range(math.ceil(count / len(own))) for level in rng.sample(list(own), len(own))]
            column = column[:count]
            rng.shuffle(column)
            columns.append(column)
        cells = list(dict.fromkeys(zip(*columns, strict=True)))
        if len(cells) < count:  # cells met twice: fill from those not taken
            rest = [key for key in product(*levels) if key not in set(cells)]
            cells += rng.sample(rest, count - len(cells))
        spots = [[place[level] for place, level in zip(places, key, strict=True)] for key in cells]
        near = min((math.dist(a, b) for i, a in enumerate(spots) for b in spots[:i]), default=0.0)
        best = max(best, (near, cells), key=lambda own: own[0])
    return sorted(best[1], key=lambda key: [place[level] for place, level in zip(places, key, strict=True)])


def cell_wall(cell: GridCell, settings: MeasureSettings) -> tuple[float, float] | None:
    """Seconds of one launch between perfect scaling and none, from the stated time of one worker at the first size."""
    if settings.expected_seconds is None:
        return None
    sizes = (settings.axes or AxesSettings()).size
    work = (cell.size or 1.0) / (sizes[0] if sizes else 1.0)
    alone = settings.expected_seconds * work * (cell.cores if settings.regime is Regime.WEAK else 1.0)
    return alone / cell.cores, alone


def cell_cost(cell: GridCell, settings: MeasureSettings) -> float | None:
    """Core-seconds of one launch at most; None where no time is stated."""
    wall = cell_wall(cell, settings)
    return None if wall is None else wall[1] * cell.cores


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
    axes, faults = settings.axes or AxesSettings(), []
    cores = len(world.machine.usable_cores())
    most = max(cell.cores for cell in grid_cells(settings))
    if settings.is_local and most > cores and not settings.oversubscribe:
        hint = "leave the largest cells out, or add --oversubscribe, which marks these points"
        faults.append(Fault(f"{most} cores are asked for, {cores} are here", where="axes", remedy=hint))
    if axes.nodes and max(axes.nodes) > 1 and settings.is_local and not settings.launcher.extra:
        hint = "name the hosts (launcher.hosts), or use the launcher slurm"
        faults.append(Fault("several nodes are asked for, and there is only this one", where="axes.nodes", remedy=hint))
    hosts = settings.launcher.hosts
    if axes.nodes and hosts and max(axes.nodes) > len(hosts):
        hint = "name as many hosts as nodes"
        faults.append(Fault(f"{max(axes.nodes)} nodes, {len(hosts)} hosts", where="launcher.hosts", remedy=hint))
    if settings.baseline and (axes.nodes or axes.threads):
        hint = "measure the baseline as a study of its own"
        faults.append(Fault("a baseline is one program on one worker", where="baseline", remedy=hint))
    return faults


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
    complete = True
    try:
        for repeat in range(1, settings.repeats + 1):
            order = list(sweeps)
            random.Random(f"{settings.seed}:{repeat}").shuffle(order)  # noqa: S311 - an order, not a secret
            for one in order:
                left = None if settings.max_time is None else settings.max_time - (world.clock.now() - began)
                if left is not None and left <= 0:
                    complete = False
                    break
                last = {} if repeat == settings.repeats else {"precision": None}
                own = one.settings.model_copy(update={"repeats": repeat, "max_time": left, **last})
                try:
                    sweep(own, folder / f"{one.name}.json", True)
                    failed.pop(one.name, None)
                except WatchdogLost:
                    raise
                except RunError as problem:
                    failed[one.name] = str(problem)
            if len(failed) == len(sweeps):  # not one cell ran: more blocks of the same would only cost
                break
    except (KeyboardInterrupt, WatchdogLost):
        if any((folder / f"{one.name}.json").exists() for one in sweeps):
            save(gathered(settings, sweeps, folder, failed), output)
        raise
    studies = gathered(settings, sweeps, folder, failed)
    save(studies, output)
    unfinished = any(folder.glob("*.work"))  # a sweep with a launch that failed keeps its journal for `resume`
    unfinished |= any(finding.code in ENDED_BY_RESUME for finding in studies.findings)
    if complete and not unfinished and not settings.keep_files:
        shutil.rmtree(folder, ignore_errors=True)
    return studies


def gathered(settings: MeasureSettings, sweeps: Sequence[GridSweep], folder: Path, failed: dict[str, str]) -> StudySet:
    """The sweeps measured so far as a set of curves; a sweep that never ran well is a finding."""
    axes = settings.axes or AxesSettings()
    over_threads = not axes.nodes and len(axes.ranks_per_node or settings.workers) == 1
    in_cores = bool(axes.nodes or axes.threads)
    parts: dict[tuple[tuple[str, str], ...], list[Study]] = {}
    for one in sweeps:
        path = folder / f"{one.name}.json"
        if not path.exists():
            continue
        study, first = read_study(path), one.cells[0]
        if not len(study.samples):
            continue
        facts = {name: value for name, value in first.values.items() if name != "nodes" and getattr(axes, name)}
        runs = tuple(
            replace(run, k=run.k * first.threads if in_cores else run.k, observed={**run.observed, "axes": facts})
            for run in study.runs
        )
        hidden = {"threads"} if over_threads else set()
        hidden |= set() if axes.nodes else {"ranks_per_node"}
        cells = tuple((name, format_level(value)) for name, value in facts.items() if name not in hidden)
        unit = "cores" if in_cores else study.k_unit
        node = first.ranks_per_node and first.ranks_per_node * first.threads
        findings = study.findings
        if in_cores and first.threads > 1:  # the sweep counted its workers, the curve counts cores
            each = f"With {first.threads} threads for each of K workers: "
            findings = tuple(
                replace(item, message=each + item.message, evidence=in_units_of(item.evidence, first.threads))
                for item in findings
            )
        parts.setdefault(cells, []).append(
            replace(study, runs=runs, k_unit=unit, node_size=node or study.node_size, findings=findings)
        )
    if not parts:
        raise RunError(next(reversed(failed.values()), "no launch gave a time; no run was made"))
    studies, cells_of, axis_settings = {}, {}, axes.model_dump(mode="json")
    for cells, own in parts.items():
        name = name_of_levels(cells) or own[0].name
        findings_by_text = {(item.code, item.message): item for study in own for item in study.findings}
        if failed:
            lines = next(iter(failed.values())).splitlines()
            why = ": ".join(dict.fromkeys(line.strip()[:200] for line in (lines[0], lines[-1])))
            text = f"{len(failed)} of {len(sweeps)} sweeps gave no time: {why}"
            findings_by_text["cells-failed", text] = warning(
                "cells-failed", text, remedy="see the errors, then --resume"
            )
        studies[name] = replace(
            own[0],
            runs=tuple(run for study in own for run in study.runs),
            workload=replace(own[0].workload, name=name),
            findings=tuple(findings_by_text.values()),
            provenance=replace(
                own[0].provenance,
                source=own[0].workload.name,
                settings={**own[0].provenance.settings, "axes": axis_settings},
            ),
        )
        cells_of[name] = dict(cells)
    return StudySet(studies=studies, axes=cells_of)


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


@dataclass(frozen=True, kw_only=True, repr=False)
class GridOutlook(Result):
    """The result of a dry run over axes: each cell with its launches, the seconds of all of them, and core-seconds."""

    settings: MeasureSettings
    cells: tuple[GridCell, ...]
    of_full: int
    findings: tuple[Finding, ...]

    @property
    def launches(self) -> int:
        """Launches of one cell."""
        return self.settings.repeats + self.settings.warmup_launches

    @property
    def answer(self) -> Answer:
        """How long the grid takes."""
        launches, totals = f"{len(self.cells) * self.launches:,} launches in {len(self.cells)} cells", self.totals
        if totals is None:
            decision = f"{launches} are to be made; how long they take is not known."
            return Answer(decision=decision, next="give --expected-seconds, the time of one worker at the first size")
        wall = format_seconds_range(totals["wall_low"], totals["wall_high"], " to ")
        why = "Between perfect scaling and none at all."
        return Answer(decision=f"{launches} take {wall}.", confidence=why, next="the same command without --dry-run")

    def records(self) -> list[dict[str, Any]]:
        rows = []
        for cell in self.cells:
            low, high = cell_wall(cell, self.settings) or (None, None)
            wall = [None if own is None else own * self.launches for own in (low, high)]
            rows.append(
                {
                    **asdict(cell),
                    "cores": cell.cores,
                    "launches": self.launches,
                    "wall_low": wall[0],
                    "wall_high": wall[1],
                }
            )
        return rows

    @property
    def totals(self) -> dict[str, float] | None:
        """Seconds of all launches and core-seconds, each at least and at most; None where no time is stated."""
        rows = self.records()
        if any(row["wall_low"] is None for row in rows):
            return None
        sums = {f"wall_{end}": sum(row[f"wall_{end}"] for row in rows) for end in ("low", "high")}
        return sums | {f"core_{end}": sum(row[f"wall_{end}"] * row["cores"] for row in rows) for end in ("low", "high")}

    def content(self) -> dict[str, Any]:
        axes = self.settings.axes or AxesSettings()
        findings = [finding.to_dict() for finding in self.findings]
        return {"design": axes.design, "cells": self.records(), "totals": self.totals, "findings": findings}

    def body(self) -> Document:
        axes = self.settings.axes or AxesSettings()
        named = [name for name in ("nodes", "ranks_per_node", "threads", "size") if getattr(axes, name)]
        head = [*(Column(name.replace("_", " ")) for name in named), Column("workers"), Column("cores")]
        head += [Column("launches"), Column("wall time")]
        rows = []
        for cell, row in zip(self.cells, self.records(), strict=True):
            values = cell.values | {"ranks_per_node": cell.ranks_per_node or cell.workers}
            shown = [format_count(values[name]) for name in named]
            wall = None if row["wall_low"] is None else format_seconds_range(row["wall_low"], row["wall_high"], " to ")
            rows.append([*shown, str(cell.workers), str(cell.cores), str(self.launches), wall])
        totals, price = self.totals, self.settings.usd_per_worker_hour
        text = "wall time: unknown"
        if totals is not None:
            low, high = totals["core_low"] / 3600, totals["core_high"] / 3600
            text = f"wall time: {format_seconds_range(totals['wall_low'], totals['wall_high'], ' to ')}; "
            text += f"core-hours: {low:.3g} to {high:.3g}"
            text += f"; cost: {low * price:.2f} to {high * price:.2f} USD" if price else ""
        launches = f"{len(self.cells) * self.launches} launches"
        title = f"{len(self.cells)} of {self.of_full} cells ({axes.design}), {launches}, nothing was started"
        return Document(title, (table(head, rows), Paragraph(text), FindingList(self.findings)))


def grid_outlook(settings: MeasureSettings) -> GridOutlook:
    """What `measure` would do with these axes."""
    full = settings.model_copy(update={"axes": (settings.axes or AxesSettings()).model_copy(update={"design": "full"})})
    cells = grid_cells(settings)
    return GridOutlook(
        settings=settings,
        cells=cells,
        of_full=len(grid_cells(full)),
        findings=tuple(_outlook_findings(settings, cells)),
    )


def _outlook_findings(settings: MeasureSettings, cells: Sequence[GridCell]) -> Iterator[Finding]:
    if settings.expected_seconds is None:
        hint = "give --expected-seconds T of one worker at the first size"
        yield info("wall-unknown", "The time of a launch is unknown, so there is no wall time or cost.", remedy=hint)
    else:
        yield info("wall-bounds", "Wall times lie between perfect scaling and none, and grow with the size.")
    axes = settings.axes or AxesSettings()
    if axes.size and (len({cell.size for cell in cells}) < 2 or len(cells) < 6):
        hint = "take more points, or the full design"
        yield warning("too-few-for-surface", "These cells are too few to fit T(N, K).", remedy=hint)
