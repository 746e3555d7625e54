"""Logs of programs that people scale on clusters: LAMMPS, GROMACS, OpenFOAM, NAMD, with the phases they print.

A log has one or more runs.  The time of a phase over the ranks (LAMMPS prints least, mean and most; GROMACS the wall
time) is a metric of its own, named after the phase, so that each can be studied; with one rank it is also where that
rank's time went.
"""

from __future__ import annotations

import re
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding, warning
from scalecurve.formats.columns import as_count, as_float
from scalecurve.formats.reading import FormatNote, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.study import Placement, Provenance, Quantity, RankRecord, Treatment

_LOOP = re.compile(r"^Loop time of ([\d.e+-]+) on (\d+) procs for (\d+) steps with (\d+) atoms", re.MULTILINE)
_LAMMPS_SECTION = re.compile(r"^(\w+)\s+\|\s*([\d.e+-]*)\s*\|\s*([\d.e+-]+)\s*\|\s*([\d.e+-]*)\s*\|", re.MULTILINE)
_LAMMPS_TASKS = re.compile(r"with (\d+) MPI tasks x (\d+|no) OpenMP threads")
_GROMACS_RANKS = re.compile(r"On (\d+) MPI ranks?(?: doing PP)?(?:, each using (\d+) OpenMP threads)?")
_GROMACS_PME = re.compile(r"on (\d+) MPI ranks? doing PME(?:, using (\d+) OpenMP threads)?")
_GROMACS_PHASE = re.compile(
    r"^ ([A-Z][\w ./+&-]*?)\s{2,}(?:(\d+)\s+(\d+)\s+(\d+)|)\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s*$", re.MULTILINE
)
_GROMACS_TIME = re.compile(r"^\s+Time:\s+([\d.]+)\s+([\d.]+)\s+[\d.]+", re.MULTILINE)
_GROMACS_SPEED = re.compile(r"^Performance:\s+([\d.]+)\s+([\d.]+)", re.MULTILINE)
_FOAM_PROCS = re.compile(r"^nProcs\s*:\s*(\d+)", re.MULTILINE)
_FOAM_CLOCK = re.compile(r"^ExecutionTime = ([\d.]+) s\s+ClockTime = ([\d.]+) s", re.MULTILINE)
_FOAM_PROGRAM = re.compile(r"^Exec\s*:\s*(\S+)", re.MULTILINE)
_NAMD_BENCHMARK = re.compile(r"^Info: Benchmark time: (\d+) CPUs ([\d.e+-]+) s/step", re.MULTILINE)
_NAMD_WALL = re.compile(r"^WallClock: ([\d.]+)", re.MULTILINE)
_NAMD_ATOMS = re.compile(r"^Info:\s+(\d+) ATOMS\s*$", re.MULTILINE)
COARSE_CLOCK = 20.0  # seconds below which a clock of whole seconds is too coarse


def recognise_lammps(source: Source) -> str | None:
    return "the line `Loop time of ... on ... procs`" if _LOOP.search(source.text) else None


def read_lammps(source: Source, options: ReadOptions) -> Reading:
    """Every `run` of the input is a series of its own, so that equilibration and production are not mixed."""
    text = source.text
    loops = list(_LOOP.finditer(text))
    points: list[Point] = []
    for number, loop in enumerate(loops, 1):
        end = loops[number].start() if number < len(loops) else len(text)
        block = text[loop.end() : end]
        seconds, procs = as_float(loop[1]), as_count(loop[2])
        tasks = _LAMMPS_TASKS.search(block)
        ranks, threads = (int(tasks[1]), 1 if tasks[2] == "no" else int(tasks[2])) if tasks else (procs, None)
        sections = {
            name: (least, mean, most)
            for name, *numbers in _LAMMPS_SECTION.findall(block)
            if (mean := as_float(numbers[1])) is not None
            for least, most in [(as_float(numbers[0]), as_float(numbers[2]))]
        }
        common: dict[str, Any] = {
            "series": f"run {number}" if len(loops) > 1 else "",
            "name": source.name,
            "k": procs,
            "fields": {"steps": int(loop[3]), "atoms": int(loop[4])},
        }
        details = _details(seconds, {name: mean for name, (_, mean, _) in sections.items()}, ranks, threads)
        if seconds is not None:
            points.append(Point(values=(seconds,), metric="Loop time", main=True, details=details, **common))
        for name, (least, mean, most) in sections.items():
            points.append(Point(values=(mean,), metric=f"{name} avg", **common))
            points += [
                Point(values=(value,), metric=f"{name} {word}", **common)
                for word, value in (("min", least), ("max", most))
                if value is not None
            ]
    version = re.search(r"^LAMMPS \(([^)]+)\)", text)
    return Reading(
        points=bounded(points),
        k_origin="`procs` (MPI tasks x threads)",
        k_unit="processes",
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="LAMMPS", tool_version=version[1] if version else None),
        assumed=("the loop time of one `run` is one observation",),
    )


def _details(seconds: float | None, phases: dict[str, float], ranks: int | None, threads: int | None) -> dict[str, Any]:
    """Where the time went: of the rank itself where there is only one, else the means over the ranks as facts."""
    placement = Placement(ranks=ranks, threads_per_rank=threads)
    if ranks == 1 and phases:
        return {"ranks": (RankRecord(rank=0, seconds=seconds, phases=phases),), "placement": placement}
    return {"observed": {"mean_phase_seconds": phases}, "placement": placement}


def recognise_gromacs(source: Source) -> str | None:
    return "the log of gmx mdrun" if re.search(r"GROMACS.*mdrun", source.head_text[:20000]) else None


def read_gromacs(source: Source, options: ReadOptions) -> Reading:
    text = source.text
    ranks, times, speed = _GROMACS_RANKS.search(text), _GROMACS_TIME.search(text), _GROMACS_SPEED.search(text)
    if ranks is None or times is None:
        remedy = "wait until mdrun prints its time accounting"
        raise FormatError(Fault("the run did not finish, or the log is cut short", remedy=remedy))
    pme = _GROMACS_PME.search(text)
    threads = int(ranks[2] or 1)
    k = as_count(int(ranks[1]) * threads + (int(pme[1]) * int(pme[2] or threads) if pme else 0))
    table = text.partition("T I M E   A C C O U N T I N G")[2].partition("Breakdown")[0]
    phases = {m[1].strip(): float(m[5]) for m in _GROMACS_PHASE.finditer(table) if m[1].strip() != "Total"}
    steps, atoms = re.search(r"^\s+nsteps\s+= (\d+)", text, re.MULTILINE), re.search(r"There are: (\d+) Atoms", text)
    facts = {name: int(match[1]) for name, match in (("nsteps", steps), ("atoms", atoms)) if match}
    common: dict[str, Any] = {"name": source.name, "k": k, "fields": facts}
    wall = float(times[2])
    details = _details(wall, phases, int(ranks[1]) + (int(pme[1]) if pme else 0), threads)
    points = [Point(values=(wall,), metric="Wall t", main=True, details=details, **common)]
    if speed is not None:
        rate: dict[str, Any] = {"quantity": Quantity.THROUGHPUT, "unit": "ns/day"}
        points.append(Point(values=(float(speed[1]),), metric="ns/day", **rate, **common))
    points += [Point(values=(seconds,), metric=name, **common) for name, seconds in phases.items() if seconds > 0]
    version = re.search(r"^GROMACS version:\s+(\S+)", text, re.MULTILINE)
    return Reading(
        points=tuple(points),
        k_origin="MPI ranks x OpenMP threads",
        k_unit="cores",
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="GROMACS", tool_version=version[1] if version else None),
        assumed=("the wall time of mdrun is one observation",),
    )


def recognise_openfoam(source: Source) -> str | None:
    head = source.head_text
    return (
        "the banner of OpenFOAM and nProcs" if "OpenFOAM" in head[:2000] and _FOAM_PROCS.search(head[:20000]) else None
    )


def read_openfoam(source: Source, options: ReadOptions) -> Reading:
    """ClockTime is wall time in whole seconds; ExecutionTime is the CPU time of the first rank, with decimals."""
    text = source.text
    procs, program, clocks = _FOAM_PROCS.search(text), _FOAM_PROGRAM.search(text), _FOAM_CLOCK.findall(text)
    if procs is None or not clocks:
        remedy = "the solver prints it after every time step"
        raise FormatError(Fault("no line `ExecutionTime = ... ClockTime = ...`", remedy=remedy))
    busy, wall = (float(number) for number in clocks[-1])
    coarse = wall < COARSE_CLOCK
    name = program[1] if program else ""
    common: dict[str, Any] = {
        "series": name,
        "name": source.name,
        "k": as_count(procs[1]),
        "fields": {"steps": len(clocks)},
    }
    points = [
        Point(values=(busy,), metric="ExecutionTime", main=coarse, **common),
        *([Point(values=(wall,), metric="ClockTime", main=not coarse, **common)] if wall > 0 else []),
    ]
    findings: list[Finding] = []
    if coarse:
        message = f"ClockTime is {wall:g} s in whole seconds: the CPU time of the first rank is taken instead"
        findings.append(warning("clock-resolution", message, remedy="run longer; waiting may be missing in CPU time"))
    if not re.search(r"^(End|Finalising parallel run)\s*$", text, re.MULTILINE):
        message = f"the log ends after {len(clocks)} time steps without `End`: the run may have been stopped"
        findings.append(warning("not-finished", message, remedy="compare runs of the same number of steps"))
    return Reading(
        points=tuple(points),
        k_origin="`nProcs`",
        k_unit="processes",
        warmup=Treatment.INCLUDED,
        setup=Treatment.INCLUDED,
        provenance=Provenance(tool="OpenFOAM"),
        assumed=("the CPU time of the first rank" if coarse else "ClockTime, wall time in whole seconds",),
        findings=tuple(findings),
    )


def recognise_namd(source: Source) -> str | None:
    return "lines of NAMD" if re.search(r"^Info: NAMD \S+ for ", source.head_text, re.MULTILINE) else None


def read_namd(source: Source, options: ReadOptions) -> Reading:
    text = source.text
    benchmarks = [(as_count(cpus), as_float(seconds)) for cpus, seconds in _NAMD_BENCHMARK.findall(text)]
    usable = [(k, seconds) for k, seconds in benchmarks if k is not None and seconds is not None]
    if not usable:
        remedy = "NAMD prints `Info: Benchmark time:` after 20 cycles; run longer"
        raise FormatError(Fault("no benchmark times", remedy=remedy))
    wall, atoms = _NAMD_WALL.search(text), _NAMD_ATOMS.search(text)
    fields = {"atoms": int(atoms[1])} if atoms else {}
    k = usable[0][0]
    mean = sum(seconds for _, seconds in usable) / len(usable)
    points = [Point(values=(mean,), name=source.name, metric="s/step", k=k, fields=fields, main=True)]
    if wall is not None:
        points.append(Point(values=(float(wall[1]),), name=source.name, metric="WallClock", k=k, fields=fields))
    version = re.search(r"^Info: NAMD (\S+) for (\S+)", text, re.MULTILINE)
    return Reading(
        points=tuple(points),
        k_origin="`CPUs` of the benchmark lines",
        k_unit="cores",
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=Provenance(tool="NAMD", tool_version=version[1] if version else None),
        assumed=(f"the mean of {len(usable)} benchmark times is one observation",),
    )


LAMMPS = Reader(
    "lammps",
    "LAMMPS",
    recognise_lammps,
    read_lammps,
    FormatNote(
        tried="29 Sep 2021 (Debian), 1 and 2 ranks",
        real=True,
        k="procs (MPI tasks x threads)",
        value="loop time, or a phase",
        keeps="Pair, Neigh, Comm ... least, mean, most; atoms, steps",
    ),
    begins=re.compile(r"^LAMMPS \(", re.MULTILINE),
)
GROMACS = Reader(
    "gromacs",
    "GROMACS",
    recognise_gromacs,
    read_gromacs,
    FormatNote(
        tried="2022.5 (Debian), 1 and 2 threads",
        real=True,
        k="MPI ranks x OpenMP threads",
        value="wall time of mdrun, ns/day, or a phase",
        keeps="the cycle accounting",
    ),
    begins=re.compile(r"^\s*:-\) GROMACS - ", re.MULTILINE),
)
OPENFOAM = Reader(
    "openfoam",
    "OpenFOAM",
    recognise_openfoam,
    read_openfoam,
    FormatNote(
        tried="1912 (Debian), icoFoam on 1 and 2 ranks",
        real=True,
        k="nProcs",
        value="ClockTime; ExecutionTime below 20 s",
        keeps="time steps",
    ),
    begins=re.compile(r"^Build  : ", re.MULTILINE),
)
NAMD = Reader(
    "namd",
    "NAMD",
    recognise_namd,
    read_namd,
    FormatNote(
        tried="no version run; written from the lines in its manual",
        real=False,
        k="CPUs",
        value="s/step of the benchmark lines, or WallClock",
        keeps="atoms",
    ),
    begins=re.compile(r"^Info: NAMD \S+ for ", re.MULTILINE),
)
