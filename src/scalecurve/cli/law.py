"""`scalecurve law`: the laws as tables and answers, without data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from scalecurve.cli.inputs import NUMBERS, SHARE, WORKERS, Chosen
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
    workers = click.option("--workers", type=WORKERS, default="1..512", show_default=True, help="Worker counts.")
    return workers(plot_option(output_options(function)))


@command.command()
@click.option("--serial", type=SHARE, required=True, help="Serial part, replicated on every worker.")
@click.option("--comm", type=SHARE, required=True, help="Communication coefficient c.")
@click.option("--hold", type=SHARE, required=True, help="The efficiency to hold.")
@click.option("--growth", default="log", show_default=True, help="How communication grows: log or linear.")
@_common
def isoefficiency(*, workers: Workers, plot: Plot | None, output: Output, **chosen: Chosen) -> None:
    """Find the work per worker w(K) that holds an efficiency."""
    emit_drawn(law_table("isoefficiency", workers, **chosen), plot, output)


@command.command("karp-flatt")
@click.option("--speedups", type=NUMBERS, required=True, help="Measured speedups, one for each of --workers.")
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
    options = [click.option("--below", type=SHARE, help="Also give the smallest K with E below this.")]
    if f"{law.name}-weak" in LAW_NAMES:
        options.append(click.option("--regime", help="strong, weak or both.", default="strong", show_default=True))
    options += [click.option(*names, **settings) for names, settings in EXTRAS.get(law.name, ())]
    for option in [*(parameter_option(law, parameter) for parameter in law.parameters), *options]:
        callback = option(callback)
    return click.command(law.name, cls=SectionedCommand)(_common(callback))


def parameter_option(law: Law, parameter: Parameter) -> Callable[[Function], Function]:
    """`--serial 0.01,0.05`: one or several values."""
    words = [f"--{parameter.name.replace('_', '-')}", *ALSO.get(parameter.name, ())]
    settings: dict[str, Any] = {"required": law.name != "amdahl"}
    if parameter.default is not None:
        settings = {"default": f"{parameter.default:g}", "show_default": True}
    return click.option(
        *words, type=NUMBERS, help=f"{parameter.meaning[0].upper()}{parameter.meaning[1:]}.", **settings
    )


ALSO = {"serial_scaled": ["--serial"]}
EXTRAS: dict[str, tuple[tuple[tuple[str, ...], dict[str, Any]], ...]] = {
    "amdahl": (
        (
            ("--serial-for-efficiency",),
            {"type": SHARE, "help": "Give the largest s that keeps E at or above this, by K."},
        ),
    ),
    "logcomm": ((("--optimum",), {"is_flag": True, "help": "Give only the K with the smallest T, and its formula."}),),
}

for row in every_law():
    if not row.name.endswith("-weak"):
        command.add_command(_law_command(row))
