"""A Document as GitHub-flavoured Markdown."""

from __future__ import annotations

import re

from scalecurve.document import (
    Block,
    Document,
    FindingList,
    Heading,
    Listing,
    Paragraph,
    Table,
    one_line,
)
from scalecurve.findings import Finding


def to_markdown(document: Document) -> str:
    parts = [f"# {escape(document.title)}"] if document.title else []
    parts += [text for block in document.blocks if (text := _block(block))]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is: markup characters, pipes and HTML lose their meaning."""
    escaped = re.sub(r"([\\`*_{}\[\]|<>#~])", r"\\\1", one_line(text))
    return escaped.replace("&", "&amp;")


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return f"## {escape(text)}"
        case Paragraph(text):
            return "\n".join(escape(line) for line in text.splitlines())
        case Listing(text):
            return f"```\n{text}\n```"
        case Table():
            return _table(block)
        case FindingList(found):
            return "\n".join(_finding(finding) for finding in found)


def _finding(finding: Finding) -> str:
    remedy = f" *{escape(finding.remedy)}*" if finding.remedy else ""
    return f"- **{finding.severity}** `{finding.code}` {escape(finding.message)}{remedy}"


def _table(block: Table) -> str:
    head = " | ".join(escape(column.header) for column in block.columns)
    rule = " | ".join("---" if column.align == "left" else "---:" for column in block.columns)
    rows = [" | ".join(escape(cell.text) for cell in row) for row in block.rows]
    lines = [f"| {line} |" for line in (head, rule, *rows)]
    return "\n".join(([escape(block.caption), ""] if block.caption else []) + lines)
