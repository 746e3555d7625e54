"""`write_report`: a report as a file; the ending of its name is the format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import scalecurve as sc
from scalecurve.errors import Fault, InputError
from scalecurve.formats.accept import StudyLike, as_study
from scalecurve.render import markup
from scalecurve.render.html import render, to_pdf
from scalecurve.render.plots import paint
from scalecurve.render.report.material import Material, Part, attempt, gather
from scalecurve.render.report.page import Page, page_of
from scalecurve.render.report.sections import part_section
from scalecurve.study.atomic import write_atomically

Writer = Callable[[Page, Path], dict[Path, bytes]]
FIGURE_INCHES = (6.3, 3.6)  # of a figure in LaTeX


def write_report(
    path: str | Path,
    *studies: StudyLike,
    threshold: float = 0.7,
    price: float | None = None,
    proposal: str | Path | None = None,
) -> list[Path]:
    """A page about one study, or several side by side, written to `path` (.html .md .tex .pdf .svg .png).

    `threshold` is the efficiency below which the curve bends, `price` in dollars per worker-hour adds what results
    cost, `proposal` adds the assessment of a proposal file.  Returns the files written.
    """
    if not studies:
        raise InputError("a report needs at least one study")
    loaded = [as_study(study) for study in studies]
    compared = attempt(lambda: sc.compare(*loaded)) if len(loaded) == 2 else None
    materials = [gather(study, threshold=threshold, price=price, proposal=proposal) for study in loaded]
    return write(Path(path), materials, compared)


def write(path: Path, materials: Sequence[Material], comparison: Part = None) -> list[Path]:
    """Write the report of this material and the figures it needs beside it; returns the files written."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        endings = ", ".join(f".{name}" for name in FORMATS)
        hint = f"name the file with one of {endings}"
        raise InputError(Fault("unknown report format", seen=path.suffix or path.name, remedy=hint))
    page = page_of(materials, part_section("compared", "Compared K by K", comparison))
    contents = FORMATS[kind](page, path)
    for name, content in contents.items():
        write_atomically(name, content)
    return list(contents)


def to_html(page: Page) -> str:
    """The page as one HTML file that needs nothing else."""
    return render("report.html", title=page.title, page=page)


def _markdown_files(page: Page, path: Path) -> dict[Path, bytes]:
    """Markdown with the plots as SVG files beside it."""
    figures = {path.with_name(f"{path.stem}-{picture.name}.svg"): picture for picture in page.pictures}
    links = "".join(f"![{markup.markdown_text(picture.alt)}]({name.name})\n\n" for name, picture in figures.items())
    text = markup.to_markdown(page.document()) + "\n## Plots\n\n" + links
    drawings = {name: paint(picture.painter, "svg", picture.wide) for name, picture in figures.items()}
    return {path: text.encode()} | drawings


def _latex_files(page: Page, path: Path) -> dict[Path, bytes]:
    """A LaTeX document that compiles as it is, with the plots as PDF files beside it."""
    figures = {path.with_name(f"{path.stem}-{picture.name}.pdf"): picture for picture in page.pictures}
    floats = "\n".join(markup.latex_figure(name.name, picture.alt) for name, picture in figures.items())
    body = markup.to_latex(page.document())
    text = f"{markup.PREAMBLE}\\begin{{document}}\n{body}\n{floats}\n\\end{{document}}\n"
    drawings = {name: paint(picture.painter, "pdf", FIGURE_INCHES) for name, picture in figures.items()}
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
