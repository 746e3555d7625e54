"""Commands about money and machines: cost, next (which K to measure), scaleup (one big machine or many), assess."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scalecurve.cli.inputs import (
    COUNT,
    NUMBER,
    READING,
    SECONDS,
    SHARE,
    WORKERS,
    Chosen,
    Parsed,
    flag_of,
    gathered,
    level_option,
    maybe_study_options,
    option,
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
from scalecurve.laws import Law, Parameter, every_law, parse_law

if TYPE_CHECKING:
    from scalecurve.planning.tariff import Money
    from scalecurve.study import Study

Function = TypeVar("Function", bound=Callable[..., Any])
SUBJECT = "Instead of a study"
LAWS = every_law()
PARAMETERS = {parameter.name: parameter for law in reversed(LAWS) for parameter in law.parameters}


def _parameter_option(parameter: Parameter) -> Callable[[Function], Function]:
    """`--serial`, with the laws that have it."""
    of = ", ".join(law.name for law in LAWS for each in law.parameters if each.name == parameter.name)
    about = f"{parameter.meaning[:1].upper()}{parameter.meaning[1:]} ({of})."
    return option(flag_of(parameter.name), NUMBER, about, section=SUBJECT)


def _law(given: dict[str, Any]) -> tuple[Law, dict[str, float]] | None:
    text = given.pop("law_text")
    if text is not None:
        return parse_law(text, **given)
    if loose := [name for name, value in given.items() if value is not None]:
        hint = "name the law: --law amdahl --serial 5%"
        raise InputError([Fault("a parameter without its law", where=name, remedy=hint) for name in loose])
    return None


ABOUT_LAW = "T(K) from a law: amdahl --serial 5%, or amdahl:serial=5%; see scalecurve law."
law_options = gathered(
    "law",
    {"law_text": option("--law law_text", str, ABOUT_LAW, section=SUBJECT)}
    | {name: _parameter_option(parameter) for name, parameter in PARAMETERS.items()},
    _law,
)
"""--law and the parameters of every law; the command receives them as one `law`, or None."""


@click.command(cls=SectionedCommand)
@maybe_study_options
@option("--plan", str, "Price the rows of a training plan: the file of scalecurve plan --json, or -.", section=SUBJECT)
@law_options
@option("--workers", WORKERS, "Worker counts of the law.", "1..512", section=SUBJECT)
@option("--time-at-one", SECONDS, "T(1) of the law.", "1h", section=SUBJECT)
@price_options
@option("--jobs", int, "How many results are needed.", 1)
@option("--fleet", int, "Pack the jobs side by side into this many workers.")
@option("--one-rental", bool, "Keep the machines between jobs: pay set-up and minimum once.")
@option("--deadline", SECONDS, "Time within which all jobs must finish, such as 5h.")
@option("--chance", SHARE, "Meet the deadline with at least this probability.")
@option("--budget", MONEY, "Money for all jobs, such as 600 or 600EUR.")
@option("--value-of-time", MONEY, "What an hour of waiting costs.")
@option("--at", WORKERS, "Price these K: measured, interpolated or forecast.")
@option("--work-per-job", COUNT, "Work of one result, such as 300B; needed where the study is a rate.")
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

    typed = source == "-"
    data = parse_json(sys.stdin.buffer.read(MAX_BYTES), subject="standard input") if typed else read_json(Path(source))
    if not isinstance(data, dict):
        remedy = "give the output of scalecurve plan --json"
        raise InputError(Fault("not a training plan", remedy=remedy), subject=source)
    return data


def parse_pair(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise InputError(Fault("not two laws", value=text, remedy="write amdahl,logcomm"))
    return names[0], names[1]


@click.command("next", cls=SectionedCommand)
@study_options
@option("--budget", str, "Machine time, as '8 gpu-hours' or '90 core-min' (default: unlimited).")
@option("--target", int, "The K whose forecast to narrow (default: 4 times the largest measured).")
@option("--largest", int, "The largest K that you can run.")
@option("--separate", Parsed("laws", parse_pair), "Separate two laws instead, as amdahl,logcomm.")
@option("--run-seconds", SECONDS, "Length of a run, for throughput studies.")
@output_options
def next_command(study: Study, output: Output, **chosen: Chosen) -> None:
    """Say which K to measure next, and how often: the cheapest runs that narrow a forecast or separate two laws."""
    from scalecurve.planning.next_runs import next_runs

    with working("weighing the next runs", output):
        result = next_runs(study, **chosen)
    emit(result, output)


@click.command(cls=SectionedCommand)
@option("--faster", NUMBER, "r: how many times as fast the big machine is.", required=True)
@option("--big-price", NUMBER, "Price of the big machine, any currency and time.", required=True)
@option("--small-price", NUMBER, "Price of one small machine, same currency and time.", required=True)
@law_options
@option("--study", str, "E(K) as measured in a study; other --workers are forecast.")
@option("--regime", str, READING["regime"])
@option("--workers", WORKERS, "Numbers of small machines (default: 1..64, or a study's own).")
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
@option("--gate", bool, "Exit with 1 unless the verdict is 'helps'.")
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
