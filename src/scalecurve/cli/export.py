"""`scalecurve export`: a study in other tools' formats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from scalecurve import api
from scalecurve.cli.inputs import ParamType, study_options


class _Formats(ParamType):
    """The names are looked up when asked for, so that `--help` of other commands loads none of it."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in api.export_formats():
            self.fail(f"unknown format {value!r}; one of {', '.join(api.export_formats())}", param, ctx)
        return str(value)


def _list_formats(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        for name, purpose in api.export_formats().items():
            click.echo(f"{name:<15} {purpose}")
        ctx.exit()


@click.command()
@study_options
@click.option("--to", required=True, type=_Formats(), help="csv, json, parquet, markdown, latex ...; see --list.")
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list_formats, help="All formats.")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), help="Write to FILE instead of the terminal.")
def command(*, study: Any, to: str, file: Path | None) -> None:
    """Give a study out: csv, json, parquet, markdown, latex, extra-p, extra-p-jsonl, r-usl, pyperf, openmetrics,
    bibtex, github-summary."""
    content: bytes = api.export(study, to)
    if file is None:
        sys.stdout.buffer.write(content)
        return
    from scalecurve.study.atomic import write_atomically

    write_atomically(file, content)
