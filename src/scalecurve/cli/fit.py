"""`scalecurve fit`: laws ranked, parameters with intervals, and what the data cannot tell apart."""

from __future__ import annotations

import click

from scalecurve import api
from scalecurve.cli.inputs import Parsed, study_options
from scalecurve.cli.output import Output, emit, output_options
from scalecurve.study import Study
from scalecurve.units import parse_share


@click.command()
@study_options
@click.option("--law", multiple=True, help="Only this law; may be repeated.")
@click.option("--level", type=Parsed("share", parse_share), default="0.95", show_default=True, help="Of the intervals.")
@click.option(
    "--weighting",
    type=click.Choice(["relative", "absolute"]),
    default="relative",
    show_default=True,
    help="Relative errors, or plain least squares on the values as other tools do.",
)
@output_options
def command(study: Study, law: tuple[str, ...], level: float, weighting: str, output: Output) -> None:
    """Laws ranked by how well they predict K they were not fitted to, with intervals of their parameters."""
    emit(api.fit(study, law=law or None, level=level, weighting=weighting), output)
