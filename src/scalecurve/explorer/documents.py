"""A Document as plain data for the page: the very texts the command line prints."""

from __future__ import annotations

from typing import Any

from scalecurve.document import Block, Document, FindingList, Heading, Listing, Paragraph, Table


def blocks(document: Document) -> list[dict[str, Any]]:
    return [block_data(block) for block in document.blocks]


def block_data(block: Block) -> dict[str, Any]:
    match block:
        case Heading(text):
            return {"kind": "heading", "text": text}
        case Paragraph(text, tone):
            return {"kind": "paragraph", "text": text, "tone": tone}
        case Listing(text):
            return {"kind": "listing", "text": text}
        case Table():
            return table_data(block)
        case FindingList(found):
            return {"kind": "findings", "findings": [finding.to_dict() for finding in found]}


def table_data(block: Table) -> dict[str, Any]:
    return {
        "kind": "table",
        "caption": block.caption,
        "columns": [{"header": column.header, "align": column.align} for column in block.columns],
        "rows": [[{"text": cell.text, "tone": cell.tone} for cell in row] for row in block.rows],
    }
