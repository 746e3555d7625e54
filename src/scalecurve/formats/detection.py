"""What a file is, recognised by its content and never by running, unpickling or unpacking it.

To add a reader: write a row of readers.toml, or one small file with a `READER` in the folder of what comes out, and
name it in order.toml, as in docs/guide/adding-a-reader.md.  Readers of study results of other packages (entry points of
the group `scalecurve.readers`) are asked before the plain tables.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import import_module, resources
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from scalecurve.errors import Fault, FormatError, InputError, read_as
from scalecurve.findings import info
from scalecurve.formats.reading import Reader, ReadOptions
from scalecurve.formats.source import Source

STUDY, PLAIN, ROWS = "scalecurve study", "plain table", "JSON rows"
GROUP = "scalecurve.readers"


class FileKind(StrEnum):
    """What comes out of a file; one file may hold several kinds: a trace is results and a task graph."""

    RESULTS = "results of a scaling study"
    SWEEPS = "timings of collectives"
    LATENCIES = "latencies"
    KERNELS = "kernels of a profiler"
    GRAPHS = "a task graph"


@dataclass(frozen=True)
class ReaderEntry:
    """A line of order.toml, which says what its parts mean."""

    code: str = "rows:reader_of"
    row: str = ""
    json: bool = False
    marks: tuple[str, ...] = ()

    def load(self) -> Reader[Any]:
        module, _, name = self.code.partition(":")
        made: Any = getattr(import_module(f"scalecurve.formats.{module}"), name)
        if name == "reader_of":
            made = made(self.row)
        elif self.row:
            from scalecurve.formats.rows import tool

            made = tool(self.row, made)
        reader: Reader[Any] = made
        return reader

    def may_read(self, source: Source) -> bool:
        return (self.json and source.looks_like_json) or any(mark in source.head_text for mark in self.marks)


_ORDER = tomllib.loads(resources.files("scalecurve.formats").joinpath("order.toml").read_text(encoding="utf-8"))
READERS: dict[FileKind, tuple[ReaderEntry, ...]] = {
    kind: tuple(ReaderEntry(**{**entry, "marks": tuple(entry.get("marks", ()))}) for entry in _ORDER[kind.name.lower()])
    for kind in FileKind
}
GENERAL = {kind: 2 if kind is FileKind.RESULTS else 1 for kind in FileKind}  # last readers, which take any rows or text


@dataclass(frozen=True)
class Detection:
    """The reader for a file, and the evidence for it."""

    source: Source
    kind: FileKind
    reader: Reader[Any]
    evidence: str

    @property
    def name(self) -> str:
        """The format's title."""
        return self.reader.title

    def reports(self) -> list[Detection]:
        """Each report of a file that holds several of one tool, with what a loop wrote above each.

        That line is a part of the report's name, for --k-from and to tell curves apart.
        """
        begins, ends = self.reader.begins, self.reader.ends
        if begins is None:
            return [self]
        text = self.source.text
        starts = [match.start() for match in begins.finditer(text)]
        if len(starts) < 2:
            return [self]
        from scalecurve.formats import headings  # a table has none

        finals = [place.end() for place in ends.finditer(text)] if ends else []
        cuts = [max((place for place in finals if a < place <= b), default=b) for a, b in pairwise(starts)]
        lines = headings.above(text, starts, cuts)
        cuts = [min(cut, line.begin) for cut, line in zip(cuts, lines[1:], strict=True)]
        names = [": ".join(filter(None, (self.source.name, line.text))) for line in lines]
        pieces = (text[a:b].encode() for a, b in pairwise([0, *cuts, len(text)]))
        return [replace(self, source=Source(name, raw=piece)) for name, piece in zip(names, pieces, strict=True)]

    def as_plain(self) -> Detection:
        """The same file for the last reader of its kind, which takes any table or text."""
        return replace(self, reader=READERS[self.kind][-1].load(), evidence="the report states no K, and its lines do")

    def read(self, options: ReadOptions) -> Any:
        """What the file holds; an error of the reader gets the name of the file."""
        try:
            with read_as(self.name, subject=self.source.name, damage=self.reader.damage):
                return self._read(options)
        except InputError as problem:
            problem.subject = problem.subject or self.source.name
            raise

    def _read(self, options: ReadOptions) -> Any:
        try:
            return self.reader.read(self.source, options)
        except UnicodeDecodeError:
            western = self.source.in_windows_1252()
        if western is None or self.reader.title != PLAIN:
            remedy = "save it as UTF-8; Excel calls it `CSV UTF-8`"
            raise FormatError(Fault("not text in UTF-8", remedy=remedy))
        reading = self.reader.read(western, options)
        text = "the text is not UTF-8: it was read as Windows-1252, as Excel saves a CSV in Western Europe"
        finding = info("not-utf8", text, remedy="save it as UTF-8 where names of curves look strange")
        return replace(reading, findings=(*reading.findings, finding))

    def alternatives(self) -> tuple[str, ...]:
        """Other formats that the file also has the marks of, with the evidence; the last readers take what is left."""
        others = []
        is_object = isinstance(self.source.json, dict)
        last = READERS[self.kind][-GENERAL[self.kind] if is_object else -1].load()
        for reader in _candidates(self.source, self.kind):
            is_other = reader.name not in (self.reader.name, last.name)
            evidence = reader.recognise(self.source) if is_other else None
            if evidence is not None:
                others.append(f"{reader.title}: {evidence}")
        return tuple(others)


def detect(source: Source, kind: FileKind = FileKind.RESULTS) -> Detection:
    """The first format whose marks are all in the file, or a FormatError that says what the file seems to be."""
    source.refuse_unreadable()
    bare = source.without_margin()
    particular = [] if bare is None else [(reader, bare) for reader in _particular(bare, kind)]
    for reader, own in chain(particular, ((reader, source) for reader in _candidates(source, kind))):
        evidence = reader.recognise(own)
        if evidence is not None:
            return Detection(own, kind, reader, evidence)
    formats = "known formats: " + ", ".join(entry.load().title for entry in READERS[kind])
    if b"\x00" in source.head[:4096]:
        fault = Fault("not text in UTF-8, and not a binary format that can be read", remedy=formats)
    elif source.looks_like_json or source.name.endswith(".json"):
        content = source.json if source.json is not None else source.required_json()
        names = ", ".join(sorted(source.keys)[:12]) or type(content).__name__
        fault = Fault("JSON of an unknown format", value=names, remedy=formats)
    else:
        fault = Fault(f"not {kind} in a known format", remedy=formats)
    raise FormatError(fault, subject=source.name)


def _candidates(source: Source, kind: FileKind) -> Iterator[Reader[Any]]:
    """The readers worth asking, in order; those of other packages before the two that take any rows or text."""
    yield from _particular(source, kind)
    if kind is FileKind.RESULTS:
        yield from readers_of_other_packages()
    yield from (entry.load() for entry in READERS[kind][-GENERAL[kind] :] if entry.may_read(source))


def _particular(source: Source, kind: FileKind) -> Iterator[Reader[Any]]:
    """The readers of one tool each."""
    return (entry.load() for entry in READERS[kind][: -GENERAL[kind]] if entry.may_read(source))


@cache
def _are_offered(folders: tuple[str, ...]) -> bool:
    """Whether the metadata of a package in these folders names readers of ours."""
    found = (path for folder in folders for path in Path(folder).glob("*-info/entry_points.txt"))
    return any(GROUP in path.read_text(encoding="utf-8", errors="replace") for path in found)


def readers_of_other_packages() -> Iterator[Reader[Any]]:
    """The readers that installed packages offer; one that cannot be imported is an InputError that names it."""
    if not _are_offered(tuple(sys.path)):  # importlib.metadata takes a sixth of a table's time to load
        return
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        try:
            reader = point.load()
        except Exception as problem:  # whatever a foreign package raises on import
            fault = Fault(f"the reader cannot be imported: {problem}", value=point.value, remedy="repair or remove it")
            raise InputError(fault, subject=f"entry point {point.name}") from None
        if not isinstance(reader, Reader):
            fault = Fault("the entry point is no Reader", value=point.value, remedy="see docs/guide/adding-a-reader.md")
            raise InputError(fault, subject=f"entry point {point.name}")
        yield reader
