"""The one HTML renderer of a Document, with one stylesheet: notebooks, `-o x.html`, the report and the explorer use it.

Pages need nothing else: no scripts, pictures inside, light and dark.  Every text is escaped.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from scalecurve.document import Document
from scalecurve.errors import MissingExtra

if TYPE_CHECKING:
    from scalecurve.render.plots import Picture, Size

LONGEST_TEXT = 2000
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PRINT_SECONDS = 120.0

# Colours of the plots by the name the stylesheet gives them, so that light and dark themes can fill them in.
THEMED = {
    "#000000": "--ink",
    "#262626": "--ink",
    "#e3e3e3": "--grid",
    "#ffffff": "--paper",
    "#6b6b6b": "--muted",
    "#0072b2": "--blue",
    "#e69f00": "--amber",
    "#8a5a00": "--orange",
    "#009e73": "--green",
    "#d55e00": "--red",
    "#cc79a7": "--purple",
    "#56b4e9": "--sky",
}


def fragment(document: Document, level: int = 3) -> str:
    """The document as an HTML fragment; its title is a heading of this level, its headings one below."""
    blocks = _environment().get_template("document.html").module
    return f'<div class="scalecurve">{blocks.document(document, level)}</div>'


def to_page(document: Document) -> str:
    """The document as one HTML file that needs nothing else."""
    return render("page.html", title=document.title or "Scalecurve", document=document)


def render(template: str, **values: object) -> str:
    """A page from a template of this package."""
    text: str = _environment().get_template(template).render(css=stylesheet(), **values)
    return text + "\n"


@cache
def stylesheet() -> str:
    return files("scalecurve.render").joinpath("templates", "style.css").read_text(encoding="utf-8")


@cache
def _environment() -> Any:
    """The Jinja environment: everything is escaped, an unknown name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("scalecurve.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    environment.filters["said"] = _said
    environment.globals["picture"] = _inline_picture
    return environment


def visible(text: str) -> str:
    """Text that cannot act on its surroundings: control characters and marks that turn the writing direction are
    written as codes, and text too long to read is cut (the download has all of it)."""
    shortened = re.sub(r"\S{201,}", lambda match: match[0][:120] + "…", text)
    cut = shortened if len(shortened) <= LONGEST_TEXT else shortened[:LONGEST_TEXT] + "…"
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\u{ord(char):04x}" for char in cut)


def _said(text: str) -> Any:
    """A sentence in which `this` is code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(visible(text)))))  # noqa: S704 - escaped before


def _inline_picture(picture: Picture, prefix: str) -> Any:
    """A plot as SVG: its panels, or two drawings of it, for wide and for narrow screens, of which the stylesheet shows
    one."""
    from markupsafe import Markup

    if picture.panels:
        panels = [_drawing(own, own.wide, f"{prefix}{place}") for place, own in enumerate(picture.panels)]
        drawings = [f'<div class="panels">{"".join(f"<div>{panel}</div>" for panel in panels)}</div>']
    else:
        screens = {"wide": picture.wide, "narrow": picture.narrow}
        drawings = [
            f'<div class="{screen}">{_drawing(picture, size, prefix + screen[0])}</div>'
            for screen, size in screens.items()
        ]
    return Markup("".join(drawings))  # noqa: S704 - matplotlib escapes the texts of its drawings


def _drawing(picture: Picture, size: Size, prefix: str) -> str:
    """The SVG of a plot; its prefix makes identifiers unique on the page, and the theme fills in its colours."""
    from markupsafe import escape

    from scalecurve.render.plots import paint

    text = paint(picture.painter, "svg", size).decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'\b(id="|xlink:href="#|url\(#)', rf"\g<1>{prefix}", text)
    for colour, name in THEMED.items():
        text = re.sub(rf"{colour}\b", f"var({name})", text, flags=re.IGNORECASE)
    text = re.sub(r' d="[^"]*"', lambda match: re.sub(r"(\d\.\d{2})\d+", r"\1", match[0]), text)
    label = f'<svg role="img" aria-label="{escape(visible(picture.alt))}" '
    return text.replace("<svg ", label, 1).rstrip()


def to_pdf(page: str) -> bytes:
    """An HTML page printed to PDF: by WeasyPrint (the extra `pdf`) or by the Chromium of this machine."""
    import os
    import shutil
    import subprocess
    import tempfile
    from pathlib import Path

    try:
        from weasyprint import HTML
    except (ImportError, OSError):  # not installed, or its system libraries are not
        pass
    else:
        printed: bytes = HTML(string=page).write_pdf()
        return printed
    named = os.environ.get("SCALECURVE_CHROMIUM")
    browser = named or next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if browser is None:
        purpose = "a PDF (or save the report as .html and print it from a browser, or install Chromium)"
        raise MissingExtra(purpose, "pdf")
    with tempfile.TemporaryDirectory(prefix="scalecurve-") as folder:
        source, target = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(page, encoding="utf-8")
        options = ["--headless", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={folder}"]
        options += ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has no sandbox for root, as in containers
        command = [browser, *options, f"--print-to-pdf={target}", source.as_uri()]
        try:
            subprocess.run(command, capture_output=True, timeout=PRINT_SECONDS, check=True)
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError) as problem:
            purpose = f"a PDF ({browser} could not print it: {type(problem).__name__}; save .html and print that)"
            raise MissingExtra(purpose, "pdf") from None
