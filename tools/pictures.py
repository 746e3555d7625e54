"""The pictures of README and docs, made by the commands a reader would run: python tools/pictures.py [NAME ...]

Curves are SVG; the pages of report and explorer are PNG at the widths of a desk and of a phone, light and dark, and
need Chromium (`tools/engines-install`).  Without NAME, all of them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from scalecurve.cli.main import run

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
STUDY = "examples/hosts/study.json"
CURVES = {
    "readme-curve.svg": ["report", "examples/reference/strong.csv", "--regime", "strong", "-q", "-o"],
    "tutorial-table.svg": ["report", STUDY, "-q", "-o"],
    "tutorial-forecast.svg": ["forecast", STUDY, "-q", "--plot"],
}
SCREENS = {"desk": (1440, 900), "phone": (390, 844)}
CHART_ONLY = ".left-half, .top, .share, .behind, .why { display: none !important; } .split { display: block; }"
CHROMIUM = os.environ.get("SCALECURVE_CHROMIUM", "/usr/bin/chromium")


def pages() -> None:
    """The report at two widths in two themes, and its first screen for the tutorial."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as engine:
        page = Path(folder) / "report.html"
        run(["report", STUDY, "--price", "2.50", "-q", "-o", str(page)])
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, (width, height) in SCREENS.items():
            for theme in ("light", "dark"):
                tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
                tab.goto(page.as_uri())
                tab.screenshot(path=PICTURES / f"report-{name}-{theme}.png")
                tab.close()
        browser.close()
    (PICTURES / "tutorial-report.png").write_bytes((PICTURES / "report-desk-light.png").read_bytes())


def explorer() -> None:
    """Every view of the explorer's page at two widths in two themes, from the page without a server; few colours, so
    that the files stay small.  SCALECURVE_FULL names a folder for the whole pages, to look at."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    full = os.environ.get("SCALECURVE_FULL")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as engine:
        page = Path(folder) / "explorer.html"
        run(["explore", STUDY, "--export", str(page), "--models", "llama3-70b", "--clusters", "h100-ib400"])
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, (width, height) in SCREENS.items():
            for theme in ("light", "dark"):
                tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme, bypass_csp=True)
                for view in ("lesson", "training", "laws", "data", "mechanisms"):
                    tab.goto(page.as_uri())
                    tab.wait_for_selector("#main .view")
                    tab.locator(f"#tab-{view}").click()
                    tab.wait_for_selector(f"#view-{view} svg[role=img]", state="attached")
                    tab.add_style_tag(content="#toast { display: none; }")
                    tab.wait_for_timeout(400)
                    tab.wait_for_function("() => (document.documentElement.dataset.asking ?? '0') === '0'")
                    picture = PICTURES / f"explorer-{view}-{name}-{theme}.png"
                    tab.screenshot(path=picture)
                    few = Image.open(picture).convert("RGB").quantize(128, method=Image.Quantize.MAXCOVERAGE)
                    few.save(picture, optimize=True)
                    if full is not None:
                        tab.screenshot(path=Path(full) / picture.name, full_page=True)
                tab.close()
        browser.close()


def lesson() -> None:
    """The lesson while its sliders move, as a short animation: the critical batch falls, then the model grows."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    falling = [{"N": 70e9, "critical": 6e7 * (2e5 / 6e7) ** (step / 14), "P": 4096} for step in range(15)]
    growing = [{"N": 7e9 * 25 ** (step / 9), "critical": 4e6, "P": 16384} for step in range(10)]
    frames = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as engine:
        page = Path(folder) / "lesson.html"
        run(["explore", "--lesson", "--export", str(page)])
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 760, "height": 620}, color_scheme="light", bypass_csp=True)
        tab.goto(page.as_uri())
        tab.add_style_tag(content=CHART_ONLY)
        for number, values in enumerate([*falling, *growing]):
            tab.evaluate("(words) => { location.hash = words; }", "lesson?" + urlencode(values))
            tab.wait_for_timeout(120)
            picture = Path(folder) / f"{number}.png"
            tab.screenshot(path=picture)
            frames.append(Image.open(picture).convert("RGB"))
        browser.close()
    palette = frames[0].quantize(96)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    pauses = [1200 if place in (0, len(falling) - 1, len(falling), len(frames) - 1) else 220 for place in range(25)]
    frames[0].save(PICTURES / "lesson.gif", save_all=True, append_images=frames[1:], duration=pauses, loop=0)


def main(names: list[str]) -> None:
    os.chdir(ROOT)
    PICTURES.mkdir(exist_ok=True)
    for name, words in CURVES.items():
        if not names or name in names:
            run([*words, f"docs/pictures/{name}"])
    if not names or "report" in names:
        pages()
    if not names or "explorer" in names:
        explorer()
    if not names or "lesson" in names:
        lesson()


if __name__ == "__main__":
    main(sys.argv[1:])
