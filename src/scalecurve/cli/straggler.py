"""`scalecurve straggler`: what the slowest of K costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from scalecurve import api
from scalecurve.cli.inputs import WORKERS, Parsed
from scalecurve.cli.output import Output, emit, note, output_options
from scalecurve.units import parse_share

SHARE = Parsed("share", parse_share)
COUNTS = Parsed("counts", lambda text: tuple(int(item) for item in text.split(",")))


def _shape(text: str) -> tuple[str, dict[str, float]]:
    name, _, rest = text.partition(":")
    pairs = [item.partition("=") for item in rest.split(",") if item]
    return name, {key.strip(): float(value) for key, _, value in pairs}


@click.command()
@click.option("--distribution", default="lognorm:s=0.1", show_default=True, help="A scipy distribution: gamma:a=4 ...")
@click.option("--samples", type=click.Path(path_type=Path), help="Your own step times instead: one number a line.")
@click.option("--workers", type=WORKERS, default="1..1024", show_default=True, help="Worker counts.")
@click.option(
    "--steps", type=click.IntRange(1), default=100, show_default=True, help="Steps between two barriers at the end."
)
@click.option("--backups", type=COUNTS, default="0,1,2,4,8", show_default=True, help="Backup workers at the largest K.")
@click.option("--slow-share", type=SHARE, help="Share of workers that are slow for good.")
@click.option(
    "--slow-factor", type=click.FloatRange(1), default=2.0, show_default=True, help="How much slower they are."
)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw it to a .svg, .png or .pdf file.")
@output_options
def command(*, distribution: str, plot: Path | None, output: Output, **given: Any) -> None:
    """Expected maximum, barrier efficiency, backup workers, persistent slowness."""
    try:
        name, shape = _shape(distribution)
    except ValueError:
        raise click.UsageError("write the distribution like lognorm:s=0.3 or gamma:a=4,scale=0.25") from None
    result = api.cost_stragglers(distribution=name, shape=shape, **given)
    emit(result, output)
    if plot is not None:
        api.plot(result, plot)
        note(f"plot written to {plot}", output)
