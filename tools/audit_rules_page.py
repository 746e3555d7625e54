"""The page of audit rules, from the rules themselves."""

from __future__ import annotations

from scalecurve.auditing.audit import RULES
from scalecurve.auditing.rule import AuditRule, Item

INTRODUCTION = """# Audit rules

What `scalecurve audit` looks for. A rule that belongs to a row of the reporting checklist makes that row *missing* or
*violated* and is named there; any other rule leaves a finding with its code. An error or a violated
row makes a result *not publishable*; so do more than two missing rows where fewer than three K have a time or a rate.

"""


def rules_page() -> str:
    summary = "\n".join(
        f"| [`{rule.code}`](#{rule.code}) | {rule.severity} | {rule.item or ''} | {rule.effect or ''} |"
        for rule in RULES
    )
    table = f"| rule | severity | checklist row | makes it |\n| --- | --- | --- | --- |\n{summary}\n\n"
    rows = "\n".join(f"{i}. {item}" for i, item in enumerate(Item, 1))
    checklist = f"The six rows of the checklist:\n\n{rows}\n\n"
    return INTRODUCTION + checklist + table + "\n".join(_section(rule) for rule in RULES)


def _section(rule: AuditRule) -> str:
    lines = [f"## {rule.code}\n", f"**{rule.title}.** {rule.why}\n", f"- Remedy: {rule.remedy}."]
    if rule.asks:
        lines.append(f"- Ask: {rule.asks}")
    lines.append(f"- Source: {rule.source}.")
    return "\n".join(lines) + "\n"
