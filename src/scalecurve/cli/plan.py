"""`scalecurve plan`: how far more accelerators get a training run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import click

from scalecurve.cli.output import Output, emit, note, output_options
from scalecurve.errors import Fault, InputError
from scalecurve.training.inputs.request import PlanRequest, plan_template, read_request

Function = TypeVar("Function", bound=Callable[..., Any])


def plan_options(function: Function) -> Function:
    """An option for each setting of PlanRequest."""
    for entry in reversed(fields(PlanRequest)):
        about = entry.metadata
        name = "--" + (about["option"] or entry.name).replace("_", "-")
        if about["kind"] is bool:
            option = click.option(name, entry.name, is_flag=True, help=about["meaning"])
        else:
            kind = click.IntRange(min=1) if entry.name == "top" else about["kind"]
            option = click.option(name, entry.name, type=kind, metavar=about["metavar"] or None, help=about["meaning"])
        function = option(function)
    return function


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@plan_options
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the sweep to a .svg, .png or .pdf.")
@click.option("--score", is_flag=True, help="Compare the planner with measured steps: FILE... are CSV in the schema.")
@click.option("--template", is_flag=True, help="Print a commented plan.toml to start from.")
@output_options
def command(
    files: tuple[Path, ...], plot: Path | None, score: bool, template: bool, output: Output, **options: object
) -> None:
    """The best way to split a model over each P, what stops it, and what it costs.

    FILE is a plan.toml with the same names as the options, which win over it; with --score, files of measured steps.
    """
    if template:
        click.echo(plan_template())
        return
    if score:
        from scalecurve.training.answers.score import score as compare

        if not files:
            raise InputError(Fault("no files of measured steps", "--score", remedy="name one or more CSV files"))
        emit(compare(files), output)
        return
    if len(files) > 1:
        raise InputError(Fault("one plan.toml at a time", "FILE", ", ".join(map(str, files[1:]))))
    from scalecurve.training.answers.plan import Plan, plan

    answer = plan(read_request(options, file=files[0] if files else None))
    if plot is not None:
        from scalecurve.render.plots import plot as draw

        if not isinstance(answer, Plan):
            raise InputError(Fault("only a sweep over P can be drawn", remedy="leave out --layout and --explain"))
        draw(answer, plot)
        note(f"wrote {plot}", output)
    emit(answer, output)
