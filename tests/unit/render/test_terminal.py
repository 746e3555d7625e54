"""The terminal: every line fits, colours only where asked for, no control character gets through, a curve to see."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import scalecurve as sc
from scalecurve.document import Cell, Column, Document, FindingList, Heading, Listing, Paragraph, table
from scalecurve.findings import info, warning
from scalecurve.render.terminal import Screen, cells, to_terminal, to_text
from tests.reference_study import strong_study

ROOT = Path(__file__).parents[3]


def widest(text: str) -> int:
    return max(cells(line) for line in re.sub(r"\x1b\[\d+m", "", text).splitlines())


@pytest.mark.parametrize("width", [40, 60, 80, 100, 132])
def test_every_line_fits(width: int) -> None:
    for result in (sc.tabulate(strong_study()), sc.forecast(strong_study()), sc.cost(strong_study(), 2.5)):
        shown = [block for block in result.document().blocks if not isinstance(block, Listing)]  # commands to copy
        assert widest(to_terminal(Document(None, tuple(shown)), Screen(width=width, colour=True))) <= width


def test_the_columns_that_matter_least_go_first_and_are_named() -> None:
    text = to_terminal(sc.tabulate(strong_study()).document(), Screen(width=80))
    assert "std" not in text.partition("(left out")[0]
    assert "left out at 80 columns: std, interval of the mean" in text
    assert "verdict" in text


def test_a_wide_table_goes_on_below_with_its_first_column() -> None:
    heads = ["K", *(f"column-{i}" for i in range(12))]
    text = to_terminal(Document(None, (table(heads, [[str(i) for i in range(13)]]),)), Screen(width=50))
    assert all(f"column-{i}" in text for i in range(12))
    assert len(re.findall(r"^K ", text, flags=re.MULTILINE)) == 3


def test_a_pipe_gets_every_column_and_text_that_wraps() -> None:
    heads = ["K", "first K of many", Column("meaning", "left")]
    wrapped = to_text(Document(None, (table(heads, [["1", "2", "word " * 40]], caption="caption " * 20),)))
    assert widest(wrapped) <= 100
    numbers = to_text(Document(None, (table([f"column-{i}" for i in range(20)], [["1"] * 20]),)))
    assert len(numbers.splitlines()) == 3
    assert "column-19" in numbers


def test_headers_wrap_before_a_column_is_dropped() -> None:
    heads = ["K", "price of an hour saved", Column("needed least", rank=1)]
    shown = to_terminal(Document(None, (table(heads, [["1", "2", "3"]]),)), Screen(width=22))
    assert widest(shown) <= 22
    assert "left out" not in shown


def test_words_stand_left_and_numbers_right() -> None:
    rows = [["K = 1: no loss", "12", "x1.50", "64x refused"], ["E(8) is low", "refused", "x12.00", "2x"]]
    sides = [column.align for column in table(["check", "count", "factor", "beyond"], rows).columns]
    assert sides == ["left", "right", "right", "right"]
    assert [column.align for column in table(["none", "absent"], [["", None]]).columns] == ["right", "right"]


def test_a_line_that_goes_on_keeps_its_indent_and_the_last_line_fits() -> None:
    list_item = Document(None, (Paragraph("1. Question\n   " + "answer " * 12),))
    lines = to_terminal(list_item, Screen(width=40)).splitlines()
    assert len(lines) > 2
    assert all(line.startswith("   answer") for line in lines[1:])
    cut = Document(None, tuple(Paragraph(f"part {i}") for i in range(30)))
    text = to_terminal(cut, Screen(width=30, height=20))
    assert "--verbose shows 21 more parts." in " ".join(text.split())
    assert widest(text) <= 30


def test_text_columns_wrap_and_short_ones_keep_their_indent() -> None:
    heads = [Column("name", "left"), Column("meaning", "left")]
    shown = to_terminal(Document(None, (table(heads, [["  inner", "word " * 40]]),)), Screen(width=60))
    assert widest(shown) <= 60
    assert "\n  inner " in shown


def test_colours_say_verdicts_and_only_where_asked_for() -> None:
    document = Document(None, (table(["K"], [[Cell("below", "bad")]]), FindingList((warning("w", "text"),))))
    assert "\x1b[31mbelow\x1b[0m" in to_terminal(document, Screen(colour=True))
    assert "\x1b" not in to_terminal(document, Screen())


def test_control_characters_never_reach_the_terminal() -> None:
    evil = "a\x1b[2Jb\x07\u202ec"
    blocks = (Heading(evil), Paragraph(evil), Listing(evil), table([evil], [[evil]], caption=evil))
    text = to_terminal(Document(evil, (*blocks, FindingList((info("i", evil, remedy=evil),)))), Screen(width=60))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)


def test_one_screen_by_default_and_all_of_it_without_a_height() -> None:
    document = sc.forecast(strong_study()).document()
    short = to_terminal(document, Screen(width=80, height=24))
    assert short.count("\n") <= 26
    assert "--verbose shows the rest" in short
    assert "--verbose" not in to_terminal(document, Screen(width=80), whole=True)


def on_a_terminal(*words: str, columns: int = 80, rows: int = 40, **more: str) -> str:
    """What a command prints on a pseudo-terminal of this size."""
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    command = [sys.executable, "-m", "scalecurve", *words]
    process = subprocess.Popen(command, stdout=follower, stderr=subprocess.PIPE, env=kept | {"TERM": "xterm"} | more)
    os.close(follower)
    pieces = []
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        pieces.append(piece)
    process.communicate()
    os.close(leader)
    return b"".join(pieces).decode().replace("\r\n", "\n")


def test_a_real_terminal_gets_colours_and_nothing_a_file_wrote(tmp_path: Path) -> None:
    path = tmp_path / "evil.json"
    sc.save(sc.Study.from_samples({1: [1.0, 1.1], 2: [0.6, 0.7]}, regime="strong", name="x\x1b[2Jy"), path)
    text = on_a_terminal("table", str(path))
    assert "\x1b[31mbelow" in text or "\x1b[32mok" in text
    assert "\x1b[2J" not in text
    assert widest(text.replace(str(path), "evil.json")) <= 80  # a path is never broken: the command is to be pasted
    assert "\x1b" not in on_a_terminal("table", str(path), NO_COLOR="1")
    assert "\x1b" not in on_a_terminal("export", str(path), "--to", "csv")
