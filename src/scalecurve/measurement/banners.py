"""What known programs print about the number of processes they run on, so that the size of a job can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Program and the words in which it says its number of processes.  Each is fixed text around one number.
NAMED = (
    ("LAMMPS", r"Loop time of \S+ on (\d+) procs for "),
    ("LAMMPS", r"CPU use with (\d+) MPI tasks x "),
    ("GROMACS", r"^Using (\d+) MPI process(?:es)?\b"),
    ("GROMACS", r"^\s*Running on \d+ nodes? with total .* (?:in )?(\d+) MPI ranks?\b"),
    ("OpenFOAM", r"^nProcs\s*:\s*(\d+)\s*$"),
    ("Quantum ESPRESSO", r"Parallel version \([^)]*MPI[^)]*\), running on\s+(\d+) processors?"),
    ("Quantum ESPRESSO", r"Number of MPI processes:\s+(\d+)"),
    ("CP2K", r"GLOBAL\| Total number of message passing processes\s+(\d+)"),
    ("VASP", r"^ *running\s+(\d+) mpi-ranks"),
    ("NAMD", r"^Info: Running on (\d+) processors,"),
    ("NWChem", r"^\s*nproc\s+=\s+(\d+)\s*$"),
    ("NAS benchmarks", r"^\s*(?:Total processes|Number of active processes)\s*[=:]\s*(\d+)\s*$"),
    ("HPCG", r"Distributed Processes=(\d+)"),
    ("WRF", r"^\s*starting wrf task\s+\d+\s+of\s+(\d+)\s*$"),
    ("PETSc", r" with (\d+) process(?:or)?\(?e?s?\)?, by "),
    ("Amber", r"Running AMBER/MPI version on\s+(\d+) (?:nodes|MPI)"),
    ("SIESTA", r"^\* Running (?:on|in)\s+(\d+) nodes? in parallel"),
    ("IOR", r"^tasks\s*:\s*(\d+)\s*$"),
    ("Graph500", r"^num_mpi_processes:\s*(\d+)"),
)
# A build without MPI: each copy is a job of its own, whatever number of threads it names.
ALONE = (
    ("GROMACS", r"^Using \d+ MPI threads?\b"),
    ("Quantum ESPRESSO", r"^\s*Serial version\b"),
    ("SIESTA", r"^\* Running in serial mode"),
)
# Ways in which many small programs say it; without a name such a line may also speak of something else.
COMMON = (
    r"\b(?:on|with|using|over|across|by)\s+(\d+)\s+(?:mpi[ -]?)?(?:procs?|process(?:es)?|processors?|ranks?|tasks?)\b",
    r"\b(?:mpi |world |comm )?size\s*(?:is|=|:)\s*(\d+)\b",
    r"\b(?:number of|num|n)[ _]?(?:mpi[ _])?(?:procs|processes|processors|ranks|tasks)\s*(?:is|=|:)\s*(\d+)\b",
    r"\b(?:rank|process|processor|task)\s+\d+\s+(?:of|out of|/)\s+(\d+)\b",
)
LONGEST = 4_000_000
"""Banners stand near the beginning or the end of an output: this many characters of each are read."""


@dataclass(frozen=True)
class Banner:
    """A line about the number of processes: whose it is (None: some program's) and the numbers of all its matches."""

    program: str | None
    sizes: tuple[int, ...]


def banners_in(output: str) -> Iterator[Banner]:
    """Every banner in an output, those of known programs first."""
    text = output if len(output) <= 2 * LONGEST else output[:LONGEST] + "\n" + output[-LONGEST:]
    for program, pattern in NAMED:
        sizes = [int(size) for size in re.findall(pattern, text, re.MULTILINE)]
        if sizes:
            yield Banner(program, tuple(sizes))
    for program, pattern in ALONE:
        count = len(re.findall(pattern, text, re.MULTILINE))
        if count:
            yield Banner(program, (1,) * count)
    for pattern in COMMON:
        sizes = [int(size) for size in re.findall(pattern, text, re.IGNORECASE)]
        if sizes:
            yield Banner(None, tuple(sizes))
