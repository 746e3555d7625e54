"""One report, one value: every quantity at every K is the same wherever a report of a real study says it.

The whole report is read as a reader would, as Markdown and as HTML: every table with a column K, and every sentence
that gives S, E or T at a K.  Two numbers agree where the one with fewer digits is the rounded other one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.study import Regime, Study, StudySet

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests" / "formats" / "samples"
EXAMPLES = ROOT / "examples"
NUMBER = r"[-+]?[\d.,]*\d(?:e[-+]?\d+)?"
UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "%": 0.01}
NAMES = {  # a header as the quantity it stands for; T of the mean, of the median and forecast are three
    "mean": "T", "time/job": "T", "seconds": "T", "throughput": "T", "S": "S", "scaled S": "S", "E": "E",
    "measured median": "median T",
}  # fmt: skip
SUMMARY = "gpus,mean,std,n\n1,100.0,2.0,5\n2,53.1,1.4,5\n4,29.8,0.7,5\n8,19.5,0.6,5\n"


def study_of(kind: str, folder: Path) -> Study | StudySet:
    """A real study of each kind a report can be asked about."""
    summary = folder / "summary.csv"
    summary.write_text(SUMMARY)
    ways: dict[str, Callable[[], Study | StudySet]] = {
        "strong, with phases": lambda: sc.load(EXAMPLES / "hosts" / "study.json"),
        "disturbed": lambda: sc.load(EXAMPLES / "mpi" / "study.json"),
        "weak": lambda: sc.load(EXAMPLES / "torchrun" / "weak.json"),
        "throughput": lambda: sc.load(SAMPLES / "specsdm91.csv", regime="strong"),
        "K0 = 8 of 1..64": lambda: sc.load(EXAMPLES / "reference" / "strong.csv", regime="strong", baseline_k=8),
        "K0 = 2, the smallest": lambda: sc.load(SAMPLES / "talp", regime="strong"),
        "several curves": lambda: sc.load_all(SAMPLES / "pytest_benchmark.json", regime="strong"),
        "summary only": lambda: sc.load(summary, regime="strong"),
    }
    return ways[kind]()


KINDS = (
    "strong, with phases", "disturbed", "weak", "throughput", "K0 = 8 of 1..64", "K0 = 2, the smallest",
    "several curves", "summary only",
)  # fmt: skip


class Tables(HTMLParser):
    """The tables of a page as rows of cells, and the text outside them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self.text = ""
        self.in_table = self.in_cell = False
        self.feed(re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", page, flags=re.DOTALL))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.in_table = True
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.in_cell = True
            self.tables[-1][-1].append("")
        elif tag in ("p", "h2", "li"):
            self.text += "\n"

    def handle_endtag(self, tag: str) -> None:
        self.in_table = self.in_table and tag != "table"
        self.in_cell = self.in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.tables[-1][-1][-1] += data
        elif not self.in_table:
            self.text += data


def markdown_tables(text: str) -> list[list[list[str]]]:
    blocks = re.findall(r"(?:^\|.*\|\n)+", text + "\n", flags=re.MULTILINE)
    cut = [[line.strip("|").split(" | ") for line in block.splitlines()] for block in blocks]
    return [[[cell.strip() for cell in row] for place, row in enumerate(rows) if place != 1] for rows in cut]


def values_of(tables: list[list[list[str]]], names: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """(quantity, K, number as written) of every table with a column K; an interval is a quantity of its own."""
    for head, *rows in tables:
        place = next((i for i, name in enumerate(head) if name == "K" or name.startswith("K (")), None)
        if place is None:
            continue
        for row in rows:
            for i, name in enumerate(head):
                if name in names and row[i] not in ("", "-"):
                    yield names[name], row[place], row[i]
                    if i + 1 < len(head) and head[i + 1] == "interval" and row[i + 1] not in ("", "-"):
                        low, high = ends_of(row[i + 1])
                        yield from ((f"low {names[name]}", row[place], low), (f"high {names[name]}", row[place], high))
                    if head[i + 1 : i + 3] == ["low", "high"]:
                        yield f"low {names[name]}", row[place], row[i + 1]
                        yield f"high {names[name]}", row[place], row[i + 2]


def ends_of(interval: str) -> tuple[str, str]:
    """The ends of `522.4..546.6 ms`, both with the unit that stands behind them."""
    low, high = interval.split("..")
    unit = high.partition(" ")[2]
    return (f"{low} {unit}" if unit and " " not in low else low), high


SENTENCES = (  # what the answer and the findings say of a K
    r"E = (?P<E>[\d.]+\d) at K = (?P<k>\d+)",
    r"K = (?P<k>\d+) \w+ for this job, where efficiency is (?P<E>[\d.]+)(?: \((?P<l>[\d.]+) to (?P<h>[\d.]+)\))?",
    r"efficiency is (?P<E>[\d.]+)(?: \((?P<l>[\d.]+) to (?P<h>[\d.]+)\))? at K = (?P<k>\d+)",
    r"fixed, (?P<k>\d+) \w+ finish [^;]*?efficiency of (?P<E>[\d.]+)(?: \((?P<l>[\d.]+) to (?P<h>[\d.]+)\))?",
)


def sentences_of(text: str) -> Iterator[tuple[str, str, str]]:
    for pattern in SENTENCES:
        for match in re.finditer(pattern, text):
            words = match.groupdict()
            yield "E", words["k"], words["E"]
            if words.get("l"):
                yield from (("low E", words["k"], words["l"]), ("high E", words["k"], words["h"]))


def number(text: str) -> tuple[float, float]:
    """A number and the half of its last digit, in the base unit: `131.8 ms` is .1318 +- .00005."""
    match = re.fullmatch(rf"({NUMBER})\s*([a-zµ%]*)", text.strip())
    assert match is not None, text
    digits, unit = match[1].replace(",", ""), UNITS.get(match[2], 1.0)
    mantissa, _, power = digits.partition("e")
    step = 10.0 ** (-len(mantissa.partition(".")[2]) + int(power or 0))
    return float(digits) * unit, 0.5001 * step * unit


def disagreements(facts: Iterator[tuple[str, str, str]]) -> list[str]:
    by_place: dict[tuple[str, str], set[str]] = defaultdict(set)
    for quantity, k, text in facts:
        by_place[quantity, k].add(text)
    wrong = []
    for (quantity, k), texts in by_place.items():
        exact = min((number(text) for text in texts), key=lambda pair: pair[1])
        for text in texts:
            value, half = number(text)
            if abs(value - exact[0]) > half + exact[1]:
                wrong.append(f"{quantity} at K = {k}: {sorted(texts)}")
                break
    return wrong


@pytest.mark.parametrize("kind", KINDS)
def test_every_quantity_at_every_k_has_one_value_and_the_headline_names_its_baseline(kind: str, tmp_path: Path) -> None:
    loaded = study_of(kind, tmp_path)
    price = None if kind in ("throughput", "K0 = 2, the smallest") else 2.5
    for study in loaded.studies.values() if isinstance(loaded, StudySet) else [loaded]:
        text = tmp_path / "report.md"
        page = tmp_path / "report.html"
        sc.write_report(study, text, price=price)
        sc.write_report(study, page, price=price)
        read = text.read_text()
        # Under weak scaling a job of the cost table is the work of one K0, not the growing work of a run.
        names = NAMES if study.regime is Regime.STRONG else NAMES | {"time/job": "time of a job"}
        facts = [*values_of(markdown_tables(read), names), *sentences_of(read.replace("\\", ""))]
        outline = Tables(page.read_text())
        shown = [*values_of(outline.tables, names), *sentences_of(outline.text)]
        assert disagreements(iter([*facts, *shown])) == []
        assert {fact[:2] for fact in facts if fact[0] == "E"} == {fact[:2] for fact in shown if fact[0] == "E"}
        assert len({k for quantity, k, _ in facts if quantity == "E"}) >= len(study.all_k)
        answer = read.partition("## The answer")[2].partition("\n## ")[0].replace("\\", "")
        assert "Audit: " in answer
        assert study.baseline_k == 1 or f"K0 = {study.baseline_k}" in answer
        assert "bend" not in answer or "first K with E < 0.7" in answer
        assert "probability 1.00" not in answer
