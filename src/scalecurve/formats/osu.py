"""OSU micro-benchmarks (collectives), as printed.  The number of ranks is not in the output and must be stated."""

from __future__ import annotations

import re
from pathlib import Path

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.formats.text import read_lines
from scalecurve.laws.collectives import as_operation
from scalecurve.study.message_sweep import MessageSweep, timings_from
from scalecurve.study.provenance import Provenance

_TITLE = re.compile(
    r"#\s*OSU MPI\S*\s+(?:Non-blocking |Blocking )?(?P<op>[A-Za-z_ -]+?)\s+(?:Latency )?Test\s*v?(?P<version>\S*)"
)


def read_osu(path: Path, *, ranks: int | None = None, nodes: int | None = None) -> MessageSweep:
    """Average latency by size; `ranks` must be given because OSU does not print it."""
    if ranks is None or ranks < 1:
        hint = "OSU does not print the number of ranks; give --ranks"
        raise FormatError(Fault("how many ranks ran is not stated", remedy=hint), subject=str(path))
    lines = read_lines(path)
    operation, version = _title(lines, path)
    rows = [(operation, ranks, nodes, size, seconds) for size, seconds in _sizes(lines, path)]
    provenance = Provenance(source=path.name, tool="osu-micro-benchmarks", tool_version=version or None)
    return MessageSweep(timings=timings_from(rows), system=path.stem, provenance=provenance)


def _title(lines: list[str], path: Path) -> tuple[str, str]:
    for line in lines[:30]:
        match = _TITLE.match(line.strip())
        if match:
            try:
                return str(as_operation(match["op"].replace(" ", ""))), match["version"]
            except InputError as problem:
                raise FormatError(problem.faults, subject=str(path)) from None
    hint = "expected a line such as '# OSU MPI Allreduce Latency Test v5.3'"
    raise FormatError(Fault("not the output of an OSU collective", remedy=hint), subject=str(path))


def _sizes(lines: list[str], path: Path) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    faults: list[Fault] = []
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields or line.lstrip().startswith("#") or not fields[0].isdigit():
            continue
        try:
            found.append((float(fields[0]), float(fields[1]) * 1e-6))
        except (IndexError, ValueError):
            faults.append(Fault("a size without a latency", where=f"line {number}", seen=line.strip()))
    if faults or not found:
        raise FormatError(
            faults or [Fault("no sizes below the header; the output may be truncated")], subject=str(path)
        )
    return [(size, seconds) for size, seconds in found if size > 0 and seconds > 0]
