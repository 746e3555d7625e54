"""What a finding's code means: the rules of the audit and codes.toml, one explanation for each code that is printed."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from scalecurve.auditing import arithmetic_rules, job_rules, number_rules  # noqa: F401  importing them fills RULES
from scalecurve.auditing.rule import RULES
from scalecurve.document import Block, Column, Document, Paragraph, Result, table
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Finding


@dataclass(frozen=True)
class Explanation(Result):
    """A code with its meaning, what to do, the question it belongs to (`area`), and its source where it has one."""

    code: str
    area: str
    meaning: str
    remedy: str
    asks: str | None = None
    source: str | None = None
    findings: tuple[Finding, ...] = ()

    def body(self) -> Document:
        blocks: list[Block] = [Paragraph(self.meaning), Paragraph(f"Do: {self.remedy}")]
        blocks += [Paragraph(f"Ask: {self.asks}")] if self.asks else []
        blocks += [Paragraph(f"Source: {self.source}.")] if self.source else []
        return Document(f"{self.code} ({self.area})", tuple(blocks))


@dataclass(frozen=True)
class CodeList(Result):
    """All codes with the first sentence of their meaning, area by area."""

    findings: tuple[Finding, ...] = ()

    JSON = "codes=records findings"

    def records(self) -> list[dict[str, Any]]:
        return [{"code": one.code, "area": one.area, "meaning": one.meaning} for one in explanations().values()]

    def body(self) -> Document:
        rows = [
            (one.area, one.code, f"{one.meaning.partition('. ')[0].rstrip('.')}.") for one in explanations().values()
        ]
        columns = [Column(name, "left") for name in ("area", "code", "meaning")]
        return Document("Codes of findings", (table(columns, rows),))


@cache
def explanations() -> dict[str, Explanation]:
    """Every code of a finding with its explanation, in the order of the reference page."""
    areas = tomllib.loads(files("scalecurve").joinpath("codes.toml").read_text(encoding="utf-8"))
    own = {
        code: Explanation(code, area, meaning, remedy)
        for area, codes in areas.items()
        for code, (meaning, remedy) in codes.items()
    }
    rules = {}
    for rule in RULES:
        meaning, remedy = f"{rule.title}. {rule.why}", f"{rule.remedy[:1].upper()}{rule.remedy[1:]}."
        rules[rule.code] = Explanation(rule.code, "audit", meaning, remedy, rule.asks, rule.source)
    return own | rules


def explain(code: str) -> Explanation:
    """What a finding's code means and what to do about it."""
    name = code.strip().strip("[]").lower()
    if name in explanations():
        return explanations()[name]
    near = get_close_matches(name, explanations(), n=3, cutoff=0.5)
    remedy = f"did you mean {' or '.join(near)}?" if near else "the codes are listed in docs/reference/findings.md"
    raise InputError(Fault("no finding has this code", value=code, remedy=remedy))
