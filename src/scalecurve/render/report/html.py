"""A page as one HTML file that needs nothing else: no scripts, pictures and raw data inside, light and dark."""

from __future__ import annotations

import base64
import re
from functools import cache
from importlib.resources import files
from typing import Any

from scalecurve.document import FindingList, Heading, Listing, Paragraph, Table
from scalecurve.render.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, paint
from scalecurve.render.report.section import Download, Page, Picture, Size

LONGEST_TEXT = 2000

# Colours of the plots become names, so that the page's light and dark themes can both fill them in.
_THEMED = {
    "#000000": "--ink",
    "#262626": "--ink",
    "#e3e3e3": "--grid",
    "#ffffff": "--paper",
    GREY: "--muted",
    BLUE: "--blue",
    ORANGE: "--orange",
    GREEN: "--green",
    RED: "--red",
    PURPLE: "--purple",
}


def to_html(page: Page) -> str:
    text: str = _environment().get_template("page.html").render(page=page, css=_asset("page.css"))
    return text


@cache
def _environment() -> Any:
    from jinja2 import DictLoader, Environment, StrictUndefined

    names = ("page.html", "blocks.html")
    environment = Environment(
        loader=DictLoader({name: _asset(name) for name in names}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"kind": _kind, "visible": visible}
    environment.globals |= {"picture": _picture, "data_uri": _data_uri}
    return environment


def _asset(name: str) -> str:
    return files("scalecurve.render.report").joinpath("templates", name).read_text(encoding="utf-8")


def _kind(content: object) -> str:
    kinds: dict[type, str] = {
        Heading: "heading",
        Paragraph: "paragraph",
        Listing: "listing",
        Table: "table",
        FindingList: "findings",
        Picture: "picture",
        Download: "download",
    }
    return kinds[type(content)]


def visible(text: str) -> str:
    """Text that cannot act on its surroundings: controls and marks that turn the writing direction become visible,
    and what is too long to read is cut (the download has all of it)."""
    shortened = re.sub(r"\S{201,}", lambda match: match[0][:120] + "…", text)
    cut = shortened if len(shortened) <= LONGEST_TEXT else shortened[:LONGEST_TEXT] + "…"
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\u{ord(char):04x}" for char in cut)


def _picture(picture: Picture, prefix: str) -> Any:
    """Two drawings of the same plot, for wide and for narrow screens; style sheets show one of them."""
    from markupsafe import Markup

    wide = _inline_svg(picture, picture.wide, f"{prefix}w")
    narrow = _inline_svg(picture, picture.narrow, f"{prefix}n")
    return Markup(f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>')  # noqa: S704 - made by us


def _inline_svg(picture: Picture, size: Size, prefix: str) -> str:
    from markupsafe import escape

    text = paint(picture.painter, "svg", size).decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\b(id="|xlink:href="#|url\(#)', lambda match: match[1] + prefix, text)
    text = re.sub(r"#[0-9a-fA-F]{6}\b", _themed, text)
    text = re.sub(r' d="[^"]*"', lambda match: re.sub(r"(\d\.\d{2})\d+", r"\1", match[0]), text)
    label = escape(visible(picture.alt))
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1).rstrip()


def _themed(match: re.Match[str]) -> str:
    name = {colour.lower(): name for colour, name in _THEMED.items()}.get(match[0].lower())
    return f"var({name})" if name else match[0]


def _data_uri(download: Download) -> str:
    return f"data:{download.media};base64,{base64.b64encode(download.content).decode()}"
