"""`scalecurve check`: a gate for continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scalecurve.cli.inputs import WORKERS, study_options
from scalecurve.cli.output import Output, emit, emit_drawn, note, output_options, plot_option

if TYPE_CHECKING:
    from scalecurve.study import Study


@click.command()
@study_options
@click.option("--against", type=click.Path(path_type=Path), help="An older study: fail where speed was lost since.")
@click.option("--min-efficiency", multiple=True, metavar="E@K", help="Fail when E(K) is below; may be repeated.")
@click.option("--workers", type=WORKERS, help="Gate these K only (default: every K both measured).")
@click.option("--allow-mixed", is_flag=True, help="Compare with another machine or workload, and leave a finding.")
@click.option("--junit", type=click.Path(path_type=Path), help="Also write the checks as JUnit XML.")
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    help="Fail on drift along the earlier checks in this file, and append this one as a JSON line.",
)
@click.option(
    "--gate",
    type=click.Choice(["time", "efficiency", "both"]),
    default="time",
    show_default=True,
    help="Which loss fails: of T(K), of E(K) (also where T(1) became faster), or either.",
)
@output_options
def command(
    study: Study,
    against: Path | None,
    min_efficiency: tuple[str, ...],
    workers: tuple[int, ...] | None,
    allow_mixed: bool,
    junit: Path | None,
    history: Path | None,
    gate: str,
    output: Output,
) -> int:
    """Exit 1 with one line when efficiency is below a floor, or speed was lost beyond noise: since an older study, or
    little by little along a history of checks.

    Identical code fails in at most 1 % of invocations over all gated K together; the smallest detectable loss is
    printed.
    """
    from scalecurve.auditing.gate import check
    from scalecurve.study.atomic import write_atomically

    result = check(
        study,
        against=against,
        min_efficiency=min_efficiency,
        workers=workers,
        allow_mixed=allow_mixed,
        history=history,
        gate=gate,
    )
    emit(result, output)
    if junit is not None:
        write_atomically(junit, result.junit().encode())
    if history is not None:
        result.append_history(study, history)
    if output.quiet and not result.passed:
        note(result.line, Output())
    return 0 if result.passed else 1


@click.command()
@click.argument("checks", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--name", help="Which study, where the file holds several.")
@plot_option
@output_options
def history(checks: Path, name: str | None, plot: Path | None, output: Output) -> None:
    """T and E per K over the checks in FILE (written by `check --history`), and the commits where T changed."""
    from scalecurve.auditing.history import history as read_history

    emit_drawn(read_history(checks, name=name), plot, output)
