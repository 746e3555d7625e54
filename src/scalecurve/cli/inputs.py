"""How every command takes its input: studies, worker counts, shares, durations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scalecurve.errors import InputError
from scalecurve.units import (
    parse_count,
    parse_level,
    parse_number,
    parse_numbers,
    parse_seconds,
    parse_share,
    parse_workers,
)

Function = TypeVar("Function", bound=Callable[..., Any])
Chosen = Any  # options of a command as click parsed them: the keywords of its verb
Reading = dict[str, Any]  # keywords of `scalecurve.load` from the command line; None where an option was left out

if TYPE_CHECKING:
    from scalecurve.study import Study, StudySet

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


NUMBER = Parsed("number", parse_number)
NUMBERS = Parsed("numbers", parse_numbers)
WORKERS = Parsed("workers", parse_workers)
SHARE = Parsed("share", parse_share)
LEVEL = Parsed("level", parse_level)
SECONDS = Parsed("duration", parse_seconds)
COUNT = Parsed("count", parse_count)
COUNTS = Parsed("counts", lambda text: tuple(parse_count(item) for item in text.split(",")))


class SectionedOption(click.Option):
    """An option under a heading of its own in --help."""

    def __init__(self, *arguments: Any, section: str = "Options", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.section = section


def option(
    flag: str, kind: Any = str, about: str | None = None, default: Any = None, **settings: Any
) -> Callable[[Function], Function]:
    """An option by its flag (and its name in the function, where that differs), what it takes (a list: one of these
    words), its help and its default."""
    if kind is bool:
        settings["is_flag"] = True
    else:
        choices = click.Choice(kind) if isinstance(kind, list | tuple) else None
        settings["type"] = choices or (click.Path(path_type=Path) if kind is Path else kind)
        settings.setdefault("metavar", "FILE" if kind is Path else None)
    if default is not None:
        settings |= {"default": default, "show_default": kind is not bool}
    return click.option(*flag.split(), cls=SectionedOption, help=about, **settings)


def gathered(
    name: str, options: Mapping[str, Callable[[Any], Any]], make: Callable[[dict[str, Any]], Any] = dict
) -> Callable[[Function], Function]:
    """Options by their names, which the command receives as one argument: what `make` makes of their values."""

    def add(function: Function) -> Function:
        @wraps(function)
        def wrapped(**given: Any) -> Any:
            return function(**{name: make({own: given.pop(own) for own in options})}, **given)

        for decorate in reversed(list(options.values())):
            wrapped = decorate(wrapped)
        return wrapped  # type: ignore[return-value]  # takes what click passes, not what the command declares

    return add


def flag_of(name: str) -> str:
    """`--k-column` of k_column."""
    return f"--{name.replace('_', '-')}"


def level_option(default: str) -> Callable[[Function], Function]:
    """The option --level, the confidence level of intervals: 0.95, 95 or 95%."""
    return option("--level", LEVEL, "Level of intervals.", default)


READING = {  # the keywords of `scalecurve.load`; a test compares the two
    "regime": "strong (total work fixed) or weak (work per worker fixed); strong where times fall.",
    "quantity": "seconds, throughput or throughput_per_worker, where a table's header does not say.",
    "k_column": "The column of worker counts: its name, its number, a product ('ranks*threads'), or '(header)'.",
    "value_column": "The column of times or rates, by its name or number.",
    "k_unit": "What a worker is: gpus, nodes, ranks, threads ...",
    "k_from": r"A pattern that finds K in file or benchmark names, such as 'n(\d+)_'.",
    "series": "Which curve, where a file holds several.",
    "baseline_k": "K0, the baseline (default: the smallest K).",
    "node_size": "Workers per node, so that the node boundary can be marked.",
    "unit": "The unit of times (ns, us, ms, s, min, h), where a table does not state it.",
    "table": "Which table of a document: its number or its heading.",
    "ignore": "A column to leave out; may be said again.",
    "where": "Keep the rows with COLUMN=VALUE; may be said again.",
    "melt": "Every column beside K is a curve of its own.",
    "accept": "Pass over a doubt by the code that a refusal names; may be said again.",
}
_KINDS: dict[str, Any] = {"baseline_k": int, "node_size": int, "melt": bool}
_REPEATED = ("ignore", "where", "accept")


def _reading_option(name: str) -> Callable[[Function], Function]:
    flag = f"{flag_of(name)}{' --k' if name == 'k_column' else ''} {name}"
    more = {"section": "Reading the file", "multiple": name in _REPEATED}
    return option(flag, _KINDS.get(name, str), READING[name], **more)


reading_options = gathered("reading", {name: _reading_option(name) for name in READING})
"""The options that say how to read a file; the command receives them as one `reading`, keywords of `load`."""


def studies_options(metavar: str, *, count: int = -1, sets: bool = False) -> Callable[[Function], Function]:
    """Add several studies and the options that say how to read them; the command receives loaded `studies`.

    The curves of a file that holds several are so many studies; with `sets`, they stay one StudySet.
    """

    def add(function: Function) -> Function:
        @wraps(function)
        def wrapped(*, studies: tuple[str, ...], reading: Reading, **options: Any) -> Any:
            from scalecurve.formats.loading import load_any

            loaded = [load_any(source, **reading) for source in studies]
            curves = [curve for item in loaded for curve in curves_of(item)]
            return function(studies=loaded if sets else curves, **options)

        return click.argument("studies", metavar=metavar, nargs=count, required=True)(reading_options(wrapped))  # type: ignore[return-value]

    return add


def curves_of(loaded: Study | StudySet) -> list[Study]:
    """A study alone, or the studies of a set."""
    from scalecurve.study import StudySet

    return list(loaded.studies.values()) if isinstance(loaded, StudySet) else [loaded]


def curves_options(function: Function) -> Function:
    """Add STUDY and the options that say how to read it; the command receives a loaded `study`, or a set of curves.

    A command with a flag `explain_columns` receives how the file was read instead; one with a flag `energy` gets it by
    --quantity joules too.
    """

    @wraps(function)
    def wrapped(*, study: str, reading: Reading, **options: Any) -> Any:
        from scalecurve.formats.loading import load_any

        if "energy" in options and reading["quantity"] == "joules":
            options["energy"], reading["quantity"] = True, None
        if options.pop("explain_columns", False):
            from scalecurve.formats import import_results

            return function(study=import_results(study, **reading), **options)
        return function(study=load_any(study, **reading), **options)

    return click.argument("study", metavar="STUDY")(reading_options(wrapped))  # type: ignore[return-value]


def study_options(function: Function) -> Function:
    """As `curves_options`, for commands that answer for one curve: a set is refused with the names of its curves."""

    @wraps(function)
    def wrapped(*, study: Study | StudySet, **options: Any) -> Any:
        return function(study=_one_curve(study), **options)

    return curves_options(wrapped)  # type: ignore[return-value]


def _one_curve(loaded: Study | StudySet) -> Study:
    from scalecurve.study import StudySet

    return loaded.only() if isinstance(loaded, StudySet) else loaded


def maybe_study_options(function: Function) -> Function:
    """As `study_options`, for commands that can do without: `study` may be None, `k_unit` and `node_size` stay."""

    @wraps(function)
    def wrapped(*, study: str | None, reading: Reading, **options: Any) -> Any:
        from scalecurve.formats.loading import load_any

        kept = {name: reading[name] for name in ("k_unit", "node_size")}
        return function(study=None if study is None else _one_curve(load_any(study, **reading)), **kept, **options)

    return click.argument("study", metavar="[STUDY]", required=False)(reading_options(wrapped))  # type: ignore[return-value]
