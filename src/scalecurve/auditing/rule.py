"""A rule of the audit: a check with what it is about, what to do, what to ask, and where it comes from.

The texts stand in rules.toml; the checks in `job_rules` (what ran), `number_rules` (how it was measured, and what the
curve says) and `arithmetic_rules` (whether the published figures agree with each other).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.resources import files
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
    """A section of rules.toml, where each key is explained, with its check."""

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
    absent: bool = False
    contradiction: bool = False

    def finding(self, hit: Hit) -> Finding:
        return Finding(self.code, self.severity, hit.message, hit.evidence, hit.remedy or self.remedy)


_TEXTS = tomllib.loads(files("scalecurve.auditing").joinpath("rules.toml").read_text(encoding="utf-8"))
RULES: list[Rule] = []


def rule(check: Check) -> Check:
    """Add a check to RULES with the texts of its section: that of a_b is a-b."""
    code = check.__name__.replace("_", "-")
    texts = dict(_TEXTS[code])
    if "item" in texts:
        texts |= {"item": Item[texts["item"]], "effect": Effect(texts["effect"])}
    RULES.append(Rule(code=code, check=check, **texts | {"severity": Severity(texts["severity"])}))
    return check
