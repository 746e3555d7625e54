"""The scaling section that calls for compute time ask for: what reviewers require, said or marked missing.

The list of items is the union of the forms in `FORMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from scalecurve.analysis.table import SpeedupTable, TableRow
from scalecurve.document import Answer, Block, Cell, Column, Document, Heading, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding
from scalecurve.study import Quantity, Regime, Study
from scalecurve.units import format_seconds, seconds_alike
from scalecurve.words import limit_words, percent, unit_words, workers_text

FORMS = """Items asked for by these forms, looked up on 2026-11-18 and 2026-11-19:
ARCHER2, technical assessment (https://www.archer2.ac.uk/support-access/ta/): efficiency up to the job sizes asked for.
NHR@ZIB, project description (https://user.nhr.zib.de): strong and weak scaling, resource plan, storage and I/O.
Gauss Centre, guidelines for JUQUEEN (http://www.gauss-centre.eu): production parameters and sizes, files, disk space.
HLRS, Tier-1 proposal (https://docsbay.net/project-proposal-for-tier1-hpc-access-hlrs): performance, core hours.
INCITE, instructions of 2013 (https://hpc.science.doe.gov): job characterisation, parallel performance.
OLCF, project narrative (https://www.olcf.ornl.gov): programming model, checkpoints, I/O, storage.
EuroHPC wants the same in its Project Scope and Plan (http://www.prace-ri.eu/regular-access/).
Compare with the form of your own call."""
MISSING = "MISSING"
FEWEST_REPEATS = 3
REMEDIES = {  # every item that forms ask for, in their order, and what to add where nothing is said
    "problem treated": "say which production problem was timed, in [workload] of the study",
    "problem size": "state total or per-worker work",
    "strong scaling": "add a study with fixed total work",
    "weak scaling": "add a study with fixed work per worker",
    "node counts": "state --node-size, the workers of a node",
    "repeats": "run each K three times",
    "machine": "name the machine that was measured",
    "software": "list code version, compiler and libraries",
    "job size justified": "find a size that keeps the efficiency, or say why it is worth less",
    "wall time of a run": "say how long a production run takes at that size",
    "programming model": "name it: MPI, OpenMP, CUDA, ...",
    "resources requested": "say --runs, the number of production runs",
    "memory of a node": "state the memory that a node needs at that size",
    "checkpoint and restart": "say how often a run saves its state, and whether it can go on from there",
    "storage and I/O": "add the bytes and files written by a run; times do not say it",
}


@dataclass(frozen=True, kw_only=True)
class SectionItem:
    """One thing a form asks for: what the studies say, or what to add where they say nothing."""

    name: str
    text: str | None
    remedy: str


@dataclass(frozen=True, kw_only=True)
class SizeRow:
    """A row of a scaling table as reviewers read it: nodes, seconds, speedup and efficiency over the smallest run, and
    node-hours of one run; None where the size of a node is not known."""

    k: int
    nodes: float | None
    seconds: float | None
    speedup: float
    efficiency: float
    node_hours: float | None

    def cells(self, time: Callable[[float], str]) -> list[str | None]:
        """The row as printed; `time` writes seconds."""
        nodes = None if self.nodes is None else f"{self.nodes:g}"
        seconds = None if self.seconds is None else time(self.seconds)
        hours = None if self.node_hours is None else f"{self.node_hours:.3g}"
        return [f"{self.k:,}", nodes, seconds, f"{self.speedup:.2f}", percent(self.efficiency), hours]


@dataclass(frozen=True, kw_only=True, repr=False)
class ScalingSection(Result):
    """The scaling section of a proposal: the job size that the tables justify, and every item that forms ask for."""

    size: int | None
    k_unit: str
    efficiency: float | None
    floor: float
    node_hours: float | None
    runs: int | None
    requested: float | None
    tables: tuple[tuple[str, tuple[SizeRow, ...]], ...]
    items: tuple[SectionItem, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def answer(self) -> Answer:
        absent = [item.name for item in self.items if item.text is None]
        missing = f"{len(absent)} of {len(self.items)} items are missing: {', '.join(absent)}." if absent else None
        if self.size is None or self.efficiency is None:
            decision = f"No job size is justified: no larger run keeps an efficiency of {limit_words(self.floor)}."
            return Answer(decision=decision, reason=missing, next="`scalecurve diagnose STUDY` says what to fix first")
        reached = percent(self.efficiency, self.floor)
        size = f"Request jobs of {workers_text(self.size, self.k_unit)}: efficiency {reached}"
        total = "" if self.requested is None else f"; {self.runs:,} runs need {self.requested:,.4g} node-hours"
        return Answer(
            decision=f"{size}{total}.",
            reason=missing or "Every item is present.",
            next=f"{absent[0]}: {next(item.remedy for item in self.items if item.text is None)}" if absent else None,
        )

    def body(self) -> Document:
        """The tables of every study and the list of items."""
        heads = ("K", "nodes", "T", "speedup", "efficiency", "node-hours")
        blocks: list[Block] = []
        for title, rows in self.tables:
            time = seconds_alike(row.seconds for row in rows)
            cells = [row.cells(time) for row in rows]
            caption = "Speedup and efficiency relative to the smallest run"
            blocks += [Heading(title), table(heads, cells, caption=caption)]
        marks = [[item.name, item.text or Cell(f"{MISSING}: {item.remedy}", "bad")] for item in self.items]
        listed = table([Column("item", "left"), Column("what the studies say", "left")], marks)
        return Document(
            "Scaling and resources",
            (*blocks, Heading("What the form asks for"), listed, Paragraph(FORMS)),
        )


def scaling_section(
    studies: Sequence[tuple[Study, SpeedupTable]], *, runs: int | None = None, floor: float = 0.7
) -> ScalingSection:
    """The scaling section of a compute-time proposal from one or two studies with their tables.

    `runs` is how many production runs are asked for; `floor` is the efficiency that a job size must keep.
    """
    if runs is not None and runs < 1:
        raise InputError(Fault("not a number of runs", where="--runs", value=str(runs), remedy="give 1 or more"))
    sizes = [tuple(_size_row(study, own, row) for row in own.rows) for study, own in studies]
    study, own = next((pair for pair in studies if pair[0].regime is Regime.STRONG), studies[0])
    rows = sizes[[each for each, _ in studies].index(study)]
    kept = list(takewhile(lambda row: row.efficiency >= floor, rows[1:]))
    is_believed = not any(finding.code == "implausible" for finding in own.findings)
    chosen = kept[-1] if kept and is_believed else None
    hours = None if chosen is None else chosen.node_hours
    requested = None if hours is None or runs is None else hours * runs
    return ScalingSection(
        size=None if chosen is None else chosen.k,
        k_unit=study.k_unit,
        efficiency=None if chosen is None else chosen.efficiency,
        floor=floor,
        node_hours=hours,
        runs=runs,
        requested=requested,
        tables=tuple(
            (f"{each.regime.value.capitalize()} scaling: {one.name}", size)
            for (each, one), size in zip(studies, sizes, strict=True)
        ),
        items=_items(studies, chosen, runs, requested),
        findings=tuple(finding for _, one in studies for finding in one.findings),
    )


def _size_row(study: Study, own: SpeedupTable, row: TableRow) -> SizeRow:
    """A row of the table with its nodes and node-hours."""
    size = 1 if study.k_unit in ("nodes", "hosts") else study.node_size
    nodes = None if size is None else row.k / size
    seconds = row.mean.value if study.quantity is Quantity.SECONDS else None
    hours = None if nodes is None or seconds is None else nodes * seconds / 3600
    relative = row.speedup.value / own.baseline_k
    return SizeRow(
        k=row.k, nodes=nodes, seconds=seconds, speedup=relative, efficiency=row.efficiency.value, node_hours=hours
    )


def _items(
    studies: Sequence[tuple[Study, SpeedupTable]], chosen: SizeRow | None, runs: int | None, requested: float | None
) -> tuple[SectionItem, ...]:
    """Every item that forms ask for, in their order."""
    study = studies[0][0]
    fewest = min(row.n for _, own in studies for row in own.rows)
    work, software = study.workload, study.provenance.software
    packages = software.get("packages", software) if isinstance(software, dict) else {}
    with_nodes = all(_size_row(*pair, pair[1].rows[0]).nodes for pair in studies)
    asked = None if requested is None or runs is None else f"{runs:,} runs x {requested / runs:.3g} = {requested:.4g}"
    said = {
        "problem treated": ": ".join(filter(None, (work.name, work.description))),
        "problem size": _size_text(study),
        **{f"{each.regime} scaling": "table above" for each, _ in studies},
        "node counts": with_nodes and "table above",
        "repeats": fewest >= FEWEST_REPEATS and f"at least {fewest} at each K",
        "machine": study.provenance.machine.get("cpu") or study.provenance.machine.get("host"),
        "software": ", ".join(list(packages)[:6]),
        "job size justified": chosen and f"K = {chosen.k}: efficiency {percent(chosen.efficiency)}",
        "wall time of a run": chosen and chosen.seconds and format_seconds(chosen.seconds),
        "programming model": study.provenance.launcher,
        "resources requested": asked and f"{asked} node-hours",
    }
    remedies = REMEDIES
    if runs is not None:  # what else the hours of that many runs need
        needed = REMEDIES["job size justified"] if chosen is None else REMEDIES["node counts"]
        needed = "give times, not rates" if with_nodes and chosen is not None else needed
        remedies = REMEDIES | {"resources requested": f"for node-hours of {runs:,} runs, {needed}"}
    return tuple(SectionItem(name=name, text=said.get(name) or None, remedy=hint) for name, hint in remedies.items())


def _size_text(study: Study) -> str | None:
    work = study.workload
    size = work.total or work.per_worker
    return None if size is None else f"{size:g} {work.work_unit or ''}".strip()


def methods_text(study: Study, own: SpeedupTable) -> str:
    """The paragraph on methods of a paper: what was held fixed, repeats, statistic, machine and timing."""
    held = "the total work" if study.regime is Regime.STRONG else "the work of each worker"
    is_open = any(finding.code == "regime-of-a-rate" for finding in study.findings)
    did = "We ran" if is_open else f"We held {held} fixed and ran"
    least, most = min(row.n for row in own.rows), max(row.n for row in own.rows)
    repeats = f"{least} times" if least == most else f"{least} to {most} times"
    spread = f"{own.statistic}s with {own.level:.0%} intervals{' where runs were repeated' if least == 1 else ''}"
    if most == 1:
        repeats, spread = "once", "single values; no interval can be given"
    machine = study.provenance.machine
    place = ", ".join(str(machine[name]) for name in ("cpu", "system") if machine.get(name)) or "an unnamed machine"
    timing = f"; the clock was {study.provenance.timing}" if study.provenance.timing else ""
    return (
        f"{did} the job at K = {', '.join(str(row.k) for row in own.rows)} {unit_words(study.k_unit)}, "
        f"{repeats} each, on {place}{timing}. We report {spread}; speedup and efficiency are relative to "
        f"K0 = {own.baseline_k}."
    )
