"""The report: what it says, that it needs nothing else, and that no name in a study can act."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.auditing.history import append_entry
from scalecurve.document import Document, Heading, Paragraph, Table, table
from scalecurve.errors import InputError, MissingExtra
from scalecurve.findings import error
from scalecurve.render import html
from scalecurve.render.markup import latex_table, latex_text
from scalecurve.render.report.material import Material, Refusal, answer, gather
from scalecurve.render.report.sections import raw_section, sections_of
from scalecurve.render.report.writing import page_of, write, write_report
from scalecurve.study import Provenance, RankRecord, Regime, Run, Study, StudySet, Workload

WORKERS = (1, 2, 4, 8, 16, 32, 64)
LIMIT = 600_000
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'`\u202e\u200f&$\\{{7*7}}" + "x" * 10_000


def study(name: str = "a step", regime: str = "strong", repeats: int = 5, **more: object) -> Study:
    rng = np.random.default_rng(7)
    means = {k: (0.04 + 0.96 / k if regime == "strong" else 1.0) + 0.01 * float(np.log2(k + 1)) for k in WORKERS}
    samples = {k: (mean * (1 + 0.02 * rng.standard_normal(repeats))).tolist() for k, mean in means.items()}
    return Study.from_samples(samples, regime=regime, name=name, k_unit="gpus", **more)


def ranked() -> Study:
    runs = [
        Run(
            k=k,
            value=1.0 / k + 0.05,
            repeat=i,
            ranks=tuple(
                RankRecord(rank=r, seconds=1.0 / k + 0.05, phases={"compute": 1.0 / k, "communication": 0.05})
                for r in range(k)
            ),
        )
        for k in (1, 2, 4)
        for i in range(3)
    ]
    return Study(regime=Regime.STRONG, runs=tuple(runs), workload=Workload(name="ranked", command=("python", "job.py")))


def material(of: Study, **parts: object) -> Material:
    return Material(study=of, table=sc.tabulate(of), **parts)  # type: ignore[arg-type]


def html_of(*materials: Material, folder: Path) -> str:
    path = folder / "report.html"
    write(path, list(materials))
    return path.read_text()


class Outline(HTMLParser):
    """Tags, addresses and visible text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_answer_is_that_of_the_table_and_comes_first(tmp_path: Path) -> None:
    own = material(study())
    said = answer(own)
    assert said[0] == own.table.answer.decision
    assert said[0].startswith("Use up to 4 GPUs: efficiency is ")
    text = Outline(html_of(own, folder=tmp_path)).text
    assert text.index(said[0]) < text.index("Speedup against the ideal line")


def test_weak_scaling_is_drawn_against_the_flat_line() -> None:
    assert sections_of(material(study(regime="weak")))[0].title == "Efficiency against the flat line"


def test_the_cause_is_the_decision_of_the_diagnosis() -> None:
    diagnosed = sc.diagnose(ranked())
    assert diagnosed.answer.decision in answer(material(ranked(), diagnosis=diagnosed))
    refused = answer(material(study(), diagnosis=Refusal("too few K.")))
    assert "The cause is unknown: too few K." in refused


def test_a_broken_study_is_answered_as_different_jobs_without_a_cause(tmp_path: Path) -> None:
    text = "broken: the total work was 10 at K = 1 and 20 at K = 2, so these are different jobs"
    broken = study().with_findings([error("work-differs", text, remedy="hold it fixed")])
    said = answer(gather(broken))
    assert said[0] == f"The study is {text}."
    assert said[1] == "A broken study has no cause to name."
    assert said[2] == "Hold it fixed; then measure again."
    shown = Outline(html_of(gather(broken), folder=tmp_path)).text
    assert "times as fast" not in shown[: shown.index("Speedup against the ideal line")]


def test_a_fault_that_does_not_say_what_it_means_is_told_as_different_jobs() -> None:
    broken = study().with_findings([error("answer-differs", "broken: the answer was a at K = 1 and b at K = 2")])
    said = answer(material(broken))
    assert said[0] == "The points are different jobs: the answer was a at K = 1 and b at K = 2."
    assert said[2] == "Fix this; then measure again."


def test_points_that_are_missing_do_not_break_the_others() -> None:
    cut = study().with_findings([error("interrupted", "the measurement was interrupted before its end")])
    assert answer(material(cut))[0].startswith("Use up to 4 GPUs")


def test_a_job_that_only_gets_slower_stays_at_its_baseline() -> None:
    slower = Study.from_samples({1: [1.0, 1.01, 0.99], 2: [1.5, 1.51, 1.49]}, regime="strong", k_unit="processes")
    said = answer(material(slower))
    assert said[0].endswith("more workers made this job slower.")


def test_studies_of_one_name_are_told_apart() -> None:
    assert page_of([material(study()), material(study())]).title == "a step (A) and a step (B)"
    old, new = (replace(study(), provenance=Provenance(source=f"runs/{name}.csv")) for name in ("old", "new"))
    page = page_of([material(old), material(new)])
    assert [part.name for part in page.parts] == ["a step (old)", "a step (new)"]
    assert page_of([material(study("one")), material(study("two"))]).title == "one and two"


def test_the_page_stands_alone_and_is_small(tmp_path: Path) -> None:
    page = Outline(html_of(gather(study(), price=2.5), folder=tmp_path))
    assert (tmp_path / "report.html").stat().st_size < LIMIT
    assert "script" not in page.tags
    assert "link" not in page.tags
    for name, value in page.attributes:
        if name in ("src", "href", "xlink:href", "action"):
            assert value.startswith(("#", "data:")), (name, value[:80])
    assert "url(http" not in (tmp_path / "report.html").read_text()


def test_every_part_is_there(tmp_path: Path) -> None:
    text = Outline(html_of(gather(study(), price=2.5), folder=tmp_path)).text
    for title in (
        "The answer", "Speedup against the ideal line", "The table", "Why it bends", "Laws fitted to the data",
        "Forecast beyond the data", "What it costs", "The checklist", "Findings", "Where the numbers come from",
        "Raw samples", "How to reproduce this page",
    ):  # fmt: skip
        assert title in text


def test_ranks_and_phases_are_shown_where_there_are_any(tmp_path: Path) -> None:
    text = Outline(html_of(material(ranked()), folder=tmp_path)).text
    assert "Where the time goes" in text
    assert "Rank by rank" in text


def test_a_refusal_stands_where_the_answer_would(tmp_path: Path) -> None:
    text = Outline(html_of(material(study(), forecast=Refusal("too few points")), folder=tmp_path)).text
    assert "Refused: too few points" in text


def test_every_plot_has_a_text_and_a_table(tmp_path: Path) -> None:
    page = html_of(gather(ranked()), folder=tmp_path)
    labels = re.findall(r'<svg role="img" aria-label="([^"]+)"', page)
    assert len(labels) == page.count("<svg ")
    assert all(len(label) > 40 for label in labels)
    for section in sections_of(material(ranked())):
        if section.pictures and section.key != "curve":  # the curve's numbers are the table right below it
            assert any(type(block).__name__ == "Table" for block in section.blocks), section.key


@pytest.mark.parametrize("kind", ["html", "md", "tex", "svg"])
def test_hostile_names_are_inert(tmp_path: Path, kind: str) -> None:
    own = study(name=HOSTILE, workload=Workload(name=HOSTILE, command=(HOSTILE,), description=HOSTILE))
    path = tmp_path / f"report.{kind}"
    write(path, [material(own)])
    text = re.sub(r"^```$.*?^```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)  # a fence is text
    text = text.replace("\\<", "")  # and so is an escaped bracket
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "\u202e" not in text
    if kind == "html":
        assert path.stat().st_size < LIMIT
        page = Outline(text)
        assert "script" not in page.tags
        assert "img" not in page.tags
        assert not [name for name, _ in page.attributes if name.startswith("on")]
        assert "x" * 1000 not in page.text


def test_characters_that_turn_or_hide_text_become_visible() -> None:
    assert html.visible("a\u202eb\x00c\u2066") == "a\\u202eb\\u0000c\\u2066"


def test_raw_samples_come_back_from_the_page(tmp_path: Path) -> None:
    own = study()
    page = html_of(material(own), folder=tmp_path)
    packed = re.search(r'download="study.json" href="data:application/json;base64,([^"]+)"', page)
    assert packed is not None
    again = tmp_path / "again.json"
    again.write_bytes(base64.b64decode(packed[1]))
    assert sc.load(again).samples == own.samples


def test_many_samples_are_packed_and_too_many_named_by_their_hash(tmp_path: Path) -> None:
    page = html_of(material(study(repeats=2500)), folder=tmp_path)
    assert len(page.encode()) < LIMIT
    packed = re.search(r'download="study.json.gz" href="data:application/gzip;base64,([^"]+)"', page)
    assert packed is not None
    assert len(json.loads(gzip.decompress(base64.b64decode(packed[1])))["samples"]["64"]) == 2500
    large = raw_section(study(repeats=3000))
    assert len(large.contents) == 1
    assert re.search(r"[0-9a-f]{64}", large.contents[0].text)  # type: ignore[union-attr]


def test_strong_beside_weak_is_not_compared_k_by_k(tmp_path: Path) -> None:
    write_report([study("fixed"), study("growing", "weak")], tmp_path / "both.md")

    text = (tmp_path / "both.md").read_text()
    assert "answer different questions" in text
    assert "Refused" not in text


def test_two_studies_stand_side_by_side(tmp_path: Path) -> None:
    page = page_of([material(study("one")), material(study("two"))])
    assert page.shared[0].key == "both"
    text = Outline(html_of(material(study("one")), material(study("two")), folder=tmp_path)).text
    assert "A = one; B = two" in text


def test_strong_and_weak_share_no_plot(tmp_path: Path) -> None:
    page = page_of([material(study("one")), material(study("two", regime="weak"))])
    assert not page.shared[0].pictures


def test_forecasts_look_different_from_measurements(tmp_path: Path) -> None:
    page = html_of(gather(study()), folder=tmp_path)
    forecast = page[page.index('id="forecast"') :]
    assert 'tone-assumed"' in forecast[: forecast.index("</table>")]
    measured = page[page.index('id="table"') : page.index('id="why"')]
    assert "tone-assumed" not in measured


@pytest.mark.parametrize("kind", ["md", "tex", "svg", "png"])
def test_other_formats_by_name(tmp_path: Path, kind: str) -> None:
    written = write(tmp_path / f"report.{kind}", [material(study())])
    assert all(path.stat().st_size > 500 for path in written)
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "tex": b"\\documentclass", "md": b"# a step"}
    assert written[0].read_bytes().startswith(starts[kind])


def test_the_same_study_gives_the_same_files(tmp_path: Path) -> None:
    for kind in ("html", "tex"):  # html holds the pictures
        first, second = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
        write(first, [material(study())])
        write(second, [material(study())])
        one = first.read_bytes().replace(b"a-curve", b"b-curve").replace(b"a-efficiency", b"b-efficiency")
        assert one == second.read_bytes(), kind


def test_latex_tables_are_booktabs_and_escaped() -> None:
    made = latex_table(table(["K", "100% & more_"], [["1", "a\\b$c"]], caption="#1"))
    assert "\\toprule" in made
    assert "|" not in made.partition("tabular}{")[2][:5]
    assert r"100\% \& more\_" in made
    assert r"a\textbackslash{}b\$c" in made
    assert latex_text("}\n{") == r"\}\textbackslash{}x0a\{"


def test_a_pdf_is_the_html_page_printed_by_the_browser_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "chromium"
    browser.write_text(
        "#!/bin/sh\n"
        'for word in "$@"; do case $word in\n'
        "  --print-to-pdf=*) to=${word#*=};; file:*) page=${word#file://};;\n"
        "esac; done\n"
        "grep -q 'Scaling report' \"$page\" && printf '%%PDF-1.4 printed' > \"$to\"\n"
    )
    browser.chmod(0o755)
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    monkeypatch.setenv("SCALECURVE_CHROMIUM", str(browser))
    assert write(tmp_path / "report.pdf", [material(study())])[0].read_bytes() == b"%PDF-1.4 printed"


def test_without_a_printer_one_sentence_says_how_to_get_a_pdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    monkeypatch.delenv("SCALECURVE_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtra, match=r"save the report as \.html.*scalecurve\[pdf\]"):
        write(tmp_path / "report.pdf", [material(study())])
    assert not (tmp_path / "report.pdf").exists()


def test_a_report_takes_paths_and_checks_the_ending(tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    sc.save(study(), path)
    assert write_report(path, tmp_path / "curve.svg") == [tmp_path / "curve.svg"]
    with pytest.raises(InputError, match="unknown report format"):
        write_report(path, tmp_path / "report.doc")
    with pytest.raises(InputError, match="at least one study"):
        write_report([], tmp_path / "report.html")


def test_a_document_alone_is_a_page_in_the_same_style() -> None:
    page = html.to_page(Document("title", (Heading("part"), Paragraph("text", "warn"))))
    assert "<h1><bdi>title</bdi></h1>" in page
    assert "<h2><bdi>part</bdi></h2>" in page
    assert html.stylesheet() in page
    assert html.fragment(Document("title", (Heading("part"),)), 3).count("<h") == 2


def test_a_history_adds_t_and_e_over_the_commits(tmp_path: Path) -> None:
    path = tmp_path / "checks.jsonl"
    rng = np.random.default_rng(2)
    for place in range(16):
        slower = 1.2 if place >= 9 else 1.0
        samples = {k: (slower / k * (1 + 0.01 * rng.standard_normal(5))).tolist() for k in (1, 2, 4)}
        made = Provenance(software={"git": {"commit": f"{place:02d}c0ffee"}}, created=f"2026-01-{place + 1:02d}")
        own = Study.from_samples(samples, regime="strong", name="job", provenance=made)
        append_entry(own, path, passed=True, line="PASS", drift=False)

    section = next(part for part in sections_of(gather(own, history=path)) if part.key == "history")
    text = str(Document(None, section.blocks))
    assert section.pictures[0].name == "history"
    assert "changed by +2" in text
    assert "09c0ffee" in text
    assert "E(4)" in text

    write_report(own, tmp_path / "report.html", history=path)
    assert "Over the commits" in (tmp_path / "report.html").read_text()
    refused = gather(study("another job"), history=path).history
    assert isinstance(refused, Refusal)
    assert "its checks are of job" in refused.reason
    with pytest.raises(InputError, match="no such history"):
        write_report(own, tmp_path / "report.html", history=tmp_path / "none.jsonl")


def test_the_sizes_of_a_grid_are_not_compared(tmp_path: Path) -> None:
    """Two sizes are two jobs: a comparison of them would be refused."""
    studies = sc.load_all(Path(__file__).parents[3] / "examples" / "hosts" / "grid.json")
    assert isinstance(studies, StudySet)
    two = StudySet(studies=dict(list(studies.studies.items())[:2]), axes=dict(list(studies.axes.items())[:2]))
    write_report(two, tmp_path / "two.md")
    assert "Compared K by K" not in (tmp_path / "two.md").read_text()


def test_a_table_of_many_k_is_short_at_the_front_and_whole_in_the_appendix() -> None:
    own = Study.from_samples({k: [0.02 + 1 / k] * 3 for k in range(1, 41)}, regime="strong")
    sections = {section.key: section for section in sections_of(material(own))}
    short, whole = ([b.rows for b in sections[key].blocks if isinstance(b, Table)] for key in ("table", "table-rest"))
    front = [row[0].text for row in short[0]]

    assert len(whole[0]) == 40
    assert sections["table-rest"].folded
    assert {"1", "2", "4", "8", "16", "32", "40"} <= set(front)
    assert len(front) <= 12


def test_several_curves_are_counted_and_named_as_a_reader_would() -> None:
    page = page_of([material(study(name)) for name in ("hydro", "fft", "lattice")])

    assert page.title == "hydro, fft and lattice"
    assert page.subtitle.endswith("35 observations from K = 1 to 64 GPUs on each curve.")


def test_clients_of_a_server_are_a_load_and_not_bought() -> None:
    samples = {1: [100.0], 2: [190.0], 4: [340.0]}
    own = Study.from_samples(samples, regime="strong", quantity="throughput", k_unit="clients")

    first = "Offer 4 clients or more: a throughput of 340, 3.4x that of 1; no load that was tried saturates the system."
    assert answer(material(own))[0] == first


def test_a_grid_is_named_by_its_sizes_and_shows_the_surface(tmp_path: Path) -> None:
    source = Path(__file__).parents[3] / "examples/grids/stencil.csv"
    write_report(source, tmp_path / "grid.html", regime="strong")
    text = Outline((tmp_path / "grid.html").read_text()).text
    assert "stencil: 5 curves" in text
    assert "4M cells" in text
    assert "Over size and workers: T(N, K)" in text
    assert "T over K by size" in (tmp_path / "grid.html").read_text()


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_the_page_prints_on_the_paper_asked_for(tmp_path: Path, paper: str) -> None:
    [path] = write_report(study(), tmp_path / "report.html", paper=paper)
    assert f"@page {{ size: {paper}; }}" in path.read_text()
    with pytest.raises(InputError, match="one of a4, letter"):
        write_report(study(), tmp_path / "report.html", paper="napkin")
