"""How every command takes its input: studies, worker counts, shares, durations."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scalecurve.errors import InputError
from scalecurve.units import parse_level, parse_seconds, parse_share, parse_workers

Function = TypeVar("Function", bound=Callable[..., Any])

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # not generic at run time before click 8.4


class Parsed(ParamType):
    """A click type from one of the parsers in `units`, with its message."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self.parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except (InputError, ValueError) as problem:
            self.fail(str(problem), param, ctx)


WORKERS = Parsed("workers", parse_workers)
SHARE = Parsed("share", parse_share)
LEVEL = Parsed("level", parse_level)
SECONDS = Parsed("duration", parse_seconds)


def level_option(default: str) -> Callable[[Function], Function]:
    """The option --level, the confidence level of intervals: 0.95, 95 or 95%."""
    return click.option("--level", type=LEVEL, default=default, show_default=True, help="Level of intervals.")


READING = {  # the keywords of `scalecurve.load`; a test compares the two
    "regime": "strong (total work fixed) or weak (work per worker fixed); never guessed.",
    "quantity": "seconds, throughput or throughput_per_worker, where a table's header does not say.",
    "k_column": "The column of worker counts, where several could be.",
    "value_column": "The column of times or rates, where several could be.",
    "k_unit": "What a worker is: gpus, nodes, ranks, threads ...",
    "k_from": r"A pattern that finds K in file or benchmark names, such as 'n(\d+)_'.",
    "series": "Which curve, where a file holds several.",
    "baseline_k": "K0, the baseline (default: the smallest K).",
    "node_size": "Workers per node, so that the node boundary can be marked.",
}


def reading_options(function: Function) -> Function:
    """Add the options that say how to read a file; the command receives them by their names."""
    for name, meaning in reversed(READING.items()):
        kind = int if name in ("baseline_k", "node_size") else str
        function = click.option(f"--{name.replace('_', '-')}", type=kind, help=meaning)(function)
    return function


def studies_options(metavar: str, *, count: int = -1) -> Callable[[Function], Function]:
    """Add several studies and the options that say how to read them; the command receives loaded `studies`."""

    def add(function: Function) -> Function:
        @wraps(function)
        def wrapped(*, studies: tuple[str, ...], **options: Any) -> Any:
            from scalecurve import load

            reading = {name: options.pop(name) for name in READING}
            return function(studies=[load(source, **reading) for source in studies], **options)

        return click.argument("studies", metavar=metavar, nargs=count, required=True)(reading_options(wrapped))  # type: ignore[return-value]

    return add


def study_options(function: Function) -> Function:
    """Add STUDY and the options that say how to read it; the command receives a loaded `study`."""

    @wraps(function)
    def wrapped(*, study: str, **options: Any) -> Any:
        from scalecurve import load

        reading = {name: options.pop(name) for name in READING}
        return function(study=load(study, **reading), **options)

    return click.argument("study", metavar="STUDY")(reading_options(wrapped))  # type: ignore[return-value]


def maybe_study_options(function: Function) -> Function:
    """As `study_options`, for commands that can do without: `study` may be None, `k_unit` and `node_size` stay."""

    @wraps(function)
    def wrapped(*, study: str | None, **options: Any) -> Any:
        from scalecurve import load

        reading = {name: options.pop(name) for name in READING}
        kept = {name: reading[name] for name in ("k_unit", "node_size")}
        return function(study=None if study is None else load(study, **reading), **kept, **options)

    return click.argument("study", metavar="[STUDY]", required=False)(reading_options(wrapped))  # type: ignore[return-value]
