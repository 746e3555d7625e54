"""`scalecurve import`: results of other tools as a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from scalecurve import api
from scalecurve.cli.inputs import reading_options
from scalecurve.cli.output import Output, emit, note, output_options


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@reading_options
@click.option("--allow-mixed", is_flag=True, help="Join files of different machines; leaves a warning in the study.")
@click.option("--explain", is_flag=True, help="Show what would be read and how, and write nothing.")
@output_options
def command(*, files: tuple[str, ...], explain: bool, output: Output, **how: Any) -> None:
    """Make a study of other tools' results.

    Files of one tool, or folders of them; the format is recognised by content. The study goes to -o FILE, or to
    standard output; what was recognised, assumed and missed is said on standard error, and in the study.
    """
    imported = api.import_results(*files, **how)
    if explain:
        emit(imported, output)
        return
    study = imported.stated()
    note(imported.sentence, output)
    if output.file is not None:
        api.save(study, Path(output.file))
    elif not output.quiet:
        click.echo(api.export(study, "csv" if output.format == "csv" else "json"), nl=False)
