"""The processes of a launch while it runs on this machine: the cores they may use and the MPI library they loaded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MPI_LIBRARY = re.compile(r"/lib(?:p?mpi(?:ch|_cray|_gnu\w*|fort|_mpifh|cxx)?|open-rte|mpi_abi)\.so[.\d]*$")
MOST_PROCESSES = 4096


@dataclass(frozen=True)
class ProcessView:
    """One process: the cores it may use, and the files of the MPI libraries in its memory."""

    pid: int
    cores: tuple[int, ...]
    mpi_libraries: tuple[str, ...]


def workers_below(roots: Iterable[int]) -> tuple[ProcessView, ...]:
    """The processes at the ends of the tree below `roots`: what mpirun started, not mpirun or its helpers."""
    parents = _parents()
    tree = set(roots)
    for _ in range(len(parents)):
        more = {pid for pid, parent in parents.items() if parent in tree} - tree
        if not more:
            break
        tree |= more
    inner = {parents.get(pid) for pid in tree}
    ends = [pid for pid in sorted(tree) if pid not in inner]
    views = (_view_of(pid) for pid in ends[:MOST_PROCESSES])
    return tuple(view for view in views if view is not None)


def _parents() -> dict[int, int]:
    """The parent of every process of this machine; empty where there is no /proc."""
    parents = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                # The name of a program may hold spaces and brackets: the fields begin after the last bracket.
                parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
    return parents


def _view_of(pid: int) -> ProcessView | None:
    try:
        cores = tuple(sorted(os.sched_getaffinity(pid)))
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except (OSError, AttributeError):
        return None
    files = {line.split(None, 5)[5].strip() for line in maps.splitlines() if line.count("/")}
    return ProcessView(pid, cores, tuple(sorted(file for file in files if MPI_LIBRARY.search(file))))
