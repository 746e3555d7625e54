"""Text that is not one line for one row of a delimited table: Markdown and other bars, LaTeX, HTML, wiki tables, lines
of labels, and logs of a loop over K."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import islice, pairwise, starmap, takewhile

from scalecurve.errors import Fault, FormatError
from scalecurve.formats.headers import (
    LATEX,
    LOAD_NAMES,
    SHELL_TIMES,
    WORDS,
    WORKER_NOUNS,
    ValueColumn,
    counted_per_worker,
    in_english,
    parse_header,
    pattern,
    unit_of,
    value_meaning,
    worker_unit,
)
from scalecurve.formats.source import Source
from scalecurve.formats.tables.cells import FAILED_MARK, THOUSANDS, CellGrid, parse_cell
from scalecurve.formats.tables.structure import (
    BARS,
    COMPARED,
    SECTION,
    Lines,
    NamedTable,
    TableLayout,
    grid_of_rows,
    is_comment,
    is_rule,
    is_types_row,
    splitter,
    squared,
)
from scalecurve.study import Quantity

_UP_TO = frozenset(("…", "...", "..", "-", "–", "to"))
_KINDS = frozenset(("mpi", "omp", "openmp", "cpu", "gpu", "parallel", "worker", "compute"))
# Names of counts; `node 1` and `rank 1` are one of them, not their number.
_COUNTED = frozenset(noun for noun in WORKER_NOUNS if noun.endswith("s")) - {"process"} | {"np", "nproc", "p"}
_LOADS = frozenset(name for name in LOAD_NAMES if name.endswith("s") and "_" not in name)
BARE, ARGUMENT = "value", "argument "
SHORT_NAMES = frozenset("pntcwj")  # of a count of workers, where the times prove it
SETTING = re.compile(r"(?:^|[\s(,])(?:--?[A-Za-z][\w-]*[\s=]+|-[A-Za-z]|[A-Za-z]\w*\s?=\s?)$")
MOST_FACTS = 60
MOST_SPANNED = 50
MOST_LOG_LINES = 200_000


def marked_layout(source: Source, lines: Lines) -> TableLayout | None:
    """The table of a text with the marks of one of these forms; None where it has none of them."""
    if any(re.search(r"<(?:table|tr)\b", line, re.IGNORECASE) for _, line in lines):
        return _html_layout(source)
    rows = [line for _, line in lines if "&" in line]
    has_latex_rows = len(rows) > 1 and all("\\\\" in row or row.rstrip().endswith("\\") for row in rows)
    if has_latex_rows or any("\\begin{tab" in line or pattern("markup.begins").search(line) for _, line in lines):
        return _latex_layout(source)
    if any(pattern("markup.julia").match(line) for _, line in lines):
        return _julia_layout(source)
    if any("list-table" in line and "::" in line for _, line in lines):
        return _list_layout(source)
    return _bar_layout(source, lines)


def _grid_of(headers: Sequence[str], rows: Lines, split: Callable[[str], list[str]], mark: str) -> CellGrid:
    """The grid of a table whose rows are these lines."""
    return squared(headers, [number for number, _ in rows], [split(line) for _, line in rows], (), mark)


def _whole(tables: Sequence[NamedTable], mark: str) -> TableLayout:
    """The layout of tables that were read whole."""
    first = tables[0].grid
    return TableLayout(mark, str.split, first.headers, first.lines[0], tuple(tables))


def _all_lines(source: Source) -> list[tuple[int, str]]:
    with source.open_text() as file:
        lines = [(number, _plain_text(line.strip().translate(BARS))) for number, line in enumerate(file, 1)]
    return [(number, line) for number, line in lines if line]


def _plain_text(line: str) -> str:
    """A line of Markdown without links and tags."""
    return (
        pattern("markup.tag").sub(" ", pattern("markup.link").sub(r"\1", line))
        if "<" in line or "](" in line or "&" in line
        else line
    )


def _latex_layout(source: Source) -> TableLayout:
    parts: list[list[tuple[int, str]]] = [[]]
    titles, title, is_below = [""], "", False
    for number, line in _all_lines(source):
        is_below = is_below and "\\begin{table" not in line
        if caption := re.search(r"\\(caption|section|subsection|paragraph)\*?\{([^{}]*)", line):
            title, is_below = caption[2], is_below and caption[1] == "caption"
            titles[-1] = title if is_below else titles[-1]
        if pattern("markup.begins").search(line):
            parts.append([])
            titles.append(title)
            is_below = True
        elif "&" in line and not is_comment(line) and "\\begin{" not in line:
            parts[-1].append((number, line))
    tables = [
        NamedTable(title, _grid_of(_latex_cells(rows[0][1]), rows[1:], _latex_cells, "&"))
        for title, rows in zip(titles, parts, strict=True)
        if len(rows) > 1
    ]
    if not tables:
        raise FormatError(Fault("the LaTeX table has no rows", remedy="one row a line, cells parted by &"))
    return _whole(tables, "&")


def _latex_cells(line: str) -> list[str]:
    text = re.sub(r"\\\\(?:\[[^\]]*\])?\s*$", "", pattern("markup.latex_skip").sub("", line).strip())
    text = pattern("markup.multicolumn").sub(
        lambda match: " & ".join([match["text"]] * min(int(match["n"]), MOST_SPANNED)), text
    )
    cells = re.split(r"(?<!\\)&", text)
    for mark, plain in LATEX:
        cells = [re.sub(mark, plain, cell) for cell in cells]
    return [cell.strip() for cell in cells]


def _bar_layout(source: Source, lines: Lines) -> TableLayout | None:
    """A Markdown, psql, MySQL, org, wiki or box table, or lines parted by bars alone; None where there are no bars."""
    lines = [(number, _plain_text(line)) for number, line in lines]
    is_wiki = any(pattern("markup.wiki").match(line.strip()) for _, line in lines)
    split = _wiki_cells if is_wiki else splitter("|")
    marks = {number for number, line in lines if is_rule(line) or re.fullmatch(r"[\s|:-]*-[\s|:-]*", line)}
    barred = [(number, line) for number, line in lines if "|" in line and not is_rule(line)]
    types = {number for number, line in barred if is_types_row(splitter("|")(line))}
    barred, marks = [own for own in barred if own[0] not in types], marks | types
    if len(barred) < 2:
        return None
    heads = _heads_of_bars(lines, barred, marks, split)
    return _bar_tables(_all_lines(source), heads, marks, split) if heads else None


def _heads_of_bars(
    lines: Lines, barred: Lines, marks: set[int], split: Callable[[str], list[str]]
) -> Sequence[tuple[int, str]]:
    """The lines that begin tables of bars; none where the bars part no cells."""
    if split is _wiki_cells:
        return [own for own in lines if re.match(r"[!|](?![-}+])", own[1].strip())][:1]
    is_asciidoc = any(line == "|===" for _, line in lines)
    heads = [] if is_asciidoc else _heads(barred, marks, split)
    return heads or (barred[:1] if is_asciidoc or _is_table_of_bars(barred, len(lines), split) else [])


def _is_table_of_bars(barred: Lines, lines: int, split: Callable[[str], list[str]]) -> bool:
    """Whether lines with bars and no rule are a table: most of the text, of one width, the first line names alone."""
    widths = {len(split(line)) for _, line in barred[:COMPARED]}
    is_labelled = all(re.search(r"[^\W\d].*\d", cell) for cell in split(barred[0][1]))  # ranks 1 | time = 3 s
    return len(widths) == 1 and widths != {1} and len(barred) >= 0.6 * lines and not is_labelled


def _bar_tables(everything: Lines, heads: Lines, marks: set[int], split: Callable[[str], list[str]]) -> TableLayout:
    """The tables below these heads; a broken one spoils none of the others."""
    ends = [*(number for number, _ in heads[1:]), everything[-1][0] + 1]
    tables: list[NamedTable] = []
    problems: list[FormatError] = []
    for (first, head), end in zip(heads, ends, strict=True):
        below = [(number, text) for number, text in everything if first < number < end and number not in marks]
        above = [text for number, text in everything if number < first and "|" not in text and not is_rule(text)]
        rows = takewhile(lambda own: _is_aside(own[1]) or ("|" in own[1] and "|}" not in own[1]), below)
        kept = [own for own in rows if not _is_aside(own[1])]
        try:
            tables.append(
                NamedTable(above[-1].strip("#*_ :") if above else "", _grid_of(split(head), kept, split, "|"))
            )
        except FormatError as problem:
            problems.append(problem)
    if not tables:
        raise problems[0]
    return _whole(tables, "|")


def _heads(barred: Lines, marks: set[int], split: Callable[[str], list[str]]) -> list[tuple[int, str]]:
    """The lines above a rule that begin a table: no rows of the one before."""
    bars = {number for number, _ in barred}
    return [
        (number, line)
        for number, line in barred
        if number + 1 in marks and number - 1 not in bars and not (number - 1 in marks and number - 2 in bars)
        if not any(map(parse_cell, split(line)[:1]))
    ]


def _list_layout(source: Source) -> TableLayout:
    """The tables of reStructuredText's list-table: `* - a` begins a row, `- b` is its next cell."""
    tables: list[tuple[str, list[tuple[int, list[str]]]]] = []
    for number, line in _all_lines(source):
        if (title := re.match(r"\.\. list-table::\s*(.*)", line)) is not None:
            tables.append((title[1], []))
        elif tables and (cell := re.match(r"(\*\s+)?-(?:\s+(.*))?$", line)) is not None:
            rows = tables[-1][1]
            if cell[1]:
                rows.append((number, []))
            if rows:
                rows[-1][1].append((cell[2] or "").strip("*` "))
    grids = [
        NamedTable(title, squared(rows[0][1], [number for number, _ in rows[1:]], [cells for _, cells in rows[1:]]))
        for title, rows in tables
        if len(rows) > 1
    ]
    if not grids:
        raise FormatError(Fault("the list-table has no rows", remedy="`* -` begins a row, `-` is its next cell"))
    return _whole(grids, "-")


def _julia_layout(source: Source) -> TableLayout:
    """The frame that Julia prints: numbers of rows before one bar, columns parted by blanks behind it."""
    lines = [(number, line.split("|", 1)) for number, line in _all_lines(source) if "|" in line and not is_rule(line)]
    rows = [(number, re.split(r"\s{2,}", own[1].strip())) for number, own in lines]
    first = next(i for i, (_, own) in enumerate(lines) if own[0].strip() == "Row")
    body = rows[first + 1 :]
    if any(len(cells) != len(rows[first][1]) for _, cells in body if cells != [""]):
        body = [(number, own[1].split()) for number, own in lines[first + 1 :]]
    grid = squared(rows[first][1], [number for number, _ in body], [cells for _, cells in body])
    return _whole([NamedTable("", grid)], "|")


def _is_aside(line: str) -> bool:
    """Whether a line between the rows of a table is none of them."""
    return is_comment(line) or is_rule(line) or line == "|-"


def _wiki_cells(line: str) -> list[str]:
    """The cells of a row of MediaWiki (! a !! b, | 1 || 2) or Jira (||a||b||, |1|2|)."""
    return [cell.strip() for cell in re.split(r"\|\||!!|\||!", line.strip().strip("|!"))]


class _TableParser(HTMLParser):
    """The tables of a page, each as its rows of texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self.open = False
        self.reaching: dict[tuple[int, int], tuple[int, int]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
            self.reaching = {}
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self._open_cell({name: value or "" for name, value in attrs})
        self.open = tag in ("td", "th") or (self.open and tag not in ("table", "tr"))

    def _open_cell(self, attributes: dict[str, str]) -> None:
        """A cell, behind those that reach down from the rows above; what it spans gets its text when it ends."""
        rows = self.tables[-1]
        while (len(rows) - 1, len(rows[-1])) in self.reaching:
            source = self.reaching[len(rows) - 1, len(rows[-1])]
            rows[-1].append(rows[source[0]][source[1]])
        here = (len(rows) - 1, len(rows[-1]))
        wide, high = (
            min(int(attributes[name]), MOST_SPANNED) if attributes.get(name, "").isdecimal() else 1
            for name in ("colspan", "rowspan")
        )
        rows[-1].append("")
        self.reaching |= {
            (here[0] + down, here[1] + right): here for down in range(high) for right in range(wide) if down or right
        }

    def handle_endtag(self, tag: str) -> None:
        self.open = self.open and tag not in ("td", "th", "tr", "table")

    def close_rows(self) -> None:
        """Fill the ends of rows that cells of other rows or columns reach into."""
        for (row, column), (above, left) in sorted(self.reaching.items()):
            cells = self.tables[-1][row] if self.tables and row < len(self.tables[-1]) else []
            if column == len(cells):
                cells.append(self.tables[-1][above][left])

    def handle_data(self, data: str) -> None:
        if self.open and self.tables and self.tables[-1] and self.tables[-1][-1]:
            self.tables[-1][-1][-1] += data


def _html_layout(source: Source) -> TableLayout:
    parser = _TableParser()
    parser.feed(source.text)
    parser.close_rows()
    tables = [[[" ".join(cell.split()) for cell in row] for row in rows if any(row)] for rows in parser.tables]
    tables = [rows for rows in tables if len(rows) > 1]
    if not tables:
        remedy = "copy the table that is meant into a CSV or Markdown file"
        raise FormatError(Fault("this is HTML without a table", remedy=remedy))
    return _whole([NamedTable("", grid_of_rows(rows)) for rows in tables], "<")


@dataclass(frozen=True)
class _Fact:
    """A number of a log: its name, the cell with its unit, whether it counts workers, and the words behind it.

    `is_setting`: it stands behind an option, behind `X=` or among the arguments of a command, and may be K.
    """

    name: str
    cell: str
    counts: bool
    behind: str = ""
    is_setting: bool = False


def log_layout(source: Source, first_lines: Lines) -> TableLayout | None:
    """The runs of a log that a loop over K wrote: a line with K, and below it lines with times; None for other text.

    Every number gets the name that stands before it; what stands before the first K belongs to the runs below it, and
    so does the text between two runs, so that runs of different programs are told apart.
    """
    if not any(fact.counts or fact.is_setting for _, line in first_lines for fact in _facts(_without_prefix(line))):
        return None
    lines = [(number, _without_prefix(line)) for number, line in islice(_all_lines(source), MOST_LOG_LINES)]
    if any(re.match(r"Time \(mean ± ", line) for _, line in lines):
        lines = [(number, line) for number, line in lines if not pattern("markup.hyperfine_end").search(line)]
    facts = [_facts(line) or _bare(line) for _, line in lines]
    leads = _leads_of(facts, "counts")[:1]
    for lead in leads or _leads_of(facts, "is_setting"):
        shared = _said_of_all(facts, lead)
        layout = _layout_of_runs(*_rows_of_wholes(*_runs(lines, facts, lead, shared), lead), lead, shared)
        if leads:
            return layout
        if layout is not None and (own := _with_setting_as_k(layout, lead, len(lines))) is not None:
            return own
    return None


def _with_setting_as_k(layout: TableLayout, lead: str, lines: int) -> TableLayout | None:
    """The runs with a setting as K: as `workers` where the cells prove it, under its own name where the text holds
    nothing but these runs; None elsewhere.

    Proof: a short name such as p or T, or an argument, of at least three doublings or 1, 2, 3; times that fall with it,
    and never by more than it.
    """
    grid = layout.tables[0].grid
    points = _times_by_k(grid)
    falls = all(b[1] < a[1] <= 1.1 * b[1] * b[0] / a[0] for a, b in pairwise(points))
    is_short = len(lead) < 3 and lead.strip("-").lower() in SHORT_NAMES
    is_of_workers = is_short or lead.startswith(ARGUMENT)
    if falls and is_of_workers and len(points) > 2 and points[0][0] == 1 and points[0][1] > 1.3 * points[-1][1]:
        headers = ("workers", *grid.headers[1:])
        return _whole([NamedTable("", replace(grid, headers=headers))], ":")
    return layout if len(points) > 1 and lines <= 2 * grid.rows else None


def _times_by_k(grid: CellGrid) -> list[tuple[float, float]]:
    """Each value of the first column, rising, with the mean of the first measured column if that may be a time."""
    measured = (i for i, name in enumerate(grid.headers) if i and _is_measured(name, grid.columns[i][0]))
    place = next(measured, None)
    times: dict[float, list[float]] = {}
    for count, cell in zip(grid.columns[0], () if place is None else grid.columns[place], strict=False):
        own = parse_cell(cell)
        if own is not None and (own.unit is None or own.unit.quantity is Quantity.SECONDS):
            times.setdefault(float(count), []).append(own.value)
    return [(k, sum(own) / len(own)) for k, own in sorted(times.items())]


def _layout_of_runs(rows: list[dict[str, str]], numbers: list[int], lead: str, shared: set[str]) -> TableLayout | None:
    """The runs as a table of what most of them say; None where K does not vary or nothing was measured."""
    counts = Counter(name for row in rows for name in row)
    status = ["status"] if counts["status"] else []
    names = list(dict.fromkeys([lead, *(name for name in counts if 2 * counts[name] > len(rows)), *status]))
    values = {name for name in names if any(_is_measured(name, row.get(name, "")) for row in rows)}
    if len({row[lead] for row in rows}) < 2 or not values or shared & values or len(names) > MOST_FACTS:
        return None
    square = [[row.get(name, "ok" if name == "status" else "") for name in names] for row in rows]
    return _whole([NamedTable("", squared(names, numbers, square, (), ":"))], ":")


def _said_of_all(facts: Sequence[list[_Fact]], lead: str) -> set[str]:
    """The names that stand before the first K and belong to all runs, unless they are measured below the last K: a
    serial run may stand above all K."""
    at = [i for i, own in enumerate(facts) if any(fact.name == lead for fact in own)]
    below = {fact.name for own in facts[at[-1] :] for fact in own if _is_measured(fact.name, fact.cell)}
    return {fact.name for own in facts[: at[0]] for fact in own} - below


def _leads_of(facts: Sequence[list[_Fact]], how: str) -> list[str]:
    """The names that count workers, or are settings, and take several values."""
    counts: dict[str, set[str]] = {}
    for fact in (fact for own in facts for fact in own if getattr(fact, how)):
        counts.setdefault(fact.name, set()).add(fact.cell)
    return [name for name, cells in counts.items() if len(cells) > 1]


def _rows_of_wholes(
    rows: list[dict[str, str]], numbers: list[int], lead: str
) -> tuple[list[dict[str, str]], list[int]]:
    """The rows with a total, where every K has one beside its many steps; else all of them."""
    once = [
        name
        for name, count in Counter(name for row in rows for name in row).items()
        if 2 * count <= len(rows) and parse_header(name).says("whole")
    ]
    for name in once:
        kept = [i for i, row in enumerate(rows) if _is_measured(name, row.get(name, ""))]
        if {rows[i][lead] for i in kept} == {row[lead] for row in rows}:
            return [rows[i] for i in kept], [numbers[i] for i in kept]
    return rows, numbers


def _without_prefix(line: str) -> str:
    """A line of a log without its date, its level and the rank that wrote it."""
    return pattern("markup.joined_flag").sub(
        r"-\1 ", pattern("markup.rank_prefix").sub("", pattern("markup.date").sub("", line))
    )


def _runs(
    lines: Lines, facts: Sequence[list[_Fact]], lead: str, shared: set[str]
) -> tuple[list[dict[str, str]], list[int]]:
    """One row for each run, with the line of its K; a name that comes again begins another row at the same K."""
    starts = sum(any(fact.name == lead for fact in own) for own in facts)
    texts = Counter(line for (_, line), own in zip(lines, facts, strict=True) if not own)
    log = _RunLog(lead, shared)
    for (number, line), own in zip(lines, facts, strict=True):
        if not own and not is_rule(line):
            log.above = line if texts[line] < starts - 1 else log.above
            log.below = line
        log.read(number, line, own)
    if len({row.get(SECTION) for row in log.rows}) < 2:
        for row in log.rows:
            row.pop(SECTION, None)
    return log.rows, log.numbers


def _says_failed(line: str, facts: Sequence[_Fact]) -> bool:
    """Whether a line reports a crash, or marks its own measurement as failed."""
    is_timed = any(_is_measured(fact.name, fact.cell) for fact in facts)
    return bool(pattern("markup.crashed").search(line) or (is_timed and FAILED_MARK.search(line)))


@dataclass
class _RunLog:
    """The runs of a log so far; `begun` is what the present one said first, `behind` the words behind its numbers."""

    lead: str
    shared: set[str]
    rows: list[dict[str, str]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    context: dict[str, str] = field(default_factory=dict)
    begun: dict[str, str] = field(default_factory=dict)
    behind: dict[str, str] = field(default_factory=dict)
    above: str = ""
    below: str = ""

    def read(self, number: int, line: str, facts: Sequence[_Fact]) -> None:
        """A line: another K begins a run; the rest belongs to the present one."""
        count = next((fact.cell for fact in facts if fact.name == self.lead), None)
        if count is not None and not self.is_said_again(count):
            self.begin(number, line, count, len(facts))
        if self.rows and _says_failed(line, facts):
            self.rows[-1]["status"] = "failed"
        for fact in facts:
            self.add(fact, number)

    def is_said_again(self, count: str) -> bool:
        """Whether this K is that of the present run, of which nothing was measured yet."""
        is_open = self.begun.get(self.lead) == count and "status" not in self.rows[-1]
        return is_open and not any(starmap(_is_measured, self.rows[-1].items()))

    def begin(self, number: int, line: str, count: str, facts: int) -> None:
        says_more = facts > 1 or len(re.findall(r"[^\W\d]+", line)) > 1  # than `np = 2`
        kind = re.sub(r"\s+", " ", pattern("markup.numeral").sub("#", line)) if says_more else ""
        section = " ".join(filter(None, (self.above, kind)))[:60]
        self.begun = {**self.context, self.lead: count, SECTION: section}
        self.repeat(number)
        self.behind, self.below = {}, ""

    def repeat(self, number: int) -> None:
        self.rows.append(dict(self.begun))
        self.numbers.append(number)

    def add(self, fact: _Fact, number: int) -> None:
        """Another number of the present run; `5 s setup` and `9 s solve` are no repeats of one another."""
        if fact.name == self.lead:
            return
        if fact.name in self.shared:
            self.context[fact.name] = fact.cell
        elif self.rows:
            words = self.behind.setdefault(fact.name, fact.behind)
            is_named = fact.behind == words and not fact.behind.startswith("for ")
            name = fact.name if is_named else f"{fact.name} {fact.behind}".strip()
            if name in self.rows[-1]:
                self.repeat(number)
            if self.below and self.rows[-1] == self.begun:
                self.rows[-1][SECTION] = f"{self.begun[SECTION]} {self.below}".strip()[:60]
            self.rows[-1][name] = fact.cell


def _facts(line: str) -> list[_Fact]:
    """The named numbers of a line, from left to right."""
    line = line[:1000]
    if facts := _facts_named_behind(line):
        return facts
    end, is_opened = 0, False
    for match in pattern("markup.numeral").finditer(line):
        if match.start() < end:
            continue  # the spread of the number before it
        label = line[end : match.start()]
        if facts and _is_up_to(label, is_opened):
            facts, end = _without_lower_end(facts), match.end()
            continue
        if facts and parse_header(facts[-1].name).is_derived and not any(sign.isalpha() for sign in label):
            continue  # Speedup: 8.1 s / 4.2 s = 1.93
        is_opened = label.rstrip().endswith("[")
        fact, end = _fact_at(line, label, match)
        fact = _named_by_place(fact, line, match, facts, is_last=end == len(line.rstrip()))
        facts += [fact] if fact.name else []
    return facts


def _is_up_to(label: str, is_opened: bool) -> bool:
    """Whether the number behind a label ends a range: 118 ms … 125 ms, [118, 125]."""
    return label.strip() in _UP_TO or (is_opened and label.strip() == ",")


def _without_lower_end(facts: list[_Fact]) -> list[_Fact]:
    """The numbers before the end of a range, without its beginning unless that is a statistic of its own."""
    return facts if parse_header(facts[-1].name).statistic else facts[:-1]


def _named_by_place(fact: _Fact, line: str, match: re.Match[str], before: Sequence[_Fact], is_last: bool) -> _Fact:
    """The number under the name that its place gives it: an argument of a command, or the value behind a setting."""
    if not fact.counts and not fact.is_setting and _is_argument(line, match):
        fact = _Fact(f"{ARGUMENT}{len(before) + 1}", fact.cell, counts=False, is_setting=True)
    if not fact.name and len(before) == 1 and before[0].is_setting and is_last:
        return _Fact(BARE, match["value"], counts=False)  # T=4 5.4
    return fact


def _is_argument(line: str, match: re.Match[str]) -> bool:
    """Whether a whole number is an argument of a command behind a prompt: $ ./run 4."""
    alone = match["value"].isdecimal() and not match["unit"] and line[match.end() : match.end() + 1] in ("", " ")
    return alone and re.match(r"\s*(?:[$%>]\s+\S|\./\w)", line[: match.start()]) is not None


def _bare(line: str) -> list[_Fact]:
    """The number of a line that holds nothing else: what a loop printed below its K."""
    return [_Fact(BARE, line.strip(), counts=False)] if pattern("markup.bare").fullmatch(line) else []


def _fact_at(line: str, label: str, match: re.Match[str]) -> tuple[_Fact, int]:
    """The number at one place of a line, named by the label before it or the words behind it; and where it ends."""
    if (count := _count_at(line, match)) is not None:
        return count
    cell, unit, meaning, end = _amount_at(line, match)
    if spread := pattern("markup.spread_behind").match(line, end):
        end, unit = spread.end(), f"{unit} {spread[0].strip()}".strip()
    behind = pattern("markup.behind").match(line, end) if meaning is not None else None
    words_behind = behind[1].strip() if behind else ""
    name = _name_in(label)
    words = parse_header(name).words
    if not any(sign.isalpha() for sign in name):
        name = "" if meaning is None else _name_by_unit(meaning, unit)
        if behind and not pattern("markup.numeral").match(line, behind.end()):  # 10.2 seconds time elapsed
            name, end = words_behind, behind.end()
    words_behind = "" if name == words_behind else words_behind[:60]
    is_whole = cell.isdecimal() and not unit
    counted = _counted(name, words) if is_whole else []
    if len(counted) == 1:
        return _Fact(counted[0], cell, True, words_behind), end
    is_setting = is_whole and int(cell) > 0 and counted_per_worker(name) is None and SETTING.search(label) is not None
    return _Fact(name[:60], f"{cell} {unit}".strip(), False, words_behind, is_setting), end


def _amount_at(line: str, match: re.Match[str]) -> tuple[str, str, ValueColumn | None, int]:
    """The number at one place of a line: its cell, its unit, what the two mean, and where they end."""
    cell, unit, end = match["value"], match["unit"] or "", match.end()
    meaning = None if line[end : end + 1] == "=" else unit_of(unit)  # N=1024 threads=4
    if meaning is not None:
        return cell, unit, meaning, end
    if unit in THOUSANDS and line[match.end("value")] == unit:  # 15.05M
        return f"{cell}{unit}", "", None, end
    clock = None if cell[-1].isdecimal() else parse_cell(cell)  # 2m5s, 2'5"
    return cell, "", clock.unit if clock else None, match.end("value")


def _name_by_unit(meaning: ValueColumn, unit: str) -> str:
    """The name of a number that has only a unit: a rate is its unit; 1.9 s/step, 22 days/ns are times per step, ns."""
    if meaning.quantity is not Quantity.SECONDS:
        return unit
    per = unit.partition("/")[2]
    return f"time per {per}" if per else "time"


def _count_at(line: str, match: re.Match[str]) -> tuple[_Fact, int] | None:
    """The number where a launcher or the noun behind it says that it counts workers: mpirun -np 4, 4 MPI processes."""
    cell, end, before = match["value"], match.end(), line[: match.start()]
    noun = "" if line[end : end + 1] == "=" else in_english(match["unit"] or "").lower()
    if noun in _KINDS and (following := re.match(r"\s+([^\W\d]+)", line[end:])):
        noun = in_english(following[1]).lower()
        end += following.end() if noun in WORKER_NOUNS else 0
    if pattern("markup.launchers").search(before) and not ("torchrun" in before and "--nnodes" in line):
        return _Fact("ranks", cell, counts=cell.isdecimal()), end
    if (noun in WORKER_NOUNS or noun in _LOADS) and len(noun) > 1 and cell.isdecimal():
        return _Fact(noun if noun.endswith("s") else f"{noun}s", cell, counts=True), end
    return None


def _name_in(label: str) -> str:
    """The name that a label gives to the number behind it: its last words, or an option such as --threads."""
    label = pattern("markup.remark").sub("", label) or label  # 8 threads (HT): 0.95 s
    if option := re.search(r"(?:^|\s)(?:--?(?P<flag>[\w-]+)[\s=]*|(?P<variable>[A-Z]\w*)=)$", label):
        name = option["flag"] or option["variable"]  # --threads 4, OMP_NUM_THREADS=4
        return f"-{name}" if option["flag"] and len(name) == 1 else name
    return label.strip(" \t=:,;|[]()$>*#'\"-").split("  ")[-1].strip()


def _facts_named_behind(line: str) -> list[_Fact]:
    """The numbers of a line that stand before their names: what `time` prints, and `10.2 real 9.9 user`; else none."""
    shell = next(filter(None, (re.search(form, line) for form in SHELL_TIMES)), None)
    if shell is not None:
        cells = {name: cell if ":" in cell else f"{cell} s" for name, cell in shell.groupdict().items()}
        before = [fact for fact in _facts(line[: shell.start()]) if fact.counts]  # make -j4 8.8s user ...
        return [*before, *(_Fact(name, cell, counts=False) for name, cell in cells.items())]
    pairs = re.findall(r"([\d.]+)\s+(\S+)", line) if pattern("markup.named_behind").fullmatch(line) else []
    if any(unit_of(word) or in_english(word).lower() in WORKER_NOUNS for _, word in pairs):
        return []
    return [_Fact(word, cell, counts=False) for cell, word in pairs]


def _counted(name: str, words: Sequence[str]) -> list[str]:
    """What a number of that name counts: threads, ranks, clients; empty where it counts none of them."""
    if name == "K" or name in ("-t", "-j"):
        return ["workers"]
    is_time = name[:1] != "-" and not {*words}.isdisjoint(WORDS["time"] | WORDS["rate"] | {"per", "id"})
    if is_time or parse_header(name).statistic is not None:  # MAX_THREADS = 16 bounds the counts of the runs
        return []
    if words[-1:] == ("size",) and (unit_of_size := worker_unit(name)):  # world_size=2
        return [unit_of_size]
    if {*words} & {"count", "number", "num"} and (nouns := [word for word in words if word in WORKER_NOUNS]):
        return [WORKER_NOUNS[noun] for noun in nouns]  # thread count: 4
    return [word for word in words if word in _COUNTED or word in _LOADS]


def _is_measured(name: str, cell: str) -> bool:
    value = parse_cell(cell)
    return value is not None and (name == BARE or value.unit is not None or value_meaning(name) is not None)
