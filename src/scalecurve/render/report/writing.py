"""`write_report`: a report of one study, or of several side by side, as a file whose ending is the format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from string import ascii_uppercase
from typing import Any

from scalecurve.analysis.side_by_side import side_by_side
from scalecurve.analysis.table import rule_words, tabulate
from scalecurve.document import Column, Paragraph, Result, Table, and_list, table
from scalecurve.errors import Fault, InputError
from scalecurve.formats.loading import StudyLike, load_any
from scalecurve.render import markup
from scalecurve.render.curve_plots import paint_grid
from scalecurve.render.html import render, to_pdf
from scalecurve.render.plots import WIDE_GRID, Look, Picture, paint
from scalecurve.render.report.material import LEVEL, Material, Refusal, answer, attempt, gather
from scalecurve.render.report.sections import (
    Content,
    Page,
    Section,
    StudyPart,
    curve_pictures,
    curve_title,
    part_section,
    sections_of,
    tiles_of,
)
from scalecurve.study import Study, StudySet
from scalecurve.study.atomic import write_atomically
from scalecurve.study.study import size_in, what_scales
from scalecurve.units import format_count
from scalecurve.words import unit_words

Writer = Callable[[Page, Path], dict[Path, bytes]]
NAME_LENGTH = 120
LETTERS = ascii_uppercase
MOST_NAMED = 3  # studies in the title
PURPOSES: dict[str, tuple[str, ...]] = {  # the sections of a page for each purpose
    "proposal": (),
    "paper": ("methods", "curve", "table", "provenance"),
    "buyer": ("proposal", "curve", "cost"),
}
PAPERS = ("a4", "letter")
MOST_BESIDE = 2  # studies with a column each; more have a line each


def _are_several(study: Any) -> bool:
    """Whether it is a list of sources, and not one source that is a list (of paths to one study, of pairs, of rows)."""
    return isinstance(study, list | tuple) and all(isinstance(each, Study | StudySet) for each in study)


def write_report(
    study: StudyLike | Sequence[StudyLike],
    path: str | Path,
    *,
    regime: str | None = None,
    threshold: float = 0.7,
    price: float | None = None,
    proposal: str | Path | None = None,
    history: str | Path | None = None,
    purpose: str | None = None,
    runs: int | None = None,
    paper: str = "a4",
) -> list[Path]:
    """A page about one study, or several side by side.

    Parameters
    ----------
    study
        A study in any form that `load` takes, or a list of them.
    path
        Where to write it; the ending is the format (.html .md .tex .pdf .svg .png).
    regime
        "strong" or "weak", for sources that do not state it.
    threshold
        The efficiency below which the curve bends.
    price
        Dollars per worker-hour; adds what results cost.
    proposal
        A proposal file; adds its assessment.
    history
        The file of `scalecurve check --history`; adds the checks over the commits.
    purpose
        "proposal" writes the scaling section of a compute-time proposal, "paper" the curve and how it was measured,
        "buyer" the answer, the curve and the price on one page; None everything.
    runs
        Production runs of a proposal, for the resources it requests.
    paper
        "a4" or "letter", of the page when it is printed.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    InputError
        A source cannot be read, or the ending is none of these.

    Examples
    --------
    >>> import scalecurve as sc
    >>> [page] = sc.write_report({1: 8.0, 2: 4.2, 4: 2.3}, "report.html", regime="strong")
    >>> page.name
    'report.html'
    """
    studies: Sequence[Any] = study if _are_several(study) else [study]  # type: ignore[assignment]
    if not studies:
        raise InputError("a report needs at least one study")
    _check_names(purpose, paper)
    if history is not None and not Path(history).is_file():
        remedy = "scalecurve check STUDY --history FILE writes one"
        raise InputError(Fault("there is no such history", value=str(history), remedy=remedy))
    sources = [load_any(one, regime=regime) for one in studies]
    loaded = [
        one for source in sources for one in (source.studies.values() if isinstance(source, StudySet) else [source])
    ]
    materials = [gather(one, threshold=threshold, price=price, proposal=proposal, history=history) for one in loaded]
    together = shared_by(sources[0]) if len(sources) == 1 and isinstance(sources[0], StudySet) else Together()
    if together.section is None and len(loaded) == 2 and loaded[0].regime is loaded[1].regime:
        together = compared(together, *loaded)
    return write(Path(path), together.named(materials), together, purpose=purpose, runs=runs, paper=paper)


def _check_names(purpose: str | None, paper: str) -> None:
    """Raises InputError for a purpose or a paper that is not known."""
    for name, given, known in (("purpose", purpose, (None, *PURPOSES)), ("paper", paper, PAPERS)):
        if given not in known:
            raise InputError(
                Fault(f"unknown {name}", value=str(given), remedy=f"one of {', '.join(filter(None, known))}")
            )


@dataclass(frozen=True, kw_only=True)
class Together:
    """What is said of several studies at once: the title and the names of their curves, where one file holds them, a
    section about all of them, and how two of them differ."""

    title: str | None = None
    names: tuple[str, ...] | None = None
    section: Section | None = None
    answer: tuple[str, ...] = ()

    def named(self, materials: Sequence[Material]) -> list[Material]:
        """The materials with the names of these curves."""
        names = self.names or [own.table.name for own in materials]
        return [replace(own, table=replace(own.table, name=name)) for own, name in zip(materials, names, strict=True)]


def shared_by(curves: StudySet) -> Together:
    """The curves of one file, with T(N, K) where they differ in size."""
    title = f"{PurePath(curves.name).stem}: {len(curves.studies)} curves"
    surface = surface_section(curves) if len(set(curves.sizes.values())) > 1 else None
    return Together(title=title, names=tuple(curve_names(curves)), section=surface)


def compared(together: Together, first: Study, second: Study) -> Together:
    """Two studies of one regime, compared K by K."""
    from scalecurve.analysis.comparison import compare

    ratios = attempt(lambda: compare(first, second))
    answer = () if isinstance(ratios, Refusal) else ratios.answer.lines()
    return replace(together, section=part_section("compared", "Compared K by K", ratios), answer=answer)


def curve_names(studies: StudySet) -> list[str]:
    """The names of the curves of a file; those that are only a size say so: `4M cells`."""
    sizes, axis = studies.sizes, studies.size_axis
    names = list(studies.names)
    if axis is None or any(size_in(name) != sizes.get(name) for name in names):
        return names
    worded = [f"{format_count(sizes[name])} {axis}" for name in names]
    return worded if len(set(worded)) == len(names) else [f"{name} {axis}" for name in names]


def surface_section(studies: StudySet) -> Section | None:
    """T(N, K) of a grid over sizes, which are different jobs and cannot be compared, or why it is refused."""
    from scalecurve.fitting.grid_fit import fit_grid

    fit = attempt(lambda: fit_grid(studies))
    section = part_section("surface", "Over size and workers: T(N, K)", fit)
    if section is None or isinstance(fit, Refusal):
        return section
    alt = "T over K for every size, and the size that holds each efficiency. The numbers are in the tables below."
    drawing = Picture(
        name="surface", alt=alt, painter=partial(paint_grid, result=fit), wide=WIDE_GRID, narrow=(3.7, 6.8)
    )
    return replace(section, contents=(drawing, *section.contents))


def write(
    path: Path,
    materials: Sequence[Material],
    together: Together | None = None,
    *,
    purpose: str | None = None,
    runs: int | None = None,
    paper: str = "a4",
) -> list[Path]:
    """Write the report of this material and the figures it needs beside it; returns the files written."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        endings = ", ".join(f".{name}" for name in FORMATS)
        hint = f"name the file with one of {endings}"
        raise InputError(Fault("unknown report format", value=path.suffix or path.name, remedy=hint))
    page = proposal_page(materials, runs) if purpose == "proposal" else page_of(materials, together)
    if purpose == "paper":
        page = with_methods(page, materials)
    if purpose is not None and purpose != "proposal":
        page = only(page, PURPOSES[purpose])
    if purpose == "buyer":
        page = led_by_verdicts(page, materials)
    contents = FORMATS[kind](replace(page, paper=paper), path)
    for name, content in contents.items():
        write_atomically(name, content)
    return list(contents)


def proposal_page(materials: Sequence[Material], runs: int | None) -> Page:
    """The scaling section of a proposal: the job size first, a plot of each study, the tables and the items."""
    from scalecurve.proposals.section import scaling_section

    first = materials[0].table
    made = scaling_section([(own.study, own.table) for own in materials], runs=runs, floor=first.threshold)
    plots = [
        Section(
            key=f"curve-{own.table.regime.value}", title=curve_title([own.table]), contents=curve_pictures([own.table])
        )
        for own in _with_own_names(materials)
    ]
    section = Section(key="proposal", title="Tables and requested resources", contents=made.body().blocks)
    part = StudyPart(name=_cut(first.name), answer=made.answer.lines(), sections=(*plots, section))
    return Page(title=f"Scaling of {_cut(first.name)}", subtitle="Scaling and resources.", parts=(part,))


def with_methods(page: Page, materials: Sequence[Material]) -> Page:
    """The page with a paragraph on methods for each study."""
    from scalecurve.proposals.section import methods_text

    parts = []
    for part, own in zip(page.parts, materials, strict=True):
        words = Paragraph(methods_text(own.study, own.table))
        parts.append(
            replace(part, sections=(Section(key="methods", title="Methods", contents=(words,)), *part.sections))
        )
    return replace(page, parts=tuple(parts))


def led_by_verdicts(page: Page, materials: Sequence[Material]) -> Page:
    """The page with the verdict on the proposal before every other answer."""
    said = next((own.proposal.answer for own in materials if isinstance(own.proposal, Result)), None)
    if said is None:
        return page
    verdict = replace(said, next=None).lines()
    if len(page.parts) > 1:
        return replace(page, answer=(*verdict, *page.answer))
    return replace(page, parts=tuple(replace(part, answer=(*verdict, *part.answer)) for part in page.parts))


def only(page: Page, keys: Sequence[str]) -> Page:
    """The page with these sections of every study, in this order."""
    parts = [
        replace(part, sections=tuple(own for key in keys for own in part.sections if own.key == key))
        for part in page.parts
    ]
    return replace(page, parts=tuple(parts))


def page_of(materials: Sequence[Material], together: Together | None = None) -> Page:
    """The page of a study, or of several and what is said of them at once."""
    about = together or Together()
    materials = _with_own_names(materials)
    names = [_cut(material.table.name) for material in materials]
    parts = tuple(
        StudyPart(name=name, answer=answer(material), sections=sections_of(material), tiles=tiles_of(material))
        for name, material in zip(names, materials, strict=True)
    )
    subtitles: dict[str, int] = {}
    for study in (material.study for material in materials):
        held = what_scales(study.regime, study.k_unit, study.findings).capitalize()
        k = f"K = {study.all_k[0]} to {study.all_k[-1]} {unit_words(study.k_unit[:40])}"
        words = f"{held}: {len(study.samples):,} observations from {k}"
        subtitles[words] = subtitles.get(words, 0) + 1
    shared: tuple[Section, ...] = ()
    if len(materials) > 1:
        beside = _side_by_side(materials)
        shared = (beside,) if about.section is None else (beside, about.section)
    subtitle = " ".join(f"{words}{'' if count == 1 else ' on each curve'}." for words, count in subtitles.items())
    joined = and_list(names) if len(names) <= MOST_NAMED else f"{names[0]} and {len(names) - 1} more curves"
    whole = _answer_of_all(materials) if len(materials) > MOST_BESIDE else about.answer
    return Page(title=about.title or joined, subtitle=subtitle, answer=whole, parts=parts, shared=shared)


def _cut(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def _with_own_names(materials: Sequence[Material]) -> list[Material]:
    """Studies of the same name are named by their file too, or by a letter where the files do not differ either."""
    names = [material.table.name for material in materials]
    if len(set(names)) == len(names):
        return list(materials)
    stems = [PurePath(material.study.provenance.source or "").stem for material in materials]
    numbers = [str(place + 1) for place in range(len(names))]
    marks = stems if all(stems) and len(set(stems)) == len(stems) else [*LETTERS] if len(names) < 27 else numbers
    return [
        replace(material, table=replace(material.table, name=f"{_cut(material.table.name)} ({mark[:NAME_LENGTH]})"))
        for material, mark in zip(materials, marks, strict=False)
    ]


def _side_by_side(materials: Sequence[Material]) -> Section:
    """The curves in one picture where the regime is the same; of two S and E at every K, of more a line for each."""
    tables = [material.table for material in materials]
    contents: list[Content] = []
    if len({own.regime for own in tables}) == 1:
        contents += curve_pictures(tables)
    else:
        words = "Strong and weak scaling answer different questions and share no plot."
        contents.append(Paragraph(words, "warn"))
    title = f"Side by side: {curve_title(tables).lower()}"
    if len(tables) > MOST_BESIDE:
        return Section(key="both", title=title, contents=(*contents, _one_line_each(materials)))
    by_k = [{row.k: (f"{row.speedup.value:.2f}", f"{row.efficiency.value:.3f}") for row in own.rows} for own in tables]
    heads = ["K", *(f"{what}, {LETTERS[i]}" for i in range(len(tables)) for what in ("S", "E"))]
    workers = sorted({k for rows in by_k for k in rows})
    cells = [[str(k), *(cell for rows in by_k for cell in rows.get(k, (None, None)))] for k in workers]
    caption = "; ".join(
        f"{LETTERS[i]} = {own.name[:NAME_LENGTH]}" for i, own in enumerate(tables) if own.name != LETTERS[i]
    )
    return Section(key="both", title=title, contents=(*contents, table(heads, cells, caption=caption)))


def _one_line_each(materials: Sequence[Material]) -> Table:
    """A line for each of many curves: its largest K, S and E there, its bend, the K worth using, cause and audit."""
    rows = []
    for material in materials:
        own, causes = material.table, material.diagnosis.to_dict() if isinstance(material.diagnosis, Result) else {}
        last = own.rows[-1]
        figures = (str(last.k), f"{last.speedup.value:.2f}", f"{last.efficiency.value:.3f}")
        bend = "none" if own.bend is None else f"K = {own.bend.k}"
        verdict = material.audit.to_dict()["verdict"] if isinstance(material.audit, Result) else None
        use = max((row.k for row in own.rows if own.bend is None or row.k < own.bend.k), default=own.baseline_k)
        rows.append([_cut(own.name), *figures, bend, f"K = {use}", causes.get("cause"), verdict])
    caption = f"S and E at the largest K of each curve; the bend is the {rule_words(materials[0].table)}"
    texts = {name: Column(name, "left") for name in ("curve", "cause", "audit")}
    heads = ("curve", "largest K", "S", "E", "bend", "use up to", "cause", "audit")
    return table([texts.get(head, head) for head in heads], rows, caption=caption)


def _answer_of_all(materials: Sequence[Material]) -> tuple[str, ...]:
    """Which of several curves to use, where they can be compared, and how far each of them is worth using."""
    tables = [material.table for material in materials]
    bends = sorted(own.bend.k for own in tables if own.bend is not None)
    bent = f"None of the {len(tables)} curves bends in the measured range"
    if bends:
        where = f"at K = {bends[0]}" if bends[0] == bends[-1] else f"between K = {bends[0]} and {bends[-1]}"
        bent = f"{len(bends)} of the {len(tables)} curves bend, {where}"
    bent += f" ({rule_words(tables[0])})."
    if len({own.regime for own in tables}) > 1:
        return (bent,)
    curves = StudySet(studies={own.table.name: own.study for own in materials})
    told = side_by_side(curves, partial(tabulate, threshold=tables[0].threshold, level=LEVEL)).answer
    return (told.decision, *filter(None, [told.reason]), bent)


def to_html(page: Page) -> str:
    """The page as one HTML file that needs nothing else."""
    return render("report.html", title=page.title, page=page)


def _markdown_files(page: Page, path: Path) -> dict[Path, bytes]:
    """Markdown with the plots as SVG files beside it."""
    drawings: dict[Path, bytes] = {}
    parts = [f"# {markup.markdown_text(page.title)}"]
    for content in page.contents:
        if isinstance(content, Picture):
            name = _beside(path, content, len(drawings), "svg", drawings)
            parts.append(f"![{markup.markdown_text(content.alt)}]({name.name})")
            drawings[name] = paint(content.painter, "svg", content.wide)
        elif text := markup.markdown_block(content):
            parts.append(text)
    return {path: ("\n\n".join(parts) + "\n").encode()} | drawings


def _beside(path: Path, picture: Picture, place: int, kind: str, others: Mapping[Path, bytes]) -> Path:
    """The file of a picture beside the report; a number tells the pictures of several studies apart."""
    plain = path.with_name(f"{path.stem}-{picture.name}.{kind}")
    return plain if plain not in others else path.with_name(f"{path.stem}-{picture.name}-{place}.{kind}")


def _latex_files(page: Page, path: Path) -> dict[Path, bytes]:
    """A LaTeX document that compiles as it is, with the plots as PDF files beside it."""
    drawings: dict[Path, bytes] = {}
    parts = [f"\\section*{{{markup.latex_text(page.title)}}}"]
    for content in page.contents:
        if isinstance(content, Picture):
            name = _beside(path, content, len(drawings), "pdf", drawings)
            parts.append(markup.latex_figure(name.name, content.alt))
            drawings[name] = paint(content.painter, "pdf", content.wide, Look(width="page", font_size=9))
        elif text := markup.latex_block(content):
            parts.append(text)
    body = "\n\n".join(parts)
    text = f"{markup.PREAMBLE}\\begin{{document}}\n{body}\n\\end{{document}}\n"
    return {path: text.encode()} | drawings


def _main_plot(page: Page, path: Path) -> dict[Path, bytes]:
    """The main plot alone."""
    first = page.pictures[0]
    return {path: paint(first.painter, path.suffix.lstrip(".").lower(), first.wide)}


FORMATS: dict[str, Writer] = {
    "html": lambda page, path: {path: to_html(page).encode()},
    "htm": lambda page, path: {path: to_html(page).encode()},
    "md": _markdown_files,
    "tex": _latex_files,
    "pdf": lambda page, path: {path: to_pdf(to_html(page))},
    "svg": _main_plot,
    "png": _main_plot,
}
