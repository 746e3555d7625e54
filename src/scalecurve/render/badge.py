"""A badge for a README: two words and a colour, as one small SVG."""

from __future__ import annotations

from html import escape

from scalecurve.document import Tone

_COLOURS: dict[str, str] = {"good": "#2e7d32", "warn": "#b26a00", "bad": "#b3261e"}
_CHARACTER = 7
_MARGIN = 10


def badge(label: str, message: str, tone: Tone) -> str:
    """`label | message` with the message's side coloured by its tone."""
    left, right = (len(text) * _CHARACTER + 2 * _MARGIN for text in (label, message))
    colour = _COLOURS.get(tone, "#555555")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{escape(label)}: {escape(message)}">'
        f"<title>{escape(label)}: {escape(message)}</title>"
        f'<rect width="{left}" height="20" fill="#444444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        '<g fill="#ffffff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" y="14">{escape(label)}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(message)}</text></g></svg>\n'
    )
