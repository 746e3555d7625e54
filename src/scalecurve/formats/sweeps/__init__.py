"""Message sweeps: timings of collectives over message sizes and ranks, and the same timings as study results.

Any of these files is also a scaling study: each operation and size is a series over the number of ranks.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from scalecurve.errors import Fault, FormatError, InputError
from scalecurve.formats.curve_choice import matched_count
from scalecurve.formats.detection import FileKind, detect
from scalecurve.formats.reading import MOST_FAULTS, Point, Reader, Reading, ReadOptions, bounded
from scalecurve.formats.source import Source
from scalecurve.laws.collectives import as_operation
from scalecurve.study import Provenance, Treatment
from scalecurve.study.message_sweep import FORMAT, MessageSweep, merged, sweep_from_dict, timings_from

Sweeps = tuple[MessageSweep, ...]
Row = tuple[str, int, int | None, float, float]  # operation, ranks, nodes, message bytes, seconds

TIMES = {"t_avg_us": 1e-6, "t_us": 1e-6, "time_us": 1e-6, "us": 1e-6, "seconds": 1.0, "t_avg_s": 1.0, "time_s": 1.0}
NAMES = {"op": ("op", "operation"), "ranks": ("ranks", "np", "processes"), "bytes": ("bytes", "message", "size")}


def read_sweeps(
    paths: Sequence[Path],
    *,
    operation: str | None = None,
    ranks: int | None = None,
    nodes: int | None = None,
    k_from: str | None = None,
) -> Sweeps:
    """The sweeps in these files; several files of one tool are one system at several sizes or ranks, and are merged.

    Where a file does not say how many ranks ran, they come from its path by the pattern `k_from`, or from `ranks`.
    """
    options = replace(ReadOptions.checked(k_from=k_from), operation=operation, ranks=ranks, nodes=nodes)
    sweeps: list[MessageSweep] = []
    sources: dict[tuple[str, float], str] = {}
    for path in paths:
        detection = detect(Source.at(path), FileKind.SWEEPS)
        reports = detection.reports()
        of_file: list[MessageSweep] = []
        for number, report in enumerate(reports, 1):
            own: Sweeps = report.read(replace(options, ranks=_ranks_of(path, options)))
            of_file += own
            if detection.reader.name != "osu" or (k_from is not None and len(reports) == 1):
                continue
            name = str(path) if len(reports) == 1 else f"{path}, report {number}"
            for key in {(str(timing.operation), timing.message) for sweep in own for timing in sweep.timings}:
                other = sources.setdefault(key, name)
                if other != name:
                    text = f"both time {key[0]} of {key[1]:g} bytes, and one --ranks would be given to both"
                    remedy = r"say where each file's number of ranks is, such as --k-from '_n(\d+)'"
                    raise InputError(Fault(text, value=str(ranks), remedy=remedy), subject=f"{other} and {name}")
        sweeps += of_file if len(reports) == 1 else [merged(of_file)]
    if len(paths) == 1:
        return tuple(sweeps)
    tools: dict[str | None, list[MessageSweep]] = {}
    for sweep in sweeps:
        tools.setdefault(sweep.provenance.tool, []).append(sweep)
    return tuple(merged(group) for group in tools.values())


def _ranks_of(path: Path, options: ReadOptions) -> int | None:
    """The ranks that ran: matched in the path where a pattern is stated."""
    if options.k_from is None:
        return options.ranks
    count = matched_count(options.k_from, str(path))
    if count is None:
        text = "the pattern finds no number of ranks in the path"
        remedy = r"one group must match it, like --k-from 'np(\d+)'"
        raise InputError(Fault(text, where="--k-from", value=options.k_from, remedy=remedy), subject=str(path))
    return count


def as_results(sweeps: Sweeps, source: Source, *, k_origin: str | None) -> Reading:
    """The timings as observations; without a `k_origin` the file does not say how many ranks ran."""
    points = [
        Point(
            values=(timing.seconds,),
            series=f"{timing.operation} {timing.message:g} B",
            name=source.name,
            metric="latency",
            k=timing.ranks if k_origin else None,
            fields={"ranks": timing.ranks} if k_origin else {},
        )
        for sweep in sweeps
        for timing in sweep.timings
    ]
    return Reading(
        points=bounded(points),
        k_origin=k_origin,
        k_unit="ranks",
        warmup=Treatment.EXCLUDED,
        setup=Treatment.EXCLUDED,
        provenance=sweeps[0].provenance,
        assumed=("the average over iterations of one launch is one observation",),
        missing=("several launches",),
        findings=tuple(finding for sweep in sweeps for finding in sweep.findings),
    )


def known_operation(name: str) -> str | None:
    """The collective of that name; None where it has no cost model (ping-pong, send-receive, the v-forms)."""
    try:
        return str(as_operation(name))
    except InputError:
        return None


def recognise_saved(source: Source) -> str | None:
    return f'"format": "{FORMAT}"' if FORMAT in source.head_text[:8000] else None


def read_saved(source: Source, options: ReadOptions) -> Sweeps:
    return (sweep_from_dict(source.required_json(), subject=source.name),)


def recognise_table(source: Source) -> str | None:
    has_columns = "," in source.head_text.partition("\n")[0] and not source.looks_like_json
    return "a line of comma-separated columns" if has_columns else None


def read_table(source: Source, options: ReadOptions) -> Sweeps:
    """A CSV with op, ranks, bytes and a time: one sweep for each `system`, or one in all without that column."""
    try:
        with source.open_text() as file:
            reader = csv.DictReader(file)
            lines = [(reader.line_num, row) for row in reader]
            headers = reader.fieldnames or []
    except (UnicodeDecodeError, csv.Error) as problem:
        raise FormatError(f"cannot be read: {problem}") from None
    columns = {key: next((name for name in names if name in headers), "") for key, names in NAMES.items()}
    columns["time"] = next((name for name in TIMES if name in headers), "")
    missing = [key for key, name in columns.items() if not name]
    if missing:
        remedy = "columns: op, ranks, bytes and one of " + ", ".join(TIMES)
        raise FormatError(Fault(f"no column for {', '.join(missing)}", remedy=remedy))
    faults: list[Fault] = []
    systems: dict[str, list[Row]] = {}
    for number, row in lines:
        try:
            timing = _timing(row, columns)
        except (ValueError, TypeError, AttributeError) as problem:
            faults.append(Fault(str(problem), where=f"line {number}"))
            continue
        if timing is not None:
            systems.setdefault(row.get("system") or source.stem, []).append(timing)
    if faults or not systems:
        raise FormatError(faults[:MOST_FAULTS] or [Fault("no timings of a known collective")])
    provenance = Provenance(source=source.file_name, tool="csv")
    return tuple(
        MessageSweep(timings=timings_from(rows), system=system, provenance=provenance)
        for system, rows in systems.items()
    )


def _timing(row: dict[str, str], columns: dict[str, str]) -> Row | None:
    """A row's timing; None for an operation without a model, and for empty messages, of which IMB prints noise."""
    operation = known_operation((row[columns["op"]].split() or [""])[0])
    if operation is None:
        return None
    seconds = float(row[columns["time"]]) * TIMES[columns["time"]]
    message, ranks = float(row[columns["bytes"]]), int(row[columns["ranks"]])
    if message < 0 or ranks < 1:
        raise ValueError(f"bytes from 0 and ranks from 1 are needed, not {message:g} and {ranks}")
    nodes = int(row["nodes"]) if row.get("nodes") else None
    return (operation, ranks, nodes, message, seconds) if seconds > 0 and message > 0 else None


SAVED = Reader("sweep", "a saved sweep", recognise_saved, read_saved)
TABLE = Reader("sweep-table", "CSV with op, ranks, bytes and t_avg_us", recognise_table, read_table)
