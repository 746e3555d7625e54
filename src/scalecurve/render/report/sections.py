"""The sections of a report; each is made from a result, or is not there when the result is not."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from scalecurve.analysis import SpeedupTable
from scalecurve.analysis.table import bend_sentence
from scalecurve.diagnosis.phases import phase_shares, rank_strips
from scalecurve.document import Block, Cell, Column, FindingList, Listing, Paragraph, Table, one_line, table
from scalecurve.forecasting.forecast import Forecast, band
from scalecurve.planning.cost import CostTable
from scalecurve.render.report import pictures
from scalecurve.render.report.material import Material, Part, Refusal
from scalecurve.render.report.section import Content, Download, Picture, Section
from scalecurve.study import Regime, Study
from scalecurve.study.sidecar import count_steps

MOST_RAW = 20_000
PLAIN_DOWNLOAD = 60_000  # bytes; larger files are packed


def sections_of(material: Material) -> tuple[Section, ...]:
    """Everything but the answer, in reading order."""
    makers: tuple[Callable[[Material], Section | None], ...] = (
        curve_section,
        table_section,
        time_section,
        rank_section,
        diagnosis_section,
        fit_section,
        forecast_section,
        cost_section,
        proposal_section,
        checklist_section,
        findings_section,
        provenance_section,
        raw_section,
        reproduce_section,
    )
    return tuple(section for make in makers if (section := make(material)) is not None)


def curve_section(material: Material) -> Section:
    found = material.table
    ahead = forecast_rows(material.forecast)
    held = found.regime.held_fixed
    words = (
        f"{found.name[:80]}: {found.regime} scaling, {held}; baseline K0 = {found.baseline_k}. {bend_sentence(found)}"
    )
    return Section(
        key="curve", title=curve_title([found]), contents=(*curve_pictures([found], ahead), Paragraph(words))
    )


def curve_title(tables: Sequence[SpeedupTable]) -> str:
    return "Speedup against the ideal line" if tables[0].regime is Regime.STRONG else "Efficiency against the flat line"


def curve_pictures(tables: Sequence[SpeedupTable], ahead: Sequence[dict[str, Any]] = ()) -> tuple[Picture, ...]:
    """The plot that fits the regime; under strong scaling the efficiency beside it."""
    main = Picture(
        name="curve", alt=_curve_alt(tables, ahead), painter=lambda figure: pictures.curve(figure, tables, ahead)
    )
    if tables[0].regime is Regime.WEAK:
        return (main,)
    words = f"Efficiency by K. {_listed(tables, 'efficiency')}"
    beside = Picture(name="efficiency", alt=words, painter=lambda figure: pictures.efficiency(figure, tables, ahead))
    return (main, beside)


def _curve_alt(tables: Sequence[SpeedupTable], ahead: Sequence[dict[str, Any]]) -> str:
    weak = tables[0].regime is Regime.WEAK
    what, ideal = ("efficiency", "the flat line at 1") if weak else ("speedup", "the diagonal S = K")
    text = f"{what.capitalize()} by K against {ideal}. {_listed(tables, what)}"
    return text + (f" A forecast band reaches to K = {ahead[-1]['k']}." if ahead else "")


def _listed(tables: Sequence[SpeedupTable], what: str) -> str:
    lines = []
    for each in tables:
        points = ", ".join(f"{getattr(row, what).value:.3g} at K = {row.k}" for row in each.rows[:16])
        bend = f"; bend at K = {each.bend.k}" if each.bend else "; no bend"
        lines.append(f"{each.name[:60]}: {points}{bend}.")
    return " ".join(lines)


def forecast_rows(part: Part) -> list[dict[str, Any]]:
    """The rows of a forecast beyond the data that were not refused, as bands."""
    rows = part.rows if isinstance(part, Forecast) else ()
    return [made for row in rows if row.extrapolation > 1 and (made := band(row)) is not None]


def table_section(material: Material) -> Section:
    blocks = material.table.document().blocks
    kept = tuple(block for block in blocks if not isinstance(block, FindingList))
    return Section(key="table", title="The table", contents=kept)


def time_section(material: Material) -> Section | None:
    rows = phase_shares(material.study)
    if not rows:
        return None
    names = list(dict.fromkeys(name for row in rows for name in row.shares))
    shown = table(["K", *names], [[str(row.k), *(_percent(row.shares.get(name)) for name in names)] for row in rows])
    alt = f"Shares of a rank's time by K, stacked: {', '.join(names)}. The numbers are in the table below."
    picture = Picture(name="phases", alt=alt, painter=lambda figure: pictures.phases(figure, rows))
    return Section(key="time", title="Where the time goes", contents=(picture, shown))


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"


def rank_section(material: Material) -> Section | None:
    strips = rank_strips(material.study)
    if not strips:
        return None
    rows = [
        [str(strip.k), str(len(strip.relative)), f"{min(strip.relative):.3f}", f"{max(strip.relative):.3f}",
         str(strip.relative.index(max(strip.relative)))]
        for strip in strips
    ]  # fmt: skip
    shown = table(["K", "ranks", "fastest / mean", "slowest / mean", "slowest rank"], rows)
    alt = "Each rank's time over the mean of its run, one line per K. " + "; ".join(
        f"K = {row[0]}: slowest is rank {row[4]} at {row[3]}" for row in rows
    )
    size = 1.6 + 0.32 * len(strips)
    picture = Picture(
        name="ranks",
        alt=alt,
        painter=lambda figure: pictures.heat_strip(figure, strips),
        wide=(7.6, size),
        narrow=(3.7, size),
    )
    return Section(key="ranks", title="Rank by rank", contents=(picture, shown))


def diagnosis_section(material: Material) -> Section | None:
    return part_section("why", "Why it bends", material.diagnosis)


def fit_section(material: Material) -> Section | None:
    return part_section("fits", "Laws fitted to the data", material.fits)


def forecast_section(material: Material) -> Section | None:
    """Forecasts are set as assumed: nobody measured them."""
    section = part_section("forecast", "Forecast beyond the data", material.forecast)
    first = next((each for each in section.contents if isinstance(each, Table)), None) if section else None
    if section is None or first is None:
        return section
    rows = tuple((row[0], *(replace(cell, tone="assumed") for cell in row[1:])) for row in first.rows)
    shown = tuple(replace(each, rows=rows) if each is first else each for each in section.contents)
    return replace(section, contents=shown)


def cost_section(material: Material) -> Section | None:
    section = part_section("cost", "What it costs", material.cost)
    if section is None or not isinstance(material.cost, CostTable):
        return section
    priced = material.cost
    points = ", ".join(f"K = {row.k}: {row.cost.value:.4g} in {row.elapsed.value:.4g} s" for row in priced.rows[:16])
    picture = Picture(
        name="cost", alt=f"Cost against time. {points}.", painter=lambda figure: pictures.money(figure, priced)
    )
    return replace(section, contents=(picture, *section.contents))


def proposal_section(material: Material) -> Section | None:
    return part_section("proposal", "The proposal", material.proposal)


def checklist_section(material: Material) -> Section | None:
    return part_section("checklist", "The checklist", material.audit)


def part_section(key: str, title: str, part: Part) -> Section | None:
    """A result shows itself; findings are left to their own section, where all of them stand once."""
    if part is None:
        return None
    if isinstance(part, Refusal):
        return Section(key=key, title=title, contents=(Paragraph(f"Refused: {part.reason}", "warn"),))
    blocks = part.document().blocks
    kept: tuple[Content, ...] = tuple(block for block in blocks if not isinstance(block, FindingList))
    return Section(key=key, title=title, contents=kept)


def findings_section(material: Material) -> Section:
    found = material.findings
    block: Block = FindingList(found) if found else Paragraph("Nothing was found that a reader must be warned of.")
    return Section(key="findings", title=f"Findings ({len(found)})", contents=(block,))


def provenance_section(material: Material) -> Section:
    return Section(
        key="provenance", title="Where the numbers come from", contents=(_facts(material.study),), folded=True
    )


def _facts(study: Study) -> Table:
    job, origin, base = study.workload, study.provenance, study.baseline
    plain_facts: list[tuple[str, Any]] = [
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
    rows = [(Cell(name), Cell(_fact(value), "plain" if value is not None else "muted")) for name, value in plain_facts]
    return table([Column("fact", "left"), Column("value", "left")], rows)


def _fact(value: Any) -> str:
    if value is None:
        return "not stated"
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def raw_section(material: Material) -> Section:
    study = material.study
    count = len(study.samples) + count_steps(study.runs)
    if count > MOST_RAW:
        words = (
            f"{count:,} raw observations are too many to carry in this page (the limit is {MOST_RAW:,}). They are in "
            f"{study.provenance.source or study.name[:80]}; the SHA-256 over K and values in order is {_digest(study)}."
        )
        return Section(key="raw", title="Raw samples", contents=(Paragraph(words),), folded=True)
    words = f"{len(study.samples):,} observations, as they were made; the file can be read again by scalecurve."
    return Section(
        key="raw",
        title="Raw samples",
        contents=(Paragraph(words), _download(study), _samples_table(study)),
        folded=True,
    )


def _digest(study: Study) -> str:
    joined = hashlib.sha256(study.samples.k.tobytes())
    joined.update(study.samples.values.tobytes())
    return joined.hexdigest()


def _download(study: Study) -> Download:
    text = json.dumps(study.to_dict(), allow_nan=False, default=str).encode()
    if len(text) <= PLAIN_DOWNLOAD:
        return Download(name="study.json", content=text, words="Download study.json")
    packed = gzip.compress(text, mtime=0)
    return Download(
        name="study.json.gz", content=packed, words="Download study.json.gz (gunzip it)", media="application/gzip"
    )


def _samples_table(study: Study, most: int = 12) -> Table:
    """The first values of each K; all of them are in the download."""
    rows = []
    for k, values in study.samples.by_k().items():
        shown = ", ".join(f"{value:.6g}" for value in values[:most])
        more = f", ... {len(values) - most} more" if len(values) > most else ""
        rows.append([str(k), str(len(values)), shown + more])
    return table(["K", "n", Column(str(study.quantity).replace("_", " "), "left")], rows)


def reproduce_section(material: Material) -> Section:
    lines = [material.command] if material.command else []
    job = material.study.workload
    if job.command:
        lines.append(f"# the job itself: {one_line(' '.join(job.command))[:400]}")
    lines.append("# the table alone: scalecurve table study.json")
    made = f"Made by {material.made}." if material.made else None
    contents: list[Content] = [
        Paragraph("Save the raw samples of this page as study.json; then:"),
        Listing("\n".join(lines)),
    ]
    return Section(
        key="reproduce",
        title="How to reproduce this page",
        contents=(*contents, *([Paragraph(made, "muted")] if made else [])),
    )
