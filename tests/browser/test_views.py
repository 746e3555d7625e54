"""Each view in a real browser: it loads, sliders move curves the right way, links reproduce it, keys suffice."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

VIEWS = ["training", "laws", "data", "mechanisms"]
HASHES = {
    "training": "#training",
    "training-pinned": "#training?pinned=true&critical_tokens=1000000",
    "laws": "#laws",
    "data": "#data",
    "roofline": "#mechanisms",
    "collectives": "#mechanisms?topic=collectives",
    "slowest": "#mechanisms?topic=slowest",
    "depth": "#mechanisms?topic=depth",
}
CSV = "gpus,seconds\n" + "".join(
    f"{k},{0.04 + 0.96 / k + 0.01 * k**0.3 + 0.001 * i:.5f}\n" for k in (1, 2, 4, 8, 16) for i in range(5)
)

OVERLAPS = """() => {
  const seen = [];
  const boxes = [...document.querySelectorAll(
      'svg text, button, label, select, input, h3, .summary p, th, td, pre, .note, summary')]
    .filter(e => e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) && !e.closest('.scroll'))
    .map(e => ({e, b: e.getBoundingClientRect()})).filter(({b}) => b.width > 0 && b.height > 0);
  for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
    const [one, two] = [boxes[i], boxes[j]];
    if (one.e.contains(two.e) || two.e.contains(one.e)) continue;
    const w = Math.min(one.b.right, two.b.right) - Math.max(one.b.left, two.b.left);
    const h = Math.min(one.b.bottom, two.b.bottom) - Math.max(one.b.top, two.b.top);
    const name = ({e}) => `${e.tagName} "${e.textContent.slice(0, 30)}"`;
    if (w > 2 && h > 3) seen.push(`${name(one)} and ${name(two)}`);
  }
  return seen;
}"""


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("name", list(HASHES))
def test_a_view_loads_without_complaint_and_nothing_overlaps(
    open_page: Callable[..., Any], settle: Callable[[Any], None], pictures: Path, name: str, size: str
) -> None:
    page = open_page(HASHES[name], size)
    settle(page)
    page.screenshot(path=pictures / f"{name}-{size}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate(OVERLAPS) == []


def quiet(page: Any) -> None:
    """Wait until every answer has come."""
    page.wait_for_function("() => (document.documentElement.dataset.asking ?? '0') === '0'")


def place_of(page: Any, selector: str) -> dict[str, float]:
    """Where something is now; charts are drawn anew, so an element found a moment ago may be gone."""
    found: dict[str, float] = page.evaluate(
        "(s) => { const b = document.querySelector(s).getBoundingClientRect();"
        " return {x: b.x, y: b.y, width: b.width, height: b.height}; }",
        selector,
    )
    return found


def slide(page: Any, param: str, value: float) -> None:
    """Type an exact value beside a slider."""
    box = page.locator(f"[data-exact={param}]")
    box.fill(str(value))
    box.press("Enter")
    quiet(page)


def curve_points(page: Any, panel: str, place: int) -> list[tuple[float, float]]:
    """Pixels of a drawn line."""
    path = page.locator(f"#panel-{panel} svg path[stroke-linejoin=round]").nth(place).get_attribute("d")
    pairs = [pair.split() for pair in path.replace("M", "L").split("L") if pair]
    return [(float(x), float(y)) for x, y in pairs]


def caps(page: Any) -> tuple[int, int]:
    """Replicas and GPUs at the cap, as the chart marks it."""
    words = page.locator("#panel-training svg").text_content()
    found = re.search(r"cap: ([\d,]+) replicas, ([\d,]+) GPUs", words)
    assert found is not None, words
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


def efficiencies(page: Any) -> dict[str, float]:
    """E by P from the table behind the chart."""
    page.evaluate("document.querySelector('#panel-training details').open = true")
    page.wait_for_selector("#panel-training details table")
    rows = page.evaluate(
        "[...document.querySelectorAll('#panel-training tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    return {row[0]: float(row[7]) for row in rows}


def test_a_larger_model_lifts_the_curve_and_moves_the_cap_right(
    open_page: Callable[..., Any], settle: Callable[[Any], None]
) -> None:
    """Tokens follow the model, so the critical batch grows with it."""
    page = open_page("#training?size=8000000000&batch_tokens=200000000")
    settle(page)
    before, cap = efficiencies(page), caps(page)
    slide(page, "size", 70e9)
    after, moved = efficiencies(page), caps(page)
    assert moved[0] > cap[0]
    assert moved[1] > cap[1]
    common = [p for p in before if p in after and int(p) >= 16_384]  # below, the small model needs no split at all
    assert len(common) >= 2
    assert sum(after[p] - before[p] for p in common) > 0.1


def test_with_the_critical_batch_pinned_the_replicas_stay(
    open_page: Callable[..., Any], settle: Callable[[Any], None]
) -> None:
    page = open_page("#training?pinned=true&critical_tokens=4000000")
    settle(page)
    before = caps(page)
    slide(page, "size", 200e9)
    assert caps(page)[0] == before[0]


def test_a_smaller_critical_batch_collapses_the_cheap_zone(
    open_page: Callable[..., Any], settle: Callable[[Any], None]
) -> None:
    page = open_page("#training?pinned=true&critical_tokens=8000000")
    settle(page)
    before, cap = efficiencies(page), caps(page)
    slide(page, "critical_tokens", 1e6)
    after, moved = efficiencies(page), caps(page)
    assert moved[1] < cap[1] / 4
    assert after["4096"] < before["4096"] - 0.1


def test_clicking_the_chart_looks_closely_at_that_size(
    open_page: Callable[..., Any], settle: Callable[[Any], None]
) -> None:
    page = open_page("#training")
    settle(page)
    box = page.locator("#panel-training .chart").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.35, box["y"] + box["height"] * 0.5)
    page.wait_for_function("() => /at=(64|128|256)/.test(location.hash)")
    quiet(page)
    assert re.search(r"at (64|128|256) GPUs", page.locator("#panel-step svg").text_content())


def test_a_larger_serial_fraction_lowers_the_speedup(
    open_page: Callable[..., Any], settle: Callable[[Any], None]
) -> None:
    page = open_page("#laws")
    settle(page)
    before = curve_points(page, "strong", 1)[-1][1]
    slide(page, "serial", 0.2)
    assert curve_points(page, "strong", 1)[-1][1] > before  # further down on the screen


def test_dragging_a_slider_redraws(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    page = open_page("#laws")
    settle(page)
    before = page.locator("#panel-strong .chart").inner_html()
    box = page.locator("[data-param=comm]").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] / 2, steps=6)
    page.mouse.up()
    quiet(page)
    assert page.locator("#panel-strong .chart").inner_html() != before
    assert "comm=" in page.url


def test_the_threshold_can_be_dragged_in_the_chart(
    open_page: Callable[..., Any], settle: Callable[[Any], None]
) -> None:
    page = open_page("#data")
    settle(page)
    page.locator("#data-case").select_option("0")
    page.wait_for_selector("#data-fits table")
    page.wait_for_selector("#data-forecast table")
    quiet(page)
    grip = place_of(page, "#panel-efficiency svg rect[rx='3']")
    page.mouse.move(grip["x"] + 4, grip["y"] + grip["height"] / 2)
    page.mouse.down()
    page.mouse.move(grip["x"] - 40, grip["y"] - 22, steps=5)
    page.mouse.up()
    page.wait_for_function("() => location.hash.includes('threshold=0.8') || location.hash.includes('threshold=0.9')")
    page.wait_for_function(
        "() => document.querySelector('#panel-efficiency svg').textContent.includes('bend at K = 4')"
    )


def test_a_kernel_can_be_dragged_over_the_ridge(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    page = open_page("#mechanisms")
    settle(page)
    assert "memory bound" in page.locator(".summary").inner_text()
    grip = place_of(page, "#panel-first svg circle[r='8']")
    page.mouse.move(grip["x"] + 8, grip["y"] + 8)
    page.mouse.down()
    page.mouse.move(grip["x"] + 300, grip["y"] - 30, steps=5)
    page.mouse.up()
    quiet(page)
    assert "compute bound" in page.locator(".summary").inner_text()


@pytest.mark.parametrize(
    "hash",
    [
        "#laws?serial=0.12&comm=0.02&largest=512",
        "#mechanisms?topic=collectives&ranks=256",
        "#laws?serial=0.2&pinA=serial%3D0.1",
    ],
)
def test_a_link_reproduces_the_view(open_page: Callable[..., Any], settle: Callable[[Any], None], hash: str) -> None:
    first = open_page(hash)
    settle(first)
    first.locator("#link").click()
    first.wait_for_selector("#toast.shown")
    link = first.evaluate("navigator.clipboard.readText()")
    second = open_page(link[link.index("#") :])
    settle(second)
    assert second.locator(".lead").inner_html() == first.locator(".lead").inner_html()


def test_data_travels_in_the_link(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    page = open_page("#data")
    settle(page)
    page.locator("#data-case").select_option("1")
    page.wait_for_selector("#data-table table")
    page.wait_for_function("() => location.hash.includes('z.text')")
    again = open_page(page.evaluate("location.hash"))
    again.wait_for_selector("#data-table table")
    assert again.locator("#data-table").inner_text() == page.locator("#data-table").inner_text()


def test_undo_and_redo(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    page = open_page("#laws")
    settle(page)
    slide(page, "serial", 0.2)
    slide(page, "serial", 0.3)
    page.locator("#undo").click()
    assert page.locator("[data-exact=serial]").input_value() == "0.2"
    page.locator("h3").first.click()
    page.keyboard.press("Control+z")
    assert page.locator("[data-exact=serial]").input_value() == "0.05"
    page.locator("#redo").click()
    assert page.locator("[data-exact=serial]").input_value() == "0.2"


def test_two_settings_can_be_pinned_and_compared(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    page = open_page("#laws")
    settle(page)
    for value in (0.1, 0.2):
        slide(page, "serial", value)
        page.locator("button.pin").click()
    slide(page, "serial", 0.01)
    shown = page.locator("#panel-strong svg").text_content()
    assert "pin A" in shown
    assert "pin B" in shown


def test_a_dropped_csv_gives_the_same_table_as_the_command_line(
    open_page: Callable[..., Any], settle: Callable[[Any], None], tmp_path: Path
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(CSV)
    page = open_page("#data")
    settle(page)
    page.evaluate(
        """([text]) => {
          const data = new DataTransfer();
          data.items.add(new File([text], 'mine.csv', {type: 'text/csv'}));
          document.querySelector('.view').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true}));
        }""",
        [CSV],
    )
    page.wait_for_selector("#data-table table")
    rows = page.evaluate(
        "[...document.querySelectorAll('#data-table tbody tr')].map(r => [...r.cells].map(cell => cell.textContent))"
    )
    command = [sys.executable, "-m", "scalecurve", "table", str(file), "--regime", "strong"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in printed.splitlines()]
    assert len(rows) == 5
    for row in rows:
        assert " ".join(row).split() in lines


def test_hostile_names_stay_text(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    page = open_page("#data")
    settle(page)
    page.evaluate(
        """([text]) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "</script><img src=x onerror=window.hacked=1>.csv", {type: 'text/csv'}));
          document.querySelector('.view').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true}));
        }""",
        ["</td><img src=x onerror=window.hacked=1>,seconds\n" + CSV.partition("\n")[2]],
    )
    quiet(page)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img").count() == 0


def test_keyboard_alone_is_enough(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    """Tab to the tabs, arrow to another view and back, tab to a slider, change it, open a table."""
    page = open_page("#laws")
    settle(page)
    for _ in range(4):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "tab-laws":
            break
    assert page.evaluate("document.activeElement.id") == "tab-laws"
    page.keyboard.press("ArrowRight")
    assert "#data" in page.url
    page.keyboard.press("ArrowLeft")
    settle(page)
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.param") == "serial":
            break
    before = page.locator("[data-exact=serial]").input_value()
    page.keyboard.press("ArrowRight")
    assert page.locator("[data-exact=serial]").input_value() != before
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("details[open] table")


@pytest.mark.parametrize("view", VIEWS)
def test_everything_has_a_name_a_reader_can_speak(
    open_page: Callable[..., Any], settle: Callable[[Any], None], view: str
) -> None:
    page = open_page(f"#{view}")
    settle(page)
    nameless = page.evaluate(
        """[...document.querySelectorAll('input, select, textarea, button')].filter(e => e.checkVisibility())
           .filter(e => !(e.labels?.length || e.ariaLabel || e.textContent.trim())).map(e => e.outerHTML)"""
    )
    assert nameless == []
    assert page.evaluate(
        "[...document.querySelectorAll('svg')].every(svg => svg.getAttribute('aria-label').length > 20)"
    )
    assert page.locator("[aria-live]").count() >= 1


@pytest.mark.parametrize("what", ["PNG", "SVG", "CSV", "command"])
def test_a_chart_can_be_taken_away(open_page: Callable[..., Any], settle: Callable[[Any], None], what: str) -> None:
    page = open_page("#laws")
    settle(page)
    page.locator(f"#panel-strong [data-share={what}]").click()
    page.wait_for_selector("#toast.shown")
    if what == "PNG":
        kinds = page.evaluate("navigator.clipboard.read().then(items => items[0].types)")
        assert kinds == ["image/png"]
        return
    text = page.evaluate("navigator.clipboard.readText()")
    start = {"SVG": "<svg", "CSV": "K,T(K),S(K),E(K)\n1,1.0000", "command": "scalecurve law logcomm"}[what]
    assert text.startswith(start)
    assert "var(" not in text


def test_dark_is_dark(open_page: Callable[..., Any], settle: Callable[[Any], None], pictures: Path) -> None:
    page = open_page("#laws", scheme="dark")
    settle(page)
    page.screenshot(path=pictures / "laws-dark.png", full_page=True)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
