"""How every command takes a study: a study file, a plain CSV, or `-` for standard input."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from scalecurve.errors import InputError
from scalecurve.units import parse_seconds, parse_share, parse_workers

Function = TypeVar("Function", bound=Callable[..., Any])


class Parsed(click.ParamType[Any]):
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
SECONDS = Parsed("duration", parse_seconds)

_READING_OPTIONS = (
    click.option("--regime", help="strong (total work fixed) or weak (work per worker fixed); never guessed."),
    click.option(
        "--quantity", help="seconds, throughput or throughput_per_worker, where a table's header does not say."
    ),
    click.option("--k-column", help="The column of worker counts, where several could be."),
    click.option("--value-column", help="The column of times or rates, where several could be."),
    click.option("--k-unit", help="What a worker is: gpus, nodes, ranks, threads ..."),
    click.option("--k-from", help=r"A pattern that finds K in file or benchmark names, such as 'n(\d+)_'."),
    click.option("--series", help="Which curve, where a file holds several."),
    click.option("--baseline-k", type=int, help="K0, the baseline (default: the smallest K)."),
    click.option("--node-size", type=int, help="Workers per node, so that the node boundary can be marked."),
)
_LOAD_NAMES = (
    "regime",
    "quantity",
    "k_column",
    "value_column",
    "k_unit",
    "k_from",
    "series",
    "baseline_k",
    "node_size",
)


def reading_options(function: Function) -> Function:
    """Add the options that say how to read a file; the command receives them by their names."""
    for option in reversed(_READING_OPTIONS):
        function = option(function)
    return function


def study_options(function: Function) -> Function:
    """Add STUDY and the options that say how to read it; the command receives a loaded `study`."""

    @wraps(function)
    def wrapped(*, study: str, **given: Any) -> Any:
        from scalecurve.api import load

        how = {name: given.pop(name) for name in _LOAD_NAMES}
        return function(study=load(study, **how), **given)

    return click.argument("study", metavar="STUDY")(reading_options(wrapped))  # type: ignore[return-value]


def maybe_study_options(function: Function) -> Function:
    """As `study_options`, for commands that can do without: `study` may be None, `k_unit` and `node_size` stay."""

    @wraps(function)
    def wrapped(*, study: str | None, **given: Any) -> Any:
        from scalecurve.api import load

        how = {name: given.pop(name) for name in _LOAD_NAMES}
        kept = {name: how[name] for name in ("k_unit", "node_size")}
        return function(study=None if study is None else load(study, **how), **kept, **given)

    return click.argument("study", metavar="[STUDY]", required=False)(reading_options(wrapped))  # type: ignore[return-value]
