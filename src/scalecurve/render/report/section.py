"""A section of the report: text blocks and pictures under one heading, whatever the output format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalecurve.document import Block, Document, Heading, Paragraph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Size = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A plot that can be painted at any size.  `alt` says what is seen; its numbers are in a table of the section."""

    name: str
    alt: str
    painter: Callable[[Figure], None]
    wide: Size = (7.6, 4.2)
    narrow: Size = (3.7, 3.7)


@dataclass(frozen=True, kw_only=True)
class Download:
    """A file inside the page."""

    name: str
    content: bytes
    words: str
    media: str = "application/json"


Content = Block | Picture | Download


@dataclass(frozen=True, kw_only=True)
class Section:
    key: str
    title: str
    contents: tuple[Content, ...]
    folded: bool = False

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(each for each in self.contents if not isinstance(each, Picture | Download))

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return tuple(each for each in self.contents if isinstance(each, Picture))


@dataclass(frozen=True, kw_only=True)
class Column:
    """One study's part of the page."""

    name: str
    answer: tuple[str, str, str]
    sections: tuple[Section, ...]


@dataclass(frozen=True, kw_only=True)
class Page:
    """The whole report, before it is HTML, Markdown, LaTeX or PDF: what the studies share, then each one's column."""

    title: str
    subtitle: str
    columns: tuple[Column, ...]
    shared: tuple[Section, ...] = ()

    @property
    def pictures(self) -> tuple[Picture, ...]:
        sections = (*self.shared, *(section for column in self.columns for section in column.sections))
        return tuple(picture for section in sections for picture in section.pictures)

    def document(self) -> Document:
        """The text of it, for the formats that are text."""
        blocks: list[Block] = [Paragraph(self.subtitle)]
        for section in self.shared:
            blocks += [Heading(section.title), *section.blocks]
        for column in self.columns:
            name = f": {column.name}" if len(self.columns) > 1 else ""
            blocks += [Heading(f"The answer{name}"), Paragraph(" ".join(column.answer))]
            for section in column.sections:
                blocks += [Heading(section.title + name), *section.blocks]
        return Document(self.title, tuple(blocks))
