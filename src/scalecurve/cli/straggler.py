"""`scalecurve straggler`: what waiting for the slowest of K costs."""

from __future__ import annotations

from pathlib import Path

import click

from scalecurve import mechanisms
from scalecurve.cli.inputs import SHARE, WORKERS, Parsed
from scalecurve.cli.output import Output, emit_drawn, output_options, plot_option

COUNTS = Parsed("counts", lambda text: tuple(int(item) for item in text.split(",")))


@click.command()
@click.option("--distribution", default="lognorm:s=0.1", show_default=True, help="A scipy distribution: gamma:a=4 ...")
@click.option("--samples", type=click.Path(path_type=Path), help="Your own step times instead: one number a line.")
@click.option("--workers", type=WORKERS, default="1..1024", show_default=True, help="Worker counts.")
@click.option(
    "--steps", type=click.IntRange(1), default=100, show_default=True, help="Steps between two barriers at the end."
)
@click.option("--backups", type=COUNTS, default="0,1,2,4,8", show_default=True, help="Backup workers at the largest K.")
@click.option("--slow-share", type=SHARE, help="Share of workers that are always slow.")
@click.option(
    "--slow-factor", type=click.FloatRange(1), default=2.0, show_default=True, help="How much slower they are."
)
@plot_option
@output_options
def command(
    *,
    distribution: str,
    samples: Path | None,
    workers: tuple[int, ...],
    steps: int,
    backups: tuple[int, ...],
    slow_share: float | None,
    slow_factor: float,
    plot: Path | None,
    output: Output,
) -> None:
    """Expected maximum, barrier efficiency, backup workers, persistent slowness."""
    name, _, rest = distribution.partition(":")
    pairs = [item.partition("=") for item in rest.split(",") if item]
    try:
        shape = {key.strip(): float(value) for key, _, value in pairs}
    except ValueError:
        raise click.UsageError("write the distribution like lognorm:s=0.3 or gamma:a=4,scale=0.25") from None
    cost = mechanisms.straggler_cost(
        workers,
        distribution=name,
        shape=shape,
        samples=samples,
        steps=steps,
        backups=backups,
        slow_share=slow_share,
        slow_factor=slow_factor,
    )
    emit_drawn(cost, plot, output)
