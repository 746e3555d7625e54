"""Commands about money and machines: cost, next (which K to measure), scaleup (one big machine or many), assess."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scalecurve.cli.inputs import (
    NUMBER,
    READING,
    SECONDS,
    WORKERS,
    Chosen,
    Parsed,
    level_option,
    maybe_study_options,
    study_options,
)
from scalecurve.cli.output import (
    Output,
    Plot,
    SectionedCommand,
    emit,
    emit_drawn,
    init_option,
    output_options,
    plot_option,
    start_file,
    working,
)
from scalecurve.cli.prices import MONEY, make_price, price_options
from scalecurve.errors import Fault, InputError
from scalecurve.laws import Law, every_law, parse_law
from scalecurve.units import parse_count, parse_seconds, parse_share

if TYPE_CHECKING:
    from scalecurve.planning.tariff import Money
    from scalecurve.study import Study

Function = TypeVar("Function", bound=Callable[..., Any])
SHARE = Parsed("share", parse_share)


class SubjectOption(click.Option):
    section = "Instead of a study"


def law_options(function: Function) -> Function:
    """--law and the parameters of every law; the command receives them as one `law`, or None."""
    add = partial(click.option, cls=SubjectOption)
    laws = every_law()
    known = {parameter.name: parameter for law in reversed(laws) for parameter in law.parameters}

    @add("--law", "law_text", help="T(K) from a law: amdahl --serial 5%, or amdahl:serial=5%; see scalecurve law.")
    @wraps(function)
    def wrapped(*, law_text: str | None, **options: Any) -> Any:
        stated = {name: options.pop(name) for name in known}
        if law_text is None and (loose := [name for name, value in stated.items() if value is not None]):
            hint = "name the law: --law amdahl --serial 5%"
            raise InputError([Fault("a parameter without its law", where=name, remedy=hint) for name in loose])
        return function(law=None if law_text is None else parse_law(law_text, **stated), **options)

    for name, parameter in reversed(known.items()):
        of = ", ".join(law.name for law in laws for each in law.parameters if each.name == name)
        text = f"{parameter.meaning[:1].upper()}{parameter.meaning[1:]} ({of})."
        wrapped = add(f"--{name.replace('_', '-')}", type=NUMBER, help=text)(wrapped)
    return wrapped  # type: ignore[return-value]  # the wrapper takes what click passes, not what the command declares


@click.command(cls=SectionedCommand)
@maybe_study_options
@click.option(
    "--plan", cls=SubjectOption, help="Price the rows of a training plan: the file of scalecurve plan --json, or -."
)
@law_options
@click.option(
    "--workers", cls=SubjectOption, type=WORKERS, default="1..512", show_default=True, help="Worker counts of the law."
)
@click.option(
    "--time-at-one", cls=SubjectOption, type=SECONDS, default="1h", show_default=True, help="T(1) of the law."
)
@price_options
@click.option("--jobs", type=int, default=1, show_default=True, help="How many results are needed.")
@click.option("--fleet", type=int, help="Pack the jobs side by side into this many workers.")
@click.option("--one-rental", is_flag=True, help="Keep the machines between jobs: pay set-up and minimum once.")
@click.option("--deadline", type=SECONDS, help="Time within which all jobs must finish, such as 5h.")
@click.option("--chance", type=SHARE, help="Meet the deadline with at least this probability.")
@click.option("--budget", type=MONEY, help="Money for all jobs, such as 600 or 600EUR.")
@click.option("--value-of-time", type=MONEY, help="What an hour of waiting costs.")
@click.option("--at", type=WORKERS, help="Price these K: measured, interpolated or forecast.")
@click.option(
    "--work-per-job",
    type=Parsed("count", parse_count),
    help="Work of one result, such as 300B; needed where the study is a rate.",
)
@level_option("0.95")
@plot_option
@output_options
def cost(
    *,
    study: Study | None,
    law: tuple[Law, dict[str, float]] | None,
    plan: str | None,
    workers: tuple[int, ...],
    time_at_one: float,
    k_unit: str | None,
    node_size: int | None,
    price: dict[str, Any],
    budget: Money | None,
    value_of_time: Money | None,
    at: tuple[int, ...] | None,
    plot: Plot | None,
    output: Output,
    **chosen: Chosen,
) -> None:
    """Price a result at every K: the cheapest K within a deadline, the fastest within a budget, the Pareto front.

    STUDY is a study file, a plain CSV, the JSON of a training plan, or - for standard input; --law needs none.
    """
    from scalecurve.analysis.energy import energy_findings
    from scalecurve.planning.cost import cost as price_every_k

    if sum(source is not None for source in (study, law, plan)) != 1:
        hint = "scalecurve cost study.json ..., scalecurve cost --law amdahl --serial 0.05 ... or --plan plan.json"
        raise InputError(Fault("give one of a study, a law and a plan", remedy=hint))
    subject: Any = study if study is not None else law[0] if law is not None else read_plan(plan or "-")
    size = node_size if study is None else study.node_size or node_size
    tariff, notes = make_price(price, node_size=size, others={"budget": budget, "value of time": value_of_time})
    with working("pricing every K", output):
        result = price_every_k(
            subject,
            tariff,
            at=at if law is None else workers,
            parameters=law[1] if law else {},
            seconds_at_one=time_at_one,
            k_unit=k_unit or "workers",
            budget=None if budget is None else budget.amount,
            value_per_hour=None if value_of_time is None else value_of_time.amount,
            notes=(*notes, *energy_findings(study)),
            **chosen,
        )
    emit_drawn(result, plot, output)


def read_plan(source: str) -> dict[str, Any]:
    """The JSON of a plan from a file or from standard input."""
    import sys

    from scalecurve.files import MAX_BYTES
    from scalecurve.study.file import parse_json, read_json

    data = (
        parse_json(sys.stdin.buffer.read(MAX_BYTES), subject="standard input")
        if source == "-"
        else read_json(Path(source))
    )
    if not isinstance(data, dict):
        raise InputError(
            Fault("not a training plan", remedy="give the output of scalecurve plan --json"), subject=source
        )
    return data


def parse_pair(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise InputError(Fault("not two laws", value=text, remedy="write amdahl,logcomm"))
    return names[0], names[1]


@click.command("next", cls=SectionedCommand)
@study_options
@click.option("--budget", help="Machine time, as '8 gpu-hours' or '90 core-min' (default: unlimited).")
@click.option("--target", type=int, help="The K whose forecast to narrow (default: 4 times the largest measured).")
@click.option("--largest", type=int, help="The largest K that you can run.")
@click.option("--separate", type=Parsed("laws", parse_pair), help="Separate two laws instead, as amdahl,logcomm.")
@click.option("--run-seconds", type=Parsed("time", parse_seconds), help="Length of a run, for throughput studies.")
@output_options
def next_command(study: Study, output: Output, **chosen: Chosen) -> None:
    """Say which K to measure next, and how often: the cheapest runs that narrow a forecast or separate two laws."""
    from scalecurve.planning.next_runs import next_runs

    with working("weighing the next runs", output):
        result = next_runs(study, **chosen)
    emit(result, output)


@click.command(cls=SectionedCommand)
@click.option("--faster", type=NUMBER, required=True, help="r: how many times as fast the big machine is.")
@click.option("--big-price", type=NUMBER, required=True, help="Price of the big machine, any currency and time.")
@click.option("--small-price", type=NUMBER, required=True, help="Price of one small machine, same currency and time.")
@law_options
@click.option("--study", help="E(K) as measured in a study; other --workers are forecast.")
@click.option("--regime", help=READING["regime"])
@click.option("--workers", type=WORKERS, help="Numbers of small machines (default: 1..64, or a study's own).")
@output_options
def scaleup(
    *,
    law: tuple[Law, dict[str, float]] | None,
    study: str | None,
    workers: tuple[int, ...] | None,
    output: Output,
    **chosen: Chosen,
) -> None:
    """Compare one big machine with K small ones: which is faster, which is cheaper, and from which K on."""
    from scalecurve.planning.scaleup import compare_scaleup

    if (law is None) == (study is None):
        raise InputError(Fault("E(K) comes from a law or from a study", remedy="give exactly one of the two"))
    subject: Any = law[0] if law else study
    emit(compare_scaleup(subject, at=workers, parameters=law[1] if law else {}, **chosen), output)


@click.command(cls=SectionedCommand)
@click.argument("proposal", type=click.Path(path_type=Path), required=False)
@init_option("PROPOSAL")
@click.option("--gate", is_flag=True, help="Exit with 1 unless the verdict is 'helps'.")
@output_options
def assess(proposal: Path | None, init: bool, gate: bool, output: Output) -> int:
    """Answer seven questions about a scaling proposal with numbers, and say whether it helps and what decides it.

    PROPOSAL is a TOML file; scalecurve assess --init proposal.toml writes one to fill in.
    """
    from scalecurve.proposals.assessment import assess as assess_proposal
    from scalecurve.proposals.proposal import proposal_template

    if init:
        return start_file(proposal_template(), proposal or output.file, output, "assess")
    if proposal is None:
        hint = "scalecurve assess proposal.toml, or --init to write one"
        raise InputError(Fault("a proposal is missing", remedy=hint))
    result = assess_proposal(proposal)
    emit(result, output)
    return 1 if gate and result.verdict != "helps" else 0
