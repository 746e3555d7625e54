"""A Document as one HTML file that needs nothing else: no scripts, nothing from elsewhere, light and dark."""

from __future__ import annotations

from html import escape

from scalecurve.document import Document, to_html

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fff; --rule: #d8d8d8; --muted: #6b6b6b; --good: #00684a;
  --warn: #8a5a00; --bad: #b23c00; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececec; --paper: #161616; --rule: #3a3a3a; --muted: #a0a0a0;
  --good: #3fc79a; --warn: #e6a93c; --bad: #ff8a5c; } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); }
p { white-space: pre-line; overflow-wrap: anywhere; }
h3 { font-size: 1.5rem; margin: 0 0 1rem; } h4 { margin: 2rem 0 .5rem; border-bottom: 1px solid var(--rule); }
table { border-collapse: collapse; display: block; overflow-x: auto; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
th.left, td.left { text-align: left; }
.tone-good { color: var(--good); } .tone-warn { color: var(--warn); } .tone-bad { color: var(--bad); }
.tone-muted { color: var(--muted); } .tone-assumed { font-style: italic; }
@media print { body { margin: 0; max-width: none; } }
"""


def to_page(document: Document, title: str = "Scalecurve") -> str:
    """The whole page; every text in it is escaped."""
    name = escape(document.title or title)
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f"<head>{meta}<title>{name}</title><style>{STYLE}</style></head>"
    return f'<!doctype html>\n<html lang="en">{head}<body>\n{to_html(document)}\n</body></html>\n'
