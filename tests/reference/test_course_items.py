"""The digits of the course, item by item, come out of the command that its page names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from scalecurve.cli.main import run
from tools.items_page import items

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("item", items(), ids=lambda item: item["what"][:40])
def test_the_digits_come_out(
    item: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert run(shlex.split(item["command"])) in (0, 1)
    said = " ".join(capsys.readouterr().out.split())
    for digits in item["digits"]:
        assert re.search(rf"(?<![\d.]){re.escape(digits)}", said), (digits, said)
