"""Neutral tables and text, so that every noun can show itself without importing `render`.

A noun builds a `Document`; here it becomes plain text (`__str__`).
HTML (`_repr_html_`), Markdown, LaTeX and the full report are made from the same Document in `render`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Literal

from scalecurve.findings import Finding

Tone = Literal["plain", "good", "warn", "bad", "muted", "assumed"]

ABSENT = "-"
TEXT_WIDTH = 100


@dataclass(frozen=True)
class Cell:
    """Text in a table; `tone` says what it means, not which colour it gets."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Column:
    header: str
    align: Literal["left", "right"] = "right"
    meaning: str | None = None


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Paragraph:
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Listing:
    """Text kept line for line: a command to copy, a formula with its numbers."""

    text: str


@dataclass(frozen=True)
class Table:
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str | None = None


@dataclass(frozen=True)
class FindingList:
    findings: tuple[Finding, ...]


Block = Heading | Paragraph | Listing | Table | FindingList


@dataclass(frozen=True)
class Document:
    title: str | None
    blocks: tuple[Block, ...]


class Shown:
    """What every noun that can show itself shares: one `document()` gives both representations."""

    def document(self) -> Document:
        raise NotImplementedError  # each noun describes itself

    def __str__(self) -> str:
        return to_text(self.document())

    def _repr_html_(self) -> str:
        from scalecurve.render.html import fragment  # the renderer stands above; notebooks alone need it

        return fragment(self.document())

    def to_frame(self, library: str | None = None) -> Any:
        """The rows as a pandas or polars DataFrame or an xarray Dataset, whichever is installed or named."""
        from scalecurve.errors import InputError
        from scalecurve.frames import frame_of

        rows = getattr(self, "records", None)
        if rows is None:
            raise InputError(f"a {type(self).__name__} has no table to give as a frame; use to_dict()")
        return frame_of(rows(), library)


def table(
    columns: Sequence[Column | str],
    rows: Iterable[Sequence[Cell | str | None]],
    *,
    caption: str | None = None,
) -> Table:
    """A Table from plain values; None is shown as absent."""
    heads = tuple(column if isinstance(column, Column) else Column(column) for column in columns)
    return Table(heads, tuple(tuple(_as_cell(cell) for cell in row) for row in rows), caption)


def _as_cell(value: Cell | str | None) -> Cell:
    if isinstance(value, Cell):
        return value
    return Cell(ABSENT, "muted") if value is None else Cell(value)


def to_text(document: Document) -> str:
    """The document as plain text, blocks parted by one empty line."""
    parts = [document.title] if document.title else []
    parts += [text for block in document.blocks if (text := _block_text(block))]
    return "\n\n".join(parts)


def _block_text(block: Block) -> str:
    match block:
        case Heading(text):
            return f"{text}\n{'-' * len(text)}"
        case Paragraph(text):
            return "\n".join(line for part in text.splitlines() for line in wrap(part, TEXT_WIDTH) or [""])
        case Listing(text):
            return "\n".join("    " + line for line in text.splitlines())
        case Table():
            return _table_text(block)
        case FindingList(found):
            return "\n".join(finding_text(finding) for finding in found)


def finding_text(finding: Finding) -> str:
    text = f"{finding.severity} [{finding.code}] {finding.message}"
    if finding.remedy:
        text += f" -> {finding.remedy}"
    return "\n".join(wrap(text, TEXT_WIDTH, subsequent_indent="    "))


def _table_text(block: Table) -> str:
    grid = [[column.header for column in block.columns]]
    grid += [[one_line(cell.text) for cell in row] for row in block.rows]
    widths = [max(len(row[i]) for row in grid) for i in range(len(block.columns))]
    lines = [_row_text(row, widths, block.columns) for row in grid]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(([block.caption] if block.caption else []) + lines)


def _row_text(row: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    cells = [
        text.ljust(width) if column.align == "left" else text.rjust(width)
        for text, width, column in zip(row, widths, columns, strict=True)
    ]
    return "  ".join(cells).rstrip()


def one_line(text: str) -> str:
    """Control characters made visible, so that a name from a file cannot move the cursor or break a row."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
