"""`scalecurve plan`: how far more accelerators get a training run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from scalecurve import api
from scalecurve.cli.output import Output, emit, note, output_options

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("request", metavar="[FILE]", required=False, type=click.Path(path_type=Path)),
    click.option(
        "--model", help="A preset (llama3-70b), hidden=8192,layers=80,heads=64, or a Hugging Face config.json."
    ),
    click.option("--cluster", help="A preset: an accelerator and its network (h100-ib400), or a named cluster."),
    click.option("--gpus", help="Accelerator counts: 8..16384 (doubling) or 256,512,1024."),
    click.option("--seq", type=int, help="Sequence length in tokens (default: the model's)."),
    click.option("--global-batch", help="Global batch in tokens: 4M or 4Mi."),
    click.option("--critical-batch", help="In tokens, or a law: kaplan, mccandlish, zhang, merrill, deepseek."),
    click.option("--definition", help="Of a critical batch in tokens: double (2x data) or overhead (20 % more steps)."),
    click.option("--batch-grows", is_flag=True, help="Let the batch grow with P, up to the critical batch."),
    click.option("--weak", is_flag=True, help="Grow model, tokens and batch with P; shows both curves."),
    click.option("--compute-optimal", metavar="LAW", help="Loss reached against P by a law: chinchilla."),
    click.option("--tokens", help="Tokens to train on (default: 20 per active parameter)."),
    click.option("--loss", type=float, help="Loss, for critical-batch laws that are functions of it."),
    click.option("--objective", help="time, cost or energy."),
    click.option("--deadline", help="Time allowed, as 30d."),
    click.option("--budget", help="Dollars allowed, as 5M."),
    click.option("--price", type=float, help="Dollars per accelerator-hour (default: the dated catalog)."),
    click.option("--top", type=click.IntRange(min=1), help="Layouts to keep at each P."),
    click.option("--stack", help="megatron-lm, megatron-core, fsdp, torchtitan, deepspeed-zero3, jax."),
    click.option("--precision", help="bf16 or fp8."),
    click.option("--layout", help="Evaluate this one: tp=8,pp=12,dp=4,micro=1,recompute=full."),
    click.option("--explain", type=int, metavar="P", help="Every term of the step at P, with its numbers."),
    click.option(
        "--measured", metavar="RUNS.CSV", help="Runs of your own (layout, batch, step_seconds) to calibrate on."
    ),
    click.option("--goodput", "reliability", flag_value="default", help="Count failures, checkpoints and stragglers."),
    click.option("--plot", type=click.Path(path_type=Path), help="Draw the sweep to a .svg, .png or .pdf."),
)


def plan_options(function: Function) -> Function:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command()
@plan_options
@output_options
def command(request: Path | None, plot: Path | None, output: Output, **given: Any) -> None:
    """The best way to split a model over each P, what stops it, and what it costs.

    FILE is a plan.toml with the same names as the options, which win over it.
    """
    result = api.plan(request, **given)
    if plot is not None:
        api.plot_plan(result, plot)
        note(f"wrote {plot}", output)
    emit(result, output)
