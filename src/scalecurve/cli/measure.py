"""`scalecurve measure`: run a scaling study of a real job.  Its options come from the schema of the measure file."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click

from scalecurve.cli.inputs import option
from scalecurve.cli.output import (
    Output,
    SectionedCommand,
    emit,
    init_option,
    note,
    output_options,
    show_progress,
    start_file,
)
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


def _click_option(setting: SettingsOption) -> Callable[[Any], Any]:
    """One flag; its text goes to the schema as it is, so that file, keywords and flags are parsed by the same rules."""
    kind: Any = setting.field.annotation
    default, about = setting.field.get_default(), setting.text
    if isinstance(default, int) and not isinstance(default, bool) and default < 100:
        about = f"{about.rstrip('.')} (default {default})."
    words = next((get_args(part) for part in (kind, *get_args(kind)) if get_origin(part) is Literal), None)
    takes = bool if kind is bool else list(words) if words and get_origin(kind) is not tuple else str
    more: dict[str, Any] = {"multiple": setting.flag in SEVERAL, "metavar": setting.metavar} if takes is str else {}
    return _setting(f"{setting.flag} {'__'.join(setting.path)}", takes, about, setting.path[0], **more)


def _setting(flag: str, kind: Any, about: str, table: str, **more: Any) -> Callable[[Any], Any]:
    """An option of which the value goes to the settings."""
    section = SECTIONS.get(table, "Options")
    return option(flag, kind, about, section=section, expose_value=False, callback=_remember, **more)


METRIC = "A further figure that the job prints, kept with every run; NAME:sum=PATTERN sums all matches."
PROCESSES = "local: start K copies of the command."


def _settings_options(function: Any) -> Any:
    function = _setting("--metric metrics", str, METRIC, "", multiple=True, metavar="NAME=PATTERN[:UNIT]")(function)
    for setting in reversed([setting for setting in options() if setting.flag]):
        if setting.path == ("launcher", "threads_per_worker"):
            function = _setting("--processes launcher__mode", None, PROCESSES, "launcher", flag_value="processes")(
                function
            )
        function = _click_option(setting)(function)
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
@option("--resume", bool, "Continue an interrupted study; completed runs are kept.")
@option("--force --fresh force", bool, "Begin again: overwrite the file of -o.")
@option("--submit", bool, "Give all launches to the batch system as a chain of jobs, and return.")
@option("--collect", bool, "Read the submitted jobs of STUDY.json that have ended.")
@option("--dry-run", bool, "Show the runs, their order, wall time and cost; start nothing.")
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
    from scalecurve.measurement.sweep import measure

    listener = None if output.quiet else show_progress
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
