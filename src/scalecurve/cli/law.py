"""`scalecurve law`: the laws as tables and answers, without data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from scalecurve.cli.inputs import NUMBERS, SHARE, WORKERS
from scalecurve.cli.output import Output, Plot, SectionedGroup, emit_drawn, output_options, plot_option
from scalecurve.laws import law_table

Function = TypeVar("Function", bound=Callable[..., Any])
Numbers = tuple[float, ...]
Workers = tuple[int, ...]


@click.group(cls=SectionedGroup)
def command() -> None:
    """Tabulate a scaling law without data: T, S and E, ceilings, best K.

    Parameters take several values (0.01,0.05,20%); every combination becomes a case.
    """


def _common(function: Function) -> Function:
    """--workers, --plot and the output options."""
    workers = click.option("--workers", type=WORKERS, default="1..512", show_default=True, help="Worker counts.")
    return workers(plot_option(output_options(function)))


@command.command()
@click.option("--serial", type=NUMBERS, help="Serial shares s of the K = 1 time.")
@click.option("--below", type=SHARE, help="Also give the smallest K with E below this.")
@click.option("--serial-for-efficiency", type=SHARE, help="Give the largest s that keeps E at or above this, by K.")
@_common
def amdahl(
    *,
    serial: Numbers | None,
    below: float | None,
    serial_for_efficiency: float | None,
    workers: Workers,
    plot: Plot | None,
    output: Output,
) -> None:
    """Tabulate T = s + (1-s)/K: a fixed job with a serial share."""
    if serial is None and serial_for_efficiency is None:
        raise click.UsageError("give --serial, such as --serial 0.05, or --serial-for-efficiency 0.8")
    table = law_table("amdahl", workers, serial=serial, below=below, serial_for_efficiency=serial_for_efficiency)
    emit_drawn(table, plot, output)


@command.command()
@click.option("--serial-scaled", "--serial", type=NUMBERS, required=True, help="Serial share of the K-worker run.")
@_common
def gustafson(*, serial_scaled: Numbers, workers: Workers, plot: Plot | None, output: Output) -> None:
    """Tabulate S = f + (1-f) K: the work grows with the workers."""
    emit_drawn(law_table("gustafson", workers, serial_scaled=serial_scaled), plot, output)


@command.command("sun-ni")
@click.option("--serial", type=NUMBERS, required=True, help="Serial shares of the K = 1 time.")
@click.option(
    "--growth", type=NUMBERS, required=True, help="Exponent of the work's growth: 0 Amdahl, 1.5 matrix product."
)
@_common
def sun_ni(*, serial: Numbers, growth: Numbers, workers: Workers, plot: Plot | None, output: Output) -> None:
    """Tabulate memory-bounded scaling: the work grows as K^growth."""
    emit_drawn(law_table("sun-ni", workers, serial=serial, growth=growth), plot, output)


@command.command()
@click.option("--contention", type=NUMBERS, required=True, help="Queueing for a shared resource (sigma, alpha).")
@click.option(
    "--coherency",
    type=NUMBERS,
    default="0",
    show_default=True,
    help="Cost of keeping every pair consistent (kappa, beta).",
)
@_common
def usl(*, contention: Numbers, coherency: Numbers, workers: Workers, plot: Plot | None, output: Output) -> None:
    """Tabulate S = K/(1 + contention (K-1) + coherency K (K-1)), its peak and its limit."""
    emit_drawn(law_table("usl", workers, contention=contention, coherency=coherency), plot, output)


@command.command()
@click.option("--serial", type=NUMBERS, required=True, help="Serial shares of the K = 1 time.")
@click.option("--comm", type=NUMBERS, required=True, help="Communication per doubling of K, as a share of T(1).")
@click.option("--regime", default="strong", show_default=True, help="strong, weak or both.")
@click.option("--optimum", is_flag=True, help="Give only the K with the smallest T, and its formula.")
@_common
def logcomm(
    *,
    serial: Numbers,
    comm: Numbers,
    regime: str,
    optimum: bool,
    workers: Workers,
    plot: Plot | None,
    output: Output,
) -> None:
    """Tabulate T = s + (1-s)/K + c log2 K (strong) or 1 + c log2 K (weak)."""
    table = law_table("logcomm", None if optimum else workers, serial=serial, comm=comm, regime=regime)
    emit_drawn(table, plot, output)


@command.command()
@click.option("--serial", type=SHARE, required=True, help="Serial part, replicated on every worker.")
@click.option("--comm", type=SHARE, required=True, help="Communication coefficient c.")
@click.option("--hold", type=SHARE, required=True, help="The efficiency to hold.")
@click.option("--growth", default="log", show_default=True, help="How communication grows: log or linear.")
@click.option("--serial-share", is_flag=True, help="The serial part is a share of the work, and grows with it.")
@_common
def isoefficiency(
    *,
    serial: float,
    comm: float,
    hold: float,
    growth: str,
    serial_share: bool,
    workers: Workers,
    plot: Plot | None,
    output: Output,
) -> None:
    """Find the work per worker w(K) that holds an efficiency."""
    table = law_table(
        "isoefficiency", workers, serial=serial, comm=comm, hold=hold, growth=growth, serial_share=serial_share
    )
    emit_drawn(table, plot, output)


@command.command("karp-flatt")
@click.option("--speedups", type=NUMBERS, required=True, help="Measured speedups, one for each of --workers.")
@_common
def karp_flatt(*, speedups: Numbers, workers: Workers, plot: Plot | None, output: Output) -> None:
    """Find the serial share that would explain a measured speedup."""
    emit_drawn(law_table("karp-flatt", workers, speedups=speedups), plot, output)


@command.command()
@click.option("--spread", type=NUMBERS, required=True, help="Standard deviation of the logarithm of a worker's time.")
@_common
def stragglers(*, spread: Numbers, workers: Workers, plot: Plot | None, output: Output) -> None:
    """Tabulate a fixed job in K parts that waits for the slowest (lognormal times)."""
    emit_drawn(law_table("stragglers", workers, spread=spread), plot, output)
