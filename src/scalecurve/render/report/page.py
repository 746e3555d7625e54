"""From material to a page: one study, or several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from scalecurve.analysis import SpeedupTable
from scalecurve.document import Paragraph, Table, table
from scalecurve.render.report.answer import answer
from scalecurve.render.report.material import Material, Part
from scalecurve.render.report.section import Column, Content, Page, Section
from scalecurve.render.report.sections import curve_pictures, curve_title, part_section, sections_of

NAME_LENGTH = 120


def page_of(materials: Sequence[Material], comparison: Part = None) -> Page:
    """`comparison` is what sets two studies against one another, where that was asked."""
    materials = told_apart(materials)
    names = [_name(material) for material in materials]
    columns = tuple(
        Column(name=name, answer=answer(material), sections=sections_of(material))
        for name, material in zip(names, materials, strict=True)
    )
    shared: tuple[Section, ...] = ()
    if len(materials) > 1:
        compared = part_section("compared", "Compared K by K", comparison)
        shared = (_side_by_side([material.table for material in materials]), *([compared] if compared else []))
    return Page(title=" and ".join(names), subtitle=_subtitle(materials), columns=columns, shared=shared)


def told_apart(materials: Sequence[Material]) -> list[Material]:
    """Studies of one name are known by the file each came from, or by a letter where that does not tell either."""
    names = [material.table.name for material in materials]
    if len(set(names)) == len(names):
        return list(materials)
    stems = [PurePath(material.study.provenance.source or "").stem for material in materials]
    marks = stems if all(stems) and len(set(stems)) == len(stems) else [_letter(i) for i in range(len(materials))]
    return [
        replace(material, table=replace(material.table, name=f"{_name(material)} ({mark[:NAME_LENGTH]})"))
        for material, mark in zip(materials, marks, strict=True)
    ]


def _name(material: Material) -> str:
    name = material.table.name
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def _subtitle(materials: Sequence[Material]) -> str:
    parts = []
    for material in materials:
        study = material.study
        first, last = study.all_k[0], study.all_k[-1]
        words = f"{study.regime.capitalize()} scaling, {study.regime.held_fixed}"
        parts.append(f"{words}: {len(study.samples):,} observations from K = {first} to {last} {study.k_unit[:40]}")
    return ". ".join(dict.fromkeys(parts)) + "."


def _side_by_side(tables: Sequence[SpeedupTable]) -> Section:
    contents: list[Content] = []
    if len({each.regime for each in tables}) == 1:
        contents += curve_pictures(tables)
    else:
        words = "One study is strong and the other weak scaling: they answer different questions and share no plot."
        contents.append(Paragraph(words, "warn"))
    return Section(
        key="both", title=f"Side by side: {curve_title(tables).lower()}", contents=(*contents, _joined(tables))
    )


def _joined(tables: Sequence[SpeedupTable]) -> Table:
    """Speedup and efficiency of each study at every K measured in any of them."""
    workers = sorted({row.k for each in tables for row in each.rows})
    heads = ["K"] + [f"{what}, {_letter(i)}" for i in range(len(tables)) for what in ("S", "E")]
    rows = [[str(k), *(cell for each in tables for cell in _cells(each, k))] for k in workers]
    caption = "; ".join(f"{_letter(i)} = {each.name[:NAME_LENGTH]}" for i, each in enumerate(tables))
    return table(heads, rows, caption=caption)


def _letter(place: int) -> str:
    return "ABCDEFGH"[place]


def _cells(found: SpeedupTable, k: int) -> list[str | None]:
    for row in found.rows:
        if row.k == k:
            return [f"{row.speedup.value:.2f}", f"{row.efficiency.value:.3f}"]
    return [None, None]
