"""Documents: the neutral tables and text that every result builds, and `Result`, the base of all results.

`render` makes text, HTML, Markdown, LaTeX and the report from a Document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from scalecurve.errors import TYPED, Fault, InputError, MissingExtra, make_inert, one_line
from scalecurve.findings import Finding
from scalecurve.words import spaced

Tone = Literal["plain", "good", "warn", "bad", "muted", "assumed"]

ABSENT = "-"
FRAME_LIBRARIES = ("pandas", "polars", "xarray")


@dataclass(frozen=True)
class Cell:
    """Text in a table; `tone` says what it means, not which colour it gets."""

    text: str
    tone: Tone = "plain"

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", spaced(self.text))


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", spaced(self.text))


@dataclass(frozen=True)
class Listing:
    """Text kept line for line: a command to copy, a formula with its numbers."""

    text: str


@dataclass(frozen=True)
class Table:
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "caption", self.caption and spaced(self.caption))


@dataclass(frozen=True)
class FindingList:
    findings: tuple[Finding, ...]


Block = Heading | Paragraph | Listing | Table | FindingList


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
            value = value[int(name)] if name.isdecimal() else getattr(value, name)
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


@dataclass(frozen=True, kw_only=True)
class Answer(JsonRecord):
    """What to do, said first: the decision with its number (one sentence of at most 120 characters), how sure it is,
    why, and the one command or measurement that would change or sharpen it."""

    decision: str
    confidence: str | None = None
    reason: str | None = None
    next: str | None = None

    def __post_init__(self) -> None:
        for name in ("decision", "confidence", "reason"):
            object.__setattr__(self, name, spaced(getattr(self, name) or "") or None)
        make_inert(self, "decision", "confidence", "reason", "next")

    def lines(self) -> tuple[str, ...]:
        """The decision, how sure and why, and what to do next: at most three lines of text."""
        support = " ".join(filter(None, (self.confidence, self.reason)))
        return tuple(filter(None, (self.decision, support, f"Next: {self.next}" if self.next else "")))


UNSURE = "Unsure: other programs disturbed the runs."
MEASURE_NEXT = "`scalecurve measure --init study.toml` writes what to fill in"
QUIET = "measure again when the machine is quiet: `scalecurve doctor` says whether it is"


def repeat_at(workers: Iterable[int]) -> str:
    """What to do next where the noise at these K leaves a decision open."""
    return f"repeat K = {', '.join(f'{k:,}' for k in sorted(set(workers)))} five times: {MEASURE_NEXT}"


_BEFORE_JOB = re.compile(r"(?:'[^']*'|[^'])*?(?= -- )")  # a quoted -- parts nothing


def as_typed(text: str) -> str | None:
    """A proposed command with the study and the command that were typed in the place of STUDY and SAME; options stand
    before the job of a command (`-- ./solver`)."""
    study, same = TYPED.get()
    if "SAME" in text and same is None:
        return None
    if "STUDY" in text and study is None:  # a command that read none
        return MEASURE_NEXT

    def words(found: re.Match[str]) -> str:
        whole = (same if found[1] == "SAME" else study) or ""
        before = _BEFORE_JOB.match(whole)
        typed = before[0] if before else whole
        job = whole[len(typed) :]
        for option in re.findall(r"--[\w-]+", found[2]):  # said again, or left out
            value = "" if "without" in found[2] else "(?: (?!-)('[^']*'|\\S+))?"
            typed = re.sub(rf" {option}{value}(?= |$)", "", typed)
        return typed + job if "without" in found[2] else typed + found[2] + job

    return re.sub(r"\b(STUDY|SAME)\b((?: without)?(?: --[\w-]+(?: (?!-)[^ `]+)?)*)", words, text)


@dataclass(frozen=True)
class Document:
    """A result for people: its answer, the blocks that a screen shows, and details that only `--verbose`, pages and
    reports show."""

    title: str | None
    blocks: tuple[Block, ...]
    details: tuple[Block, ...] = ()
    answer: Answer | None = None

    @property
    def all_blocks(self) -> tuple[Block, ...]:
        """What the screen shows and the details, without the answer."""
        return (*self.blocks, *self.details)

    @property
    def section(self) -> tuple[Block, ...]:
        """The answer as paragraphs, then all blocks: the document inside a larger one."""
        lines = self.answer.lines() if self.answer else ()
        return (*map(Paragraph, lines), *self.all_blocks)


def _answer_after_findings(own: Callable[[Any], Answer | None]) -> Callable[[Any], Answer | None]:
    """A result's own answer after its findings: none where the values cannot be believed, and an unsure one where other
    programs disturbed the runs."""

    def answer(self: Any) -> Answer | None:
        codes = {finding.code: finding for finding in self.findings}
        doubt = codes.get("implausible")
        if doubt is not None and not self.believes(doubt):
            return Answer(decision=f"{self.REFUSAL}: {doubt.message}.", next=doubt.remedy and as_typed(doubt.remedy))
        said = own(self)
        if said is None:
            return None
        said = replace(said, next=said.next and as_typed(said.next))
        if "disturbed" not in codes:
            return said
        servers = ",".join(codes["disturbed"].evidence.get("servers", ()))
        named = f"make {servers} part of the job: `scalecurve measure --force --serves {servers} STUDY`"
        known = re.search("(?i)disturbed|other programs|quiet machine", f"{said.decision} {said.confidence}")
        return replace(
            said,
            confidence=said.confidence if known else " ".join(filter(None, [UNSURE, said.confidence])),
            next=as_typed(named) if servers else QUIET,
        )

    return answer


class Result(JsonRecord):
    """What every verb returns: `answer`, `document()`, `to_dict()`, `findings`, and `records()` where it has a table.

    A result says its `answer`, the `body` of its document and the `content` of its JSON.  Whether the values can be
    believed comes before every answer: `REFUSAL` is what is said where they cannot.
    """

    REFUSAL: ClassVar[str] = "No K can be recommended"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = cls.__dict__.get("answer")
        if isinstance(own, property) and own.fget is not None:
            cls.answer = property(_answer_after_findings(own.fget), doc=own.__doc__)  # type: ignore[assignment, method-assign]

    if TYPE_CHECKING:  # a field of the dataclass, or a property; at run time the base must not give it a default

        @property
        def findings(self) -> Sequence[Finding]: ...

    @property
    def answer(self) -> Answer | None:
        """What to do, in a sentence with its number."""
        return None

    def believes(self, doubt: Finding) -> bool:
        """Whether it can answer in spite of a doubt about the values."""
        return False

    def body(self) -> Document:
        """Everything but the answer as headings, text, tables and findings."""
        raise NotImplementedError

    def document(self) -> Document:
        """The answer, then headings, text, tables and findings."""
        return replace(self.body(), answer=self.answer)

    def content(self) -> dict[str, Any]:
        """Everything but the answer as JSON-ready values."""
        return super().to_dict()

    def to_dict(self) -> dict[str, Any]:
        """The answer and everything behind it as JSON-ready values, as `--json` prints it."""
        return {"answer": self.answer.to_dict(), **self.content()} if self.answer else self.content()

    def records(self) -> list[dict[str, Any]]:
        """The rows of the table, as `--csv` prints them; InputError where the answer has no table."""
        rows = getattr(self, "rows", None)
        if rows is None:
            raise InputError(f"a {type(self).__name__} has no table; use to_dict(), or --json")
        return [json_value(row) for row in rows]

    def __str__(self) -> str:
        from scalecurve.render.terminal import to_text  # the renderers stand above

        return to_text(self.document())

    def __repr__(self) -> str:
        return self.answer.decision if self.answer else f"<{type(self).__name__}>"

    def _repr_html_(self) -> str:
        from scalecurve.render.html import fragment

        return fragment(self.document())

    def to_frame(self, library: str | None = None) -> Any:
        """The rows as a pandas or polars DataFrame or an xarray Dataset, whichever is installed or named."""
        return frame_of(self.records(), library)


def _cell(value: Cell | str | None) -> Cell:
    if value is None:
        return Cell(ABSENT, "muted")
    return Cell(value) if isinstance(value, str) else value


def table(
    columns: Sequence[Column | str],
    rows: Iterable[Sequence[Cell | str | None]],
    *,
    caption: str | None = None,
) -> Table:
    """A Table from plain values; None is shown as absent.  A column named by a text stands left if it holds words."""
    cells = [tuple(map(_cell, row)) for row in rows]
    heads = tuple(
        column if isinstance(column, Column) else Column(column, _side([row[place].text for row in cells]))
        for place, column in enumerate(columns)
    )
    return Table(heads, tuple(cells), caption)


def _side(texts: Sequence[str]) -> Literal["left", "right"]:
    """Words stand left and numbers right; a few words among numbers, or the reverse, change nothing."""
    words = sum(text[:1].isalpha() and not text[:2].lstrip("x").isdigit() for text in texts)  # x1.5 is a number
    return "left" if 2 * words > len([text for text in texts if text != ABSENT]) else "right"


def and_list(names: Sequence[str]) -> str:
    """`amdahl`, `amdahl and usl`, `amdahl, usl and root`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def spreadsheet_safe(value: Any) -> Any:
    """A cell of a CSV file that no spreadsheet takes for a formula: text starting with = + - @ gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def safe_lines(text: str) -> list[str]:
    """The lines of a text, each safe to print on a terminal."""
    return [one_line(line) for line in text.splitlines()]


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
