"""Timings of collective operations over message sizes and ranks, as measured or imported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from scalecurve.document import Document, FindingList, Paragraph, Result, table
from scalecurve.errors import Fault, FormatError, InputError, make_inert
from scalecurve.findings import Finding
from scalecurve.study.atomic import write_atomically
from scalecurve.study.run import LARGEST_VALUE, SMALLEST_VALUE, Provenance
from scalecurve.units import format_bytes, format_seconds

FORMAT = "scalecurve-sweep"
VERSION = 1
PER_RANK = ("allgather", "alltoall")  # operations whose vector grows with the ranks when tools report bytes per rank


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One operation at one size: `message` bytes as the tool reports them, `seconds` for one operation.

    `seconds` is the median of the repeats where there were several, and `spread` their median absolute deviation.
    """

    operation: str
    ranks: int
    message: float
    seconds: float
    nodes: int | None = None
    spread: float | None = None
    repeats: int | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class MessageSweep(Result):
    """Timings of one system.  `per_rank` says that gather-like operations give bytes per rank (IMB, OSU)."""

    timings: tuple[Timing, ...]
    system: str | None = None
    per_rank: bool = True
    provenance: Provenance = field(default_factory=Provenance)
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        make_inert(self, "system")
        faults = [] if self.timings else [Fault("there are no timings")]
        for i, timing in enumerate(self.timings):
            where = f"timing {i + 1} ({timing.operation})"
            if timing.ranks < 1:
                text = "the number of ranks is a whole number from 1"
                faults.append(Fault(text, where=where, value=str(timing.ranks)))
            if not 0 <= timing.message <= LARGEST_VALUE:
                faults.append(Fault("a message size is not negative", where=where, value=f"{timing.message:g}"))
            if not SMALLEST_VALUE <= timing.seconds <= LARGEST_VALUE:
                faults.append(Fault("a time is a positive number", where=where, value=f"{timing.seconds:g}"))
        if faults:
            raise InputError(faults[:20], subject=self.system or "message sweep")

    def __repr__(self) -> str:
        return f"<MessageSweep {self.system!r}, {len(self.timings)} timings of {', '.join(self.operations)}>"

    @property
    def operations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(timing.operation for timing in self.timings))

    def of(self, operation: str) -> tuple[Timing, ...]:
        """The timings of one operation."""
        return tuple(timing for timing in self.timings if timing.operation == operation)

    def vector(self, timing: Timing) -> float:
        """n, the full vector in bytes as the cost model means it."""
        grows = self.per_rank and timing.operation in PER_RANK
        return timing.message * timing.ranks if grows else timing.message

    def content(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "system": self.system,
            "per_rank": self.per_rank,
            "timings": [asdict(timing) for timing in self.timings],
            "provenance": asdict(self.provenance),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def records(self) -> list[dict[str, Any]]:
        return [asdict(timing) for timing in self.timings]

    def body(self) -> Document:
        rows: list[list[str | None]] = []
        for t in self.timings:
            spread = None if t.spread is None else format_seconds(t.spread)
            rows.append([t.operation, str(t.ranks), format_bytes(t.message), format_seconds(t.seconds), spread])
        grid = table(["operation", "ranks", "message", "time", "MAD"], rows)
        head = Paragraph(f"{len(self.timings)} timings, {', '.join(self.operations)}")
        return Document(self.system or "Message sweep", (head, grid, FindingList(self.findings)))


def merged(sweeps: Sequence[MessageSweep]) -> MessageSweep:
    """Several files of one system as one sweep; they must agree on what bytes mean."""
    if len({sweep.per_rank for sweep in sweeps}) != 1:
        raise InputError("the files differ in what bytes mean (per rank or in all); fit them separately")
    timings = tuple(timing for sweep in sweeps for timing in sweep.timings)
    findings = tuple(finding for sweep in sweeps for finding in sweep.findings)
    first = sweeps[0]
    return MessageSweep(
        timings=timings, system=first.system, per_rank=first.per_rank, provenance=first.provenance, findings=findings
    )


def write_sweep(sweep: MessageSweep, path: Path) -> None:
    """Write the sweep as JSON, atomically."""
    from scalecurve.study.file import json_bytes

    write_atomically(path, json_bytes(sweep.to_dict()))


def sweep_from_dict(data: dict[str, Any], *, subject: str) -> MessageSweep:
    """A sweep from plain data; every fault is reported at once."""
    from pydantic import TypeAdapter, ValidationError

    from scalecurve.study.file import faults_of

    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise FormatError(
            Fault("not a message sweep", remedy=f'expected "format": "{FORMAT}", "version": {VERSION}'), subject=subject
        )
    kept = {name: data[name] for name in ("timings", "system", "per_rank", "provenance", "findings") if name in data}
    try:
        return TypeAdapter(MessageSweep).validate_python(kept)
    except ValidationError as problem:
        raise FormatError(faults_of(problem), subject=subject) from None
    except InputError as problem:
        raise FormatError(problem.faults, subject=subject) from None


def timings_from(rows: Iterable[tuple[str, int, int | None, float, float]]) -> tuple[Timing, ...]:
    """Timings from (operation, ranks, nodes, message, seconds); repeats become a median and its deviation."""
    cells: dict[tuple[str, int, int | None, float], list[float]] = {}
    for operation, ranks, nodes, message, seconds in rows:
        cells.setdefault((operation, ranks, nodes, message), []).append(seconds)
    timings = []
    for (operation, ranks, nodes, message), values in cells.items():
        middle = float(median(values))
        spread = float(median([abs(value - middle) for value in values])) if len(values) > 1 else None
        timings.append(
            Timing(
                operation=operation,
                ranks=ranks,
                nodes=nodes,
                message=message,
                seconds=middle,
                spread=spread,
                repeats=len(values),
            )
        )
    return tuple(timings)
