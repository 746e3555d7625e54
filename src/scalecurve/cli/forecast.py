"""`scalecurve forecast`: T, S and E at worker counts that were not measured."""

from __future__ import annotations

from pathlib import Path

import click

from scalecurve import api
from scalecurve.cli.inputs import WORKERS, Parsed, study_options
from scalecurve.cli.output import Output, emit, note, output_options
from scalecurve.study import Study
from scalecurve.units import parse_share


@click.command()
@study_options
@click.option("--at", type=WORKERS, help="Worker counts, as 64,128 or 64..512 (default: 2 and 4 times the largest).")
@click.option("--level", type=Parsed("share", parse_share), default="0.9", show_default=True, help="Of the intervals.")
@click.option("--extrapolate", is_flag=True, help="Answer even beyond 16 times the largest measured K.")
@click.option("--kind", type=click.Choice(["strong", "weak", "collective"]), help="Insist on a kind of curve.")
@click.option("--cores", type=int, help="Cores all workers share: threads beyond them gain nothing.")
@click.option(
    "--like", multiple=True, metavar="FILE", help="A sibling measured further (other size, machine, version)."
)
@click.option("--domain", help="Compare with published curves of this domain (hpc, database ...).")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the forecast to a .svg, .png or .pdf file.")
@output_options
def command(
    study: Study,
    at: tuple[int, ...] | None,
    level: float,
    extrapolate: bool,
    kind: str | None,
    cores: int | None,
    like: tuple[str, ...],
    domain: str | None,
    plot: Path | None,
    output: Output,
) -> None:
    """T (or throughput), S and E at larger K with an interval, a backtest on the study itself, and where it stands.

    Beyond 4 times the largest measured K an answer is grey, beyond 16 times it is refused.
    """
    made = api.forecast(
        study, at=at, level=level, extrapolate=extrapolate, kind=kind, cores=cores, like=like, domain=domain
    )
    emit(made, output)
    if plot is not None:
        api.plot(made, plot)
        note(f"plot written to {plot}", output)
