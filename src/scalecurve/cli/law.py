"""`scalecurve law`: the laws as tables and answers, without data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from scalecurve.cli.inputs import NUMBERS, SHARE, WORKERS, Chosen, flag_of, option
from scalecurve.cli.output import (
    Output,
    Plot,
    SectionedCommand,
    SectionedGroup,
    emit_drawn,
    output_options,
    plot_option,
)
from scalecurve.laws import LAW_NAMES, Law, Parameter, every_law, law_table

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
    workers = option("--workers", WORKERS, "Worker counts.", "1..512")
    return workers(plot_option(output_options(function)))


@command.command()
@option("--serial", SHARE, "Serial part, replicated on every worker.", required=True)
@option("--comm", SHARE, "Communication coefficient c.", required=True)
@option("--hold", SHARE, "The efficiency to hold.", required=True)
@option("--growth", str, "How communication grows: log or linear.", "log")
@_common
def isoefficiency(*, workers: Workers, plot: Plot | None, output: Output, **chosen: Chosen) -> None:
    """Find the work per worker w(K) that holds an efficiency."""
    emit_drawn(law_table("isoefficiency", workers, **chosen), plot, output)


@command.command("karp-flatt")
@option("--speedups", NUMBERS, "Measured speedups, one for each of --workers.", required=True)
@_common
def karp_flatt(*, speedups: Numbers, workers: Workers, plot: Plot | None, output: Output) -> None:
    """Find the serial share that would explain a measured speedup."""
    emit_drawn(law_table("karp-flatt", workers, speedups=speedups), plot, output)


def _law_command(law: Law) -> click.Command:
    """The command of a law: an option for each parameter, and what may be asked of it."""

    def callback(*, workers: Workers, plot: Plot | None, output: Output, optimum: bool = False, **options: Any) -> None:
        if law.name == "amdahl" and options["serial"] is None and options["serial_for_efficiency"] is None:
            raise click.UsageError("give --serial, such as --serial 0.05, or --serial-for-efficiency 0.8")
        emit_drawn(law_table(law.name, None if optimum else workers, **options), plot, output)

    callback.__doc__ = f"{law.question}  {law.formula}."
    options = [_parameter_option(law, parameter) for parameter in law.parameters]
    options.append(option("--below", SHARE, "Also give the smallest K with E below this."))
    if f"{law.name}-weak" in LAW_NAMES:
        options.append(option("--regime", str, "strong, weak or both.", "strong"))
    for add in [*options, *EXTRAS.get(law.name, ())]:
        callback = add(callback)
    return click.command(law.name, cls=SectionedCommand)(_common(callback))


def _parameter_option(law: Law, parameter: Parameter) -> Callable[[Function], Function]:
    """`--serial 0.01,0.05`: one or several values."""
    also = " --serial" if parameter.name == "serial_scaled" else ""
    default = None if parameter.default is None else f"{parameter.default:g}"
    about = f"{parameter.meaning[0].upper()}{parameter.meaning[1:]}."
    required = default is None and law.name != "amdahl"
    return option(f"{flag_of(parameter.name)}{also}", NUMBERS, about, default, required=required)


EXTRAS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "amdahl": (option("--serial-for-efficiency", SHARE, "Give the largest s that keeps E at or above this, by K."),),
    "logcomm": (option("--optimum", bool, "Give only the K with the smallest T, and its formula."),),
}

for row in every_law():
    if not row.name.endswith("-weak"):
        command.add_command(_law_command(row))
