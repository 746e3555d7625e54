"""The page of a report: its nouns, and its sections; each section is made from a result, and left out without one."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from scalecurve.analysis import SpeedupTable, TableRow
from scalecurve.diagnosis.phases import phase_shares, rank_strips
from scalecurve.document import (
    Block,
    Cell,
    Column,
    FindingList,
    Heading,
    Listing,
    Paragraph,
    Table,
    table,
)
from scalecurve.errors import one_line
from scalecurve.findings import Severity
from scalecurve.forecasting.forecast import Forecast
from scalecurve.forecasting.rows import band
from scalecurve.render.curve_plots import curve, multiples_size, phase_bars, rank_heat
from scalecurve.render.plots import Picture
from scalecurve.render.report.material import Material, Part, Refusal
from scalecurve.study import Regime, Study
from scalecurve.study.file import count_steps
from scalecurve.study.study import what_scales
from scalecurve.words import limit_words, percent, workers_text

MOST_RAW = 20_000  # observations carried in the page
MOST_SHOWN = 12  # observations of each K in the table
MOST_ROWS = 16  # of the table at the front; the appendix has all of them
PANEL = (4.3, 3.7)  # inches of one panel of a curve, which a phone and half a desk can show
PLAIN_DOWNLOAD = 60_000  # bytes; larger files are packed
FRONT = {  # how many blocks of a part stand at the front, and the title of the others in the appendix
    "why": (1, "The evidence for the cause"),
    "forecast": (4, "How the forecast was made"),
    "cost": (2, "What each K costs"),
}


@dataclass(frozen=True, kw_only=True)
class Download:
    """A file inside the page."""

    name: str
    content: bytes
    words: str
    media: str = "application/json"

    @property
    def data_uri(self) -> str:
        return f"data:{self.media};base64,{base64.b64encode(self.content).decode()}"


Content = Block | Picture | Download


@dataclass(frozen=True, kw_only=True)
class Section:
    """Text blocks and pictures under one heading; a folded one stands in the appendix and opens on demand."""

    key: str
    title: str
    contents: tuple[Content, ...]
    folded: bool = False

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(content for content in self.contents if not isinstance(content, Picture | Download))

    @property
    def shown(self) -> tuple[Block | Picture, ...]:
        """Everything but the downloads."""
        return tuple(content for content in self.contents if not isinstance(content, Download))

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return tuple(content for content in self.contents if isinstance(content, Picture))


class Tile(NamedTuple):
    """A figure that decides, and what it means."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class StudyPart:
    """One study's part of the page."""

    name: str
    answer: tuple[str, ...]
    sections: tuple[Section, ...]
    tiles: tuple[Tile, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """The whole report: the answer about many studies, the sections that the studies share, then each study's part."""

    title: str
    subtitle: str
    answer: tuple[str, ...] = ()
    tiles: tuple[Tile, ...] = ()
    parts: tuple[StudyPart, ...]
    shared: tuple[Section, ...] = ()
    paper: str = "a4"

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return tuple(content for content in self.contents if isinstance(content, Picture))

    @property
    def contents(self) -> Iterator[Block | Picture]:
        """Text and pictures in reading order, for the formats without links and folds."""
        yield Paragraph(self.subtitle)
        if self.answer:
            yield from (Heading("The answer"), Paragraph(" ".join(self.answer)))
        for section in self.shared:
            yield from (Heading(section.title), *section.shown)
        for part in self.parts:
            name = f": {part.name}" if len(self.parts) > 1 else ""
            yield from (Heading(f"The answer{name}"), Paragraph(" ".join(part.answer)))
            for section in part.sections:
                yield from (Heading(section.title + name), *section.shown)


def useful_row(material: Material) -> TableRow | None:
    """The row of the largest K that the answer recommends; None where it names no measured K before the bend."""
    own = material.table
    useful = [row for row in own.rows if own.bend is None or row.k < own.bend.k][-1:]
    if material.fault or not useful or workers_text(useful[0].k, own.k_unit) not in own.answer.decision:
        return None
    return useful[0]


def tiles_of(material: Material) -> tuple[Tile, ...]:
    """The largest useful K, the speedup and what a result costs there; nothing where the answer names no such K."""
    own, row = material.table, useful_row(material)
    if row is None:
        return ()
    base, shown = own.baseline_k, percent(row.efficiency.value, own.threshold)
    is_weak = own.regime is Regime.WEAK
    gain = "scaled speedup" if is_weak else "speedup"
    last = Tile("efficiency there", shown, f"the curve bends below {limit_words(own.threshold)}")
    for priced in getattr(material.cost, "rows", ()):
        if priced.k == row.k:
            from scalecurve.planning.tariff import format_money

            bill = format_money(priced.job_cost.value, material.cost.tariff.currency)  # type: ignore[union-attr]
            bill = f"${bill.removesuffix(' USD')}" if bill.endswith(" USD") else bill
            work = f"of the work that {workers_text(base, own.k_unit)} did" if is_weak else "of one result"
            last = Tile("cost per result" if is_weak else "cost there", bill, work)
    return (
        Tile("largest useful K", workers_text(row.k, own.k_unit), "the last K measured before the bend"),
        Tile(
            f"{gain} {'there' if base == 1 else f'over {base:,}'}",
            f"{row.speedup.value / base:.3g}",
            f"efficiency {shown}",
        ),
        last,
    )


def sections_of(material: Material) -> tuple[Section, ...]:
    """Everything but the answer, in reading order: what a reader needs at once, then the appendix, folded."""
    table_blocks = without_findings(material.table.body().all_blocks)
    is_long = len(material.table.rows) > MOST_ROWS
    whole = Section(key="table-rest", title=f"The table at all {len(material.table.rows)} K", contents=table_blocks)
    sections = (
        curve_section(material),
        Section(key="table", title="The table", contents=shortened(table_blocks, material.table)),
        part_section("why", "Why it bends" if material.table.bend else "What limits it", material.diagnosis),
        forecast_section(material),
        cost_section(material),
        part_section("proposal", "The proposal", material.proposal),
        history_section(material),
        findings_section(material),
    )
    fronts, behind = zip(*(split(section) for section in sections if section is not None), strict=True)
    appendix = (
        whole if is_long else None,
        *behind,
        phase_section(material.study),
        rank_section(material.study),
        part_section("fits", "Laws fitted to the data", material.fits),
        part_section("checklist", "The checklist", material.audit),
        notes_section(material),
        provenance_section(material.study),
        raw_section(material.study),
        reproduce_section(material),
    )
    return fronts + tuple(replace(section, folded=True) for section in appendix if section is not None)


def split(section: Section) -> tuple[Section, Section | None]:
    """What a reader needs at once, and the blocks behind it for the appendix; None where there are none."""
    count, title = FRONT.get(section.key, (len(section.contents), ""))
    rest = section.contents[count:]
    behind = Section(key=f"{section.key}-rest", title=title, contents=rest) if rest else None
    return replace(section, contents=section.contents[:count]), behind


def shortened(blocks: Sequence[Block], own: SpeedupTable) -> tuple[Block, ...]:
    """The blocks of a table; of many K it shows the ends, those next to doublings, and those at the bend."""
    workers = [row.k for row in own.rows]
    if len(workers) <= MOST_ROWS:
        return tuple(blocks)
    doublings = [workers[0] << power for power in range((workers[-1] // workers[0]).bit_length())]
    near = {min(workers, key=lambda k: max(k / doubling, doubling / k)) for doubling in doublings}
    bend = workers.index(own.bend.k) if own.bend else 0
    kept = near | {workers[0], workers[-1], *workers[max(bend - 1, 0) : bend + 1]}
    words = f"{len(kept)} of {len(workers)} K: the ends, doublings and the bend; the appendix has all."
    shown: list[Block] = []
    for block in blocks:
        if isinstance(block, Table) and len(block.rows) == len(workers):
            rows = tuple(row for row, k in zip(block.rows, workers, strict=True) if k in kept)
            shown += [replace(block, rows=rows), Paragraph(words, "muted")]
        else:
            shown.append(block)
    return tuple(shown)


def without_findings(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks of a result; its findings stand once, in the section of all findings."""
    return tuple(block for block in blocks if not isinstance(block, FindingList))


def part_section(key: str, title: str, part: Part) -> Section | None:
    """A result as it shows itself, or the reason for its refusal."""
    if part is None:
        return None
    if isinstance(part, Refusal):
        return Section(key=key, title=title, contents=(Paragraph(f"Refused: {part.reason}", "warn"),))
    return Section(key=key, title=title, contents=without_findings(part.document().section))


def curve_section(material: Material) -> Section:
    rows = material.forecast.rows if isinstance(material.forecast, Forecast) else ()
    ahead = [bounds for row in rows if row.extrapolation > 1 and (bounds := band(row)) is not None]
    return Section(key="curve", title=curve_title([material.table]), contents=curve_pictures([material.table], ahead))


def curve_title(tables: Sequence[SpeedupTable]) -> str:
    return "Speedup against the ideal line" if tables[0].regime is Regime.STRONG else "Efficiency against the flat line"


def curve_pictures(tables: Sequence[SpeedupTable], ahead: Sequence[dict[str, Any]] = ()) -> tuple[Picture, ...]:
    """The plot that fits the regime; under strong scaling the efficiency beside it, over the same K."""
    tail = " A band shows the forecast." if ahead else ""
    quantities = ("speedup", "efficiency") if tables[0].regime is Regime.STRONG else ("efficiency",)
    alts = [_points_in_words(tables, what) + tail for what in quantities]
    if len(tables) > 2:
        wide = multiples_size(len(tables))
        painter = partial(curve, tables=tables)
        return (Picture(name="curve", alt=alts[0], painter=painter, wide=wide, narrow=(3.7, wide[1])),)
    painter = partial(curve, tables=tables, forecast=ahead, panels=quantities)
    if len(quantities) == 1:
        return (Picture(name="curve", alt=alts[0], painter=painter, wide=(7.6, 3.9), narrow=(3.7, 3.5)),)
    panels = tuple(
        Picture(name=what, alt=alt, painter=partial(painter, panels=(what,)), wide=PANEL)
        for what, alt in zip(quantities, alts, strict=True)
    )
    return (Picture(name="curve", alt=" ".join(alts), painter=painter, wide=(9.4, 3.9), panels=panels),)


def _points_in_words(tables: Sequence[SpeedupTable], what: str) -> str:
    """The points of a plot, for those who cannot see them."""
    words = "Speedup by K against the diagonal S = K." if what == "speedup" else "Efficiency by K against 1."
    for own in tables[:8]:
        points = ", ".join(f"{getattr(row, what).value:.3g} at K = {row.k}" for row in own.rows[:16])
        words += f" {own.name[:60]}: {points}; {f'bend at K = {own.bend.k}' if own.bend else 'no bend'}."
    return words


def phase_section(study: Study) -> Section | None:
    rows = phase_shares(study)
    if not rows:
        return None
    names = list(dict.fromkeys(name for row in rows for name in row.shares))
    cells = [[f"{row.shares[name]:.1%}" if name in row.shares else None for name in names] for row in rows]
    shares = table(["K", *names], [[str(row.k), *own] for row, own in zip(rows, cells, strict=True)])
    alt = f"Shares of a rank's time by K, stacked: {', '.join(names)}. The numbers are in the table below."
    picture = Picture(name="phases", alt=alt, painter=lambda figure: phase_bars(figure, rows))
    return Section(key="time", title="Where the time goes", contents=(picture, shares))


def rank_section(study: Study) -> Section | None:
    strips = rank_strips(study)
    if not strips:
        return None
    rows = []
    for strip in strips:
        low, high = min(strip.relative), max(strip.relative)
        slowest = strip.relative.index(high)
        rows.append([str(strip.k), str(len(strip.relative)), f"{low:.3f}", f"{high:.3f}", str(slowest)])
    shares = table(["K", "ranks", "fastest / mean", "slowest / mean", "slowest rank"], rows)
    slow = "; ".join(f"K = {k}: slowest is rank {rank} at {high}" for k, _, _, high, rank in rows)
    alt = f"Each rank's time over the mean of its run, one line per K. {slow}"
    height = 1.6 + 0.32 * len(strips)
    painter = partial(rank_heat, strips=strips)
    picture = Picture(name="ranks", alt=alt, painter=painter, wide=(7.6, height), narrow=(3.7, height))
    return Section(key="ranks", title="Rank by rank", contents=(picture, shares))


def forecast_section(material: Material) -> Section | None:
    """The forecast, its table marked as assumed: nobody measured it.  A bend that was measured stands in the table."""
    section = part_section("forecast", "Forecast beyond the data", material.forecast)
    if section is None or not isinstance(material.forecast, Forecast):
        return section
    bend = material.forecast.bend
    sentence = bend.sentence(material.forecast.view.largest_k) if bend.measured else None
    first = next((block for block in section.blocks if isinstance(block, Table)), None)
    contents: list[Content] = []
    for block in section.contents:
        if block is first and isinstance(block, Table):
            rows = tuple((row[0], *(replace(cell, tone="assumed") for cell in row[1:])) for row in block.rows)
            contents.append(replace(block, rows=rows))
        elif not (isinstance(block, Paragraph) and block.text == sentence):
            contents.append(block)
    return replace(section, contents=tuple(contents))


def cost_section(material: Material) -> Section | None:
    """The choices, then cost against time as a picture and a table."""
    section = part_section("cost", "What it costs", material.cost)
    if section is None:
        return None
    from scalecurve.planning.cost import Cost  # late: few reports have a price
    from scalecurve.render.planning_plots import paint_cost

    if not isinstance(material.cost, Cost):
        return section
    costs = material.cost
    points = ", ".join(f"K = {row.k}: {row.cost.value:.4g} in {row.elapsed.value:.4g} s" for row in costs.rows[:16])
    painter = partial(paint_cost, result=costs, title=False)
    picture = Picture(name="cost", alt=f"Cost against time. {points}.", painter=painter)
    front = FRONT["cost"][0]
    return replace(section, contents=(*section.contents[:front], picture, *section.contents[front:]))


def history_section(material: Material) -> Section | None:
    """T and E over the commits of a history of checks, changes marked."""
    section = part_section("history", "Over the commits", material.history)
    if section is None:
        return None
    from scalecurve.auditing.history import History  # late: few reports have one
    from scalecurve.render.planning_plots import paint_history

    if not isinstance(material.history, History):
        return section
    past = material.history
    changes = "; ".join(map(str, past.changes)) or "no change beyond noise"
    alt = f"T and E of each K over {len(past.entries)} checks: {changes}. The numbers are in the table below."
    picture = Picture(name="history", alt=alt, painter=lambda figure: paint_history(figure, past), wide=(7.6, 6.0))
    return replace(section, contents=(picture, *section.contents))


def findings_section(material: Material) -> Section:
    """Errors and warnings; what is only to be known stands in the appendix."""
    grave = tuple(finding for finding in material.findings if finding.severity is not Severity.INFO)
    block: Block = FindingList(grave) if grave else Paragraph("There are no warnings.")
    return Section(key="findings", title=f"Findings ({len(grave)})", contents=(block,))


def notes_section(material: Material) -> Section | None:
    """Findings of the severity info."""
    notes = tuple(finding for finding in material.findings if finding.severity is Severity.INFO)
    title = f"Further notes ({len(notes)})"
    return Section(key="notes", title=title, contents=(FindingList(notes),)) if notes else None


def provenance_section(study: Study) -> Section:
    job, origin, base = study.workload, study.provenance, study.baseline
    facts: list[tuple[str, Any]] = [
        ("workload", job.name),
        ("described as", job.description),
        ("command", " ".join(job.command) or None),
        ("held fixed", what_scales(study.regime, study.k_unit, study.findings)),
        ("total work", job.total),
        ("work per worker", job.per_worker),
        ("unit of work", job.work_unit),
        ("baseline", f"K0 = {study.baseline_k}" + (f", {base.description}" if base.description else "")),
        ("warm-up", str(study.warmup)),
        ("set-up", str(study.setup)),
        ("source", origin.source),
        ("tool", " ".join(filter(None, (origin.tool, origin.tool_version))) or None),
        ("created", origin.created),
        ("launcher", origin.launcher),
        ("timing", origin.timing),
        ("seed", origin.seed),
        *((f"machine: {name}", value) for name, value in origin.machine.items()),
        *((f"software: {name}", value) for name, value in origin.software.items()),
        *((f"setting: {name}", value) for name, value in origin.settings.items()),
        *(("note", note) for note in origin.notes),
    ]
    rows = []
    for name, value in facts:
        text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
        rows.append((Cell(name), Cell("not stated", "muted") if value is None else Cell(text)))
    block = table([Column("fact", "left"), Column("value", "left")], rows)
    return Section(key="provenance", title="Where the numbers come from", contents=(block,), folded=True)


def raw_section(study: Study) -> Section:
    """The observations as a download and a table, or their hash where there are too many for a page."""
    number = len(study.samples) + count_steps(study.runs)
    contents: tuple[Content, ...]
    if number > MOST_RAW:
        digest = hashlib.sha256(study.samples.k.tobytes() + study.samples.values.tobytes()).hexdigest()
        source = study.provenance.source or study.name[:80]
        words = (
            f"{number:,} raw observations are too many for this page (the limit is {MOST_RAW:,}). "
            f"They are in {source}; the SHA-256 of K and values in order is {digest}."
        )
        contents = (Paragraph(words),)
    else:
        words = f"{len(study.samples):,} observations in the order they were measured; scalecurve reads this file."
        text = json.dumps(study.to_dict(), allow_nan=False, default=str).encode()
        download = Download(name="study.json", content=text, words="Download study.json")
        if len(text) > PLAIN_DOWNLOAD:
            name, packed = "study.json.gz", gzip.compress(text, mtime=0)
            words_link = "Download study.json.gz (gunzip it)"
            download = Download(name=name, content=packed, words=words_link, media="application/gzip")
        rows = []
        for k, values in study.samples.by_k().items():
            first = ", ".join(f"{value:.6g}" for value in values[:MOST_SHOWN])
            more = f", ... {len(values) - MOST_SHOWN} more" if len(values) > MOST_SHOWN else ""
            rows.append([str(k), str(len(values)), first + more])
        samples = table(["K", "n", Column(f"{str(study.quantity).replace('_', ' ')} of each run", "left")], rows)
        contents = (Paragraph(words), download, samples)
    return Section(key="raw", title="Raw samples", contents=contents, folded=True)


def reproduce_section(material: Material) -> Section:
    lines = [material.command] if material.command else []
    if material.study.workload.command:
        lines.append(f"# the job itself: {one_line(' '.join(material.study.workload.command))[:400]}")
    lines.append("# the table alone: scalecurve table study.json")
    head = Paragraph("Save the raw samples of this page as study.json; then run:")
    contents: tuple[Content, ...] = (head, Listing("\n".join(lines)))
    if material.version:
        contents = (*contents, Paragraph(f"Written by {material.version}.", "muted"))
    return Section(key="reproduce", title="How to reproduce this page", contents=contents)
