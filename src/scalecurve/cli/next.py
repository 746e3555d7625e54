"""`scalecurve next`: which K to measure next, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scalecurve.cli.inputs import Parsed, study_options
from scalecurve.cli.output import Output, emit, output_options
from scalecurve.errors import Fault, InputError
from scalecurve.units import parse_seconds

if TYPE_CHECKING:
    from scalecurve.study import Study


def parse_pair(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise InputError(Fault("not two laws", value=text, remedy="write amdahl,logcomm"))
    return names[0], names[1]


@click.command()
@study_options
@click.option("--budget", help="Machine time, as '8 gpu-hours' or '90 core-min' (default: unlimited).")
@click.option("--target", type=int, help="The K whose forecast shall narrow (default: 4 times the largest).")
@click.option("--largest", type=int, help="The most workers there are.")
@click.option("--separate", type=Parsed("laws", parse_pair), help="Separate two laws instead, as amdahl,logcomm.")
@click.option("--run-seconds", type=Parsed("time", parse_seconds), help="Length of a run, for throughput studies.")
@output_options
def command(
    study: Study,
    budget: str | None,
    target: int | None,
    largest: int | None,
    separate: tuple[str, str] | None,
    run_seconds: float | None,
    output: Output,
) -> None:
    """Which K to measure next, and how often, to narrow a forecast or to separate two laws, by gain and cost."""
    from scalecurve.planning.next_runs import next_runs

    result = next_runs(study, budget=budget, target=target, largest=largest, separate=separate, run_seconds=run_seconds)
    emit(result, output)
