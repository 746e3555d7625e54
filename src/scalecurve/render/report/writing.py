"""A report as a file; its name says the format."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scalecurve.document import to_text
from scalecurve.errors import Fault, InputError
from scalecurve.render.latex import PREAMBLE, escape, to_latex
from scalecurve.render.markdown import to_markdown
from scalecurve.render.plots import STYLE, paint
from scalecurve.render.report.html import to_html
from scalecurve.render.report.material import Material, Part
from scalecurve.render.report.page import page_of
from scalecurve.render.report.section import Page, Picture
from scalecurve.study.atomic import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES_PER_PAGE = 88
MONO_SIZE = 7.5

Writer = Callable[[Page, Path], dict[Path, bytes]]


def write(path: Path, materials: Sequence[Material], comparison: Part = None) -> list[Path]:
    """Write the report, and what it needs beside it; returns what was written."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise InputError(
            Fault("unknown report format", seen=path.suffix or path.name, remedy=f"name the file with one of {known}")
        )
    made = FORMATS[kind](page_of(materials, comparison), path)
    for name, content in made.items():
        write_atomically(name, content)
    return list(made)


def _html(page: Page, path: Path) -> dict[Path, bytes]:
    return {path: to_html(page).encode()}


def _markdown(page: Page, path: Path) -> dict[Path, bytes]:
    """Markdown with the main plots as SVG files beside it."""
    drawn = {_beside(path, picture, "svg"): picture for picture in page.pictures}
    lines = "".join(f"![{_alt(picture)}]({name.name})\n\n" for name, picture in drawn.items())
    text = to_markdown(page.document()) + "\n## Plots\n\n" + lines
    return {path: text.encode()} | {
        name: paint(picture.painter, "svg", picture.wide) for name, picture in drawn.items()
    }


def _alt(picture: Picture) -> str:
    from scalecurve.render.markdown import escape as plain

    return plain(picture.alt)


def _latex(page: Page, path: Path) -> dict[Path, bytes]:
    """A document that compiles as it is, with the plots as PDF files beside it."""
    drawn = {_beside(path, picture, "pdf"): picture for picture in page.pictures}
    figures = "\n".join(_figure(name, picture) for name, picture in drawn.items())
    body = to_latex(page.document())
    text = f"{PREAMBLE}\\begin{{document}}\n{body}\n{figures}\n\\end{{document}}\n"
    return {path: text.encode()} | {name: paint(picture.painter, "pdf", (6.3, 3.6)) for name, picture in drawn.items()}


def _figure(path: Path, picture: Picture) -> str:
    caption = escape(picture.alt.split(". ")[0] + ".")
    return (
        f"\\begin{{figure}}[htbp]\n\\centering\n\\includegraphics[width=\\linewidth]{{\\detokenize{{{path.name}}}}}\n"
        f"\\caption{{{caption}}}\n\\end{{figure}}"
    )


def _beside(path: Path, picture: Picture, kind: str) -> Path:
    return path.with_name(f"{path.stem}-{picture.name}.{kind}")


def _pdf(page: Page, path: Path) -> dict[Path, bytes]:
    """Plots as vectors and the text as pages; for a designed page, print the HTML."""
    import matplotlib as mpl

    mpl.use("Agg")
    with mpl.rc_context(STYLE):
        from matplotlib.backends.backend_pdf import PdfPages
        from matplotlib.figure import Figure as NewFigure

        buffer = io.BytesIO()
        with PdfPages(buffer, metadata={"Title": page.title, "CreationDate": None}) as pages:
            for painter in _pdf_pages(page):
                figure = NewFigure(figsize=(8.27, 11.69))
                painter(figure)
                pages.savefig(figure)
            for picture in page.pictures:
                figure = NewFigure(figsize=picture.wide, layout="constrained")
                picture.painter(figure)
                pages.savefig(figure)
    return {path: buffer.getvalue()}


def _pdf_pages(page: Page) -> list[Callable[[Figure], None]]:
    lines = [line[:130] for line in to_text(page.document()).splitlines()]
    chunks = [lines[start : start + LINES_PER_PAGE] for start in range(0, len(lines), LINES_PER_PAGE)]
    return [_text_page(chunk) for chunk in chunks]


def _text_page(lines: Sequence[str]) -> Callable[[Figure], None]:
    def painter(figure: Figure) -> None:
        figure.text(
            0.06, 0.96, "\n".join(lines), family="DejaVu Sans Mono", fontsize=MONO_SIZE, va="top", parse_math=False
        )

    return painter


def _curve(kind: str) -> Writer:
    """The main plot alone."""
    return lambda page, path: {path: paint(page.pictures[0].painter, kind, page.pictures[0].wide)}


FORMATS: dict[str, Writer] = {
    "html": _html,
    "htm": _html,
    "md": _markdown,
    "tex": _latex,
    "pdf": _pdf,
    "svg": _curve("svg"),
    "png": _curve("png"),
}
