"""The report as a page of sections, before it is HTML, Markdown, LaTeX or PDF: one study, or several side by side."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from scalecurve.analysis import SpeedupTable
from scalecurve.document import Block, Document, Heading, Paragraph, table
from scalecurve.render.plots import Picture
from scalecurve.render.report.material import Material, answer

NAME_LENGTH = 120
LETTERS = "ABCDEFGH"


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
    answer: tuple[str, str, str]
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


def page_of(materials: Sequence[Material], comparison: Section | None = None) -> Page:
    """The page of a study, or of several; `comparison` sets two studies against one another K by K."""
    from scalecurve.render.report.sections import sections_of

    materials = _with_own_names(materials)
    names = [_cut(material.table.name) for material in materials]
    parts = tuple(
        StudyPart(name=name, answer=answer(material), sections=sections_of(material))
        for name, material in zip(names, materials, strict=True)
    )
    subtitles = []
    for study in (material.study for material in materials):
        held = f"{study.regime.capitalize()} scaling, {study.regime.held_fixed}"
        k = f"K = {study.all_k[0]} to {study.all_k[-1]} {study.k_unit[:40]}"
        subtitles.append(f"{held}: {len(study.samples):,} observations from {k}")
    shared: tuple[Section, ...] = ()
    if len(materials) > 1:
        together = _side_by_side([material.table for material in materials])
        shared = (together,) if comparison is None else (together, comparison)
    subtitle = ". ".join(dict.fromkeys(subtitles)) + "."
    return Page(title=" and ".join(names), subtitle=subtitle, parts=parts, shared=shared)


def _cut(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def _with_own_names(materials: Sequence[Material]) -> list[Material]:
    """Studies of the same name are named by their file too, or by a letter where the files do not differ either."""
    names = [material.table.name for material in materials]
    if len(set(names)) == len(names):
        return list(materials)
    stems = [PurePath(material.study.provenance.source or "").stem for material in materials]
    marks = stems if all(stems) and len(set(stems)) == len(stems) else list(LETTERS)
    return [
        replace(material, table=replace(material.table, name=f"{_cut(material.table.name)} ({mark[:NAME_LENGTH]})"))
        for material, mark in zip(materials, marks, strict=False)
    ]


def _side_by_side(tables: Sequence[SpeedupTable]) -> Section:
    """Both curves in one plot where the regime is the same, and S and E of each study at every K of any of them."""
    from scalecurve.render.report.sections import curve_pictures, curve_title

    contents: list[Content] = []
    if len({found.regime for found in tables}) == 1:
        contents += curve_pictures(tables)
    else:
        words = "One study is strong and the other weak scaling: they answer different questions and share no plot."
        contents.append(Paragraph(words, "warn"))
    by_k = [{row.k: (f"{row.speedup.value:.2f}", f"{row.efficiency.value:.3f}") for row in own.rows} for own in tables]
    heads = ["K", *(f"{what}, {LETTERS[i]}" for i in range(len(tables)) for what in ("S", "E"))]
    workers = sorted({k for rows in by_k for k in rows})
    cells = [[str(k), *(cell for rows in by_k for cell in rows.get(k, (None, None)))] for k in workers]
    caption = "; ".join(f"{LETTERS[i]} = {own.name[:NAME_LENGTH]}" for i, own in enumerate(tables))
    title = f"Side by side: {curve_title(tables).lower()}"
    return Section(key="both", title=title, contents=(*contents, table(heads, cells, caption=caption)))
