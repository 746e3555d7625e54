"""`scalecurve workdepth`: work, depth and the speedup a task graph admits."""

from __future__ import annotations

from pathlib import Path

import click

from scalecurve import mechanisms
from scalecurve.cli.inputs import WORKERS
from scalecurve.cli.output import Output, emit_drawn, output_options, plot_option


@click.command()
@click.argument("graph")
@click.option("--workers", type=WORKERS, default="1..64", show_default=True, help="Numbers of workers P.")
@plot_option
@output_options
def command(*, graph: str, workers: tuple[int, ...], plot: Path | None, output: Output) -> None:
    """Work W, depth D, parallelism W/D, bounds and a greedy schedule for each P.

    GRAPH is a JSON or DOT file, a chrome trace, an .npz of arrays, module:attribute with a Dask graph or recorder, or
    a textbook graph: classic:reduction:1000, classic:scan:64, classic:matmul:8, classic:pipeline:4,16.
    """
    emit_drawn(mechanisms.work_depth(graph, workers), plot, output)
