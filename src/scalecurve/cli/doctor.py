"""`scalecurve doctor`: which launchers can be used here, and how noisy the machine is."""

from __future__ import annotations

import click

from scalecurve import api
from scalecurve.cli.inputs import Parsed
from scalecurve.cli.output import Output, emit, output_options
from scalecurve.units import parse_seconds


@click.command()
@click.option(
    "--noise-time",
    type=Parsed("duration", parse_seconds),
    default="2s",
    show_default=True,
    help="How long to measure the noise floor.",
)
@output_options
def command(noise_time: float, output: Output) -> None:
    """What this machine can measure: usable launchers (with the missing piece named) and the noise floor."""
    emit(api.doctor(seconds=noise_time), output)
