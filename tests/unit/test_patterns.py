"""Patterns of users: faults before they are used, and an end to every search, wherever a pattern is taken."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from scalecurve import load
from scalecurve.errors import InputError
from scalecurve.formats.sweeps import read_sweeps
from scalecurve.measurement.launchers.batch import lives
from scalecurve.measurement.settings import make_settings
from scalecurve.patterns import fault_in, search, spans_of

ENDLESS = "(a|aa)+$"
NAME = "a" * 60 + "!"


def test_patterns_are_searched_line_by_line() -> None:
    assert search([("a", r"^x=(\d+)", "x=1\nx=2"), ("b", r"y=(\d+)", ""), ("c", "RUN", "RUN")]) == [
        ["1", "2"],
        [],
        ["RUN"],
    ]
    assert spans_of([("a", r"x(\d)|y", "y x1")]) == [[(-1, -1), (3, 4)]]


def test_a_search_without_end_names_its_pattern() -> None:
    with pytest.raises(InputError, match=r"the b pattern was still searching after 0.5 s .*'\(a\|aa\)\+\$'"):
        search([("a", "(a)", "a"), ("b", ENDLESS, NAME)], limit=0.5)


@pytest.mark.parametrize("pattern", ["n(", "(" * 400 + ")" * 400, "a{99999999999999999999}", "\\", "(a)" * 400, "x"])
def test_faults_before_the_search(pattern: str) -> None:
    fault = fault_in(pattern, "--k-from", "write n")

    assert fault is not None
    assert fault.where == "--k-from"
    assert fault.remedy == "write n"


def test_a_pattern_that_python_warns_about_is_read() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fault_in("[[a](b)", "--k-from", "write n") is None


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches that end after a fifth of a second."""
    monkeypatch.setattr("scalecurve.patterns.SEARCH_SECONDS", 0.2)


@pytest.mark.usefixtures("quick")
def test_every_place_that_takes_a_pattern_ends_it(tmp_path: Path) -> None:
    table = tmp_path / f"{NAME}.csv"
    table.write_text("seconds\n1.0\n")
    sweep = tmp_path / f"sweep{NAME}.csv"
    sweep.write_text("op,ranks,bytes,t_avg_us\nallreduce,8,1024,20\n")
    with pytest.raises(InputError, match="--k-from pattern was still searching"):
        load(table, regime="strong", k_from=ENDLESS)
    with pytest.raises(InputError, match="--k-from pattern was still searching"):
        read_sweeps([sweep], k_from=ENDLESS)
    with pytest.raises(InputError, match="alive pattern was still searching"):
        lives(0, NAME, ENDLESS)


@pytest.mark.parametrize(
    ("key", "pattern"), [("number_pattern", "(x"), ("number_pattern", "x"), ("alive_pattern", "(x")]
)
def test_the_patterns_of_a_batch_system_are_checked_before_a_job_is_submitted(key: str, pattern: str) -> None:
    with pytest.raises(InputError, match=f"launcher.batch.{key}"):
        make_settings(
            {
                "command": ["true"],
                "workers": [1],
                "regime": "strong",
                "launcher": {"name": "lsf", "batch": {key: pattern}},
            }
        )
