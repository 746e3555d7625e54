"""A Document as GitHub-flavoured Markdown and as LaTeX with booktabs tables; every text is escaped."""

from __future__ import annotations

import re

from scalecurve.document import Block, Document, FindingList, Heading, Listing, Paragraph, Table, safe_lines
from scalecurve.errors import one_line

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
\usepackage{graphicx}
\usepackage{float}
\floatplacement{figure}{H}
\floatplacement{table}{H}
\usepackage[margin=2.2cm]{geometry}
"""
LONG_CELL = 40  # characters; a longer left column wraps


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
            rule = ["---" if column.align == "left" else "---:" for column in block.columns]
            rows = [[markdown_text(column.header) for column in block.columns], rule]
            rows += [[markdown_text(cell.text) for cell in row] for row in block.rows]
            lines = [f"| {' | '.join(row)} |" for row in rows]
            return "\n".join([markdown_text(block.caption), "", *lines] if block.caption else lines)
        case FindingList(findings):
            codes = [item.code.replace("`", "'") for item in findings]
            texts = [f"- **{item.severity}** `{code}` " for item, code in zip(findings, codes, strict=True)]
            lines = [text + markdown_text(item.message) for text, item in zip(texts, findings, strict=True)]
            remedies = [f" *{markdown_text(item.remedy)}*" if item.remedy else "" for item in findings]
            return "\n".join(line + remedy for line, remedy in zip(lines, remedies, strict=True))


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
            items = [f"\\item \\textbf{{{item.severity}}} {latex_text(item.message)}" for item in findings]
            remedies = [f" \\emph{{{latex_text(item.remedy)}}}" if item.remedy else "" for item in findings]
            listed = "\n".join(item + remedy for item, remedy in zip(items, remedies, strict=True))
            return f"\\begin{{itemize}}\n{listed}\n\\end{{itemize}}" if listed else ""


def latex_table(block: Table) -> str:
    """A table float with booktabs rules; a wide one shrinks to the text width."""
    if not block.rows:
        return ""
    spec = ""
    for place, column in enumerate(block.columns):
        is_long = max(len(row[place].text) for row in block.rows) > LONG_CELL
        spec += "r" if column.align != "left" else "p{0.55\\linewidth}" if is_long else "l"
    head = " & ".join(latex_text(column.header) for column in block.columns)
    lines = [rf"\begin{{tabular}}{{{spec}}}", r"\toprule", head + r" \\", r"\midrule"]
    for row in block.rows:
        cells = [latex_text(cell.text) for cell in row]
        cells = [f"\\emph{{{text}}}" if cell.tone == "assumed" else text for cell, text in zip(row, cells, strict=True)]
        lines.append(" & ".join(cells) + r" \\")
    body = "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
    fitted = f"\\resizebox{{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}}{{!}}{{%\n{body}}}"
    caption = f"\\caption{{{latex_text(block.caption)}}}\n" if block.caption else ""
    return f"\\begin{{table}}\n\\centering\n{caption}{fitted}\n\\end{{table}}"


def latex_figure(file: str, alt: str) -> str:
    """A figure float; its caption is the first sentence of the picture's description."""
    caption = latex_text(alt.split(". ")[0] + ".")
    return (
        f"\\begin{{figure}}\n\\centering\n\\includegraphics[width=\\linewidth]{{\\detokenize{{{file}}}}}\n"
        f"\\caption{{{caption}}}\n\\end{{figure}}"
    )
