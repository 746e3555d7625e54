"""`scalecurve roofline`: is a kernel bound by compute or by memory?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from scalecurve import mechanisms
from scalecurve.cli.inputs import WORKERS, Parsed
from scalecurve.cli.output import Output, emit, emit_drawn, output_options, plot_option

Function = TypeVar("Function", bound=Callable[..., Any])
SHAPE = Parsed("shape", lambda text: tuple(int(part) for part in text.lower().split("x")))


@click.group()
def command() -> None:
    """Ceilings of a machine, and kernels placed under them."""


def _machine(function: Function) -> Function:
    """--machine, --precision, --level, --plot and the output options."""
    machine = click.option(
        "--machine", required=True, help="An accelerator (a100, h100, b200, mi300x ...) or a file of roofline measure."
    )
    precision = click.option("--precision", default="fp64", show_default=True, help="bf16, fp16, fp8, fp32 or fp64.")
    level = click.option("--level", default="memory", show_default=True, help="The level intensity is counted at.")
    return machine(precision(level(plot_option(output_options(function)))))


@command.command()
@click.option("--threads", type=WORKERS, default="1", show_default=True, help="Numbers of threads.")
@click.option("--size", type=click.IntRange(64), default=1500, show_default=True, help="Order of the matrix product.")
@output_options
def measure(*, threads: tuple[int, ...], size: int, output: Output) -> None:
    """This machine's ceilings: BLAS peak and a triad that streams from memory."""
    from scalecurve.measurement.calibration.roofline import measure_roofline

    emit(measure_roofline(threads, size=size), output)


@command.command()
@click.option("--kernel", "kernels", multiple=True, help="NAME:FLOPS:BYTES[:SECONDS], such as gemm:2e9:24e6:0.05.")
@click.option("--file", "files", multiple=True, type=click.Path(path_type=Path), help="ncu --csv or likwid output.")
@_machine
def place(
    *,
    kernels: tuple[str, ...],
    files: tuple[Path, ...],
    machine: str,
    precision: str,
    level: str,
    plot: Path | None,
    output: Output,
) -> None:
    """Place kernels typed by hand, or read from Nsight Compute and likwid."""
    roofline = mechanisms.place_kernels(kernels, machine=machine, files=files, precision=precision, level=level)
    emit_drawn(roofline, plot, output)


@command.command()
@click.argument("model")
@click.option("--input", "shape", type=SHAPE, required=True, help="Shape of the input, such as 32x3x224x224.")
@_machine
def torch(
    *,
    model: str,
    shape: tuple[int, ...],
    machine: str,
    precision: str,
    level: str,
    plot: Path | None,
    output: Output,
) -> None:
    """Count a torch model (module:model) by operator and place it."""
    from scalecurve.measurement import place_torch_model

    emit_drawn(place_torch_model(model, shape, machine=machine, precision=precision, level=level), plot, output)
