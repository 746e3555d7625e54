"""The page without a server: the numbers of Python and the command line, from a file, in a frame, in a notebook."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import scalecurve as sc
from tests.explorer_drag import command_line, missing_numbers

CSV = "gpus,seconds\n1,1.0\n1,1.02\n2,0.53\n2,0.54\n4,0.30\n4,0.31\n8,0.19\n8,0.20\n"
READY = "() => (document.documentElement.dataset.asking ?? '0') === '0'"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with a study, in a folder."""
    from scalecurve.explorer.export import explore

    place = tmp_path_factory.mktemp("static")
    (place / "mine.csv").write_text(CSV)
    page = explore(place / "mine.csv", regime="strong", models=["llama3-8b"], clusters=["h100-ib400"])
    page.save(place / "page.html")
    return place


@pytest.fixture
def opened(browser: Any, folder: Path) -> Iterator[Callable[..., Any]]:
    """A page from disk; it may complain of nothing and ask nobody."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    complaints: list[str] = []
    asked: list[str] = []

    def open_file(name: str) -> Any:
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"file://{folder / name}")
        page.wait_for_selector("#main .view")
        page.wait_for_function(READY)
        return page

    yield open_file
    context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


def test_training_shows_what_the_command_prints(opened: Callable[..., Any], tmp_path: Path) -> None:
    page = opened("page.html")
    page.locator("#tab-training").click()
    page.wait_for_selector("#panel-weak svg[role=img]")
    for batch in ("64M", "1M"):
        box = page.locator("[data-exact=batch_tokens]")
        box.fill(batch)
        box.press("Enter")
        page.wait_for_function(READY)
        commands = page.evaluate("[...document.querySelectorAll('.commands pre')].map(p => p.textContent)")
        assert len(commands) == 2
        texts = "".join(command_line(command, {}, tmp_path)[1] for command in commands)
        tiles = page.evaluate("[...document.querySelectorAll('#view-training .facts dd')].map(d => d.textContent)")
        assert len(tiles) >= 12
        rounded = [tile for tile in tiles if re.sub(r"\s+", "", tile) not in re.sub(r"\s+", "", texts)]
        assert missing_numbers(rounded, texts) == []
        summary = page.evaluate("[...document.querySelectorAll('#view-training .summary p')].map(d => d.textContent)")
        assert missing_numbers(summary, texts) == []


@pytest.mark.parametrize(
    ("hash", "told"),
    [
        ("training?price=5&deadline_days=30", ["Price of a GPU-hour", "Deadline"]),
        ("training?pinA=critical%3Dkaplan", ["Critical batch"]),
        ("data?threshold=0.5&name=mine.csv", ["Efficiency threshold"]),
    ],
)
def test_a_setting_without_an_answer_here_is_said_and_not_shown(
    opened: Callable[..., Any], hash: str, told: list[str]
) -> None:
    """A link of the page with a server, or a worked case, may ask for what was not computed."""
    page = opened(f"page.html#{hash}")
    words = page.locator(".took").text_content()
    assert [name for name in told if name not in words] == []
    assert "run scalecurve explore" in words
    assert page.locator(".pins li").count() == hash.count("pinA")
    assert "kaplan" not in page.locator(".commands").inner_text()


def test_a_study_comes_with_its_whole_analysis(opened: Callable[..., Any], folder: Path) -> None:
    page = opened("page.html")  # it opens with the study it was made of
    page.wait_for_selector("#data-audit table, #data-audit p")
    for part in ("table", "diagnosis", "forecast", "fits", "cost", "audit"):
        assert len(page.locator(f"#data-{part}").inner_text()) > 60, part
    rows = page.evaluate(
        "[...document.querySelectorAll('#data-table tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    text = command_line("scalecurve table mine.csv --regime strong", {}, folder)[1]
    lines = [line.split() for line in text.splitlines()]
    assert len(rows) == 4
    assert all(" ".join(row).split() in lines for row in rows)


def test_it_can_be_embedded_and_shown_in_a_notebook(opened: Callable[..., Any], folder: Path) -> None:
    shown = sc.explore(models=["llama3-8b"])
    (folder / "frame.html").write_text(
        '<main id="main"><div class="view">beside</div></main><iframe src="page.html" width=900 height=700></iframe>'
    )
    (folder / "notebook.html").write_text(f'<main id="main"><div class="view">beside</div></main>{shown._repr_html_()}')
    for name in ("frame.html", "notebook.html"):
        frame = opened(name).frame_locator("iframe")
        frame.locator("#main .view").wait_for()
        frame.locator("#tab-laws").click()
        frame.locator("[data-exact=serial]").fill("0.2")
        frame.locator("[data-exact=serial]").press("Enter")
        assert frame.locator("#panel-strong svg[role=img]").count() == 1
        assert "0.2" in frame.locator("#view-laws .commands").inner_text()


def test_nothing_in_a_study_can_end_the_script(opened: Callable[..., Any], folder: Path) -> None:
    from scalecurve.explorer.export import explore

    (folder / "bad.csv").write_text(
        "gpus,seconds,note\n" + "".join(f"{k},{1 / k},</script><img src=x onerror=hacked=1>\n" for k in (1, 2, 4))
    )
    page = explore(folder / "bad.csv", regime="strong", models=["llama3-8b"], clusters=["h100-ib400"])
    page.save(folder / "bad.html")
    page = opened("bad.html")
    assert page.evaluate("globalThis.hacked === undefined && !document.querySelector('main img')")
