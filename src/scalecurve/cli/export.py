"""`scalecurve export`: a study in other tools' formats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scalecurve.cli.inputs import study_options

if TYPE_CHECKING:
    from scalecurve.study import Study


class _Formats(click.ParamType[str]):
    """One of `export_formats()`, looked up when an export is asked for, so that `--help` loads none of it."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from scalecurve.render.exports import export_formats

        if value not in export_formats():
            self.fail(f"unknown format {value!r}; one of {', '.join(export_formats())}", param, ctx)
        return str(value)


def _list_formats(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from scalecurve.render.exports import export_formats

        for name, purpose in export_formats().items():
            click.echo(f"{name:<15} {purpose}")
        ctx.exit()


@click.command()
@study_options
@click.option("--to", required=True, type=_Formats(), help="csv, json, parquet, markdown, latex ...; see --list.")
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list_formats, help="All formats.")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), help="Write to FILE instead of the terminal.")
def command(*, study: Study, to: str, file: Path | None) -> None:
    """Export a study: csv, json, parquet, markdown, latex, extra-p, extra-p-jsonl, r-usl, pyperf, openmetrics,
    bibtex, github-summary."""
    from scalecurve.render.exports import export

    content = export(study, to)
    if file is None:
        sys.stdout.buffer.write(content)
        return
    from scalecurve.study.atomic import write_atomically

    write_atomically(file, content)
