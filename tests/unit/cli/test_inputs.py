"""Input options of the command line."""

import inspect

import click
from click.testing import CliRunner

import scalecurve as sc
from scalecurve.cli import inputs


def test_the_study_options_are_the_keywords_of_load() -> None:
    keywords = [p.name for p in inspect.signature(sc.load).parameters.values() if p.kind is p.KEYWORD_ONLY]

    assert list(inputs.READING) == keywords


def test_a_level_is_written_in_any_way() -> None:
    @click.command()
    @inputs.level_option("0.95")
    def command(level: float) -> None:
        click.echo(f"{level:.2f}")

    for text in ("0.9", "90", "90%", "90 %"):
        assert CliRunner().invoke(command, ["--level", text]).output == "0.90\n"
    assert "not a share" in CliRunner().invoke(command, ["--level", "150"]).output
