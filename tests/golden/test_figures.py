"""Every figure: its words exactly, and its lines and areas to within a few pixels, so that fonts do not decide.

`SCALECURVE_UPDATE_GOLDEN=1 pytest tests/golden` rewrites the files; read the diff, and look at the pictures.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import scalecurve as sc
from scalecurve import mechanisms
from scalecurve.analysis.side_by_side import side_by_side
from scalecurve.auditing.history import history
from scalecurve.laws import law_table
from scalecurve.render.plots import Look, paint, picture
from scalecurve.render.report.material import gather
from scalecurve.render.report.sections import sections_of
from scalecurve.study import StudySet
from tests.reference_study import strong_study, weak_study

FILES = Path(__file__).parent / "files"
ROOT = Path(__file__).parents[2]
NEAR = 4.0  # pixels
SVG = "{http://www.w3.org/2000/svg}"


def several() -> Any:
    studies = {
        f"size {k}": sc.load(ROOT / "examples/reference/strong.csv", regime="strong", baseline_k=k) for k in (1, 2, 4)
    }
    return side_by_side(StudySet(studies=studies), sc.tabulate)


FIGURES: dict[str, Callable[[], Any]] = {
    "table-strong": lambda: sc.tabulate(strong_study()),
    "table-weak": lambda: sc.tabulate(weak_study()),
    "several-curves": several,
    "forecast": lambda: sc.forecast(strong_study()),
    "law": lambda: law_table("logcomm", [1, 2, 4, 8, 16], serial=[0.05], comm=[0.01], regime="both"),
    "cost": lambda: sc.cost(strong_study(), 2.5, deadline=0.25),
    "plan": lambda: sc.plan_training("llama3-8b", "h100-ib400", gpus="8..64", batch="1M"),
    "history": lambda: history(ROOT / "examples/reference/history.jsonl"),
    "collective": lambda: mechanisms.collective_cost("allreduce", 350e6, (2, 8, 64), "ib400"),
    "step": lambda: mechanisms.training_step_cost(
        vector=350e6, compute=1.0, ranks=(2, 8, 64), network="ib400", regime="strong"
    ),
    "workdepth": lambda: mechanisms.work_depth("classic:reduction:1000", (1, 4, 16)),
    "straggler": lambda: mechanisms.straggler_cost((1, 4, 16), distribution="lognorm", shape={"s": 0.1}),
    "roofline": lambda: mechanisms.place_kernels(("gemm:2e9:24e6:0.05",), machine="a100"),
}


def outline(svg: str) -> list[str]:
    """The words of a drawing in their order, then every path, marker and image with the group it belongs to."""
    root = ElementTree.fromstring(svg[svg.index("<svg") :])
    words = [escape(" ".join("".join(text.itertext()).split())) for text in root.iter(f"{SVG}text")]
    return [*words, *shapes(root, "figure")]


def shapes(element: ElementTree.Element, group: str) -> Iterator[str]:
    """What stands inside an element and is drawn, as `group: its numbers`; definitions are left out."""
    for child in element:
        kind = child.tag.removeprefix(SVG)
        if kind in ("defs", "metadata"):
            continue
        own_name = "" if kind == "image" else child.get("id", "")  # the id of an image is a hash of its pixels
        name = re.sub(r"_\d+$", "", own_name) or group
        if kind == "path":
            yield f"{name}: {numbers(child.get('d', ''))} {colours(child)}".rstrip()
        elif kind in ("use", "image"):
            yield f"{name} {kind}: {numbers(' '.join(child.get(key, '') for key in ('x', 'y', 'width', 'height')))}"
        yield from shapes(child, name)


def numbers(text: str) -> str:
    return " ".join(re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text))


def colours(path: ElementTree.Element) -> str:
    return " ".join(re.findall(r"#[0-9a-f]{6}", path.get("style", "")))


def is_near(one: str, other: str) -> bool:
    """The same words, or points that lie within a few pixels of each other."""
    pairs = list(zip(one.split(), other.split(), strict=False))
    if one == other or len(one.split()) != len(other.split()):
        return one == other
    return all(a == b or (is_number(a) and is_number(b) and abs(float(a) - float(b)) <= NEAR) for a, b in pairs)


def is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+\.?\d*(?:e-?\d+)?", text) is not None


def compare(name: str, svg: str) -> None:
    path, lines = FILES / f"figure-{name}.txt", outline(svg)
    if os.environ.get("SCALECURVE_UPDATE_GOLDEN"):
        path.write_text("\n".join(lines) + "\n")
    golden = path.read_text().splitlines()
    assert len(golden) == len(lines)
    assert [(old, new) for old, new in zip(golden, lines, strict=True) if not is_near(old, new)] == []


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure(name: str) -> None:
    compare(name, picture(FIGURES[name](), "svg").decode())


def test_the_figures_of_a_report() -> None:
    material = gather(sc.load(ROOT / "examples/hosts/study.json"), price=2.5)
    for section in sections_of(material):
        for own in section.pictures:
            for panel in own.panels:
                compare(f"report-{panel.name}", paint(panel.painter, "svg", panel.wide).decode())
            for screen, size in (("wide", own.wide), ("narrow", own.narrow))[: 1 if own.panels else 2]:
                compare(f"report-{own.name}-{screen}", paint(own.painter, "svg", size).decode())


def test_a_lost_error_bar_is_a_difference() -> None:
    whole = outline(picture(sc.tabulate(strong_study()), "svg").decode())
    bars = [line for line in whole if line.startswith("LineCollection")]
    assert len(bars) == sum(row.speedup.low is not None for row in sc.tabulate(strong_study()).rows)


@pytest.mark.parametrize("width", ["column", "page"])
def test_figures_for_papers(width: str) -> None:
    look = Look(width=width, font="serif")
    compare(f"paper-{width}", picture(sc.tabulate(strong_study()), "svg", look).decode())
    assert b"/Subtype /Type3" not in picture(
        sc.tabulate(strong_study()), "pdf", look
    )  # whole fonts, which journals ask for
