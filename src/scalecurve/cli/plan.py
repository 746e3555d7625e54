"""`scalecurve plan`: how far more accelerators get a training run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from scalecurve.cli.inputs import NUMBER, flag_of, option
from scalecurve.cli.output import (
    Output,
    Plot,
    SectionedCommand,
    emit,
    emit_drawn,
    init_option,
    note,
    output_options,
    plot_option,
    print_out,
    start_file,
    working,
)
from scalecurve.errors import Fault, InputError
from scalecurve.render.terminal import finding_text
from scalecurve.training.inputs.request import PlanRequest, plan_template, read_request, settings

if TYPE_CHECKING:
    from scalecurve.training.answers.comparisons import ClusterComparison, LayoutComparison
    from scalecurve.training.answers.evaluation import Evaluation, StepOutcome
    from scalecurve.training.answers.explain import StepExplanation
    from scalecurve.training.answers.plan import Plan

EXPORTS = ("megatron", "torchtitan", "deepspeed", "nemo", "maxtext")
Function = TypeVar("Function", bound=Callable[..., Any])


def plan_options(function: Function) -> Function:
    """An option for each setting of PlanRequest."""
    for field, about in reversed(list(settings().items())):
        flag = f"{flag_of(about.option or field)} {field}"
        kind = click.IntRange(min=1) if field == "top" else NUMBER if about.kind is float else about.kind
        function = option(flag, kind, about.meaning, metavar=about.metavar)(function)
    return function


def single_outcome(answer: Plan | Evaluation | StepExplanation, request: PlanRequest, framework: str) -> StepOutcome:
    """The one step of an answer; a sweep has one where it was asked at one P or chose one."""
    from scalecurve.training.answers.plan import Plan

    if not isinstance(answer, Plan):
        return answer.outcome
    rows = [row for row in answer.rows if len(answer.rows) == 1 or (answer.choice and row.gpus == answer.chosen_gpus)]
    if len(rows) != 1:
        planned = ", ".join(str(row.gpus) for row in answer.rows)
        from scalecurve.training.answers.plan import command_of

        hint = command_of(request, gpus=answer.advised.gpus) + f" --export {framework}"
        raise InputError(Fault("a configuration is of one layout", "gpus", planned, hint), subject="export")
    return rows[0].outcome


def emit_export(answer: Plan | Evaluation | StepExplanation, request: PlanRequest, name: str, output: Output) -> None:
    """The configuration as it runs, to the terminal or a file; --json adds the settings as values."""
    from scalecurve.training.exports.config import export_config
    from scalecurve.training.physics.learning_rate import read_learning_rate

    outcome = single_outcome(answer, request, name)
    rates = read_learning_rate(request.learning_rate, outcome.job.seq, [outcome.tokens])
    config = export_config(outcome, name, learning_rate=rates.square_root(outcome.tokens) if rates else None)
    if output.format == "json":
        emit(config, output)
        return
    if output.file is not None:
        from scalecurve.study.atomic import write_atomically

        write_atomically(output.file, config.text.encode())
    elif not output.quiet:
        print_out(config.text)
    for finding in config.findings:
        note(finding_text(finding), output)


def emit_score(files: tuple[Path, ...], cluster: str | None, anchors: str | None, output: Output) -> None:
    """The planner against files of measured steps."""
    from scalecurve.training.answers.score import score

    if not files:
        raise InputError(Fault("no files of measured steps", "--score", remedy="name one or more CSV files"))
    emit(score(files, cluster, anchors=anchors), output)


def compared(
    answer: Plan | Evaluation | StepExplanation, request: PlanRequest, why_not: str | None, against: str | None
) -> LayoutComparison | ClusterComparison:
    """A layout beside the best of the plan, or the same run on another cluster."""
    from scalecurve.training.answers.comparisons import compare_clusters
    from scalecurve.training.answers.comparisons import why_not as compare_layout
    from scalecurve.training.answers.plan import Plan, command_of, sweep

    if not isinstance(answer, Plan):
        raise InputError(Fault("a comparison starts from a plan", remedy="leave out --layout and --explain"))
    if why_not is not None:
        further = command_of(request, layout=why_not, explain=answer.rows[0].gpus)
        return compare_layout(answer, why_not, further)
    return compare_clusters(answer, sweep(replace(request, cluster=against or "")))


@click.command(cls=SectionedCommand)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@plan_options
@plot_option
@option("--export", EXPORTS, "Write the layout as this framework's settings.")
@option("--why-not", str, "Compare this layout with the best at one P.", metavar="LAYOUT")
@option("--against", str, "Compare with the same run on another cluster.", metavar="CLUSTER")
@option("--score", bool, "Compare the planner with measured steps, one CSV or more.")
@option("--anchors", str, "With --score: calibrate on N rows of each source, or on its `smallest` P.", metavar="N")
@init_option("FILE")
@output_options
def command(
    files: tuple[Path, ...],
    plot: Plot | None,
    export: str | None,
    why_not: str | None,
    against: str | None,
    score: bool,
    anchors: str | None,
    init: bool,
    output: Output,
    **options: object,
) -> None:
    """Find the best way to split a model over each P, what stops it, and what it costs.

    FILE is a plan.toml with the same names as the options, which win over it; with --score, files of measured steps.
    """
    if init:
        start_file(plan_template() + "\n", files[0] if files else None, output, "plan")
        return
    if score:
        emit_score(files, cast("str | None", options.get("cluster") or None), anchors, output)
        return
    if len(files) > 1:
        several = " ".join(map(str, files))
        raise InputError(Fault("more than one plan.toml", value=several, remedy="give one file, and options before it"))
    from scalecurve.training.answers.plan import Plan, plan

    request = read_request(options, file=files[0] if files else None)
    if export is not None and request.stack is None:
        from scalecurve.training.exports.config import FRAMEWORKS

        request = replace(request, stack=FRAMEWORKS[export][0])
    with working("trying layouts", output):
        answer = plan(request)
    if export is not None:
        emit_export(answer, request, export, output)
    elif why_not is not None or against is not None:
        emit(compared(answer, request, why_not, against), output)
    elif plot is not None and not isinstance(answer, Plan):
        raise InputError(Fault("only a sweep over P can be drawn", remedy="leave out --layout and --explain"))
    else:
        emit_drawn(answer, plot, output)
