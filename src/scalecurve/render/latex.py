"""A Document as LaTeX: booktabs tables that need no hand editing, every text escaped."""

from __future__ import annotations

from scalecurve.document import Block, Document, FindingList, Heading, Listing, Paragraph, Table, one_line
from scalecurve.findings import Finding

_SPECIAL = {
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
    "–": "--",
    "—": "---",
}
PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage{booktabs}
\usepackage{graphicx}
\usepackage[margin=2.2cm]{geometry}
"""


def escape(text: str) -> str:
    """Text that LaTeX sets as it is; what the T1 fonts lack is shown by its code point."""
    return "".join(_letter(char) for char in one_line(text))


def _letter(char: str) -> str:
    if char in _SPECIAL:
        return _SPECIAL[char]
    return char if ord(char) < 0x180 else f"[U+{ord(char):04X}]"


def to_latex(document: Document) -> str:
    """The blocks of a document, to be put into a paper with \\input; needs booktabs only."""
    parts = [f"\\section*{{{escape(document.title)}}}"] if document.title else []
    parts += [text for block in document.blocks if (text := _block(block))]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return f"\\subsection*{{{escape(text)}}}"
        case Paragraph(text):
            return "\\\\\n".join(escape(line) for line in text.splitlines() if line.strip())
        case Listing(text):
            lines = "\\\\\n".join(escape(line) for line in text.splitlines() if line.strip())
            return f"{{\\ttfamily\\raggedright {lines}\\par}}"
        case Table():
            return latex_table(block)
        case FindingList(found):
            items = "\n".join(_finding(finding) for finding in found)
            return f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}" if items else ""


def _finding(finding: Finding) -> str:
    remedy = f" \\emph{{{escape(finding.remedy)}}}" if finding.remedy else ""
    return f"\\item \\textbf{{{finding.severity}}} {escape(finding.message)}{remedy}"


def latex_table(block: Table) -> str:
    """A table float with booktabs rules; wide ones shrink to the text width, never beyond it."""
    if not block.rows:
        return ""
    left = [column.align == "left" for column in block.columns]
    spec = "".join(_column(block, place, is_left=is_left) for place, is_left in enumerate(left))
    head = " & ".join(escape(column.header) for column in block.columns)
    rows = [" & ".join(_cell(cell.text, cell.tone) for cell in row) + r" \\" for row in block.rows]
    inside = [rf"\begin{{tabular}}{{{spec}}}", r"\toprule", head + r" \\", r"\midrule", *rows, r"\bottomrule"]
    body = "\n".join([*inside, r"\end{tabular}"])
    fitted = f"\\resizebox{{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}}{{!}}{{%\n{body}}}"
    caption = f"\\caption{{{escape(block.caption)}}}\n" if block.caption else ""
    return f"\\begin{{table}}[htbp]\n\\centering\n{caption}{fitted}\n\\end{{table}}"


def _column(block: Table, place: int, *, is_left: bool) -> str:
    longest = max(len(row[place].text) for row in block.rows)
    if is_left and longest > 40:
        return "p{0.55\\linewidth}"
    return "l" if is_left else "r"


def _cell(text: str, tone: str) -> str:
    shown = escape(text)
    return f"\\emph{{{shown}}}" if tone == "assumed" else shown
