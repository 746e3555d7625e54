"""Commands that turn files into studies and studies into files: import, export, merge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import scalecurve as sc
from scalecurve.cli.inputs import ParamType, Reading, curves_options, option, reading_options, studies_options
from scalecurve.cli.output import Output, SectionedCommand, emit, note, output_options, print_out, without_commands
from scalecurve.render.terminal import finding_text

if TYPE_CHECKING:
    from scalecurve.study import Study, StudySet


@click.command("import", cls=SectionedCommand)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@reading_options
@option("--allow-mixed", bool, "Join files of different machines; leaves a warning in the study.")
@option("--explain", bool, "Show what would be read and how, and write nothing.")
@output_options
def import_(*, files: tuple[str, ...], reading: Reading, allow_mixed: bool, explain: bool, output: Output) -> None:
    """Make a study of other tools' results.

    FILE is a file of one tool, or a folder of them; the format is recognised by content. The study goes to -o FILE or
    to standard output. Standard error, and the study, say what was recognised, assumed and missing.
    """
    imported = sc.formats.import_results(*files, allow_mixed=allow_mixed, **reading)
    if explain:
        emit(imported, output)
        return
    study = imported.stated()
    note(imported.sentence, output)
    if output.file is not None:
        sc.save(study, output.file)
    elif not output.quiet:
        print_out(sc.export(study, "csv" if output.format == "csv" else "json"))


class ExportFormat(ParamType):
    """The formats are looked up on use, so that `--help` of other commands does not load them."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from scalecurve.render.exports import export_formats

        if value not in export_formats():
            self.fail(f"unknown format {value!r}; one of {', '.join(export_formats())}", param, ctx)
        return str(value)


def list_formats(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the export formats and their purpose, and stop."""
    if value:
        from scalecurve.render.exports import export_formats

        for name, purpose in export_formats().items():
            click.echo(f"{name:<15} {purpose}")
        ctx.exit()


@click.command(cls=SectionedCommand)
@curves_options
@option("--to", ExportFormat(), "csv, json, parquet, markdown, latex ...; see --list.", required=True)
@option("--list", bool, "List the formats and stop.", is_eager=True, expose_value=False, callback=list_formats)
@option("-o --output file", Path, "Write to FILE instead of the terminal.")
def export(*, study: Study | StudySet, to: str, file: Path | None) -> None:
    """Write a study in another format: csv, json, parquet, markdown, latex, extra-p, extra-p-jsonl, r-usl, pyperf,
    openmetrics, bibtex, github-summary, github-benchmark, shields."""
    content = sc.export(study, to)
    for finding in study.findings:  # the file itself holds numbers only
        click.echo(without_commands(finding_text(finding)), err=True)
    if file is None:
        print_out(content)
        return
    from scalecurve.study.atomic import write_atomically

    write_atomically(file, content)


@click.command(cls=SectionedCommand)
@studies_options("STUDIES...")
@option("--allow-mixed", bool, "Join different machines, versions or workloads; leaves a finding.")
@output_options
def merge(studies: list[Study], allow_mixed: bool, output: Output) -> None:
    """Join studies into one, every run kept; -o FILE.json writes the study file.

    Studies from different machines, versions or workloads are refused unless --allow-mixed.
    """
    merged = sc.merge(studies, allow_mixed=allow_mixed)
    if output.file is not None and output.format is None and output.file.suffix == ".json":
        sc.save(merged, output.file)
        note(f"written: {output.file}, {len(studies)} studies as one", output)
    else:
        emit(merged, output)
