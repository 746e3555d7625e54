"""Numbers as sentences say them."""

from __future__ import annotations

import pytest

from scalecurve.words import beside, limit_words, percent


@pytest.mark.parametrize(
    ("share", "text"), [(0.83, "83 %"), (0.698, "69.8 %"), (0.69996, "69.996 %"), (0.7003, "70 %"), (0.7, "70 %")]
)
def test_a_share_shows_on_which_side_of_the_limit_it_lies(share: float, text: str) -> None:
    assert percent(share, 0.7) == text


def test_a_share_alone_is_whole() -> None:
    assert percent(0.698) == "70 %"


def test_a_figure_keeps_the_decimals_of_its_kind() -> None:
    figures = [beside(value, 1.7, 2) for value in (1.698, 1.6996, 1.71)]
    assert figures == ["1.698", "1.6996", "1.71"]


def test_a_limit_is_as_it_was_stated() -> None:
    assert [limit_words(0.7), limit_words(0.725), limit_words(1.2)] == ["70 %", "72.5 %", "120 %"]
