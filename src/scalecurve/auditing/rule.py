"""A rule of the audit: data plus one small function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from scalecurve.auditing.claim import Claim
from scalecurve.findings import Finding, Severity


class Item(StrEnum):
    """The six rows of the reporting checklist."""

    BASELINE = "exact baseline T(1)"
    WORKLOAD = "fixed workload at all K"
    STEADY = "warm-up and set-up excluded"
    SPREAD = "repeats and variance"
    REGIME = "regime stated"
    EFFICIENCY = "efficiency, not only speedup"


class Effect(StrEnum):
    """What a hit makes of its checklist item."""

    VIOLATED = "violated"
    MISSING = "missing"


@dataclass(frozen=True)
class Hit:
    """A rule that applies: the sentence with its numbers, and another remedy where the case has its own."""

    message: str
    evidence: dict[str, Any] = field(default_factory=dict)
    remedy: str | None = None


Check = Callable[[Claim], Iterator[Hit]]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`why` is what goes wrong without it; `asks` is the question to put to the author; `source` where it is from."""

    code: str
    severity: Severity
    title: str
    why: str
    remedy: str
    source: str
    check: Check
    item: Item | None = None
    effect: Effect | None = None
    asks: str | None = None

    def findings(self, claim: Claim) -> list[Finding]:
        return [
            Finding(self.code, self.severity, hit.message, hit.evidence, hit.remedy or self.remedy)
            for hit in self.check(claim)
        ]
