"""Page and command line are one engine: random settings, the printed command, no number that differs.

Laws and mechanisms, which compute in the page, and the longer form are in tests/browser/test_drag.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explorer_drag import States, ask, differences, states

COUNTS = {"data": 6, "training": 3}


@pytest.mark.parametrize(("question", "body"), list(states(7, COUNTS)))
def test_the_printed_command_gives_every_number_of_the_page(question: str, body: States, tmp_path: Path) -> None:
    assert differences(question, body, tmp_path) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "mixtral-8x7b", "cluster": "h800-ib400", "seq": 4096, "precision": "fp8", "batch_tokens": 1048576},
        {"model": "gpt3-175b", "cluster": "a100-ib200", "stack": "megatron-lm", "seq": 2048, "batch_tokens": 3145728},
        {"cluster": "own", "weak": True, "deadline_days": 30, "budget": 1e6},
        {"size": 4e12, "cluster": "v100-ib100", "batch_tokens": 65536},
    ],
)
def test_experts_own_accelerators_limits_and_refusals_too(settings: States, tmp_path: Path) -> None:
    assert differences("training", settings, tmp_path) == []


def test_while_a_slider_moves_the_page_says_that_fewer_layouts_are_tried() -> None:
    _, page = ask("training", {"exact": False})
    assert page["exact"] is False
    assert "fewer layouts" in page["sentences"][0]
