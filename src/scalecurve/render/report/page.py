"""The report as a page of sections, before it is HTML, Markdown, LaTeX or PDF."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from scalecurve.document import Block, Document, Heading, Paragraph
from scalecurve.render.plots import Picture


@dataclass(frozen=True, kw_only=True)
class Download:
    """A file inside the page."""

    name: str
    content: bytes
    words: str
    media: str = "application/json"

    @property
    def data_uri(self) -> str:
        return f"data:{self.media};base64,{base64.b64encode(self.content).decode()}"


Content = Block | Picture | Download


@dataclass(frozen=True, kw_only=True)
class Section:
    """Text blocks and pictures under one heading."""

    key: str
    title: str
    contents: tuple[Content, ...]
    folded: bool = False

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(content for content in self.contents if not isinstance(content, Picture | Download))

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return tuple(content for content in self.contents if isinstance(content, Picture))


@dataclass(frozen=True, kw_only=True)
class StudyPart:
    """One study's part of the page."""

    name: str
    answer: tuple[str, ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True, kw_only=True)
class Page:
    """The whole report: the sections the studies share, then each study's part."""

    title: str
    subtitle: str
    parts: tuple[StudyPart, ...]
    shared: tuple[Section, ...] = ()

    @property
    def pictures(self) -> tuple[Picture, ...]:
        sections = (*self.shared, *(section for part in self.parts for section in part.sections))
        return tuple(picture for section in sections for picture in section.pictures)

    def document(self) -> Document:
        """The text of the page, for the formats that are text."""
        blocks: list[Block] = [Paragraph(self.subtitle)]
        for section in self.shared:
            blocks += [Heading(section.title), *section.blocks]
        for part in self.parts:
            name = f": {part.name}" if len(self.parts) > 1 else ""
            blocks += [Heading(f"The answer{name}"), Paragraph(" ".join(part.answer))]
            for section in part.sections:
                blocks += [Heading(section.title + name), *section.blocks]
        return Document(self.title, tuple(blocks))
