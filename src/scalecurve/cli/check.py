"""`scalecurve check`: a gate for continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scalecurve.cli.inputs import WORKERS, study_options
from scalecurve.cli.output import Output, emit, note, output_options

if TYPE_CHECKING:
    from scalecurve.study import Study


@click.command()
@study_options
@click.option("--against", type=click.Path(path_type=Path), help="An older study: fail where speed was lost since.")
@click.option("--min-efficiency", multiple=True, metavar="E@K", help="Fail when E(K) is below; may be repeated.")
@click.option("--workers", type=WORKERS, help="Gate these K only (default: every K both measured).")
@click.option("--allow-mixed", is_flag=True, help="Compare with another machine or workload, and leave a finding.")
@click.option("--junit", type=click.Path(path_type=Path), help="Also write the checks as JUnit XML.")
@click.option("--history", type=click.Path(path_type=Path), help="Append one JSON line with T, E and the verdict.")
@output_options
def command(
    study: Study,
    against: Path | None,
    min_efficiency: tuple[str, ...],
    workers: tuple[int, ...] | None,
    allow_mixed: bool,
    junit: Path | None,
    history: Path | None,
    output: Output,
) -> int:
    """Exit 1 with one line when efficiency is below a floor, or speed was lost beyond noise since an older study.

    Identical code fails in at most 1 % of invocations over all gated K together; the smallest detectable loss is
    printed.
    """
    from scalecurve.auditing.gate import check
    from scalecurve.study.atomic import write_atomically

    gate = check(study, against=against, min_efficiency=min_efficiency, workers=workers, allow_mixed=allow_mixed)
    emit(gate, output)
    if junit is not None:
        write_atomically(junit, gate.junit().encode())
    if history is not None:
        gate.append_history(study, history)
    if output.quiet and not gate.passed:
        note(gate.line, Output())
    return 0 if gate.passed else 1
