"""`scalecurve cost`: what a result costs, and which K to choose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scalecurve.cli.inputs import WORKERS, Parsed, level_option, maybe_study_options
from scalecurve.cli.output import Output, emit, note, output_options
from scalecurve.cli.prices import DURATION, MONEY, make_price, price_options
from scalecurve.errors import Fault, InputError
from scalecurve.units import parse_count, parse_share

if TYPE_CHECKING:
    from scalecurve.planning.currency import Money
    from scalecurve.study import Study

Function = TypeVar("Function", bound=Callable[..., Any])
SHARE = Parsed("share", parse_share)
LAW_PARAMETERS = ("serial", "serial_scaled", "comm", "contention", "coherency", "growth", "spread")


def law_options(function: Function) -> Function:
    """Instead of a study: a law with its parameters, or a training plan."""
    names = [f"--{name.replace('_', '-')}" for name in LAW_PARAMETERS]
    options = [click.option(name, type=SHARE, help="Parameter of the law.") for name in names]
    options += [
        click.option("--plan", help="Price the rows of a training plan: the file of scalecurve plan --json, or -."),
        click.option("--law", "law_name", help="Price a law instead of a study: amdahl, usl, logcomm ..."),
        click.option("--workers", type=WORKERS, default="1..512", show_default=True, help="Worker counts of the law."),
        click.option("--time-at-one", type=DURATION, default="1h", show_default=True, help="T(1) of the law."),
    ]
    for option in options:
        function = option(function)
    return function


@click.command()
@maybe_study_options
@law_options
@price_options
@click.option("--jobs", type=int, default=1, show_default=True, help="How many results are needed.")
@click.option("--fleet", type=int, help="Pack the jobs side by side into this many workers.")
@click.option("--one-rental", is_flag=True, help="Keep the machines from job to job: set-up and minimum once.")
@click.option("--deadline", type=DURATION, help="All jobs done within, such as 5h.")
@click.option("--chance", type=SHARE, help="Meet the deadline with at least this probability.")
@click.option("--budget", type=MONEY, help="Money for all jobs, such as 600 or 600EUR.")
@click.option("--value-of-time", type=MONEY, help="What an hour of waiting costs.")
@click.option("--at", type=WORKERS, help="Price these K: measured, interpolated or forecast.")
@click.option("--work-per-job", type=Parsed("count", parse_count), help="For rates: work of one result (tokens: 300B).")
@level_option("0.95")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw time against cost to a .svg, .png or .pdf file.")
@output_options
def command(
    *,
    study: Study | None,
    law_name: str | None,
    plan: str | None,
    workers: tuple[int, ...],
    time_at_one: float,
    k_unit: str | None,
    node_size: int | None,
    price: dict[str, Any],
    budget: Money | None,
    value_of_time: Money | None,
    at: tuple[int, ...] | None,
    work_per_job: float | None,
    level: float,
    jobs: int,
    fleet: int | None,
    one_rental: bool,
    deadline: float | None,
    chance: float | None,
    plot: Path | None,
    output: Output,
    **parameters: float | None,
) -> None:
    """What a result costs at every K; the cheapest K in time, the fastest within the budget, the Pareto front.

    STUDY is a study file, a plain CSV, the JSON of a training plan, or - for standard input; --law needs none.
    """
    from scalecurve.laws import law
    from scalecurve.planning.cost import cost

    if sum(source is not None for source in (study, law_name, plan)) != 1:
        hint = "scalecurve cost study.json ..., scalecurve cost --law amdahl --serial 0.05 ... or --plan plan.json"
        raise InputError(Fault("give one of a study, a law and a plan", remedy=hint))
    subject: Any = study if study is not None else law(law_name) if law_name is not None else read_plan(plan or "-")
    size = node_size if study is None else study.node_size or node_size
    tariff, notes = make_price(node_size=size, others={"budget": budget, "value of time": value_of_time}, **price)
    result = cost(
        subject,
        tariff,
        at=at if law_name is None else workers,
        work_per_job=work_per_job,
        level=level,
        parameters={name: value for name, value in parameters.items() if name in LAW_PARAMETERS and value is not None},
        seconds_at_one=time_at_one,
        k_unit=k_unit or "workers",
        jobs=jobs,
        fleet=fleet,
        one_rental=one_rental,
        deadline=deadline,
        budget=None if budget is None else budget.amount,
        value_per_hour=None if value_of_time is None else value_of_time.amount,
        chance=chance,
        notes=notes,
    )
    emit(result, output)
    if plot is not None:
        from scalecurve.render.plots import plot as draw

        draw(result, plot)
        note(f"plot written to {plot}", output)


def read_plan(source: str) -> dict[str, Any]:
    """The JSON of a plan from a file or from standard input."""
    import sys

    from scalecurve.study.file import parse_json, read_json

    data = parse_json(sys.stdin.buffer.read(), subject="standard input") if source == "-" else read_json(Path(source))
    if not isinstance(data, dict):
        raise InputError(
            Fault("not a training plan", remedy="give the output of scalecurve plan --json"), subject=source
        )
    return data
