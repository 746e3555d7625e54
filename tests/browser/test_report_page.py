"""The report in a real browser: axe-core finds nothing, nothing runs over, and at most three screens come first."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc

ROOT = Path(__file__).parents[2]
AXE = Path(os.environ.get("SCALECURVE_AXE", "build/npm/node_modules/axe-core/axe.min.js"))
SIZES = {"desk": (1440, 900), "phone": (390, 844)}
STUDIES = {
    "phases": "examples/hosts/study.json",
    "disturbed": "examples/mpi/study.json",
    "weak": "examples/torchrun/weak.json",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", STUDIES)
def test_the_page(browser: Any, tmp_path: Path, name: str, size: str, scheme: str) -> None:
    path = tmp_path / "report.html"
    sc.write_report(ROOT / STUDIES[name], path, price=2.5)
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    if size == "desk":
        assert page.evaluate("document.querySelector('.appendix').getBoundingClientRect().top") <= 3 * height
    smallest = page.evaluate(
        "Math.min(...[...document.querySelectorAll('figure svg text')].map(e => e.getBoundingClientRect().height)"
        ".filter(h => h > 0))"
    )
    assert smallest >= 9  # pixels: axis text that can be read
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    if AXE.exists():
        page.evaluate(AXE.read_text())
        result = page.evaluate("() => axe.run(document)")
        assert [(one["id"], node["html"][:160]) for one in result["violations"] for node in one["nodes"]] == []
    context.close()
