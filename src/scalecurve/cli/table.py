"""`scalecurve table`: T, S and E with intervals, and where the curve bends."""

from __future__ import annotations

from pathlib import Path

import click

from scalecurve import api
from scalecurve.cli.inputs import Parsed, study_options
from scalecurve.cli.output import Output, emit, note, output_options
from scalecurve.study import Study
from scalecurve.units import parse_share


@click.command()
@study_options
@click.option(
    "--threshold", type=Parsed("share", parse_share), default="0.7", show_default=True, help="Efficiency floor."
)
@click.option(
    "--level", type=Parsed("share", parse_share), default="0.95", show_default=True, help="Level of intervals."
)
@click.option("--bend", default="efficiency", show_default=True, help="Rule: efficiency, marginal or knee.")
@click.option("--karp-flatt", is_flag=True, help="Show the serial share each row would imply.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the curve to a .svg, .png or .pdf file.")
@output_options
def command(
    study: Study, threshold: float, level: float, bend: str, karp_flatt: bool, plot: Path | None, output: Output
) -> None:
    """T, S and E with intervals for every K, and where the curve bends.

    STUDY is a study file, a plain CSV with a column of worker counts and a column of times or rates, or - for
    standard input.
    """
    table = api.tabulate(study, threshold=threshold, level=level, bend=bend, karp_flatt=karp_flatt)
    emit(table, output)
    if plot is not None:
        api.plot(table, plot)
        note(f"plot written to {plot}", output)
