"""Each view in a real browser: it loads, sliders move curves the right way, links reproduce it, keys suffice."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.explorer_drag import command_line

VIEWS = ["lesson", "training", "laws", "data", "mechanisms"]
HASHES = {
    "lesson": "#lesson",
    "training": "#training",
    "training-measured": "#training?critical=measured&critical_tokens=1000000&measure=run_usd",
    "training-experts": "#training?model=deepseek-v3&cluster=h800-ib400&seq=4096&measure=tokens_per_second",
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
      'svg text, button, label, select, input, h2, .summary p, th, td, pre, .note, summary')]
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


def shown_in_address(page: Any, words: str) -> None:
    """Wait until the address holds the words; the browser tells of a new address later than the page has it."""
    page.wait_for_function("(words) => location.hash.includes(words)", arg=words)


def focused(page: Any) -> str:
    """What has the keyboard: an id, a setting, or the name of the element."""
    name: str = page.evaluate(
        "(() => { const e = document.activeElement; return e.id || e.dataset.param || e.textContent || e.tagName; })()"
    )
    return name


def tab_to(page: Any, test: str, most: int = 60) -> None:
    """Press Tab until the element `e` that has the keyboard passes a test."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(f"((e) => {test})(document.activeElement)"):
            return
    raise AssertionError(f"no element with {test} within {most} tabs")


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


def cap(page: Any) -> int:
    """The cap by the critical batch in accelerators, as the chart marks it."""
    words = page.locator("#panel-training svg[role=img]").text_content()
    match = re.search(r"cap by the critical batch ([\d,]+)", words)
    assert match is not None, words
    return int(match[1].replace(",", ""))


def table(page: Any, panel: str) -> list[list[str]]:
    """The table behind a chart."""
    page.evaluate(f"document.querySelector('#panel-{panel} details').open = true")
    page.wait_for_selector(f"#panel-{panel} details table")
    rows: list[list[str]] = page.evaluate(
        f"[...document.querySelectorAll('#panel-{panel} tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    return rows


def test_a_smaller_critical_batch_moves_the_cap_to_the_left(
    open_page: Callable[..., Any], settle: Callable[[Any], None]
) -> None:
    page = open_page("#training?critical=measured&critical_tokens=8000000")
    settle(page)
    before = cap(page)
    slide(page, "critical_tokens", 1e6)
    assert cap(page) < before / 4


def test_the_cap_can_be_dragged(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    page = open_page("#training?critical=measured&critical_tokens=8000000")
    settle(page)
    before = cap(page)
    grip = place_of(page, "#panel-training svg rect[rx='3']")
    page.mouse.move(grip["x"] + 8, grip["y"] + 5)
    page.mouse.down()
    page.mouse.move(grip["x"] - 80, grip["y"] + 5, steps=6)
    page.mouse.up()
    quiet(page)
    assert cap(page) < before
    shown_in_address(page, "critical_tokens=")


def test_the_growing_job_stands_beside_the_fixed_one(
    open_page: Callable[..., Any], settle: Callable[[Any], None]
) -> None:
    page = open_page("#training")
    settle(page)
    strong, weak = ({row[0]: row for row in table(page, panel)} for panel in ("training", "weak"))
    assert len(strong) > 10
    assert len(weak) > 10
    assert page.locator("#panel-weak .note").text_content().startswith("The model grows from 66.5B")


def test_clicking_the_chart_looks_closely_at_that_size(
    open_page: Callable[..., Any], settle: Callable[[Any], None]
) -> None:
    page = open_page("#training")
    settle(page)
    box = page.locator("#panel-training .chart").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.45, box["y"] + box["height"] * 0.5)
    page.wait_for_function("() => /at=(128|256|512)/.test(location.hash)")
    quiet(page)
    assert re.search(r"At (128|256|512) accelerators", page.locator(".tiles-head").text_content())


def test_a_size_without_a_layout_is_said(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    page = open_page("#training?model=llama3-405b&at=32")
    settle(page)
    assert "At 128 accelerators: no layout at 32 fits" in page.locator(".tiles-head").text_content()


@pytest.mark.parametrize(
    ("typed", "value", "told"),
    [
        ("13b", "12.3B", "took 12.3B, the nearest to 13B"),
        ("banana", "66.5B", '"banana" is not a number'),
        ("9e15", "2.89T", "too large"),
    ],
)
def test_fields_say_what_they_took(
    open_page: Callable[..., Any], settle: Callable[[Any], None], typed: str, value: str, told: str
) -> None:
    page = open_page("#training")
    settle(page)
    box = page.locator("[data-exact=size]")
    box.fill(typed)
    box.press("Enter")
    quiet(page)
    assert box.input_value() == value
    assert told in page.locator("#training-size-told").text_content()


def test_a_drag_over_the_plot_zooms_and_the_legend_switches_curves_off(
    open_page: Callable[..., Any], settle: Callable[[Any], None]
) -> None:
    page = open_page("#laws")
    settle(page)
    box = page.locator("#panel-strong .chart").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 90, steps=4)
    page.mouse.up()
    assert page.locator("#panel-strong .unzoom").is_visible()
    page.locator("#panel-strong .unzoom").click()
    lines = page.locator("#panel-strong svg path[stroke-linejoin=round]").count()
    page.get_by_role("button", name="ideal S = K").click()
    assert page.locator("#panel-strong svg path[stroke-linejoin=round]").count() == lines - 1


def test_back_and_forward(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    page = open_page("#laws")
    settle(page)
    slide(page, "serial", 0.2)
    page.wait_for_function("() => location.hash.includes('serial=0.2')")
    slide(page, "serial", 0.3)
    page.wait_for_function("() => location.hash.includes('serial=0.3')")
    page.go_back()
    page.wait_for_function("() => document.querySelector('[data-exact=serial]').value === '0.2'")
    page.go_forward()
    page.wait_for_function("() => document.querySelector('[data-exact=serial]').value === '0.3'")


def test_a_bad_file_greys_the_old_answer_and_says_so(
    open_page: Callable[..., Any], settle: Callable[[Any], None]
) -> None:
    page = open_page("#data")
    settle(page)
    page.locator("#data-case").select_option("0")
    page.wait_for_selector("#data-table table")
    quiet(page)
    page.locator("#data-text").fill("no table at all")
    page.locator("#data-text").dispatch_event("change")
    page.wait_for_selector(".view.stale")
    assert "What stands below in grey is the last answer" in page.locator(".problem").text_content()


def test_a_silent_server_is_said_and_asked_again(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    page = open_page("#training", complaints="ERR_FAILED")
    settle(page)
    page.route("**/api/**", lambda route: route.abort())
    box = page.locator("[data-exact=size]")
    box.fill("30b")
    box.press("Enter")
    page.wait_for_selector(".view.stale")
    assert "the server does not answer" in page.locator(".problem").text_content()
    page.unroute("**/api/**")
    page.wait_for_selector(".view:not(.stale)")
    assert page.locator(".problem").is_hidden()


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
    shown_in_address(page, "comm=")


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


@pytest.mark.parametrize(
    ("hash", "told"),
    [
        ("#laws?serial=banana&sereal=0.3", ['"banana", cannot be read; took 0.05', 'sets "sereal"']),
        ("#laws?serial=&largest=1e999", ['serial, "", cannot be read', '"1e999", cannot be read']),
        ("#training?measure=bogus", ['"bogus" is not known; took "useful work per accelerator']),
        ("#mechanisms?topic=zzz", ['"zzz" is not known']),
        ("#data?regime=what&z.text=!!!!", ["text", '"what" is not known']),
        ("#nosuch?serial=1", ['names a view "nosuch"']),
        ("#laws?serial=0.2&pinA=serial%3Dx", ['"x", cannot be read']),
    ],
)
def test_a_link_edited_by_hand_is_never_misread_in_silence(
    open_page: Callable[..., Any], settle: Callable[[Any], None], hash: str, told: list[str]
) -> None:
    page = open_page(hash)
    settle(page)
    note = page.locator(".took")
    assert [words for words in told if words not in note.text_content()] == []
    assert page.evaluate("[...document.querySelectorAll('select')].every(select => select.selectedIndex >= 0)")
    if page.locator("button.pin").count():  # the lesson has none
        page.locator("button.pin").click()  # the next step answers only to itself
        assert note.is_hidden()


def test_two_tabs_keep_their_own_settings(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    one, other = open_page("#laws?serial=0.1"), open_page("#laws?serial=0.3")
    settle(one)
    settle(other)
    slide(one, "comm", 0.05)
    assert "--serial 0.1 --comm 0.05" in one.locator(".commands").inner_text().replace("\n", " ")
    assert "--serial 0.3 --comm 0.01" in other.locator(".commands").inner_text().replace("\n", " ")


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
    page.locator("h2").first.click()
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
    shown = page.locator("#panel-strong .chart-box").text_content()
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
    page.locator("[data-regime=strong]").click()
    page.wait_for_selector("#data-table table")
    rows = page.evaluate(
        "[...document.querySelectorAll('#data-table tbody tr')].map(r => [...r.cells].map(cell => cell.textContent))"
    )
    printed = command_line(f"scalecurve table {file} --regime strong", {}, tmp_path)[1]
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
    tab_to(page, "e.id === 'tab-laws'", most=4)
    page.keyboard.press("ArrowRight")
    shown_in_address(page, "#data")
    assert focused(page) == "tab-data"
    page.keyboard.press("ArrowLeft")
    shown_in_address(page, "#laws")
    assert focused(page) == "tab-laws"
    settle(page)
    tab_to(page, "e.dataset.param === 'serial'", most=12)
    before = page.locator("[data-exact=serial]").input_value()
    page.keyboard.press("ArrowRight")
    assert page.locator("[data-exact=serial]").input_value() != before
    shown_in_address(page, "serial=")
    assert focused(page) == "laws-serial"
    tab_to(page, "e.tagName === 'SUMMARY'")
    page.keyboard.press("Enter")
    page.wait_for_selector("details[open] table")


def test_the_keyboard_keeps_its_place(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    """Pinning, switching a curve off and answers that come late do not take the focus away."""
    page = open_page("#laws")
    settle(page)
    tab_to(page, "e.className === 'pin'")
    page.keyboard.press("Enter")
    page.wait_for_selector(".pins li")
    assert focused(page) == "Pin these settings to compare"
    tab_to(page, "e.closest('.legend')")
    name = focused(page)
    page.keyboard.press("Enter")
    page.wait_for_selector(".legend [aria-pressed=false]")
    assert focused(page) == name
    page.locator("#tab-data").click()
    shown_in_address(page, "#data")
    page.locator("#data-text").focus()
    page.go_back()
    page.wait_for_selector("#view-laws")
    assert focused(page) == "main"


def test_a_key_held_down_is_one_step_back(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    page = open_page("#laws")
    settle(page)
    page.locator("[data-param=serial]").focus()
    for _ in range(5):
        page.keyboard.down("ArrowRight")
    page.keyboard.up("ArrowRight")
    shown_in_address(page, "serial=0.055")
    page.go_back()
    page.wait_for_function("() => document.querySelector('[data-exact=serial]').value === '0.05'")


def test_the_address_is_that_of_the_last_step(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    """Packing data into an address takes longer than the next step, which must not be overtaken or mixed with it."""
    page = open_page("#data")
    settle(page)
    text = CSV + "".join(f"{k},{1 / k}\n" for k in range(17, 2000))
    page.evaluate(
        """([text]) => {
          const box = document.querySelector('#data-text');
          box.value = text;
          box.dispatchEvent(new Event('change'));
          document.querySelector('#tab-laws').click();
        }""",
        [text],
    )
    page.wait_for_function("() => location.hash === '#laws'")
    page.go_back()
    shown_in_address(page, "#data?z.text=")


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
        "[...document.querySelectorAll('svg[role=img]')].every(svg => svg.getAttribute('aria-label').length > 20)"
    )
    assert page.locator("[aria-live]").count() >= 1


@pytest.mark.parametrize(
    ("what", "start"), [("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b"K,T(K),S(K),E(K)\n1,1.0000")]
)
def test_a_chart_can_be_saved(
    open_page: Callable[..., Any], settle: Callable[[Any], None], what: str, start: bytes
) -> None:
    page = open_page("#laws")
    settle(page)
    with page.expect_download() as saved:
        page.locator(f"#panel-strong [data-share={what}]").click()
    content = Path(saved.value.path()).read_bytes()
    assert content.startswith(start)
    assert b"var(" not in content


def test_a_command_can_be_copied(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    page = open_page("#laws")
    settle(page)
    page.locator("#panel-strong [data-share='Copy command']").click()
    page.wait_for_selector("#toast.shown")
    assert page.evaluate("navigator.clipboard.readText()").startswith("scalecurve law logcomm")


def test_dark_is_dark(open_page: Callable[..., Any], settle: Callable[[Any], None], pictures: Path) -> None:
    page = open_page("#laws", scheme="dark")
    settle(page)
    page.screenshot(path=pictures / "laws-dark.png", full_page=True)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"


def test_ticks_are_numbers_people_write(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    """Days as 10 d and 100 d, dollars as $10B; a logarithmic axis is not given the ticks of a linear one."""
    page = open_page("#laws")
    settle(page)
    written = page.evaluate(
        """async () => {
          const { scale } = await import('/axes.js');
          const { dollars, formatSeconds, short } = await import('/format.js');
          const labels = (format, low, high) => {
            const axis = scale({ label: '', scale: 'log10', format }, [low, high], 300, 0, 42);
            return axis.ticks.map((tick) => axis.label(tick));
          };
          const cost = labels(dollars, 2e5, 3e10);
          return { time: labels(formatSeconds, 3e5, 3e8), cost, rate: labels(short, 3e5, 4e7) };
        }"""
    )
    assert written["time"] == ["10 d", "100 d", "1000 d"]
    assert written["cost"] == ["$1M", "$10M", "$100M", "$1B", "$10B"]
    assert written["rate"] == ["500k", "1M", "2M", "5M", "10M", "20M"]


def test_nothing_jumps_while_a_slider_is_dragged(open_page: Callable[..., Any], settle: Callable[[Any], None]) -> None:
    """The sentences above the slider stay, dimmed, until it is let go."""
    page = open_page("#training")
    settle(page)
    move = """() => { const slider = document.querySelector('[data-param=price]');
      slider.value = 700; slider.dispatchEvent(new Event('input', {bubbles: true})); }"""
    before = place_of(page, "[data-param=price]")["y"], page.locator(".summary").text_content()
    page.evaluate(move)
    quiet(page)
    assert page.locator(".view.moving").count() == 1
    assert (place_of(page, "[data-param=price]")["y"], page.locator(".summary").text_content()) == before
    page.evaluate("document.querySelector('[data-param=price]').dispatchEvent(new Event('change'))")
    quiet(page)
    assert page.locator(".view.moving").count() == 0
