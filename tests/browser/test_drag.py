"""Every control dragged at random: what the page shows is what the printed commands give."""

from __future__ import annotations

import os
import random
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.explorer_drag import VIEWS, States, ask, command_line, differences, is_printed, missing_numbers, states

LONG = int(os.environ.get("SCALECURVE_DRAG", "1"))  # make faults: 5, which is 300 states
COUNTS = {"laws": 22 * LONG, "mechanisms": 14 * LONG, "data": 12 * LONG, "training": 14 * LONG}


def test_random_states_without_a_difference(open_page: Callable[..., Any], tmp_path: Path) -> None:
    page = open_page("#laws")

    def computed(question: str, body: States) -> tuple[int, States]:
        """The answer of the page's own engine, or of the server's."""
        here = page.evaluate("([name, body]) => import('/live.js').then(it => it.LIVE[name]?.(body))", [question, body])
        return ask(question, body) if here is None else (200, here)

    found = []
    for number, (question, body) in enumerate(states(19, COUNTS)):
        folder = tmp_path / str(number)
        folder.mkdir()
        found += differences(question, body, folder, computed)
    assert found == []


SHOWN = """() => ({
  summary: [...document.querySelectorAll('.summary p')].map(p => p.textContent),
  tiles: [...document.querySelectorAll('.facts dd')].map(d => d.textContent),
  tables: [...document.querySelectorAll('.lead .panel:not([hidden])')].map(panel => {
    panel.querySelector('details').open = true;
    return null;
  }).length,
  commands: [...document.querySelectorAll('.commands pre')].map(p => p.textContent),
})"""
OPEN = "() => [...document.querySelectorAll('.lead .panel:not([hidden])')].every(e => e.querySelector('details table'))"
ROWS = """() => [...document.querySelectorAll('.lead .panel:not([hidden]) tbody tr')]
  .map(row => [...row.cells].map(cell => cell.textContent).join(' ').split(/\\s+/))"""


def page_state(view: str, number: int) -> tuple[str, States]:
    """A hash of the page for a random state of the view."""
    rng = random.Random(1000 + number)
    question, body = VIEWS[view](rng)
    if view == "mechanisms":
        names = {"slowest": {"largest": "workers"}, "depth": {"largest": "processors"}}
        topic = question.partition("/")[2]
        body = {"topic": topic} | {names.get(topic, {}).get(key, key): value for key, value in body.items()}
    body.pop("weak", None)
    texts = {key: str(value).lower() if isinstance(value, bool) else value for key, value in body.items()}
    return f"#{view}?{urlencode(texts)}", body


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("view", ["training", "laws", "mechanisms"])
def test_what_chromium_shows_is_what_the_commands_print(
    open_page: Callable[..., Any], settle: Callable[[Any], None], tmp_path: Path, view: str, number: int
) -> None:
    hash, _ = page_state(view, number)
    page = open_page(hash)
    settle(page)
    shown = page.evaluate(SHOWN)
    page.wait_for_function(OPEN)
    rows = page.evaluate(ROWS)
    files, commands = {}, []
    for text in shown["commands"]:
        named = re.match(r"# (\S+)\n", text)
        if named:
            files[named[1]] = text.partition("\n")[2]
        else:
            commands.append(text)
    texts, told = "", ""
    for command in commands:
        code, out, complaints = command_line(command, files, tmp_path)
        assert code == 0 or page.locator("#panel-training .note").text_content().startswith("The planner refuses")
        texts += out + complaints
        told += command_line(command, files, tmp_path, "--json")[1] if command.startswith("scalecurve") else ""
    lines = [line.split() for line in texts.splitlines()]
    if view != "mechanisms":  # its tables hold further sizes and shares, compared above through the questions
        assert [row for row in rows if row and not is_printed(row, lines)] == []
    assert missing_numbers([*shown["summary"], *shown["tiles"]], texts + told + hash) == []


SLOW = """(() => {
  const real = window.fetch;
  window.fetch = async (...asked) => {
    if (String(asked[0]).startsWith('/api/')) await new Promise((resolve) => setTimeout(resolve, window.DELAY ?? 0));
    return real(...asked);
  };
})()"""
# Opens a state and says what the page shows once it is grey, or shortly before the delayed answer comes.
OPENED = """async (hash) => {
  window.DELAY = 3000;
  history.pushState(null, '', hash);
  window.dispatchEvent(new PopStateEvent('popstate'));
  const began = performance.now();
  while (!document.querySelector('#main .view.pending') && performance.now() - began < 2500) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const taken = performance.now() - began;
  const view = document.querySelector('#main .view');
  return {
    taken,
    grey: view.classList.contains('pending'),
    words: view.querySelector('.computing').textContent,
    saves: [...view.querySelectorAll('[data-share]')].filter((button) => !button.disabled).length,
    asking: Number(document.documentElement.dataset.asking ?? 0),
  };
}"""
DONE = (
    "() => !document.querySelector('#main .view.pending') && (document.documentElement.dataset.asking ?? '0') === '0'"
)


def test_what_is_not_yet_recomputed_is_grey_in_every_state(open_page: Callable[..., Any]) -> None:
    """Laws and mechanisms compute in the page; the other views wait, and must say so with answers delayed by 3 s."""
    page = open_page("#training")
    page.evaluate(SLOW)
    waits, states = [], 0
    for view in ("training", "data"):
        for number in range(2 if LONG == 1 else COUNTS[view]):
            hash, _ = page_state(view, number)
            seen = page.evaluate(OPENED, hash)
            page.wait_for_function(DONE, timeout=90_000)
            states += 1
            if seen["asking"]:  # a state that was asked before is answered at once
                waits.append(seen["taken"])
                assert seen["grey"], hash[:200]
                assert seen["words"].startswith("computing "), hash[:200]
                assert seen["saves"] == 0, hash[:200]
    assert len(waits) > 0.8 * states
    print(f"grey in {len(waits)} of {states} states, after {statistics.median(waits):.0f} ms (median)")
