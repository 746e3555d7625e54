"""Documents: the neutral tables and text that every result builds, and `Result`, the base of all results.

A Document becomes plain text (`str(result)`) here; `render` makes HTML, Markdown, LaTeX and the report from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from importlib.util import find_spec
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from scalecurve.errors import Fault, InputError, MissingExtra
from scalecurve.findings import Finding

Tone = Literal["plain", "good", "warn", "bad", "muted", "assumed"]

ABSENT = "-"
TEXT_WIDTH = 100
FRAME_LIBRARIES = ("pandas", "polars", "xarray")


@dataclass(frozen=True)
class Cell:
    """Text in a table; `tone` says what it means, not which colour it gets."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Column:
    """A column of a table; where the room is short, the one of the highest `rank` goes first, and 0 always stays."""

    header: str
    align: Literal["left", "right"] = "right"
    meaning: str | None = None
    rank: int = 0


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


class JsonRecord:
    """A noun that becomes JSON: the keys that `JSON` lists, or all of its fields.

    In `JSON`, `name` is the attribute of that name and `key=path.to.value` another one: a method is called, and what
    follows an absent value is None.  `name*` is an Estimate as name, name_low and name_high; `**path` is all keys of
    the noun or mapping there, and `outer.key` a key inside the object `outer`.
    """

    JSON: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """The whole answer as JSON-ready values, as `--json` prints it."""
        if not self.JSON:
            return json_fields(self)
        answer: dict[str, Any] = {}
        for entry in self.JSON.split():
            key, _, path = entry.partition("=")
            value = json_value(follow(self, (path or key).strip("*")))
            if entry.startswith("**"):
                answer |= value
            elif key.endswith("*"):
                ends = value or dict.fromkeys(("value", "low", "high"))
                answer |= {key[:-1]: ends["value"], f"{key[:-1]}_low": ends["low"], f"{key[:-1]}_high": ends["high"]}
            else:
                outer, _, inner = key.rpartition(".")
                (answer.setdefault(outer, {}) if outer else answer)[inner] = value
        return answer


def follow(value: Any, path: str) -> Any:
    """What stands at the end of a dotted path of attributes and indices; methods are called, and None ends it."""
    for name in path.split("."):
        if value is not None:
            value = value[int(name)] if name.isdigit() else getattr(value, name)
            value = value() if callable(value) else value
    return value


def json_fields(noun: Any) -> dict[str, Any]:
    """The fields of a dataclass as JSON-ready values."""
    return {field.name: json_value(getattr(noun, field.name)) for field in fields(noun)}


def json_value(value: Any) -> Any:
    """Any value of a result as JSON-ready values: nouns as dicts, sequences as lists, names of choices as text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [json_value(item) for item in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return json_fields(value) if is_dataclass(value) else value


class Result(JsonRecord):
    """What every verb returns: `document()`, `to_dict()`, `findings`, and `records()` where it has a table."""

    if TYPE_CHECKING:  # a field of the dataclass, or a property; at run time the base must not give it a default

        @property
        def findings(self) -> Sequence[Finding]: ...

    def document(self) -> Document:
        """The whole answer as headings, text, tables and findings."""
        raise NotImplementedError

    def records(self) -> list[dict[str, Any]]:
        """The rows of the table, as `--csv` prints them; InputError where the answer has no table."""
        rows = getattr(self, "rows", None)
        if rows is None:
            raise InputError(f"a {type(self).__name__} has no table; use to_dict(), or --json")
        return [json_value(row) for row in rows]

    def __str__(self) -> str:
        return to_text(self.document())

    def _repr_html_(self) -> str:
        from scalecurve.render.html import fragment  # the renderer stands above; notebooks alone need it

        return fragment(self.document())

    def to_frame(self, library: str | None = None) -> Any:
        """The rows as a pandas or polars DataFrame or an xarray Dataset, whichever is installed or named."""
        return frame_of(self.records(), library)


def table(
    columns: Sequence[Column | str],
    rows: Iterable[Sequence[Cell | str | None]],
    *,
    caption: str | None = None,
) -> Table:
    """A Table from plain values; None is shown as absent."""
    heads = tuple(column if isinstance(column, Column) else Column(column) for column in columns)
    cells = [
        tuple(Cell(ABSENT, "muted") if cell is None else Cell(cell) if isinstance(cell, str) else cell for cell in row)
        for row in rows
    ]
    return Table(heads, tuple(cells), caption)


def one_line(text: str) -> str:
    """The text with control characters made visible, so that a name from a file cannot move the cursor."""
    hidden = {ord(char) for char in text if not (char.isprintable() or char == "\xa0")}
    return text.translate({code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in hidden})


def spreadsheet_safe(value: Any) -> Any:
    """A cell of a CSV file that no spreadsheet takes for a formula: text starting with = + - @ gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def safe_lines(text: str) -> list[str]:
    """The lines of a text, each safe to print on a terminal."""
    return [one_line(line) for line in text.splitlines()]


def to_text(document: Document) -> str:
    """The document as plain text, with one empty line between blocks and no control characters."""
    parts = [one_line(document.title)] if document.title else []
    for block in document.blocks:
        match block:
            case Heading(text):
                parts.append(f"{one_line(text)}\n{'-' * len(one_line(text))}")
            case Paragraph(text):
                parts.append("\n".join(line for part in safe_lines(text) for line in wrap(part, TEXT_WIDTH) or [""]))
            case Listing(text):
                parts.append("\n".join("    " + line for line in safe_lines(text)))
            case Table():
                parts.append(table_text(block))
            case FindingList(findings):
                parts.append("\n".join(finding_text(finding) for finding in findings))
    return "\n\n".join(part for part in parts if part)


def finding_text(finding: Finding, width: int = TEXT_WIDTH) -> str:
    """A finding as lines wrapped at `width`: severity, code, sentence and remedy."""
    text = f"{finding.severity} [{finding.code}] {finding.message}"
    if finding.remedy:
        text += f" -> {finding.remedy}"
    return "\n".join(wrap(one_line(" ".join(text.split())), width, subsequent_indent="    "))


def table_text(block: Table) -> str:
    """A table with aligned columns, its caption above."""
    grid = [[one_line(column.header) for column in block.columns]]
    grid += [[one_line(cell.text) for cell in row] for row in block.rows]
    widths = [max(len(row[i]) for row in grid) for i in range(len(block.columns))]
    lines = []
    for row in grid:
        cells = zip(row, widths, block.columns, strict=True)
        padded = [f"{text:{'<' if column.align == 'left' else '>'}{width}}" for text, width, column in cells]
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*safe_lines(block.caption or ""), *lines])


def frame_of(records: Sequence[dict[str, Any]], library: str | None = None) -> Any:
    """A pandas or polars DataFrame, or an xarray Dataset along `row`; the first that is installed unless named."""
    if library is not None and library not in FRAME_LIBRARIES:
        raise InputError(
            Fault("unknown data frame library", value=library, remedy=f"one of {', '.join(FRAME_LIBRARIES)}")
        )
    chosen = library or next((name for name in FRAME_LIBRARIES if find_spec(name) is not None), None)
    if chosen is None or find_spec(chosen) is None:
        raise MissingExtra(f"a data frame ({chosen or 'pandas, polars or xarray'})", "frames")
    module = import_module(chosen)
    if chosen != "xarray":
        return module.DataFrame(list(records))
    names = list(dict.fromkeys(name for record in records for name in record))
    return module.Dataset({name: ("row", [record.get(name) for record in records]) for name in names})
