"""How fast the explorer answers, in a real browser: slider to redraw in the training view, and first paint.

    python -m bench.explorer [--moves 60] [--record]

Prints the median and 90th percentile of slider to redraw, server included, every move with a setting not asked before
(size and batch need a new search of the planner; tokens and critical batch reuse its last),
also as shares of one `plan` call of the same job on this machine, which holds on a busy one; the time to export a page
with a study and the weight of the pages; and the times to the first paint of the page: from starting a cold server, and
of the page without a server, which `scalecurve explore --export` writes.  --record puts the figures into
bench/reliability.json, from which docs/reliability.md is made.  Needs playwright and Chromium.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.reliability import record

CHROMIUM = os.environ.get("SCALECURVE_CHROMIUM", "/usr/bin/chromium")
LIMIT_REDRAW_MS, LIMIT_P90_MS, LIMIT_EXACT_MS, LIMIT_PAINT_S, LIMIT_STATIC_S = 50.0, 120.0, 400.0, 1.5, 1.0
LIMIT_EXPORT_S, LIMIT_LESSON_KB = 20.0, 150.0

# Moves a slider as a reader would and waits for the chart to be drawn anew; all clocks are the browser's.
MOVE = """async ([param, place]) => {
  const slider = document.querySelector(`[data-param=${param}]`);
  const chart = document.querySelector('#panel-training .chart');
  const before = chart.dataset.drawn;
  const start = performance.now();
  slider.value = place;
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  while (chart.dataset.drawn === before) await new Promise(resolve => setTimeout(resolve, 0));
  await new Promise(resolve => requestAnimationFrame(resolve));
  return performance.now() - start;
}"""
# Lets go of the slider and waits for the planner's own answer.
RELEASE = """async ([param]) => {
  const slider = document.querySelector(`[data-param=${param}]`);
  const chart = document.querySelector('#panel-training .chart');
  const before = chart.dataset.drawn;
  const start = performance.now();
  slider.dispatchEvent(new Event('change', {bubbles: true}));
  while (chart.dataset.drawn === before) await new Promise(resolve => setTimeout(resolve, 0));
  await new Promise(resolve => requestAnimationFrame(resolve));
  return performance.now() - start;
}"""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def serve() -> tuple[subprocess.Popen[str], str, float]:
    """A cold server, its address, and when it was started."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "scalecurve", "explore", "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline() if process.stdout else ""
    found = re.search(r"http://\S+", line)
    if found is None:
        raise SystemExit(f"the server did not start: {line}")
    return process, found[0], started


def first_paint(browser: Any) -> tuple[float, float, float]:
    """Seconds from starting the server to the page's first paint, to its first chart, and the page's own share."""
    process, address, started = serve()
    try:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        opened = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length > 0")
        own = page.evaluate(PAINT) / 1000
        painted = opened - started + own
        page.wait_for_selector("#main svg[role=img]", state="attached")
        charted = time.perf_counter() - started
        page.close()
        return painted, charted, own
    finally:
        process.terminate()
        process.wait()


def static_paint(browser: Any, page_file: Path) -> tuple[float, float]:
    """Seconds from opening the page without a server to its first paint and to its first chart."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    opened = time.perf_counter()
    page.goto(page_file.as_uri(), wait_until="commit")
    page.wait_for_selector("#main svg[role=img]", state="attached")
    charted = time.perf_counter() - opened
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length > 0")
    painted = page.evaluate(PAINT) / 1000
    page.close()
    return painted, charted


def export(folder: str, *words: str) -> Path:
    """The page that `explore --export` writes with these words."""
    target = Path(folder) / f"{Path(words[0]).stem}.html"
    command = [sys.executable, "-m", "scalecurve", "explore", *words, "--export", str(target)]
    subprocess.run(command, check=True, capture_output=True)
    return target


def one_plan() -> float:
    """Milliseconds of one call of the planner for a model it has not planned, the median over shapes.

    The planner remembers its search: another price or token count of the same model takes a hundredth of this.
    """
    from scalecurve.explorer.questions.training import TrainingRequest, shapes

    times = []
    for shape in shapes()[4::4]:
        asked = TrainingRequest(size=shape.parameters)
        start = time.perf_counter()
        asked.plan()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def redraws(browser: Any, moves: int) -> dict[str, list[float]]:
    process, address, _ = serve()
    try:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(120_000)
        page.goto(address + "#training?critical=measured")
        page.wait_for_selector("#panel-training svg")
        page.evaluate(MOVE, ["critical_tokens", 300])  # the first move may still load something
        page.evaluate(RELEASE, ["critical_tokens"])
        places = [200 + 600 * step / moves + 0.37 for step in range(moves)]
        times: dict[str, list[float]] = {"exact answer": [], "exact answer, both charts": []}
        shapes = page.evaluate("() => import('/api.js').then((it) => it.ask('training/choices', {}))")["shapes"]
        stops = {"size": [1000 * place / (len(shapes) - 1) for place in range(len(shapes))]}  # each shape once
        for param in ("size", "batch_tokens", "tokens_per_parameter", "critical_tokens"):
            times[param] = []
            for number, place in enumerate(stops.get(param, places)):
                times[param].append(page.evaluate(MOVE, [param, place]))
                if number % 8 == 7:
                    start = time.perf_counter()
                    times["exact answer"].append(page.evaluate(RELEASE, [param]))
                    page.wait_for_selector("#panel-weak:not(.stale)", timeout=120_000)
                    times["exact answer, both charts"].append(1000 * (time.perf_counter() - start))
        return times
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=60)
    parser.add_argument("--page", type=Path, help="an exported page, instead of exporting one")
    parser.add_argument("--record", action="store_true", help="put the figures into bench/reliability.json")
    given = parser.parse_args()
    figures: dict[str, Any] = {"tried": 0, "failed": 0, "what": "Times in calls of the planner, on the same machine"}
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        before, moved = one_plan(), redraws(browser, given.moves)
        planned = (before + one_plan()) / 2  # other users of the machine slow the moves and the calls alike
        print(f"one plan call: {planned:.0f} ms")
        figures["one plan call in ms"] = round(planned)
        for param, times in moved.items():
            middle, late = statistics.median(times), statistics.quantiles(times, n=10)[-1]
            first, second = (LIMIT_EXACT_MS,) * 2 if param.startswith("exact") else (LIMIT_REDRAW_MS, LIMIT_P90_MS)
            what = "after release" if param.startswith("exact") else "slider to redraw"
            figures["tried"] += len(times)
            figures[f"{param}: median"] = round(middle / planned, 2)
            figures[f"{param}: 90th percentile"] = round(late / planned, 2)
            print(
                f"{param}: {what}, median {middle:.1f} ms, 90th percentile {late:.1f} ms, "
                f"{middle / first:.2f} and {late / second:.2f} of the limits, {middle / planned:.2f} and "
                f"{late / planned:.2f} plan calls"
            )
        paints = [first_paint(browser) for _ in range(3)]
        painted, charted, own = (statistics.median(each) for each in zip(*paints, strict=True))
        print(
            f"cold server to first paint, median {painted:.2f} s ({own:.2f} s of it the page), "
            f"{painted / LIMIT_PAINT_S:.2f} of the limit; first chart after {charted:.2f} s"
        )
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            target = given.page or export(folder, "examples/hosts/study.json")
            taken = time.perf_counter() - started
            lesson = export(folder, "--lesson").stat().st_size / 1000
            figures |= {"export with a study": round(1000 * taken / planned), "lesson in kB": round(lesson)}
            figures["exported page in MB"] = round(target.stat().st_size / 1e6, 2)
            print(
                f"export with a study: {taken:.1f} s, {taken / LIMIT_EXPORT_S:.2f} of the limit, "
                f"{1000 * taken / planned:.0f} plan calls; the page has {target.stat().st_size / 1e6:.2f} MB, "
                f"the lesson {lesson:.0f} kB, {lesson / LIMIT_LESSON_KB:.2f} of the limit"
            )
            painted, charted = (
                statistics.median(each) for each in zip(*(static_paint(browser, target) for _ in range(5)), strict=True)
            )
        print(
            f"page without a server to first paint, median {painted:.2f} s, {painted / LIMIT_STATIC_S:.2f} of the "
            f"limit; first chart after {charted:.2f} s"
        )
        browser.close()
    if given.record:
        record("explorer, speed", figures, f"python -m bench.explorer --moves {given.moves} --record")


if __name__ == "__main__":
    main()
