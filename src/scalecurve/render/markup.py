"""A Document as GitHub-flavoured Markdown and as LaTeX with booktabs tables; every text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scalecurve.document import (
    Block,
    Cell,
    Column,
    Document,
    FindingList,
    Heading,
    Listing,
    Paragraph,
    Table,
    safe_lines,
)
from scalecurve.errors import one_line
from scalecurve.findings import Finding

LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "σ": r"$\sigma$",
    "κ": r"$\kappa$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    "µ": r"$\mu$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "±": r"$\pm$",
    "→": r"$\rightarrow$",
    "…": r"\ldots{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
}
PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage{booktabs}
\usepackage{longtable}
\usepackage{graphicx}
\usepackage{float}
\floatplacement{figure}{H}
\floatplacement{table}{H}
\usepackage[margin=2.2cm]{geometry}
"""
LONG_CELL = 40  # characters; a longer left column wraps
MOST_BESIDE_TEXT = 3  # columns of a table that may break over pages: it cannot shrink to the width


def to_markdown(document: Document) -> str:
    parts = [f"# {markdown_text(document.title)}"] if document.title else []
    if document.answer:
        decision, *support = map(markdown_text, document.answer.lines())
        parts.append("\n\n".join([f"**{decision}**", *support]))
    parts += [text for block in document.all_blocks if (text := markdown_block(block))]
    return "\n\n".join(parts) + "\n"


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is: markup characters, pipes and HTML lose their meaning."""
    escaped = re.sub(r"([\\`*_{}\[\]|<>#~])", r"\\\1", one_line(text))
    return escaped.replace("&", "&amp;")


def markdown_block(block: Block) -> str:
    """One block as Markdown; empty where it shows nothing."""
    match block:
        case Heading(text):
            return f"## {markdown_text(text)}"
        case Paragraph(text):
            return "  \n".join(markdown_text(line) for line in text.splitlines())  # two spaces end a line
        case Listing(text):
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
            return "\n".join([fence, *safe_lines(text), fence])
        case Table():
            return _markdown_table(block)
        case FindingList(findings):
            return "\n".join(map(_markdown_finding, findings))


def _markdown_table(block: Table) -> str:
    rule = ["---" if column.align == "left" else "---:" for column in block.columns]
    rows = [[markdown_text(cell.text) for cell in row] for row in block.rows]
    grid = [[markdown_text(column.header) for column in block.columns], rule, *rows]
    lines = [f"| {' | '.join(row)} |" for row in grid]
    return "\n".join([markdown_text(block.caption), "", *lines] if block.caption else lines)


def _markdown_finding(item: Finding) -> str:
    code, remedy = item.code.replace("`", "'"), f" *{markdown_text(item.remedy)}*" if item.remedy else ""
    return f"- **{item.severity}** `{code}` {markdown_text(item.message)}{remedy}"


def to_latex(document: Document) -> str:
    """The blocks of a document, to be put into a paper with \\input; needs booktabs only."""
    parts = [f"\\section*{{{latex_text(document.title)}}}"] if document.title else []
    parts += [latex_text(line) for line in (document.answer.lines() if document.answer else ())]
    parts += [text for block in document.all_blocks if (text := latex_block(block))]
    return "\n\n".join(parts) + "\n"


def latex_text(text: str) -> str:
    """Text that LaTeX sets as it is; characters the T1 fonts lack are written as their code point, and the two strokes
    of an option stay two."""
    characters = (
        LATEX_SPECIAL.get(char, char if ord(char) < 0x180 else f"[U+{ord(char):04X}]") for char in one_line(text)
    )
    return "".join(characters).replace("--", "-{}-")


def latex_block(block: Block) -> str:
    """One block as LaTeX; empty where it shows nothing."""
    match block:
        case Heading(text):
            return f"\\subsection*{{{latex_text(text)}}}"
        case Paragraph(text):
            return "\\\\\n".join(latex_text(line) for line in text.splitlines() if line.strip())
        case Listing(text):
            lines = "\\\\\n".join(latex_text(line) for line in text.splitlines() if line.strip())
            return f"{{\\ttfamily\\raggedright {lines}\\par}}"
        case Table():
            return latex_table(block)
        case FindingList(findings):
            listed = "\n".join(map(_latex_finding, findings))
            return f"\\begin{{itemize}}\n{listed}\n\\end{{itemize}}" if listed else ""


def _latex_finding(item: Finding) -> str:
    remedy = f" \\emph{{{latex_text(item.remedy)}}}" if item.remedy else ""
    return f"\\item \\textbf{{{item.severity}}} {latex_text(item.message)}{remedy}"


def latex_table(block: Table) -> str:
    """A table float with booktabs rules that shrinks to the text width; a narrow one with wrapped text may break over
    pages."""
    if not block.rows:
        return ""
    columns = zip(block.columns, zip(*block.rows, strict=True), strict=True)
    spec = "".join(_latex_column(column, [cell.text for cell in cells]) for column, cells in columns)
    head = " & ".join(latex_text(column.header) for column in block.columns)
    rows = [" & ".join(map(_latex_cell, row)) + r" \\" for row in block.rows]
    lines = "\n".join([r"\toprule", head + r" \\", r"\midrule", *rows, r"\bottomrule"])
    caption = f"\\caption{{{latex_text(block.caption)}}}" if block.caption else ""
    if "p{" in spec and len(block.columns) <= MOST_BESIDE_TEXT:
        titled = f"{caption}\\\\\n" if caption else ""
        return f"\\begin{{longtable}}{{{spec}}}\n{titled}{lines}\n\\end{{longtable}}"
    body = f"\\begin{{tabular}}{{{spec}}}\n{lines}\n\\end{{tabular}}"
    fitted = f"\\resizebox{{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}}{{!}}{{%\n{body}}}"
    caption += "\n" if caption else ""
    return f"\\begin{{table}}\n\\centering\n{caption}{fitted}\n\\end{{table}}"


def _latex_column(column: Column, texts: Sequence[str]) -> str:
    """Numbers stand right, words left; long ones wrap."""
    if column.align != "left":
        return "r"
    return r"p{0.55\linewidth}" if max(map(len, texts)) > LONG_CELL else "l"


def _latex_cell(cell: Cell) -> str:
    text = latex_text(cell.text)
    return f"\\emph{{{text}}}" if cell.tone == "assumed" else text


def latex_figure(file: str, alt: str) -> str:
    """A figure float; its caption is the first sentence of the picture's description."""
    caption = latex_text(alt.split(". ")[0] + ".")
    return (
        f"\\begin{{figure}}\n\\centering\n\\includegraphics[width=\\linewidth]{{\\detokenize{{{file}}}}}\n"
        f"\\caption{{{caption}}}\n\\end{{figure}}"
    )
