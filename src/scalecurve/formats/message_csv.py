"""Timings of collectives in a CSV: op, ranks and bytes columns, and a time with its unit in the header."""

from __future__ import annotations

import csv
from pathlib import Path

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.laws.collectives import as_operation
from scalecurve.study.message_sweep import MessageSweep, timings_from
from scalecurve.study.provenance import Provenance

_TIMES = {"t_avg_us": 1e-6, "t_us": 1e-6, "time_us": 1e-6, "us": 1e-6, "seconds": 1.0, "t_avg_s": 1.0, "time_s": 1.0}
_NAMES = {"op": ("op", "operation"), "ranks": ("ranks", "np", "processes"), "bytes": ("bytes", "message", "size")}


def read_message_csv(path: Path, *, per_rank: bool = True) -> tuple[MessageSweep, ...]:
    """One sweep for each `system` in the file (one in all where there is no such column).

    Operations without a cost model (ping-pong, send-receive, the v-forms) are left out: they are no collectives of
    here.
    """
    rows, columns, factor = _read(path)
    faults: list[Fault] = []
    systems: dict[str, list[tuple[str, int, int | None, float, float]]] = {}
    for number, row in rows:
        try:
            parsed = _parsed(row, columns, factor)
        except ValueError as problem:
            faults.append(Fault(str(problem), where=f"line {number}"))
            continue
        if parsed is not None:
            systems.setdefault(row.get("system") or path.stem, []).append(parsed)
    if faults or not systems:
        raise FormatError(faults[:20] or [Fault("no timings of a known collective")], subject=str(path))
    provenance = Provenance(source=path.name, tool="csv")
    return tuple(
        MessageSweep(timings=timings_from(each), system=name, per_rank=per_rank, provenance=provenance)
        for name, each in systems.items()
    )


def _read(path: Path) -> tuple[list[tuple[int, dict[str, str]]], dict[str, str], float]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows = [(reader.line_num, row) for row in reader]
            headers = reader.fieldnames or []
    except (OSError, UnicodeDecodeError) as problem:
        raise FormatError(f"cannot be read: {problem}", subject=str(path)) from None
    columns = {key: next((n for n in names if n in headers), "") for key, names in _NAMES.items()}
    columns["time"] = next((name for name in _TIMES if name in headers), "")
    missing = [key for key, name in columns.items() if not name]
    if missing:
        hint = "columns: op, ranks, bytes and one of " + ", ".join(_TIMES)
        raise FormatError(Fault(f"no column for {', '.join(missing)}", remedy=hint), subject=str(path))
    return rows, columns, _TIMES[columns["time"]]


def _parsed(
    row: dict[str, str], columns: dict[str, str], factor: float
) -> tuple[str, int, int | None, float, float] | None:
    try:
        operation = as_operation(row[columns["op"]].split()[0])
    except InputError:
        return None
    seconds = float(row[columns["time"]]) * factor
    message, ranks = float(row[columns["bytes"]]), int(row[columns["ranks"]])
    if message < 0 or ranks < 1:
        raise ValueError(f"bytes from 0 and ranks from 1 are needed, not {message:g} and {ranks}")
    if seconds <= 0 or message == 0:  # IMB prints 0.00 or noise for empty messages
        return None
    nodes = row.get("nodes")
    return str(operation), ranks, int(nodes) if nodes else None, message, seconds
