"""The page without a server, as text; tests/browser/test_static.py opens it."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from scalecurve.errors import InputError
from scalecurve.explorer.export import ExplorerPage, bundle, explore, lesson


def test_the_modules_become_one_script_without_imports() -> None:
    script = bundle()
    assert 'modules["live.js"]' in script
    assert "\nimport " not in script
    assert "\nexport " not in script
    assert (
        script.index('modules["format.js"] =')
        < script.index('modules["chart.js"] =')
        < script.index('modules["app.js"] =')
    )


def test_unknown_names_are_refused_before_anything_is_computed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nonsense"):
        explore(models=["nonsense"])
    with pytest.raises(InputError):
        explore(models=["llama3-8b"], clusters=["nonsense"])
    with pytest.raises(InputError, match=r"\.html"):
        ExplorerPage("").save(tmp_path / "page.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_shows_it_in_a_frame() -> None:
    shown = ExplorerPage('<p class="x">&</p>')._repr_html_()
    assert 'srcdoc="&lt;p class=&quot;x&quot;&gt;&amp;&lt;/p&gt;"' in shown


def test_the_page_lets_in_its_own_script_only() -> None:
    page = lesson().html
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert "unsafe" not in policy[1]
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy[1]
