"""The lesson in a real browser: sliders move cap, curve and cost the right way; nothing outdated is shown in colour."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scalecurve.explorer.export import lesson
from scalecurve.laws.ceiling import ceiling

Open = Callable[..., Any]
TILES = "() => [...document.querySelectorAll('#view-lesson .facts dd')].map(tile => tile.textContent)"
GREEN = """() => { const path = document.querySelector('#panel-lesson path[stroke="var(--green)"]').getBBox();
                   return path.x + path.width; }"""
DELAY = 3.0  # seconds of every answer


def enter(page: Any, name: str, value: str) -> None:
    field = page.locator(f"#view-lesson [data-exact={name}]")
    field.fill(value)
    field.press("Enter")


def told(page: Any) -> tuple[float, float, float]:
    """The cap, the share of useful work and the cost in dollars that the tiles show."""
    cap, useful, cost = page.evaluate(TILES)
    money = re.match(r"\$([\d.,]+)([kMB]?)", cost)
    assert money is not None, cost
    scale = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9}[money[2]]
    return float(cap.split()[0].replace(",", "")), float(useful.split()[0]), float(money[1].replace(",", "")) * scale


def test_a_smaller_critical_batch_ends_green_earlier_and_costs_more_at_every_step(open_page: Open) -> None:
    page = open_page("#lesson")
    caps, ends, costs = [], [], []
    for batch in ("60M", "30M", "15M", "8M", "4M", "2M", "1M", "500k", "200k"):
        enter(page, "critical", batch)
        cap, _, cost = told(page)
        caps.append(cap)
        costs.append(cost)
        ends.append(page.evaluate(GREEN))
    assert caps == sorted(caps, reverse=True)
    assert len(set(caps)) == len(caps)
    assert ends == sorted(ends, reverse=True)
    assert all(later < earlier - 2 for earlier, later in itertools.pairwise(ends))  # seen, not only computed
    assert costs == sorted(costs)
    assert costs[-1] > 1.5 * costs[0]


def test_a_larger_model_moves_the_cap_right_and_lifts_the_curve(open_page: Open) -> None:
    page = open_page("#lesson?P=16384")
    shown = []
    for size in ("8B", "20B", "70B", "175B", "400B"):
        enter(page, "N", size)
        cap, useful, _ = told(page)
        shown.append((cap, useful))
        python = ceiling(N=float(size[:-1]) * 1e9, critical=4e6, P=16384.0)
        assert cap == pytest.approx(float(python["cap"]), rel=0.001)
        assert useful == pytest.approx(100 * float(python["efficiency"]), abs=0.51)
    assert shown == sorted(shown)
    assert shown[-1][1] > shown[0][1] + 10


def test_the_cap_is_a_handle_and_the_curve_before_stays_as_a_ghost(open_page: Open) -> None:
    page = open_page("#lesson")
    before = told(page)[0]
    handle = page.locator("#panel-lesson svg rect[rx='3']").first
    box = handle.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + box["height"] / 2, steps=6)
    assert told(page)[0] > before
    assert page.locator("#panel-lesson").get_by_text("before", exact=True).count() > 0
    page.mouse.up()
    page.wait_for_function("() => location.hash.includes('critical=')")


def test_three_predictions_come_true_before_the_reader(open_page: Open) -> None:
    page = open_page("#lesson")
    quiz = page.locator("#view-lesson .quiz")
    quiz.get_by_role("button", name="Three predictions").click()
    for place, choice in enumerate(("at half as many", "it bends later", "twice as fast")):
        quiz.get_by_role("button", name=choice).click()
        verdict = quiz.get_by_role("status")
        verdict.wait_for()
        assert verdict.inner_text().startswith("Not quite" if place == 2 else "Right")
        quiz.get_by_role("button", name=re.compile("Next question|Now play")).click()


def test_real_layouts_lie_over_the_lesson_and_say_where_they_differ(open_page: Open) -> None:
    page = open_page("#lesson?layouts=true")
    said = "() => /agrees within|differ most at/.test(document.querySelector('#panel-lesson .note').textContent)"
    page.wait_for_function(said)
    assert "scalecurve plan" in page.locator("#view-lesson .commands").inner_text()


def test_the_lesson_alone_is_one_small_file(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "lesson.html"
    lesson().save(path)
    assert path.stat().st_size < 150_000
    page = browser.new_page()
    page.goto(f"file://{path}")
    page.wait_for_selector("#panel-lesson svg[role=img]")
    before = told(page)[0]
    enter(page, "critical", "2M")
    assert told(page)[0] == pytest.approx(before / 2, rel=0.01)
    page.close()


@pytest.mark.parametrize("change", [("model", "llama3-8b"), ("seq", "4096"), ("stack", "fsdp"), ("price", "7")])
def test_what_waits_for_its_answer_is_grey_and_cannot_be_saved(
    open_page: Open, settle: Callable[[Any], None], change: tuple[str, str]
) -> None:
    page = open_page("#training")
    settle(page)
    assert page.locator("#view-training.pending").count() == 0
    session = page.context.new_cdp_session(page)
    limits = {"offline": False, "latency": 1000 * DELAY, "downloadThroughput": -1, "uploadThroughput": -1}
    session.send("Network.emulateNetworkConditions", limits)
    page.evaluate("([name, value]) => { location.hash = `#training?${name}=${value}`; }", list(change))
    page.wait_for_selector("#view-training.pending", timeout=2000)
    assert page.locator("#view-training .computing").inner_text().startswith("computing ")
    assert page.locator("#view-training [data-share]:not(:disabled)").count() == 0
    assert "fits" not in page.locator("#view-training .computing").inner_text()
    page.wait_for_selector("#view-training:not(.pending)", timeout=60_000)
    assert page.locator("#view-training [data-share]:not(:disabled)").count() > 0
    assert change[1] in page.locator("#view-training .commands").inner_text()


def test_my_data_asks_what_was_held_fixed_before_it_judges(open_page: Open, settle: Callable[[Any], None]) -> None:
    page = open_page("#data")
    text = "gpus,seconds\n" + "".join(f"{k},{1 + 0.01 * k}\n" for k in (1, 2, 4, 8, 16))
    page.locator("#data-file").set_input_files({"name": "weak.csv", "mimeType": "text/csv", "buffer": text.encode()})
    page.wait_for_selector(".regimes button")
    assert page.locator("#panel-data-speedup svg:visible").count() == 0
    assert "What did you hold fixed" in page.locator("#view-data .summary").inner_text()
    page.locator("[data-regime=weak]").click()
    page.wait_for_selector("#view-data .facts, #view-data table")
    settle(page)
    assert "--regime weak" in page.locator("#view-data .commands").inner_text()


@pytest.mark.parametrize(("words", "tokens"), [("2,5M", 2.5e6), ("3 million", 3e6), ("4 million tokens", 4e6)])
def test_numbers_as_people_write_them(open_page: Open, words: str, tokens: float) -> None:
    page = open_page("#lesson")
    enter(page, "critical", words)
    assert told(page)[0] == pytest.approx(float(ceiling(N=70e9, critical=tokens, P=4096.0)["cap"]), rel=0.001)
