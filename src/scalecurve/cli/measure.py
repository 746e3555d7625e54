"""`scalecurve measure`: run a scaling study of a real job.  Its options come from the schema of the measure file."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click

from scalecurve.cli.output import Output, SectionedCommand, emit, init_option, note, output_options, start_file
from scalecurve.document import Result
from scalecurve.errors import TYPED, ScalecurveError
from scalecurve.findings import Severity
from scalecurve.measurement.settings import SettingsOption, options, template
from scalecurve.study import Study, StudySet

_VALUES = f"{__name__}.values"
SEVERAL = ("--from", "--serves")
"""Flags that may be repeated."""
SECTIONS = {"timing": "Timing", "sameness": "The same job at every K", "launcher": "Launcher", "axes": "Axes of a grid"}
"""Headings of --help by the table of the measure file."""


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Put the value where the measure file has it: --time-pattern is `pattern` in the table `timing`."""
    if value not in (None, False, ()):
        *tables, name = str(parameter.name).split("__")
        place = context.meta.setdefault(_VALUES, {})
        for table in tables:
            place = place.setdefault(table, {})
        place[name] = value


def _option_class(table: str) -> type[click.Option]:
    """An option under the heading of its table."""
    return type("MeasureOption", (click.Option,), {"section": SECTIONS.get(table, "Options")})


def _click_option(option: SettingsOption) -> Any:
    """One flag; its text goes to the schema as it is, so that file, keywords and flags are parsed by the same rules."""
    kind: Any = option.field.annotation
    names = (str(option.flag), "__".join(option.path))
    default = option.field.get_default()
    help_text = option.text
    if isinstance(default, int) and not isinstance(default, bool) and default < 100:
        help_text = f"{help_text.rstrip('.')} (default {default})."
    shared: dict[str, Any] = {"help": help_text, "expose_value": False, "callback": _remember}
    shared["cls"] = _option_class(option.path[0])
    if kind is bool:
        return click.option(*names, is_flag=True, **shared)
    words = next((get_args(part) for part in (kind, *get_args(kind)) if get_origin(part) is Literal), None)
    choices = click.Choice(words) if words and get_origin(kind) is not tuple else None
    several = option.flag in SEVERAL
    return click.option(*names, type=choices, multiple=several, metavar=None if choices else option.metavar, **shared)


def _settings_options(function: Any) -> Any:
    processes = click.option(
        "--processes",
        "launcher__mode",
        cls=_option_class("launcher"),
        flag_value="processes",
        expose_value=False,
        callback=_remember,
        help="local: start K copies of the command.",
    )
    metric = click.option(
        "--metric",
        "metrics",
        multiple=True,
        metavar="NAME=PATTERN[:UNIT]",
        expose_value=False,
        callback=_remember,
        help="A further figure that the job prints, kept with every run; NAME:sum=PATTERN for a sum of all matches.",
    )
    function = metric(function)
    for option in reversed([option for option in options() if option.flag]):
        if option.path == ("launcher", "threads_per_worker"):
            function = processes(function)
        function = _click_option(option)(function)
    return function


def ending_of(study: Study | StudySet) -> Result:
    """What a measurement ends with: its table, or the study where it has none, as of one K or of a grid."""
    from scalecurve.analysis import tabulate

    if not isinstance(study, Study):
        return study
    try:
        return tabulate(study)
    except ScalecurveError:
        return study


@click.command(cls=SectionedCommand, context_settings={"ignore_unknown_options": False})
@click.argument("words", nargs=-1, metavar="[FILE.toml|STUDY.json] [-- COMMAND...]", type=click.UNPROCESSED)
@_settings_options
@click.option("--resume", is_flag=True, help="Continue an interrupted study; completed runs are kept.")
@click.option("--force", "--fresh", "force", is_flag=True, help="Begin again: overwrite the file of -o.")
@click.option("--submit", is_flag=True, help="Give all launches to the batch system as a chain of jobs, and return.")
@click.option("--collect", is_flag=True, help="Read the submitted jobs of STUDY.json that have ended.")
@click.option("--dry-run", is_flag=True, help="Show the runs, their order, wall time and cost; start nothing.")
@init_option("FILE.toml (default study.toml)")
@output_options
@click.pass_context
def command(
    context: click.Context,
    *,
    words: tuple[str, ...],
    resume: bool,
    force: bool,
    submit: bool,
    collect: bool,
    dry_run: bool,
    init: bool,
    output: Output,
) -> int:
    """Run a scaling study of a real job and write it to a study file.

    Describe the job once: scalecurve measure --regime strong --workers 1,2,4 -o study.json -- ./solver {workers}
    """
    endings = (".toml", ".json") if resume or collect or force else (".toml",)  # a study says how it was measured
    file = Path(words[0]) if words and words[0].endswith(endings) else None
    settings = {**context.meta.get(_VALUES, {}), "command": (words[1:] if file else words) or None}
    if init:
        return start_file(template(settings), file or Path("study.toml"), output, "measure --dry-run")
    settings["output"] = output.file or (None if file else Path("study.json"))
    if dry_run:
        from scalecurve.measurement.outlook import preview

        emit(preview(file, resume=resume, force=force, **settings), replace(output, file=None))
        return 0
    from scalecurve.cli.output import progress_display
    from scalecurve.measurement.sweep import measure

    with progress_display(quiet=output.quiet) as listener:
        study = measure(file, resume=resume, force=force, submit=submit, collect=collect, listener=listener, **settings)
    if isinstance(study, Study) and not len(study.samples):  # jobs in a queue; other studies without a time raise
        for finding in study.findings:
            note(f"{finding.message} -> {finding.remedy}", output)
        return int(not submit)
    return tell(study, settings["output"] or (file and file.with_suffix(".json")), output)


def tell(study: Study | StudySet, place: Path | None, output: Output) -> int:
    """Print what a measurement ends with and where it stands; the exit code."""
    typed = TYPED.set((shlex.quote(str(place)) if place else None, TYPED.get()[1]))
    try:
        emit(study if output.format else ending_of(study), replace(output, file=None))
    finally:
        TYPED.reset(typed)
    note(f"{place} written; `scalecurve report {place} -o report.html` makes a page of it", output)
    return int(any(finding.severity is Severity.ERROR or finding.code == "disturbed" for finding in study.findings))
