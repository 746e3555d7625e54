"""`scalecurve roofline`: compute or memory bound?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from scalecurve import api
from scalecurve.cli.inputs import WORKERS, Parsed
from scalecurve.cli.output import Output, emit, note, output_options

Function = TypeVar("Function", bound=Callable[..., Any])
SHAPE = Parsed("shape", lambda text: tuple(int(part) for part in text.lower().split("x")))


@click.group()
def command() -> None:
    """Ceilings of a machine, and kernels placed under them."""


def _machine(function: Function) -> Function:
    """--machine, --precision, --level, --plot and the output options."""
    chosen = click.option(
        "--machine", required=True, help="An accelerator (a100, h100, b200, mi300x ...) or a file of roofline measure."
    )
    precision = click.option("--precision", default="fp64", show_default=True, help="bf16, fp16, fp8, fp32 or fp64.")
    level = click.option("--level", default="memory", show_default=True, help="The level intensity is counted at.")
    plot = click.option("--plot", type=click.Path(path_type=Path), help="Draw it to a .svg, .png or .pdf file.")
    return chosen(precision(level(plot(output_options(function)))))


def _answer(result: Any, plot: Path | None, output: Output) -> None:
    emit(result, output)
    if plot is not None:
        api.plot(result, plot)
        note(f"plot written to {plot}", output)


@command.command()
@click.option("--threads", type=WORKERS, default="1", show_default=True, help="Numbers of threads.")
@click.option("--size", type=click.IntRange(64), default=1500, show_default=True, help="Order of the matrix product.")
@output_options
def measure(*, output: Output, **given: Any) -> None:
    """This machine's ceilings: BLAS peak and a triad that really streams."""
    emit(api.measure_roofline(**given), output)


@command.command()
@click.option("--kernel", "kernels", multiple=True, help="NAME:FLOPS:BYTES[:SECONDS], such as gemm:2e9:24e6:0.05.")
@click.option("--file", "files", multiple=True, type=click.Path(path_type=Path), help="ncu --csv or likwid output.")
@_machine
def place(*, plot: Path | None, output: Output, **given: Any) -> None:
    """Place kernels typed by hand, or read from Nsight Compute and likwid."""
    _answer(api.place_kernels(**given), plot, output)


@command.command()
@click.argument("model")
@click.option("--input", "shape", type=SHAPE, required=True, help="Shape of the input, such as 32x3x224x224.")
@_machine
def torch(*, model: str, shape: tuple[int, ...], plot: Path | None, output: Output, **given: Any) -> None:
    """Count a torch model (module:model) by operator and place it."""
    _answer(api.place_torch_model(model, shape, **given), plot, output)
