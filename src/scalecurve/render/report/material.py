"""What a report is made of: one study, its table, and whatever else could be said about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from scalecurve.analysis import SpeedupTable
from scalecurve.document import Document
from scalecurve.findings import Finding
from scalecurve.study import Study


class Result(Protocol):
    """Any noun that can show itself."""

    def document(self) -> Document: ...
    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Refusal:
    """Why a part has no answer; it stands in the report where the answer would."""

    reason: str


Part = Result | Refusal | None


@dataclass(frozen=True, kw_only=True)
class Material:
    """A study and what was found about it.  A part is None where it was not asked, a Refusal where it was refused.

    `extra` holds further parts under their headings, so that a new kind of result needs no new field.
    """

    study: Study
    table: SpeedupTable
    fits: Part = None
    forecast: Part = None
    diagnosis: Part = None
    audit: Part = None
    cost: Part = None
    proposal: Part = None
    command: str | None = None
    made: str | None = None
    extra: dict[str, Part] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings once, the gravest first."""
        parts = (self.table, self.fits, self.forecast, self.diagnosis, self.audit, self.cost, self.proposal)
        found = [finding for part in parts for finding in getattr(part, "findings", ())]
        unique = {(finding.code, finding.message): finding for finding in found}
        return tuple(sorted(unique.values(), key=lambda finding: _ORDER[str(finding.severity)]))


_ORDER = {"error": 0, "warning": 1, "info": 2}


def plain(part: Part) -> dict[str, Any]:
    """A part as data; empty where there is none."""
    return {} if part is None or isinstance(part, Refusal) else part.to_dict()
