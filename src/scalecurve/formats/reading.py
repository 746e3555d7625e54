"""What a reader found in one file, before it is settled which of it is K and which of it is the study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from scalecurve.errors import Fault, FormatError
from scalecurve.findings import Finding
from scalecurve.formats.source import Source
from scalecurve.formats.wishes import Wishes
from scalecurve.study import Provenance, Quantity, Regime, RunStatus, Treatment, Workload


@dataclass(frozen=True, kw_only=True)
class Point:
    """Observations of one configuration.

    `fields` are the parameters that might be K or tell curves apart; `name` is what --k-from is matched against;
    `metric` tells several quantities of one run apart; `details` are further facts of each Run; observations of one
    `launch` (the ranks of a job, each with its own file) become one run.
    """

    values: tuple[float, ...]
    series: str = ""
    name: str = ""
    metric: str = "time"
    quantity: Quantity | None = Quantity.SECONDS
    unit: str | None = "s"
    k: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    status: RunStatus = RunStatus.OK
    details: Mapping[str, Any] = field(default_factory=dict)
    launch: str | None = None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The points of a file and what its tool says of all of them.

    `assumed` and `missing` are clauses of the sentence that goes with the study: what was taken for granted, and what
    an honest study would still need.
    """

    points: tuple[Point, ...]
    k_origin: str | None = None
    k_unit: str | None = None
    regime: Regime | None = None
    workload: Workload = field(default_factory=Workload)
    warmup: Treatment = Treatment.UNKNOWN
    setup: Treatment = Treatment.UNKNOWN
    provenance: Provenance = field(default_factory=Provenance)
    assumed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Reader:
    """A format: `look` gives the evidence that a file is of it, or None; `read` gives its points."""

    name: str
    title: str
    look: Callable[[Source], str | None]
    read: Callable[[Source, Wishes], Reading]


MOST_POINTS = 50_000


def bounded(points: Iterable[Point], subject: str) -> tuple[Point, ...]:
    """The points, up to a number that no benchmark's report reaches; a log of everything is narrowed down first."""
    kept = tuple(islice(points, MOST_POINTS + 1))
    if len(kept) > MOST_POINTS:
        hint = "narrow it down, or give the numbers as a CSV with a column for K, which has no such limit"
        raise FormatError(Fault(f"more than {MOST_POINTS} configurations in one file", remedy=hint), subject=subject)
    return kept


SAME_PROCESS = "the repeats share one process, so that their spread understates the noise between launches"
