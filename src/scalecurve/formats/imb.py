"""Intel MPI Benchmarks (IMB-MPI1), as printed: blocks of one benchmark at one process count."""

from __future__ import annotations

import re
from pathlib import Path

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.formats.text import read_lines
from scalecurve.laws.collectives import as_operation
from scalecurve.study.message_sweep import MessageSweep, timings_from
from scalecurve.study.provenance import Provenance

_BENCHMARK = re.compile(r"#\s*Benchmarking\s+(?P<op>\w+)")
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*(?P<ranks>\d+)")


def read_imb(path: Path, *, nodes: int | None = None) -> MessageSweep:
    """t_avg of every block of a known collective; other benchmarks in the file are passed over."""
    rows: list[tuple[str, int, int | None, float, float]] = []
    operation: str | None = None
    ranks, place = 0, -1
    for line in read_lines(path):
        text = line.strip()
        if match := _BENCHMARK.match(text):
            operation, ranks, place = _known(match["op"]), 0, -1
        elif match := _PROCESSES.match(text):
            ranks = int(match["ranks"])
        elif text.startswith("#bytes"):
            place = _average_column(text)
        elif operation and ranks and place > 0 and text[:1].isdigit():
            rows += _timing(text, operation, ranks, nodes, place)
    if not rows:
        hint = "expected blocks that begin with '# Benchmarking Allreduce' and a '#bytes' header"
        raise FormatError(Fault("no timings of a known collective", remedy=hint), subject=str(path))
    provenance = Provenance(source=path.name, tool="imb-mpi1")
    return MessageSweep(timings=timings_from(rows), system=path.stem, provenance=provenance)


def _known(name: str) -> str | None:
    try:
        return str(as_operation(name))
    except InputError:
        return None


def _average_column(header: str) -> int:
    names = header.split()
    return next((i for i, name in enumerate(names) if name.startswith(("t_avg", "t[usec]"))), -1)


def _timing(
    text: str, operation: str, ranks: int, nodes: int | None, place: int
) -> list[tuple[str, int, int | None, float, float]]:
    fields = text.split()
    try:
        size, seconds = float(fields[0]), float(fields[place]) * 1e-6
    except (ValueError, IndexError):
        return []  # IMB writes "int. err" or cuts a line when it runs out of time
    return [(operation, ranks, nodes, size, seconds)] if size > 0 and seconds > 0 else []
