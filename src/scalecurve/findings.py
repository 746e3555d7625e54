"""Findings: what a reader of a result must know, kept inside the result so that terminal, JSON and HTML agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How much a finding should change the reader's trust in the result."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Finding:
    """One thing a reader of a result must know.

    `code` is stable and kebab-case; `evidence` holds the numbers behind the sentence; `remedy` is what to do next.
    """

    code: str
    severity: Severity
    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    remedy: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": str(self.severity),
            "message": self.message,
            "evidence": dict(self.evidence),
            "remedy": self.remedy,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Finding:
        return cls(
            code=str(data["code"]),
            severity=Severity(data["severity"]),
            message=str(data["message"]),
            evidence=dict(data.get("evidence") or {}),
            remedy=data.get("remedy"),
        )


def info(code: str, message: str, *, remedy: str | None = None, **evidence: Any) -> Finding:
    return Finding(code, Severity.INFO, message, evidence, remedy)


def warning(code: str, message: str, *, remedy: str | None = None, **evidence: Any) -> Finding:
    return Finding(code, Severity.WARNING, message, evidence, remedy)


def error(code: str, message: str, *, remedy: str | None = None, **evidence: Any) -> Finding:
    return Finding(code, Severity.ERROR, message, evidence, remedy)
