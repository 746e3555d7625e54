"""axe-core finds nothing to complain of, in any view, in both themes and widths; needs the npm package axe-core."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

AXE = Path(os.environ.get("SCALECURVE_AXE", "build/npm/node_modules/axe-core/axe.min.js"))
HASHES = {
    "lesson": "#lesson?critical=2000000&P=8192",
    "training": "#training",
    "experts": "#training?model=mixtral-8x7b&measure=run_usd&cluster=own",
    "laws": "#laws?serial=0.1&pinA=serial%3D0.2",
    "data": "#data",
    "roofline": "#mechanisms",
    "collectives": "#mechanisms?topic=collectives",
    "slowest": "#mechanisms?topic=slowest",
    "depth": "#mechanisms?topic=depth",
}


@pytest.mark.skipif(not AXE.exists(), reason=f"no axe-core at {AXE}; npm install --prefix build/npm axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("name", list(HASHES))
def test_no_violations(
    open_page: Callable[..., Any], settle: Callable[[Any], None], name: str, scheme: str, size: str
) -> None:
    page = open_page(HASHES[name], size, scheme)
    settle(page)
    if name == "data":
        page.locator("#data-case").select_option("0")
        page.wait_for_selector("#data-audit table, #data-audit li")
        settle(page)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    page.evaluate(AXE.read_text())  # evaluated by the debugger, so the page's own policy stays as it is
    result = page.evaluate("() => axe.run(document)")
    found = [
        (one["id"], node["html"][:160], node["failureSummary"][:300])
        for one in result["violations"]
        for node in one["nodes"]
    ]
    assert found == []
    assert page.locator("h1").count() == 1
