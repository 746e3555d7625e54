"""The page of all codes of findings: their explanations, and the severities that the source gives them."""

from __future__ import annotations

import ast
from collections import defaultdict
from itertools import groupby
from pathlib import Path

from scalecurve.auditing.explanations import explanations
from scalecurve.findings import Severity

SOURCE = Path(__file__).parents[1] / "src"
INTRODUCTION = """# Findings by code

Every warning that Scalecurve prints carries a severity and a code in brackets. `scalecurve explain CODE` prints what
stands here; the rules of the audit have [their own page](audit-rules.md).

| severity | what it means for the numbers beside it |
|---|---|
| info | they hold; this is what to know when you quote them |
| warning | they may mislead: do what the sentence after the arrow says, or quote the warning with them |
| error | some are missing or wrong: mend that first |

A finding never stops a command. Only `audit`, `check`, `measure` and `assess --gate` turn a result into exit code 1.
"""


def severities() -> dict[str, list[str]]:
    """The severities with which the source raises each code, mildest first."""
    raised: dict[str, set[str]] = defaultdict(set)
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                code = node.args[0]
                if node.func.id in set(Severity) and isinstance(code, ast.Constant):
                    raised[str(code.value)].add(node.func.id)
    return {code: [str(one) for one in Severity if one in names] for code, names in raised.items()}


def findings_page() -> str:
    parts, raised = [INTRODUCTION], severities()
    own = [one for one in explanations().values() if one.area != "audit"]
    for area, entries in groupby(own, key=lambda one: one.area):
        parts.append(f"## {area.capitalize()}\n")
        for one in entries:
            kinds = f"({' or '.join(raised[one.code])}) " if one.code in raised else ""
            parts.append(f"### {one.code}\n\n{kinds}{one.meaning} *{one.remedy}*\n")
    rules = (one for one in explanations().values() if one.area == "audit")
    parts.append("## Audit\n")
    parts += [f"- [{one.code}](audit-rules.md#{one.code})" for one in rules]
    return "\n".join(parts) + "\n"
