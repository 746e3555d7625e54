"""The page of all codes of findings, from scalecurve.auditing.explanations."""

from __future__ import annotations

from itertools import groupby

from scalecurve.auditing.explanations import explanations

INTRODUCTION = """# Findings by code

Every warning that Scalecurve prints carries a code in brackets. `scalecurve explain CODE` prints what stands
here; the rules of the audit have [their own page](audit-rules.md).
"""


def findings_page() -> str:
    parts = [INTRODUCTION]
    own = [one for one in explanations().values() if one.area != "audit"]
    for area, entries in groupby(own, key=lambda one: one.area):
        parts.append(f"## {area.capitalize()}\n")
        parts += [f"### {one.code}\n\n{one.meaning} *{one.remedy}*\n" for one in entries]
    rules = (one for one in explanations().values() if one.area == "audit")
    parts.append("## Audit\n")
    parts += [f"- [{one.code}](audit-rules.md#{one.code})" for one in rules]
    return "\n".join(parts) + "\n"
