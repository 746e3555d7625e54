"""`scalecurve check`: a gate for continuous integration."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scalecurve.cli.inputs import WORKERS, Chosen, option, study_options
from scalecurve.cli.output import Output, Plot, SectionedCommand, emit, emit_drawn, note, output_options, plot_option
from scalecurve.errors import Fault, InputError, ScalecurveError, one_line

if TYPE_CHECKING:
    from scalecurve.study import Study


def report_errors(function: Callable[..., int]) -> Callable[..., int]:
    """Write --junit and the annotation also where nothing could be checked, before the error goes on."""

    @wraps(function)
    def wrapped(*, junit: Path | None, annotations: bool, **options: Any) -> int:
        from scalecurve.auditing.gate import junit_of_error
        from scalecurve.study.atomic import write_atomically

        try:
            return function(junit=junit, annotations=annotations, **options)
        except ScalecurveError as problem:
            if junit is not None:
                write_atomically(junit, junit_of_error(problem).encode())
            if annotations:
                message = str(problem).replace("%", "%25").replace("\n", "%0A")
                click.echo(f"::error title=scalecurve::{one_line(message)}", err=True)
            raise

    return wrapped


@click.command(cls=SectionedCommand)
@report_errors
@study_options
@option("--against", Path, "An older study: fail where the new one is slower.")
@option(
    "--baseline",
    click.Path(path_type=Path, dir_okay=False),
    "As --against; the first check writes it. Other machines: only E is compared.",
)
@option("--min-efficiency", str, "Fail when E(K) is below E; may be repeated.", multiple=True, metavar="E@K")
@option("--workers", WORKERS, "Check these K only (default: every K that both studies have).")
@option("--allow-mixed", bool, "Compare with another machine or workload; leaves a finding.")
@option("--junit", Path, "Also write the checks as JUnit XML.")
@option("--history", Path, "Fail on drift along the earlier checks in this file, and append this one as a JSON line.")
@option("--gate", ["time", "efficiency", "both"], "Fail on a loss of T(K), of E(K), or of either.", "time")
@option(
    "--annotations/--no-annotations",
    bool,
    "Also print ::error lines (default: in GitHub's actions).",
    envvar="GITHUB_ACTIONS",
)
@output_options
def command(
    study: Study,
    against: Path | None,
    baseline: Path | None,
    junit: Path | None,
    history: Path | None,
    annotations: bool,
    output: Output,
    **chosen: Chosen,
) -> int:
    """Exit 1 with one line when efficiency is below a floor, or speed was lost beyond noise: since an older study, or
    little by little along a history of checks.

    Identical code fails in at most 1 % of invocations over all gated K together; the smallest detectable loss is
    printed.
    """
    from scalecurve.auditing.gate import check, first_check
    from scalecurve.study.atomic import write_atomically

    if against is not None and baseline is not None:
        raise InputError(Fault("--against and --baseline exclude one another", remedy="choose one"))
    if baseline is not None and not baseline.exists():
        result = first_check(study, baseline, min_efficiency=chosen["min_efficiency"])
    else:
        other = against or baseline
        result = check(study, against=other, any_machine=baseline is not None, history=history, **chosen)
    emit(result, output)
    if junit is not None:
        write_atomically(junit, result.junit().encode())
    if annotations:
        for line in result.annotations():
            click.echo(one_line(line), err=output.format is not None)
    if history is not None:
        result.append_history(study, history)
    if output.quiet and not result.passed:
        note(result.line, Output())
    return 0 if result.passed else 1


@click.command(cls=SectionedCommand)
@click.argument("checks", metavar="FILE", type=click.Path(path_type=Path))
@option("--name", str, "Which study, where the file holds several.")
@plot_option
@output_options
def history(checks: Path, name: str | None, plot: Plot | None, output: Output) -> None:
    """Show T and E at each K over the checks in FILE (from `check --history`), and the commits where T changed."""
    from scalecurve.auditing.history import history as read_history

    emit_drawn(read_history(checks, name=name), plot, output)
