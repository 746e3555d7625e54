"""Several files as one table: files with the same columns, or files that each hold the facts of one run.

The file's name becomes a column, so that it tells curves apart where nothing else does; K may stand in it (--k-from).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from scalecurve.errors import Fault, InputError
from scalecurve.findings import warning
from scalecurve.formats.headers import pattern
from scalecurve.formats.reading import Reading, ReadOptions, Unclear
from scalecurve.formats.regime import regime_named
from scalecurve.formats.source import Source
from scalecurve.formats.tables.cells import CellGrid, parse_cell
from scalecurve.formats.tables.decision import command_of, likely_table, read_table, tables_in
from scalecurve.formats.tables.forms import flat

FILE, KIND, FROM_NAME = "file (series)", "kind of file (series)", "workers"
MOST_FACTS = 80

Row = dict[str, str]


def facts_of(source: Source) -> list[Row]:
    """The runs of a file that states facts: a flat JSON object, or lines `label: value`; a label that comes again
    begins another run, or another repeat where it alone does."""
    if isinstance(source.json, dict):
        facts = {key: value for key, value in flat(source.json).items() if isinstance(value, int | float | str)}
        numeric = sum(isinstance(value, int | float) for value in facts.values())
        return [{key: str(value) for key, value in facts.items()}] if 1 < numeric <= MOST_FACTS else []
    if source.looks_like_json or b"\x00" in source.head[:4096]:
        return []
    rows = _stated_rows(source.text.splitlines()[:5000])
    names = Counter(name for row in rows for name in row)
    usual = [name for name, count in names.items() if 2 * count > len(rows)]
    kept = [row for row in rows if not row.keys().isdisjoint(usual)]
    return [{name: row.get(name, "") for name in usual} for row in kept] if 1 < len(usual) <= MOST_FACTS else []


def _stated_rows(lines: Sequence[str]) -> list[Row]:
    rows: list[Row] = [{}]
    for match in (match for line in lines for match in pattern("folders.pair").finditer(line)):
        label = " ".join(match["label"].split())
        if label in rows[-1]:
            rows.append({})
        rows[-1][label] = match["value"].rstrip(",;")
    return rows


def _grid_of(source: Source, options: ReadOptions) -> CellGrid | None:
    """The table of one file, or its facts as a table; None where it holds neither."""
    rows = facts_of(source)
    try:
        grid = likely_table(tables_in(source, options)[0], options) if not isinstance(source.json, dict) else None
    except (InputError, UnicodeDecodeError):
        grid = None
    if grid is not None and (not rows or _has_numbers(grid)):
        return grid
    if not rows or not rows[0]:
        return None
    headers = tuple(rows[0])
    return CellGrid(headers, tuple([row[name] for row in rows] for name in headers), range(1, len(rows) + 1), "run")


def _has_numbers(grid: CellGrid) -> bool:
    """Whether a column of the table holds numbers throughout, below a header that is none."""
    named = [i for i, header in enumerate(grid.headers) if header and not any(map(str.isdecimal, header))]
    return any(all(parse_cell(str(cell)) for cell in grid.columns[i][:50]) for i in named) and len(named) > 1


def read_folder(sources: Sequence[Source], options: ReadOptions) -> Reading:
    """The curves of several files read as one table; one refusal for all of them."""
    grids = [(source, grid) for source in sources if (grid := _grid_of(source, options)) is not None]
    counts = _counts_in_names([source for source, _ in grids], options.k_from)
    grids = [own for own in grids if own[0].name in counts]
    if not grids:
        raise _nothing_in(sources, options)
    of_regime = [own for own in grids if regime_named(own[0].stem) in (None, options.regime)]
    grids = of_regime if options.regime is not None and of_regime else grids
    usual = Counter(grid.headers for _, grid in grids).most_common(1)[0][0]
    kept = [(source, grid) for source, grid in grids if grid.headers == usual]
    read_files = [source for source, _ in kept]
    of_names = _columns_of_names(_short_names(read_files), usual)
    if options.k_from is not None:
        found = [counts[source.name] for source in read_files]
        taken = [name for name, cells in of_names.items() if cells == found]
        of_names = {FROM_NAME: found, **of_names}
    whole = _joined_grid([grid for _, grid in kept], of_names)
    if options.k_from is not None:
        ignored = [name for name in (FILE, *taken) if name in whole.headers]
        options = replace(options, k_from=None, k_column=FROM_NAME, ignore=(*options.ignore, *ignored))
    folder = str(PurePath(sources[0].name).parent)
    try:
        reading = read_table(whole, options, folder)
    except InputError as problem:
        raise _with_patterns(problem, sources, options, folder) from None
    if left := [source.name for source in sources if source not in read_files]:
        why = "have other columns or are of another regime and were left out"
        text = f"{len(left)} of {len(sources)} files {why}: {', '.join(left)[:200]}"
        reading = replace(reading, findings=(*reading.findings, warning("files-left-out", text)))
    return replace(reading, k_origin="the file names" if FROM_NAME in whole.headers else reading.k_origin)


def _nothing_in(sources: Sequence[Source], options: ReadOptions) -> InputError:
    some = ", ".join(PurePath(source.name).name for source in sources[:5])
    if options.k_from is None:
        what, remedy = "no file holds a table or facts of a run", "give files with the same columns"
        return InputError(Fault(what, value=some, remedy=remedy))
    remedy = "it is matched against the paths given"
    return InputError(Fault("the pattern finds no worker count", "--k-from", some, remedy))


def _counts_in_names(sources: Sequence[Source], form: str | None) -> dict[str, str]:
    """What a pattern finds in each name, of those where it finds something; empty texts where there is none."""
    from scalecurve.formats.curve_choice import worker_places

    if form is None:
        return {source.name: "" for source in sources}
    spans = worker_places(form, {source.name for source in sources})
    return {name: name[slice(*span)] for name, span in spans.items() if span is not None}


def _joined_grid(grids: Sequence[CellGrid], of_names: dict[str, list[str]]) -> CellGrid:
    """The rows of all files below each other, with the columns of their names; K first, none that is there already."""
    headers = list(grids[0].headers)
    columns: list[list[Any]] = [
        [cell for grid in grids for cell in map(str, grid.columns[i])] for i in range(len(headers))
    ]
    for header, cells in of_names.items():
        column = [cell for cell, grid in zip(cells, grids, strict=True) for _ in grid.lines]
        if column not in columns or header == FROM_NAME:
            headers.append(header)
            columns.append(column)
    first = [i for i, header in enumerate(headers) if header == FROM_NAME]
    order = [*first, *(i for i in range(len(headers)) if i not in first)]
    ordered = tuple(columns[i] for i in order)
    return CellGrid(tuple(headers[i] for i in order), ordered, range(1, len(columns[0]) + 1), "row")


def _columns_of_names(names: Sequence[str], taken: Sequence[str]) -> dict[str, list[str]]:
    """What the names of the files say: the name, its words where they differ, and each number that varies."""
    if len(names) < 2:
        return {}
    columns = {FILE: list(names)}
    forms = [pattern("folders.number").sub("#", name) for name in names]
    if 1 < len(set(forms)) < len(names):
        columns[KIND] = [form.replace("#", "") for form in forms]
    longest = Counter(forms).most_common(1)[0][0]
    words = [re.sub(r"[^A-Za-z]+", " ", part).split()[-1:] for part in longest.split("#")[:-1]]
    numbers = [pattern("folders.number").findall(name) for name in names]
    for place, word in enumerate(words):
        cells = [own[place] if place < len(own) else "" for own in numbers]
        header = word[0] if word else f"number {place + 1}"
        if len(set(cells)) > 1 and header not in columns and header not in taken and all(cells):
            columns[header] = cells
    return columns


def _short_names(sources: Sequence[Source]) -> list[str]:
    """What tells the files apart: their stems, or their paths where stems are alike."""
    stems = [source.stem for source in sources]
    return (
        stems if len(set(stems)) == len(stems) else [str(PurePath(source.name).with_suffix("")) for source in sources]
    )


def _with_patterns(problem: InputError, sources: Sequence[Source], options: ReadOptions, folder: str) -> InputError:
    """The refusal with the patterns of --k-from that work on the names of the files."""
    if options.k_from is not None or options.k_column == FROM_NAME or len(sources) < 2:
        return problem
    offers = list(problem.offers) if isinstance(problem, Unclear) else []
    for form in _patterns([PurePath(source.name).name for source in sources]):
        asked = replace(options, k_from=form)
        try:
            reading = read_folder(sources, asked)
        except InputError:
            continue
        longest = max(reading.curves, key=lambda own: len(own.samples.distinct_k))
        if len(longest.samples.distinct_k) > 1:
            by_k = sorted(longest.samples.by_k().items())[:6]
            cells = ", ".join(f"{k}: {float(values.mean()):.4g}" for k, values in by_k)
            offers += [f"  K from the names of the files: {cells}", f"    {command_of(asked, folder)}"]
    return Unclear(problem.faults, subject=f"{folder}, {len(sources)} files", offers=offers[:12])


def _patterns(names: Sequence[str]) -> list[str]:
    """Patterns with one group for each number that varies between names of one form."""
    forms = Counter(pattern("folders.number").sub("#", name) for name in names)
    form, count = forms.most_common(1)[0]
    if count < 2:
        return []
    same = [name for name in names if pattern("folders.number").sub("#", name) == form]
    numbers = [pattern("folders.number").findall(name) for name in same]
    texts = [re.escape(part) for part in form.split("#")]
    patterns = []
    for place in range(len(texts) - 1):
        values = [own[place] for own in numbers]
        if len(set(values)) > 1:
            others = [
                r"(\d+)" if i == place else (numbers[0][i] if len({own[i] for own in numbers}) == 1 else r"\d+")
                for i in range(len(texts) - 1)
            ]
            patterns.append("".join(a + b for a, b in zip(texts, [*others, ""], strict=True)))
    return patterns[:3]
