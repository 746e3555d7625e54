"""`scalecurve regime`: strong, weak, mixed or neither."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from scalecurve import api
from scalecurve.cli.inputs import WORKERS, Parsed
from scalecurve.cli.output import Output, emit, output_options
from scalecurve.units import parse_count


def parse_counts(text: str) -> tuple[float, ...]:
    """`1024` or `256,512,1k`."""
    return tuple(parse_count(item) for item in text.split(","))


@click.command()
@click.argument("study", required=False, type=click.Path(path_type=Path))
@click.option("--workers", type=WORKERS, help="Worker counts, such as 4,16,64.")
@click.option("--total", type=Parsed("counts", parse_counts), help="Total work: one number for all K, or one for each.")
@click.option("--per-worker", type=Parsed("counts", parse_counts), help="Work per worker: one number, or one for each.")
@click.option("--times", type=Parsed("counts", parse_counts), help="Seconds at each K: what each label makes of them.")
@click.option("--called", "--regime", "called", type=click.Choice(["strong", "weak"]), help="What it is called.")
@click.option("--name", default="job", help="What it is.")
@output_options
def command(study: Path | None, output: Output, **given: Any) -> None:
    """What is held constant, which efficiency and which plot apply, whether it should hold, and the catch.

    From a STUDY that counts its work, from a table with a column of work or batch, or from
    a sentence's worth of flags: --workers 4,16,64 --total 50000.
    """
    emit(api.regime(study, **given), output)
