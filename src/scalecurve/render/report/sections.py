"""The sections of a report; each is made from a result, and left out where there is no result."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from scalecurve.analysis import SpeedupTable
from scalecurve.analysis.table import bend_sentence
from scalecurve.diagnosis.phases import phase_shares, rank_strips
from scalecurve.document import Block, Cell, Column, FindingList, Listing, Paragraph, Table, one_line, table
from scalecurve.forecasting.forecast import Forecast
from scalecurve.forecasting.rows import band
from scalecurve.planning.cost import Cost
from scalecurve.render.planning_plots import cost_in_report
from scalecurve.render.plots import Picture, curve, phase_bars, rank_heat
from scalecurve.render.report.material import Material, Part, Refusal
from scalecurve.render.report.page import Content, Download, Section
from scalecurve.study import Regime, Study
from scalecurve.study.file import count_steps

MOST_RAW = 20_000  # observations carried in the page
MOST_SHOWN = 12  # observations of each K in the table
PLAIN_DOWNLOAD = 60_000  # bytes; larger files are packed


def sections_of(material: Material) -> tuple[Section, ...]:
    """Everything but the answer, in reading order."""
    sections = (
        curve_section(material),
        Section(key="table", title="The table", contents=without_findings(material.table.document().blocks)),
        phase_section(material.study),
        rank_section(material.study),
        part_section("why", "Why it bends", material.diagnosis),
        part_section("fits", "Laws fitted to the data", material.fits),
        forecast_section(material),
        cost_section(material),
        part_section("proposal", "The proposal", material.proposal),
        part_section("checklist", "The checklist", material.audit),
        findings_section(material),
        provenance_section(material.study),
        raw_section(material.study),
        reproduce_section(material),
    )
    return tuple(section for section in sections if section is not None)


def without_findings(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks of a result; its findings stand once, in the section of all findings."""
    return tuple(block for block in blocks if not isinstance(block, FindingList))


def part_section(key: str, title: str, part: Part) -> Section | None:
    """A result as it shows itself, or the reason for its refusal."""
    if part is None:
        return None
    if isinstance(part, Refusal):
        return Section(key=key, title=title, contents=(Paragraph(f"Refused: {part.reason}", "warn"),))
    return Section(key=key, title=title, contents=without_findings(part.document().blocks))


def curve_section(material: Material) -> Section:
    own = material.table
    rows = material.forecast.rows if isinstance(material.forecast, Forecast) else ()
    ahead = [bounds for row in rows if row.extrapolation > 1 and (bounds := band(row)) is not None]
    held = f"{own.regime} scaling, {own.regime.held_fixed}; baseline K0 = {own.baseline_k}"
    words = Paragraph(f"{own.name[:80]}: {held}. {bend_sentence(own)}")
    return Section(key="curve", title=curve_title([own]), contents=(*curve_pictures([own], ahead), words))


def curve_title(tables: Sequence[SpeedupTable]) -> str:
    return "Speedup against the ideal line" if tables[0].regime is Regime.STRONG else "Efficiency against the flat line"


def curve_pictures(tables: Sequence[SpeedupTable], ahead: Sequence[dict[str, Any]] = ()) -> tuple[Picture, ...]:
    """The plot that fits the regime; under strong scaling the efficiency beside it."""
    is_strong = tables[0].regime is Regime.STRONG
    heads = {"speedup": "Speedup by K against the diagonal S = K.", "efficiency": "Efficiency by K."}
    if not is_strong:
        heads = {"efficiency": "Efficiency by K against the flat line at 1."}
    pictures: list[Picture] = []
    for what, head in heads.items():
        is_main = not pictures
        alt = head
        for own in tables:  # the points in words, for those who cannot see them
            points = ", ".join(f"{getattr(row, what).value:.3g} at K = {row.k}" for row in own.rows[:16])
            alt += f" {own.name[:60]}: {points}; {f'bend at K = {own.bend.k}' if own.bend else 'no bend'}."
        alt += f" A forecast band reaches to K = {ahead[-1]['k']}." if ahead and is_main else ""
        name = "curve" if is_main else what
        painter = partial(curve, tables=tables, forecast=ahead, what=what)
        pictures.append(Picture(name=name, alt=alt, painter=painter))
    return tuple(pictures)


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
    sizes = {"wide": (7.6, height), "narrow": (3.7, height)}
    picture = Picture(name="ranks", alt=alt, painter=lambda figure: rank_heat(figure, strips), **sizes)
    return Section(key="ranks", title="Rank by rank", contents=(picture, shares))


def forecast_section(material: Material) -> Section | None:
    """The forecast, its table marked as assumed: nobody measured it."""
    section = part_section("forecast", "Forecast beyond the data", material.forecast)
    first = next((block for block in section.blocks if isinstance(block, Table)), None) if section else None
    if section is None or first is None:
        return section
    rows = tuple((row[0], *(replace(cell, tone="assumed") for cell in row[1:])) for row in first.rows)
    contents = tuple(replace(first, rows=rows) if block is first else block for block in section.contents)
    return replace(section, contents=contents)


def cost_section(material: Material) -> Section | None:
    section = part_section("cost", "What it costs", material.cost)
    if section is None or not isinstance(material.cost, Cost):
        return section
    costs = material.cost
    points = ", ".join(f"K = {row.k}: {row.cost.value:.4g} in {row.elapsed.value:.4g} s" for row in costs.rows[:16])
    alt = f"Cost against time. {points}."
    picture = Picture(name="cost", alt=alt, painter=lambda figure: cost_in_report(figure, costs))
    return replace(section, contents=(picture, *section.contents))


def findings_section(material: Material) -> Section:
    findings = material.findings
    block: Block = FindingList(findings) if findings else Paragraph("There are no warnings.")
    return Section(key="findings", title=f"Findings ({len(findings)})", contents=(block,))


def provenance_section(study: Study) -> Section:
    job, origin, base = study.workload, study.provenance, study.baseline
    facts: list[tuple[str, Any]] = [
        ("workload", job.name),
        ("described as", job.description),
        ("command", " ".join(job.command) or None),
        ("held fixed", study.regime.held_fixed),
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
        samples = table(["K", "n", Column(str(study.quantity).replace("_", " "), "left")], rows)
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
