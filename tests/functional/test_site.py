"""The checks of tools/site.py: a built site is whole, and needs nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import site

THEME = f'<script src="{site.SEARCH_SHIM}"></script>'


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site of two pages whose links are right, as the theme leaves it."""
    monkeypatch.setattr(site, "SITE", tmp_path)
    for folder in ("guide", "assets"):
        (tmp_path / folder).mkdir()
    (tmp_path / "assets" / "folder-worker.js").write_text("")
    (tmp_path / "index.html").write_text(f'{THEME}<a href="guide/cost.html#price">price</a>')
    (tmp_path / "guide" / "cost.html").write_text(f'{THEME}<h2 id="price"></h2><a href="https://example.org">out</a>')
    return tmp_path


def test_a_page_may_link_elsewhere_but_load_nothing_from_there(built: Path) -> None:
    assert [problem.partition(" loads ")[2] for problem in site.dead_links()] == [site.SEARCH_SHIM] * 2

    site.keep_search_here()
    assert 'src="../assets/folder-worker.js"' in (built / "guide" / "cost.html").read_text()
    assert site.dead_links() == []


def test_dead_links_and_anchors_are_named(built: Path) -> None:
    site.keep_search_here()
    (built / "index.html").write_text('<a href="guide/cost.html#prize"></a><a href="gone.html"></a>')
    assert site.dead_links() == ["index.html: no anchor guide/cost.html#prize", "index.html: no file gone.html"]


def test_titles_of_the_menu_end_at_the_colon(tmp_path: Path) -> None:
    page = tmp_path / "usl.md"
    page.write_text("<!-- Generated -->\n\n# The Universal Scalability Law: where does throughput peak?\n")
    assert site.short_title(page) == "The Universal Scalability Law"


def test_links_between_pages_of_the_root_hold() -> None:
    text = site.project_links("[a hole](SECURITY.md), [conduct](CODE_OF_CONDUCT.md#scope), [laws](docs/laws/usl.md)")
    assert text == "[a hole](security.md), [conduct](code-of-conduct.md#scope), [laws](../laws/usl.md)"


def test_every_guide_is_in_the_menu() -> None:
    named = {name for entry in site.NAV.values() if isinstance(entry, list) for name in entry}
    assert {f"guide/{page.name}" for page in (site.ROOT / "docs" / "guide").glob("*.md")} <= named
