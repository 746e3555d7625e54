"""A rule of the audit: a check with what it is about, what to do, what to ask, and where it comes from.

The texts stand in rules.toml.  A rule that a field of the claim decides alone is a row there too (`field`, `says`); the
other checks stand in `job_rules` (what ran), `number_rules` (how it was measured, and what the curve says) and
`arithmetic_rules` (whether the published figures agree with each other).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from importlib.resources import files
from operator import attrgetter
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


Said = Hit | str | Iterable[Hit] | None
Check = Callable[[Claim], Said]


@dataclass(frozen=True, kw_only=True)
class AuditRule:
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

    def hits(self, claim: Claim) -> tuple[Hit, ...]:
        """What the check says of a claim."""
        said = self.check(claim)
        if said is None or isinstance(said, Hit):
            return () if said is None else (said,)
        return (Hit(said),) if isinstance(said, str) else tuple(said)

    def finding(self, hit: Hit) -> Finding:
        return Finding(self.code, self.severity, hit.message, hit.evidence, hit.remedy or self.remedy)

    @property
    def doubts(self) -> bool:
        """Whether a hit doubts what was stated, and does not only miss a fact."""
        return self.severity is Severity.WARNING and not self.absent

    @property
    def is_grave(self) -> bool:
        return self.severity is Severity.ERROR or self.effect is Effect.VIOLATED


def _field_says(name: str, value: bool, says: str, claim: Claim) -> str | None:
    """The sentence of a rule that one field decides, where the claim states it with this value."""
    stated: object = attrgetter(name)(claim)
    return says if stated is value else None


def _rule(code: str, texts: dict[str, Any], check: Check) -> AuditRule:
    if "item" in texts:
        texts = texts | {"item": Item[texts["item"]], "effect": Effect(texts["effect"])}
    return AuditRule(code=code, check=check, **texts | {"severity": Severity(texts["severity"])})


_TEXTS = tomllib.loads(files("scalecurve.auditing").joinpath("rules.toml").read_text(encoding="utf-8"))
RULES: list[AuditRule] = []
for _code, _row in _TEXTS.items():
    if "field" in _row:
        _check = partial(_field_says, _row.pop("field"), _row.pop("is"), _row.pop("says"))
        RULES.append(_rule(_code, _row, _check))


def rule(check: Check) -> Check:
    """Add a check to RULES with the texts of its section, in the order of rules.toml: that of a_b is a-b."""
    code = check.__name__.replace("_", "-")
    RULES.append(_rule(code, dict(_TEXTS[code]), check))
    RULES.sort(key=lambda own: list(_TEXTS).index(own.code))
    return check
