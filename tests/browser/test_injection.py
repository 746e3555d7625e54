"""Names, units, notes and column heads that are markup or script: in a real browser none of them acts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import scalecurve as sc

EVIL = "\"'><img src=x onerror=window.hit=1><script>window.hit=1</script><svg onload=window.hit=1>"
ACTED = """() => window.hit === 1 || [...document.querySelectorAll('img, script, iframe, object, [onerror], [onload]')]
  .some(e => e.src?.endsWith('/x') || e.textContent.includes('window.hit=1') && e.tagName !== 'SCRIPT'
    || e.hasAttribute('onerror') || e.hasAttribute('onload'))"""
TABLE = f'"variant {EVIL.replace(chr(34), "")}",gpus,seconds\n' + "".join(
    f'"{name} {EVIL.replace(chr(34), "")}",{k},{1 / k + 0.02:.4f}\n' for name in ("a", "b") for k in (1, 2, 4, 8)
)


def evil_study(folder: Path) -> Path:
    """A study file whose every free text is markup."""
    path = folder / "evil.json"
    content = sc.load({1: [8.0, 8.1], 2: [4.2, 4.1], 4: [2.3, 2.2]}, regime="strong").to_dict()
    content["name"] = content["k_unit"] = EVIL
    content["workload"] = content.get("workload", {}) | {"name": EVIL, "description": EVIL, "work_unit": EVIL}
    content["provenance"] = content.get("provenance", {}) | {"source": EVIL, "notes": [EVIL], "machine": {EVIL: EVIL}}
    path.write_text(json.dumps(content))
    return path


def drop(page: Any, name: str, text: str) -> None:
    page.locator("#data-file").set_input_files({"name": name, "mimeType": "text/plain", "buffer": text.encode()})


def test_texts_of_a_study_never_act_in_the_page(
    open_page: Callable[..., Any], settle: Callable[[Any], None], tmp_path: Path
) -> None:
    page = open_page("#data")
    drop(page, f"{EVIL}.json", evil_study(tmp_path).read_text())
    page.wait_for_selector("#data-table table")
    settle(page)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert "onerror" in page.locator("#data-table").inner_text()  # it is shown, as text
    assert not page.evaluate(ACTED)
    drop(page, "table.csv", TABLE)
    page.locator("[data-regime=strong]").click()
    page.wait_for_function("() => document.querySelector('#data-series').options.length === 2")
    settle(page)
    assert not page.evaluate(ACTED)


def test_texts_of_an_address_never_act_in_the_page(
    open_page: Callable[..., Any], settle: Callable[[Any], None]
) -> None:
    page = open_page("#data")
    for hash in (
        f"#{EVIL}",
        f"#training?model={EVIL}&nope={EVIL}",
        f"#laws?serial={EVIL}",
        f"#mechanisms?topic={EVIL}",
    ):
        page.evaluate("(hash) => { history.pushState(null, '', '#' + encodeURI(hash.slice(1))); }", hash)
        page.evaluate("() => window.dispatchEvent(new PopStateEvent('popstate'))")
        page.wait_for_function(
            "() => document.querySelector('#main .took:not([hidden]), #main .problem:not([hidden])')"
        )
        page.wait_for_function("() => (document.documentElement.dataset.asking ?? '0') === '0'")
        assert not page.evaluate(ACTED), hash


def test_texts_of_a_study_never_act_in_a_report_or_an_exported_page(browser: Any, tmp_path: Path) -> None:
    from scalecurve.explorer.export import explore

    study = evil_study(tmp_path)
    sc.write_report(study, tmp_path / "report.html", price=2.5)
    explore(study, models=["llama3-8b"], clusters=["h100-ib400"]).save(tmp_path / "page.html")
    for name in ("report.html", "page.html"):
        page = browser.new_page()
        page.goto(f"file://{tmp_path / name}")
        page.wait_for_selector("main .answer, #main .view")
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        page.wait_for_function("() => (document.documentElement.dataset.asking ?? '0') === '0'")
        assert "onerror" in page.locator("main").inner_text()
        assert not page.evaluate(ACTED)
        page.close()


def test_the_token_leaves_the_address_and_goes_nowhere_else(browser: Any, address: str) -> None:
    token = address.partition("token=")[2]
    context = browser.new_context()
    page, seen = context.new_page(), []
    page.on("request", lambda request: seen.append((request.url, request.headers.get("referer", ""))))
    page.goto(address)
    page.wait_for_selector("#main .view")
    assert token not in page.url
    assert token not in page.evaluate("document.documentElement.outerHTML + JSON.stringify(history.state)")
    assert [url for url, _ in seen if token in url] == [address]
    assert [referer for _, referer in seen if token in referer] == []
    assert token not in page.evaluate("document.cookie")  # scripts cannot read it
    context.close()


def test_without_its_token_a_link_opens_a_page_that_says_so(browser: Any, address: str) -> None:
    page = browser.new_context().new_page()
    answer = page.goto(address.partition("?")[0])
    assert answer.status == 401
    assert "This page needs its link" in page.locator("h1").inner_text()
