"""`scalecurve cost`: what a result costs at every K, and which K meets a deadline or a budget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from scalecurve import api
from scalecurve.cli.inputs import WORKERS, Parsed, maybe_study_options
from scalecurve.cli.output import emit, note, output_options
from scalecurve.cli.prices import DURATION, MONEY, Priced, price_options
from scalecurve.errors import Fault, InputError
from scalecurve.planning.curve import TimeCurve
from scalecurve.units import parse_count, parse_share

Function = TypeVar("Function", bound=Callable[..., Any])
SHARE = Parsed("share", parse_share)
LAW_PARAMETERS = ("serial", "serial_scaled", "comm", "contention", "coherency", "growth", "spread")


def _law_options(function: Function) -> Function:
    """Instead of a study: a law with its parameters."""
    names = [f"--{name.replace('_', '-')}" for name in LAW_PARAMETERS]
    options = [click.option(name, type=SHARE, help="Parameter of the law.") for name in names]
    options += [
        click.option("--plan", help="Price the rows of a training plan: the file of scalecurve plan --json, or -."),
        click.option("--law", "law", help="Price a law instead of a study: amdahl, usl, logcomm ..."),
        click.option("--workers", type=WORKERS, default="1..512", show_default=True, help="Worker counts of the law."),
        click.option("--time-at-one", type=DURATION, default="1h", show_default=True, help="T(1) of the law."),
    ]
    for option in options:
        function = option(function)
    return function


@click.command()
@maybe_study_options
@_law_options
@price_options
@click.option("--jobs", type=int, default=1, show_default=True, help="How many results are wanted.")
@click.option("--fleet", type=int, help="Pack the jobs side by side into this many workers.")
@click.option("--one-rental", is_flag=True, help="Keep the machines from job to job: set-up and minimum once.")
@click.option("--deadline", type=DURATION, help="All jobs done within, such as 5h.")
@click.option("--chance", type=SHARE, help="Meet the deadline with at least this probability.")
@click.option("--budget", type=MONEY, help="Money for all jobs, such as 600 or 600EUR.")
@click.option("--value-of-time", type=MONEY, help="What an hour of waiting costs.")
@click.option("--at", type=WORKERS, help="Price these K: measured, interpolated or forecast.")
@click.option("--work-per-job", type=Parsed("count", parse_count), help="For rates: work of one result (tokens: 300B).")
@click.option("--level", type=SHARE, default="0.95", show_default=True, help="Level of intervals.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw time against cost to a .svg, .png or .pdf file.")
@output_options
def command(*, given_price: Any, output: Any, plot: Path | None, **given: Any) -> None:
    """What a result costs at every K; the cheapest K in time, the fastest within the budget, the Pareto front.

    STUDY is a study file, a plain CSV, the JSON of a training plan, or - for standard input; --law needs none.
    """
    amounts = {"budget": given.pop("budget"), "value of time": given.pop("value_of_time")}
    source, node_size = _curve(given)
    priced: Priced = given_price(node_size=node_size, others=amounts)
    goal = {"budget": amounts["budget"], "value_per_hour": amounts["value of time"]}
    money: dict[str, Any] = {name: None if amount is None else amount.amount for name, amount in goal.items()}
    asked = {name: given[name] for name in ("jobs", "fleet", "one_rental", "deadline", "chance")}
    result = api.cost(source, priced.tariff, notes=priced.findings, **money, **asked)
    emit(result, output)
    if plot is not None:
        api.plot(result, plot)
        note(f"plot written to {plot}", output)


def _curve(given: dict[str, Any]) -> tuple[TimeCurve, int | None]:
    """From the study, the law or the plan of the command line."""
    study, law, plan = given["study"], given["law"], given["plan"]
    if sum(source is not None for source in (study, law, plan)) != 1:
        hint = "scalecurve cost study.json ..., scalecurve cost --law amdahl --serial 0.05 ... or --plan plan.json"
        raise InputError(Fault("give one of a study, a law and a plan", remedy=hint))
    if law is not None:
        return _law_curve(given), given["node_size"]
    source = study if study is not None else _read_plan(plan)
    curve = api.price_curve(source, at=given["at"], work_per_job=given["work_per_job"], level=given["level"])
    return curve, curve.node_size or given["node_size"]


def _law_curve(given: dict[str, Any]) -> TimeCurve:
    chosen = {name: given[name] for name in LAW_PARAMETERS if given[name] is not None}
    unit = given["k_unit"] or "workers"
    return api.price_law(given["law"], given["workers"], seconds_at_one=given["time_at_one"], k_unit=unit, **chosen)


def _read_plan(source: str) -> Any:
    """The JSON of a plan from a file or from standard input."""
    import sys

    from scalecurve.study.file import parse_json, read_json

    data = parse_json(sys.stdin.buffer.read(), subject="standard input") if source == "-" else read_json(Path(source))
    if not isinstance(data, dict):
        raise InputError(
            Fault("not a training plan", remedy="give the output of scalecurve plan --json"), subject=source
        )
    return data
