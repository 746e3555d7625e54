"""Answers, notes and progress of the command line."""

from types import SimpleNamespace
from typing import Any

import pytest

from scalecurve.cli.main import complain
from scalecurve.cli.output import Output, note, progress_line, show_progress
from scalecurve.study import Run, RunStatus


def launch(**changes: Any) -> Any:
    planned = SimpleNamespace(point=SimpleNamespace(k=4, role="scaling"), is_warmup=False, repeat=1)
    run = SimpleNamespace(value=1.21, status="ok", error=None)
    facts = {"planned": planned, "run": run, "number": 7, "total": 24, "load": 0.8, "elapsed": 30.0, "remaining": 12.0}
    facts |= {"unit": None, "cell": ""}
    return SimpleNamespace(**(facts | changes))


def test_a_finished_launch_is_one_line() -> None:
    text = progress_line(launch())

    assert text == "[ 7/24] K = 4 repeat 2: T = 1.21 s  (load 0.8, elapsed 30 s, about 12 s left)"


def test_a_rate_is_shown_in_its_own_unit_and_not_as_seconds() -> None:
    run = SimpleNamespace(value=1440.66, status="ok", error=None)

    assert "K = 4 repeat 2: 1440.66 events/s  (" in progress_line(launch(run=run, unit="events/s"))


def test_a_launch_of_a_grid_names_its_cell() -> None:
    assert "] workers 4, 2 threads, size 1000000 repeat 2: T" in progress_line(launch(cell="2 threads, size 1000000"))


def test_a_failed_launch_says_how_it_ended_and_its_last_words() -> None:
    run = Run(k=4, status=RunStatus.FAILED, error="boom\nmore")

    assert ": failed: boom: more  (elapsed 30 s)" in progress_line(launch(run=run, load=None, remaining=None))


def test_control_characters_do_not_reach_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = Run(k=4, status=RunStatus.FAILED, error="\x1b[2Jgone")
    note("file \x1b[2J.svg", Output())
    note("not printed", Output(quiet=True))
    show_progress(launch(run=hostile))
    show_progress(launch(run=None))

    assert complain("no \x1b[2J such\nfile", 2) == 2
    text = capsys.readouterr().err
    assert "\x1b" not in text
    assert text.splitlines()[-2:] == ["scalecurve: no \\x1b[2J such", "file"]
    assert "not printed" not in text
