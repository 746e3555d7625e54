"""`scalecurve measure`: run a scaling study of a real job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from scalecurve import api
from scalecurve.cli.inputs import WORKERS, Parsed
from scalecurve.cli.output import Output, emit, note, output_options
from scalecurve.errors import Fault, InputError
from scalecurve.findings import Severity
from scalecurve.study import Study
from scalecurve.units import parse_seconds, parse_share

SECONDS = Parsed("duration", parse_seconds)
SHARE = Parsed("share", parse_share)

_JOB_OPTIONS = (
    click.option("--regime", help="strong (total work fixed) or weak (work per worker fixed); never guessed."),
    click.option("--workers", type=WORKERS, help="Worker counts: 1,2,4,8 or 1..64 or 1..8:1."),
    click.option("--repeats", type=int, help="Fresh launches per point, at least (default 5)."),
    click.option("--name", help="What the job is called."),
    click.option("--total", type=float, help="Strong scaling: the fixed total, for {total} and {per_worker}."),
    click.option("--per-worker", type=float, help="Weak scaling: the fixed part of a worker."),
    click.option("--launcher", help="local, mpi, torchrun, slurm, ray or dask."),
    click.option("--processes", is_flag=True, help="local: start K copies of the command."),
    click.option("--threads-per-worker", type=int, help="Threads of a worker, the same at every K."),
    click.option("--pin", type=click.Choice(["none", "compact", "spread"]), help="local: bind workers to cores."),
    click.option("--oversubscribe", is_flag=True, default=None, help="Also measure K above the number of cores."),
)
_HOW_OPTIONS = (
    click.option("--precision", type=SHARE, help="Go on until the interval of T is within this share."),
    click.option("--max-repeats", type=int, help="Most launches per point when a precision is asked for."),
    click.option("--max-time", type=SECONDS, help="Stop after this long, such as 30m."),
    click.option("--timeout", type=SECONDS, help="End a launch that takes longer, with all it started."),
    click.option("--warmup-launches", type=int, help="Launches of each point that do not count (default 1)."),
    click.option("--warmup-steps", type=int, help="First steps of each run that do not count."),
    click.option("--seed", type=int, help="Of the order of launches."),
    click.option("--time-pattern", help="A regular expression whose group is the time printed by the job."),
    click.option("--work-pattern", help="Likewise for the work done, which must stay the same."),
    click.option("--setup-command", help="Run and timed apart before each launch (split like a shell would)."),
    click.option("--expected-seconds", type=SECONDS, help="T(1), for --dry-run."),
    click.option("--usd-per-worker-hour", type=float, help="Price, for --dry-run."),
)


def _options(function: Any) -> Any:
    for option in reversed(_JOB_OPTIONS + _HOW_OPTIONS):
        function = option(function)
    return function


@click.command(context_settings={"ignore_unknown_options": False})
@click.argument("words", nargs=-1, metavar="[FILE.toml] [-- COMMAND...]", type=click.UNPROCESSED)
@_options
@click.option("--resume", is_flag=True, help="Continue: completed runs are neither lost nor repeated.")
@click.option("--force", "--fresh", "force", is_flag=True, help="Begin anew: throw away what is at -o.")
@click.option("--dry-run", is_flag=True, help="Show the runs, their order, wall time and cost; start nothing.")
@click.option("--init", is_flag=True, help="Write a commented FILE.toml (default study.toml).")
@output_options
def command(
    words: tuple[str, ...], resume: bool, force: bool, dry_run: bool, init: bool, output: Output, **given: Any
) -> int:
    """Run a scaling study of a real job and write it to a study file.

    The job is described once: scalecurve measure --regime strong --workers 1,2,4 -o study.json -- ./solver {workers}
    """
    file, job = _split(words)
    if init:
        return _init(file or Path("study.toml"), output)
    settings = _settings(given, job, output.file)
    shown = replace(output, file=None)
    if dry_run:
        emit(api.look_ahead(file, **settings), shown)
        return 0
    if file is None and output.file is None:
        raise InputError(Fault("no place for the study", remedy="-o study.json"))
    from scalecurve.cli.output import progress_display

    with progress_display(quiet=output.quiet) as listener:
        study = api.measure(file, resume=resume, force=force, listener=listener, **settings)
    emit(study, shown)
    return _exit_code(study)


def _split(words: tuple[str, ...]) -> tuple[Path | None, tuple[str, ...]]:
    """A first word that ends in .toml is the file; the rest is the command."""
    if words and words[0].endswith(".toml"):
        return Path(words[0]), words[1:]
    return None, words


def _settings(given: dict[str, Any], job: tuple[str, ...], output: Path | None) -> dict[str, Any]:
    """Flat options as the tables of the file."""
    import shlex

    launcher = {"name": given.pop("launcher"), "pin": given.pop("pin")}
    launcher |= {"threads_per_worker": given.pop("threads_per_worker")}
    launcher |= {"mode": "processes" if given.pop("processes") else None}
    setup = given.pop("setup_command")
    timing = {"pattern": given.pop("time_pattern"), "setup_command": shlex.split(setup) if setup else None}
    sameness = {"work_pattern": given.pop("work_pattern")}
    tables = {"launcher": launcher, "timing": timing, "sameness": sameness}
    present = {name: {key: value for key, value in each.items() if value is not None} for name, each in tables.items()}
    flat = {name: value for name, value in given.items() if value is not None}
    return {**flat, **{name: each for name, each in present.items() if each}, "output": output, "command": job or None}


def _init(path: Path, output: Output) -> int:
    from scalecurve.measurement.settings import template
    from scalecurve.study.atomic import write_atomically

    if path.exists():
        raise InputError(Fault("the file exists", remedy="name another one"), subject=str(path))
    write_atomically(path, template().encode())
    note(f"{path} written; try: scalecurve measure {path} --dry-run", output)
    return 0


def _exit_code(study: Study) -> int:
    return int(any(finding.severity is Severity.ERROR for finding in study.findings))
