"""`scalecurve law`: the laws as tables and answers, without data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from scalecurve import api
from scalecurve.cli.inputs import WORKERS, Parsed
from scalecurve.cli.output import Output, emit, note, output_options
from scalecurve.units import parse_numbers, parse_share

Function = TypeVar("Function", bound=Callable[..., Any])

NUMBERS = Parsed("numbers", parse_numbers)
SHARE = Parsed("share", parse_share)


@click.group()
def command() -> None:
    """The laws themselves: tables of T, S and E, ceilings, best K, without data.

    Parameters take several values (0.01,0.05,20%); every combination becomes a case.
    """


def _common(function: Function) -> Function:
    """--workers, --plot and the output options."""
    workers = click.option("--workers", type=WORKERS, default="1..512", show_default=True, help="Worker counts.")
    plot = click.option("--plot", type=click.Path(path_type=Path), help="Draw it to a .svg, .png or .pdf file.")
    return workers(plot(output_options(function)))


def _answer(name: str, output: Output, plot: Path | None, **given: Any) -> None:
    table = api.tabulate_law(name, given.pop("workers"), **given)
    emit(table, output)
    if plot is not None:
        api.plot(table, plot)
        note(f"plot written to {plot}", output)


@command.command()
@click.option("--serial", type=NUMBERS, help="Serial shares f of the K = 1 time.")
@click.option("--below", type=SHARE, help="Also the smallest K whose E is below this.")
@click.option("--serial-for-efficiency", type=SHARE, help="Instead: the largest f that keeps E at or above this, by K.")
@_common
def amdahl(**given: Any) -> None:
    """T = s + (1-s)/K: a fixed job with a serial share."""
    if given["serial"] is None and given["serial_for_efficiency"] is None:
        raise click.UsageError("give --serial, such as --serial 0.05, or --serial-for-efficiency 0.8")
    _answer("amdahl", **given)


@command.command()
@click.option("--serial-scaled", "--serial", type=NUMBERS, required=True, help="Serial share of the K-worker run.")
@_common
def gustafson(**given: Any) -> None:
    """S = f + (1-f) K: the work grows with the workers."""
    _answer("gustafson", **given)


@command.command("sun-ni")
@click.option("--serial", type=NUMBERS, required=True, help="Serial shares of the K = 1 time.")
@click.option(
    "--growth", type=NUMBERS, required=True, help="Exponent of the work's growth: 0 Amdahl, 1.5 matrix product."
)
@_common
def sun_ni(**given: Any) -> None:
    """Memory-bounded scaling: the work grows as K^growth."""
    _answer("sun-ni", **given)


@command.command()
@click.option("--contention", type=NUMBERS, required=True, help="Queueing for a shared resource (sigma, alpha).")
@click.option("--coherency", type=NUMBERS, default="0", show_default=True, help="Pairwise agreement (kappa, beta).")
@_common
def usl(**given: Any) -> None:
    """S = K/(1 + contention (K-1) + coherency K (K-1)): the peak and the limit."""
    _answer("usl", **given)


@command.command()
@click.option("--serial", type=NUMBERS, required=True, help="Serial shares of the K = 1 time.")
@click.option("--comm", type=NUMBERS, required=True, help="Communication per doubling of K, as a share of T(1).")
@click.option("--regime", default="strong", show_default=True, help="strong, weak or both.")
@click.option("--optimum", is_flag=True, help="Only the K that minimises T, with its closed form.")
@_common
def logcomm(*, optimum: bool, **given: Any) -> None:
    """T = s + (1-s)/K + c log2 K (strong), 1 + c log2 K (weak)."""
    if optimum:
        given["workers"] = ()
    _answer("logcomm", **given)


@command.command()
@click.option("--serial", type=SHARE, required=True, help="Serial part, replicated on every worker.")
@click.option("--comm", type=SHARE, required=True, help="Communication coefficient c.")
@click.option("--hold", type=SHARE, required=True, help="The efficiency to hold.")
@click.option("--growth", default="log", show_default=True, help="How communication grows: log or linear.")
@click.option("--serial-share", is_flag=True, help="The serial part is a share of the work, and grows with it.")
@_common
def isoefficiency(**given: Any) -> None:
    """The work per worker w(K) that holds an efficiency."""
    _answer("isoefficiency", **given)


@command.command("karp-flatt")
@click.option("--speedups", type=NUMBERS, required=True, help="Measured speedups, one for each of --workers.")
@_common
def karp_flatt(**given: Any) -> None:
    """The serial share that would explain a measured speedup."""
    _answer("karp-flatt", **given)


@command.command()
@click.option("--spread", type=NUMBERS, required=True, help="Standard deviation of the logarithm of a worker's time.")
@_common
def stragglers(**given: Any) -> None:
    """A fixed job in K parts that waits for the slowest (lognormal times)."""
    _answer("stragglers", **given)
