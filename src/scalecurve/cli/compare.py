"""`scalecurve compare`: two studies side by side."""

from __future__ import annotations

from pathlib import Path

import click

from scalecurve import api
from scalecurve.cli.inputs import Parsed
from scalecurve.cli.output import Output, emit, output_options
from scalecurve.units import parse_share


@click.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--regime", help="strong or weak, for plain tables.")
@click.option(
    "--level", type=Parsed("share", parse_share), default="0.95", show_default=True, help="Level of intervals."
)
@click.option("--allow-mixed", is_flag=True, help="Compare different machines, versions or workloads, with a finding.")
@output_options
def command(first: Path, second: Path, regime: str | None, level: float, allow_mixed: bool, output: Output) -> None:
    """The ratio of T and of E at each K, SECOND over FIRST, with intervals.

    Studies from different machines, versions or workloads are refused unless --allow-mixed.
    """
    one, other = (api.load(path, regime=regime) for path in (first, second))
    emit(api.compare(one, other, level=level, allow_mixed=allow_mixed), output)
