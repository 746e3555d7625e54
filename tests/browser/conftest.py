"""A real server and a real Chromium for the tests of the page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

WIDTHS = {"desktop": (1440, 900), "phone": (390, 844)}
CHROMIUM = os.environ.get("SCALECURVE_CHROMIUM", "/usr/bin/chromium")
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where the explorer listens."""
    pytest.importorskip("uvicorn", reason="the web extra is not installed")
    command = [sys.executable, "-m", "scalecurve", "explore", "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.terminate()
        process.wait(timeout=20)
        if process.stdout:
            process.stdout.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium; without it the tests are skipped, and say so."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no Chromium at {CHROMIUM}; name one in SCALECURVE_CHROMIUM")
    with playwright.sync_playwright() as engine:
        chromium = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Open the page at a hash and size; at the end nothing may have been complained of on the console."""
    contexts, heard, expected = [], [], ["status of 422"]  # a refused question is an answer, though browsers log it

    def opened(hash: str = "", size: str = "desktop", scheme: str = "light", complaints: str = "") -> Any:
        width, height = WIDTHS[size]
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        expected.extend([complaints] if complaints else [])
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)  # a busy machine is slow, not wrong
        page.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.goto(address + hash)
        page.wait_for_selector("#main .view")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [text for text in heard if not any(words in text for words in expected)] == []


@pytest.fixture
def settle() -> Callable[[Any], None]:
    """Wait until no question is on its way and the charts stand still."""

    def settled(page: Any) -> None:
        page.wait_for_function("() => document.querySelectorAll('.lead svg, .empty:not([hidden])').length > 0")
        page.wait_for_function("() => (document.documentElement.dataset.asking ?? '0') === '0'")

    return settled


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where screenshots are kept."""
    folder = Path(os.environ.get("SCALECURVE_PICTURES", "build/browser"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
