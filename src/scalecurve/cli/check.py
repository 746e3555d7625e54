"""`scalecurve check`: a gate for continuous integration."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scalecurve.cli.inputs import WORKERS, study_options
from scalecurve.cli.output import Output, emit, note, output_options
from scalecurve.errors import Fault, InputError, ScalecurveError

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
                click.echo(
                    "::error title=scalecurve::" + str(problem).replace("%", "%25").replace("\n", "%0A"), err=True
                )
            raise

    return wrapped


@click.command()
@report_errors
@study_options
@click.option("--against", type=click.Path(path_type=Path), help="An older study: fail where speed was lost since.")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    help="As --against; made from this study where it is not there yet, by efficiency on another machine.",
)
@click.option("--min-efficiency", multiple=True, metavar="E@K", help="Fail when E(K) is below; may be repeated.")
@click.option("--workers", type=WORKERS, help="Gate these K only (default: every K both measured).")
@click.option("--allow-mixed", is_flag=True, help="Compare with another machine or workload, and leave a finding.")
@click.option("--junit", type=click.Path(path_type=Path), help="Also write the checks as JUnit XML, in every case.")
@click.option("--history", type=click.Path(path_type=Path), help="Append one JSON line with T, E and the verdict.")
@click.option(
    "--annotations/--no-annotations",
    envvar="GITHUB_ACTIONS",
    help="Also print ::error lines for GitHub (default: within its actions).",
)
@output_options
def command(
    study: Study,
    against: Path | None,
    baseline: Path | None,
    min_efficiency: tuple[str, ...],
    workers: tuple[int, ...] | None,
    allow_mixed: bool,
    junit: Path | None,
    history: Path | None,
    annotations: bool,
    output: Output,
) -> int:
    """Exit 1 with one line when efficiency is below a floor, or speed was lost beyond noise since an older study.

    Identical code fails in at most 1 % of invocations over all gated K together; the smallest detectable loss is
    printed.
    """
    from scalecurve.auditing.gate import check, first_check
    from scalecurve.study.atomic import write_atomically

    if against is not None and baseline is not None:
        raise InputError(Fault("--against and --baseline exclude one another", remedy="choose one"))
    if baseline is not None and not baseline.exists():
        gate = first_check(study, baseline, min_efficiency=min_efficiency)
    else:
        gate = check(
            study,
            against=against or baseline,
            min_efficiency=min_efficiency,
            workers=workers,
            allow_mixed=allow_mixed,
            any_machine=baseline is not None,
        )
    emit(gate, output)
    if junit is not None:
        write_atomically(junit, gate.junit().encode())
    if annotations:
        for line in gate.annotations():
            click.echo(line, err=output.format is not None)
    if history is not None:
        gate.append_history(study, history)
    if output.quiet and not gate.passed:
        note(gate.line, Output())
    return 0 if gate.passed else 1
