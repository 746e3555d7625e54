"""What --help shows."""

import pytest

from scalecurve.cli.main import run


def test_a_commands_own_options_come_first_and_shared_ones_under_headings(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["forecast", "--help"]) == 0
    text = capsys.readouterr().out
    headings = [line[:-1] for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]

    assert headings == ["Options", "Reading the file", "Plot", "Output"]
    own, reading, plot, output = (text.index(name) for name in ("--extrapolate", "--regime", "--font-size", "--help"))
    assert own < reading < plot < output


def test_the_options_of_measure_stand_under_the_tables_of_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", "--help"]) == 0
    text = capsys.readouterr().out

    assert text.index("\nLauncher:") < text.index("--processes") < text.index("\nAxes of a grid:")
