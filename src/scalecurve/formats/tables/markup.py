"""Text that is not one line for one row of a delimited table: Markdown and other bars, LaTeX, HTML, wiki tables, lines
of labels, and logs of a loop over K."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import islice

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.headers import (
    RATE_WORDS,
    TIME_WORDS,
    WORKER_NOUNS,
    in_english,
    k_unit_of,
    parse_header,
    unit_of,
    value_meaning,
)
from scalecurve.formats.source import Source
from scalecurve.formats.tables.cells import parse_cell
from scalecurve.formats.tables.dialects import (
    BARS,
    COMPARED,
    SECTION,
    Lines,
    TableLayout,
    grid_of_rows,
    is_comment,
    is_rule,
    splitter,
    squared,
)

_LABEL = re.compile(r"([^\W\d][\w./-]*)\s*[=:]\s*([^\s,;=:|]+(?::\d[\d.:]*)?(?:\s(?:[nuµm]?s|sec|seconds|min|h)\b)?)")
_LATEX_SKIP = re.compile(
    r"\\(?:toprule|midrule|bottomrule|hline|cmidrule(?:\(\w+\))?\{[^}]*\}|cline\{[^}]*\}|endhead|endfoot)"
)
_LATEX_PLAIN = (
    (r"\\(?:multicolumn|multirow)\{\d+\}\{[^}]*\}\{(.*)\}", r"\1"),
    (r"\\(?:SI|qty)\{([^{}]*)\}\{\\?([^{}]*)\}", r"\1 \2"),
    (r"\$?\\(?:mu|micro)\$?\s*", "µ"),
    (r"\$?\\pm\$?", "±"),
    (r"\\(?:textbf|textit|emph|mathbf|mathrm|text|num|bfseries|si|unit)\b\s*\{([^{}]*)\}", r"\1"),
    (r"(?<=\d)(?:\\,|\{,\}|~)(?=\d{3})", ""),
    (r"\\,|~|\\ ", " "),
    (r"\\milli\\?(?=second)|\\(?=ms\b)", "m"),
    (r"\\nano\\?(?=second)", "n"),
    (r"(?<=[mnµ])\\?second\b", "s"),
    (r"\\(second|minute|hour|day)\b", r"\1"),
    (r"\^?\{?\\(?:dagger|ddagger|ast|star)\b\}?", ""),
    (r"\\(?=[_%#&$])", ""),
    (r"[${}]", ""),
)
_DATE = re.compile(r"\[?\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?\]?")
_NUMERAL = re.compile(
    r"(?<![\w.])(?P<value>\d+m\d+(?:[.,]\d+)?s|\d+(?::\d\d){1,2}(?:\.\d+)?|-?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"(?:\s?(?P<unit>[A-Za-zµ%][\w/%]*))?(?![\w.]*\d)"
)
# Names of counts; `node 1` and `rank 1` are one of them, not their number.
_COUNTED = frozenset(noun for noun in WORKER_NOUNS if noun.endswith("s")) - {"process"} | {"np", "nproc", "p"}
MOST_FACTS = 60
MOST_LOG_LINES = 200_000


def marked_layout(source: Source, lines: Lines) -> TableLayout | None:
    """The table of a text with the marks of one of these forms; None where it has none of them."""
    if any(re.search(r"<(?:table|tr)\b", line, re.IGNORECASE) for _, line in lines):
        return _html_layout(source)
    if any("\\begin{tab" in line or "\\begin{longtab" in line for _, line in lines) or _all_end_in_slashes(lines):
        return _latex_layout(source)
    return _bar_layout(source, lines) or _label_layout(lines)


def _whole(headers: Sequence[str], rows: Lines, split: Callable[[str], list[str]], mark: str) -> TableLayout:
    """The layout of a table whose rows are these lines."""
    cells = [split(line) for _, line in rows]
    grid = squared(headers, [number for number, _ in rows], cells, (), mark)
    return TableLayout(mark, split, grid.headers, rows[0][0] if rows else 1, grid)


def _all_lines(source: Source) -> list[tuple[int, str]]:
    with source.open_text() as file:
        lines = [(number, line.strip().translate(BARS)) for number, line in enumerate(file, 1)]
    return [(number, line) for number, line in lines if line]


def _all_end_in_slashes(lines: Lines) -> bool:
    rows = [line for _, line in lines if "&" in line]
    return len(rows) > 1 and all(
        line.rstrip().rstrip("\\hline").rstrip().endswith("\\") or "\\\\" in line for line in rows
    )


def _latex_layout(source: Source) -> TableLayout:
    lines = _all_lines(source)
    starts = sum("\\begin{tab" in line and "\\begin{table" not in line for _, line in lines)
    if starts > 1:
        raise FormatError(Fault(f"there are {starts} tables in the file", remedy="give a file with one of them"))
    end = next((number for number, line in lines if "\\end{tab" in line or "\\end{longtab" in line), None)
    rows = [
        (number, line)
        for number, line in lines
        if "&" in line and "\\begin{" not in line and not is_comment(line) and (end is None or number < end)
    ]
    if not rows:
        raise FormatError(Fault("the LaTeX table has no rows", remedy="one row a line, cells parted by &"))
    return _whole(_latex_cells(rows[0][1]), rows[1:], _latex_cells, "&")


def _latex_cells(line: str) -> list[str]:
    text = line.strip().removesuffix("\\hline").rstrip()
    text = re.sub(r"\\\\(?:\[[^\]]*\])?\s*$", "", text)
    cells = [_LATEX_SKIP.sub("", cell) for cell in re.split(r"(?<!\\)&", text)]
    for pattern, plain in _LATEX_PLAIN:
        cells = [re.sub(pattern, plain, cell) for cell in cells]
    return [cell.strip() for cell in cells]


def _bar_layout(source: Source, lines: Lines) -> TableLayout | None:
    """A Markdown, psql, MySQL, org, wiki or box table, or lines parted by bars alone; None where there are no bars."""
    barred = [(number, line) for number, line in lines if "|" in line and not is_rule(line)]
    rules = [number for number, line in lines if is_rule(line) or re.fullmatch(r"[\s|:-]*-[\s|:-]*", line)]
    if len(barred) < 2:
        return None
    split = _wiki_cells if any(re.match(r"\{\||\|\|.*\|\|$|!", line.strip()) for _, line in lines) else splitter("|")
    widths = {len(split(line)) for _, line in islice(barred, COMPARED)}
    under = [(number, line) for number, line in barred if any(0 < rule - number <= 1 for rule in rules)]
    heads = [
        (number, line)
        for number, line in under
        if not any(other != number and 0 < number - other <= 2 for other, _ in barred)
        and not any(parse_cell(c) for c in split(line)[:1])
    ]
    if len(heads) > 1:
        raise FormatError(Fault(f"there are {len(heads)} tables in the file", remedy="give a file with one of them"))
    if split is _wiki_cells:
        barred = [(number, line) for number, line in lines if re.match(r"[!|](?![-}+])", line.strip())]
        heads = barred[:1]
    elif not heads and (len(widths) != 1 or widths == {1} or len(barred) < 0.6 * len(lines)):
        return None
    first, line = heads[0] if heads else barred[0]
    rows: list[tuple[int, str]] = []
    for number, text in _all_lines(source):
        if number <= first or is_rule(text) or number in rules or is_comment(text) or text == "|-":
            continue
        if "|" not in text or text.startswith("|}"):
            break
        rows.append((number, text))
    return _whole(split(line), rows, split, "|")


def _wiki_cells(line: str) -> list[str]:
    """The cells of a row of MediaWiki (! a !! b, | 1 || 2) or Jira (||a||b||, |1|2|)."""
    return [cell.strip() for cell in re.split(r"\|\||!!|\||!", line.strip().strip("|!"))]


class _TableParser(HTMLParser):
    """The tables of a page, each as its rows of texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self.open = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self.tables[-1][-1].append("")
        self.open = tag in ("td", "th") or (self.open and tag not in ("table", "tr"))

    def handle_endtag(self, tag: str) -> None:
        self.open = self.open and tag not in ("td", "th", "tr", "table")

    def handle_data(self, data: str) -> None:
        if self.open and self.tables and self.tables[-1] and self.tables[-1][-1]:
            self.tables[-1][-1][-1] += data


def _html_layout(source: Source) -> TableLayout:
    parser = _TableParser()
    parser.feed(source.text)
    tables = [[[" ".join(cell.split()) for cell in row] for row in rows if any(row)] for rows in parser.tables]
    tables = [rows for rows in tables if len(rows) > 1]
    if len(tables) != 1:
        remedy = "copy the table that is meant into a CSV or Markdown file"
        raise FormatError(Fault(f"this is HTML with {len(tables)} tables", remedy=remedy))
    grid = grid_of_rows(tables[0])
    return TableLayout("<", str.split, grid.headers, 1, grid)


def _label_layout(lines: Lines) -> TableLayout | None:
    """Lines such as `threads=4 elapsed=2.95s`, all with the same labels, one of them a worker count; None for others.

    Lines without the first label are passed over, as a log has them; one that has it must have all the others.
    """
    first = next((i for i, (_, line) in enumerate(lines) if len(_labels(line)) > 1), None)
    if first is None:
        return None
    names = tuple(_labels(lines[first][1]))
    begins = re.compile(rf"(?<![\w./-]){re.escape(names[0])}\s*[=:]")
    alike = sum(tuple(_labels(line)) == names for _, line in lines)
    if alike < 2 or not any(map(k_unit_of, names)) or not any(map(value_meaning, names)):
        return None

    def values(line: str) -> list[str]:
        own = _labels(line)
        if begins.search(line) and tuple(own) != names:
            hint = f"every line of a run needs {', '.join(names)}; delete the lines of runs that failed"
            raise FormatError(Fault("a line has other labels", value=line[:80], remedy=hint))
        return list(own.values()) if tuple(own) == names else []

    return TableLayout("=", values, names, lines[first][0] - 1)


def _labels(line: str) -> dict[str, str]:
    """The labels of a line with their values; empty unless the whole line consists of them."""
    return {} if re.search(r"[^\s,;|]", _LABEL.sub("", line)) else dict(_LABEL.findall(line))


@dataclass(frozen=True)
class _Fact:
    """A number of a log: its name, the cell with its unit, and whether it counts workers."""

    name: str
    cell: str
    counts: bool


def log_layout(source: Source, first_lines: Lines) -> TableLayout | None:
    """The runs of a log that a loop over K wrote: a line with K, and below it lines with times; None for other text.

    Every number gets the name that stands before it; what stands before the first K belongs to the runs below it, and
    so does the text between two runs, so that runs of different programs are told apart.
    """
    if not any(fact.counts for _, line in first_lines for fact in _facts(line)):
        return None
    lines = [(number, _DATE.sub("", line)) for number, line in islice(_all_lines(source), MOST_LOG_LINES)]
    facts = [_facts(line) for _, line in lines]
    lead = next((fact.name for own in facts for fact in own if fact.counts), None)
    if lead is None:
        return None
    first = next(i for i, own in enumerate(facts) if any(fact.name == lead for fact in own))
    shared = {fact.name for own in facts[:first] for fact in own}
    rows, numbers = _runs(lines, facts, lead, shared)
    names = [name for name, count in Counter(name for row in rows for name in row).items() if 2 * count > len(rows)]
    names = [lead, *(name for name in names if name != lead)]
    values = [name for name in names if any(_is_measured(name, row.get(name, "")) for row in rows)]
    if len({row[lead] for row in rows}) < 2 or not values or shared & set(values) or len(names) > MOST_FACTS:
        return None
    square = [[row.get(name, "") for name in names] for row in rows]
    return TableLayout(":", str.split, tuple(names), 1, squared(names, numbers, square, (), ":"))


def _runs(
    lines: Lines, facts: Sequence[list[_Fact]], lead: str, shared: set[str]
) -> tuple[list[dict[str, str]], list[int]]:
    """One row for each run, with the line of its K; a name that comes again begins another row at the same K."""
    starts = [i for i, own in enumerate(facts) if any(fact.name == lead for fact in own)]
    texts = Counter(line for (_, line), own in zip(lines, facts, strict=True) if not own)
    context: dict[str, str] = {}
    begun: dict[str, str] = {}
    rows: list[dict[str, str]] = []
    numbers: list[int] = []
    above = below = ""
    for (number, line), own in zip(lines, facts, strict=True):
        leads = [fact.cell for fact in own if fact.name == lead]
        if not own and not is_rule(line):
            above = line if texts[line] < len(starts) - 1 else above
            below = line
        if leads and not (begun.get(lead) == leads[0] and rows[-1] == begun):
            kind = re.sub(r"\s+", " ", _NUMERAL.sub("#", line)) if not _only(own, line) else ""
            begun = {**context, lead: leads[0], SECTION: " ".join(filter(None, (above, kind)))[:60]}
            rows.append(dict(begun))
            numbers.append(number)
            below = ""
        for fact in own:
            if fact.name == lead:
                continue
            if fact.name in shared:
                context[fact.name] = fact.cell
            elif rows:
                if fact.name in rows[-1]:
                    rows.append(dict(begun))
                    numbers.append(number)
                if below and rows[-1] == begun:
                    rows[-1][SECTION] = f"{begun[SECTION]} {below}".strip()[:60]
                rows[-1][fact.name] = fact.cell
    if len({row.get(SECTION) for row in rows}) < 2:
        rows = [{name: cell for name, cell in row.items() if name != SECTION} for row in rows]
    return rows, numbers


def _facts(line: str) -> list[_Fact]:
    """The named numbers of a line, from left to right."""
    facts, end = [], 0
    for match in _NUMERAL.finditer(line[:1000]):
        label, end = line[end : match.start()], match.end()
        unit, cell = match["unit"] or "", match["value"]
        noun = in_english(unit).lower()
        if noun in WORKER_NOUNS and len(noun) > 1 and cell.isdigit():
            facts.append(_Fact(noun if noun.endswith("s") else f"{noun}s", cell, counts=True))
            continue
        if unit and unit_of(unit) is None:
            end, unit = match.end("value"), ""
        name = label.strip(" \t=:,;|[]()$>*#'\"-").split("  ")[-1].strip()
        words = parse_header(name).words
        if re.search(r"(?:^|\s)--?[\w-]+[\s=]*$", label):
            name = (
                label.split()[-1].strip("-= ")
                if not label.rstrip().endswith("=")
                else label.rstrip("= ").split()[-1].strip("-")
            )
            words = parse_header(name).words
        if not any(sign.isalpha() for sign in name):
            name = "time" if unit and unit_of(unit) else ""
        counted = [word for word in words if word in _COUNTED]
        is_count = (
            len(counted) == 1
            and cell.isdigit()
            and not unit
            and not {*words} & (TIME_WORDS | RATE_WORDS | {"per", "id"})
        )
        if name:
            facts.append(_Fact(counted[0] if is_count else name[:60], f"{cell} {unit}".strip(), is_count))
    return facts


def _only(facts: Sequence[_Fact], line: str) -> bool:
    """Whether a line says nothing but its facts: `np = 2`."""
    return len(facts) == 1 and len(re.findall(r"[^\W\d]+", line)) < 2


def _is_measured(name: str, cell: str) -> bool:
    value = parse_cell(cell)
    return value is not None and (value.unit is not None or value_meaning(name) is not None)
