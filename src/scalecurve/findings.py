"""Findings: what a reader of a result must know, kept inside the result so that terminal, JSON and HTML agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol

from scalecurve.errors import make_inert, spelled
from scalecurve.words import spaced


class Severity(StrEnum):
    """How much a finding should change the reader's trust in the result."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


Evidence = str | float | None | Sequence["Evidence"] | Mapping[str, "Evidence"]
"""What JSON can hold: the numbers and names behind a finding."""


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

    def __post_init__(self) -> None:
        if self.remedy:
            object.__setattr__(self, "remedy", spelled(self.remedy))
        object.__setattr__(self, "message", spaced(self.message))
        make_inert(self, "code", "message", "remedy")

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


def info(code: str, message: str, *, remedy: str | None = None, **evidence: Evidence) -> Finding:
    return Finding(code, Severity.INFO, message, evidence, remedy)


def warning(code: str, message: str, *, remedy: str | None = None, **evidence: Evidence) -> Finding:
    return Finding(code, Severity.WARNING, message, evidence, remedy)


def error(code: str, message: str, *, remedy: str | None = None, **evidence: Evidence) -> Finding:
    return Finding(code, Severity.ERROR, message, evidence, remedy)


class Described(Protocol):
    """What has a name and findings of its own, such as a study."""

    @property
    def name(self) -> str: ...
    @property
    def findings(self) -> Sequence[Finding]: ...


def carried(*studies: Described, own: Iterable[Finding] = ()) -> tuple[Finding, ...]:
    """The findings of a result, then those of the studies behind it, each once.

    A finding of only one of several studies gets the name of that study.
    """
    every = {(item.code, item.message): item for study in studies for item in study.findings}
    for key, item in every.items():
        having = [study.name for study in studies if any((one.code, one.message) == key for one in study.findings)]
        if len(having) < len(studies):
            every[key] = replace(item, message=f"{having[0]}: {item.message}")
    return (*(item for item in own if (item.code, item.message) not in every), *every.values())
