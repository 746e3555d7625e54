"""Any file with timings of collectives: which reader it needs, told from its content."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.imb import read_imb
from scalecurve.formats.message_csv import read_message_csv
from scalecurve.formats.nccl_tests import read_nccl_tests
from scalecurve.formats.osu import read_osu
from scalecurve.formats.text import read_text
from scalecurve.study.file import parse_json
from scalecurve.study.message_sweep import FORMAT, MessageSweep, merged, sweep_from_dict

PEEK = 8000


def read_sweeps(
    paths: Sequence[Path], *, operation: str | None = None, ranks: int | None = None, nodes: int | None = None
) -> tuple[MessageSweep, ...]:
    """Every file read; files of one tool are one system run at several sizes or ranks and are merged."""
    found = [sweep for path in paths for sweep in _read(path, operation, ranks, nodes)]
    if len(paths) == 1:
        return tuple(found)
    tools: dict[str | None, list[MessageSweep]] = {}
    for sweep in found:
        tools.setdefault(sweep.provenance.tool, []).append(sweep)
    return tuple(merged(each) for each in tools.values())


def _read(path: Path, operation: str | None, ranks: int | None, nodes: int | None) -> tuple[MessageSweep, ...]:
    """A saved sweep, OSU, IMB or nccl-tests output, or a CSV; one sweep for each system in it."""
    head = read_text(path)[:PEEK]
    if FORMAT in head:
        return (sweep_from_dict(parse_json(path.read_bytes(), subject=str(path)), subject=str(path)),)
    if "OSU MPI" in head:
        return (read_osu(path, ranks=ranks, nodes=nodes),)
    if "# Benchmarking" in head or "Intel(R) MPI Benchmarks" in head:
        return (read_imb(path, nodes=nodes),)
    if "nThread" in head or "nccl" in head.lower() or '"out_of_place"' in head:
        return (read_nccl_tests(path, operation=operation, ranks=ranks),)
    if "," in head.partition("\n")[0]:
        return read_message_csv(path)
    hint = "known: a saved sweep, OSU, IMB, nccl-tests (text or -J), or CSV with op, ranks, bytes and t_avg_us"
    raise FormatError(Fault("not timings of collectives that are known here", remedy=hint), subject=str(path))
