"""`scalecurve merge`: several studies of one question made one."""

from __future__ import annotations

from pathlib import Path

import click

from scalecurve import api
from scalecurve.cli.output import Output, emit, output_options


@click.command()
@click.argument("studies", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--regime", help="strong or weak, for plain tables.")
@click.option("--allow-mixed", is_flag=True, help="Join different machines, versions or workloads, with a finding.")
@output_options
def command(studies: tuple[Path, ...], regime: str | None, allow_mixed: bool, output: Output) -> None:
    """Join studies into one, every run kept; -o FILE.json writes the study file.

    Studies from different machines, versions or workloads are refused unless --allow-mixed.
    """
    merged = api.merge([api.load(path, regime=regime) for path in studies], allow_mixed=allow_mixed)
    if output.file is not None and output.format is None and output.file.suffix == ".json":
        api.save(merged, output.file)
    else:
        emit(merged, output)
