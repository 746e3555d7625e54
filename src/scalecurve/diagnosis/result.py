"""Why a curve bends: the answer, its shares, its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scalecurve.diagnosis.causes import CAUSES, NONE, REMEDIES, UNDETERMINED, Cause
from scalecurve.diagnosis.pop import PopMetrics
from scalecurve.document import Document, Shown
from scalecurve.findings import Finding


@dataclass(frozen=True, kw_only=True)
class CauseRow:
    """One K: shares of the gap by cause (they add up to 1 with `none`), and where the time went, where known."""

    k: int
    efficiency: float
    shares: Mapping[str, float]
    seconds: Mapping[str, float] = field(default_factory=dict)
    pop: PopMetrics | None = None

    def to_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {"k": self.k, "efficiency": self.efficiency, "shares": dict(self.shares)}
        row["seconds"] = dict(self.seconds) or None
        row["pop"] = self.pop.to_dict() if self.pop else None
        return row

    def flat(self) -> dict[str, Any]:
        shares = {f"share_{name}": self.shares.get(name, 0.0) for name in (*CAUSES, NONE)}
        pop = self.pop.to_dict() if self.pop else {}
        return {"k": self.k, "efficiency": self.efficiency, **shares, **pop}


@dataclass(frozen=True, kw_only=True)
class Diagnosis(Shown):
    """The cause of the bend with its chance of being right; `basis` says what was looked at."""

    name: str
    k_unit: str
    regime: str
    cause: str
    probability: float
    basis: str
    causes: tuple[Cause, ...]
    by_k: tuple[CauseRow, ...]
    evidence: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def remedy(self) -> str:
        if self.cause == UNDETERMINED and self.by_k and self.by_k[-1].pop is not None:
            return "several causes cost about as much: see their shares, and repeat the runs to part them"
        return REMEDIES[self.cause]

    def records(self) -> list[dict[str, Any]]:
        return [row.flat() for row in self.by_k]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "regime": self.regime,
            "cause": self.cause,
            "probability": self.probability,
            "basis": self.basis,
            "causes": [cause.to_dict() for cause in self.causes],
            "by_k": [row.to_dict() for row in self.by_k],
            "evidence": list(self.evidence),
            "remedy": self.remedy,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def document(self) -> Document:
        from scalecurve.diagnosis.result_document import diagnosis_document

        return diagnosis_document(self)
