"""A rule of the audit: a check with what it is about, what to do, what to ask, and where it comes from.

The rules stand in `job_rules` (what ran), `number_rules` (how it was measured, and what the curve says) and
`arithmetic_rules` (whether the published figures agree with each other).
"""

from __future__ import annotations

import inspect
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
    """What a hit makes of its checklist row."""

    VIOLATED = "violated"
    MISSING = "missing"


@dataclass(frozen=True)
class Hit:
    """A rule that applies: one sentence with its numbers, and another remedy where this case has its own.

    `credit` is the share of its checklist row that the claim fulfils all the same.
    """

    message: str
    evidence: dict[str, Any] = field(default_factory=dict)
    remedy: str | None = None
    credit: float = 0.0


Check = Callable[[Claim], Iterator[Hit]]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`why` is what goes wrong without it, `asks` the question to the author, `source` where the rule is from.

    A `contradiction` is seen in the published figures alone: they cannot all be right.
    """

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
    contradiction: bool = False

    def finding(self, hit: Hit) -> Finding:
        return Finding(self.code, self.severity, hit.message, hit.evidence, hit.remedy or self.remedy)


RULES: list[Rule] = []


def rule(
    code: str,
    severity: Severity,
    item: Item | None = None,
    effect: Effect | None = None,
    *,
    remedy: str,
    source: str,
    asks: str | None = None,
    contradiction: bool = False,
) -> Callable[[Check], Check]:
    """Add a check to RULES; the first line of its docstring is the title, the rest says why."""

    def register(check: Check) -> Check:
        title, _, why = (inspect.getdoc(check) or code).partition("\n\n")
        RULES.append(
            Rule(
                code=code,
                severity=severity,
                title=title.rstrip("."),
                why=" ".join(why.split()),
                remedy=remedy,
                source=source,
                check=check,
                item=item,
                effect=effect,
                asks=asks,
                contradiction=contradiction,
            )
        )
        return check

    return register
