"""How every command answers: text, --json or --csv, to the terminal or a file; and the live display of a measurement.

A result is any noun with `document()` and `to_dict()`; one that has a table also has `records()`, the rows of --csv.
Only answers go to standard output; notes and progress go to standard error.
"""

from __future__ import annotations

import math
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scalecurve.cli.inputs import NUMBER, READING, gathered, option
from scalecurve.document import Result, safe_lines, spreadsheet_safe
from scalecurve.errors import TYPED, Fault, InputError, one_line
from scalecurve.files import keeping_inputs
from scalecurve.units import format_seconds

if TYPE_CHECKING:
    from scalecurve.measurement.sweep import Progress
    from scalecurve.render.terminal import Screen

Function = TypeVar("Function", bound=Callable[..., Any])
STUDIES = ("study", "source", "studies", "sources")  # the arguments that name a study
PATIENCE = 0.7  # seconds before a progress line appears
RUNNING = 78  # characters of the line about the launch that runs


@dataclass(frozen=True)
class Output:
    """Where and how to answer; `format` None means by the file's name, or text."""

    format: str | None = None
    file: Path | None = None
    quiet: bool = False
    verbose: bool = False


class SectionedCommand(click.Command):
    """A command that never replaces a file it reads; --help lists its own options first, then the shared ones under
    headings of their own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as problem:
            takes_study = any(parameter.name == "study" and parameter.nargs == 1 for parameter in self.params)
            if takes_study and "unexpected extra argument" in problem.message:
                hint = "join several files first: scalecurve import FILE FILE ... -o study.json"
                raise click.UsageError(f"{self.name} takes one study; {hint}", ctx) from None
            raise

    def invoke(self, ctx: click.Context) -> Any:
        typed = TYPED.set((study_words(ctx.params), None if self.name == "report" else TYPED.get()[1]))
        try:
            with keeping_inputs():
                return super().invoke(ctx)
        finally:
            TYPED.reset(typed)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                last = "Output" if "Output" in sections and "--help" in parameter.opts else "Options"
                heading = getattr(parameter, "section", last)
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class SectionedGroup(click.Group):
    """A group of such commands."""

    command_class = SectionedCommand


def _output(given: dict[str, Any]) -> Output:
    if given["as_json"] and given["as_csv"]:
        raise InputError("--json and --csv exclude one another; choose one")
    if str(given["file"]) == ".":  # what an empty name becomes
        raise InputError(Fault("-o names no file", remedy="give a name, such as -o answer.json"))
    chosen = "json" if given["as_json"] else "csv" if given["as_csv"] else None
    return Output(chosen, given["file"], given["quiet"], given["verbose"])


def _under(section: str, rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """Options under one heading, by their names: the last word of the flag."""
    return {row[0].split()[-1].lstrip("-").replace("-", "_"): option(*row, section=section) for row in rows}


output_options = gathered(
    "output",
    _under(
        "Output",
        [
            ("--json as_json", bool, "Answer as JSON (stable; see docs/reference/json.md)."),
            ("--csv as_csv", bool, "Answer with the table as CSV."),
            ("-o --output file", Path, "Write to FILE: .json, .csv, .txt, .md or .html."),
            ("-q --quiet", bool, "Print nothing on success."),
            ("--verbose", bool, "Print everything, even if it is longer than the screen."),
        ],
    ),
    _output,
)
"""--json, --csv, -o, --quiet and --verbose; the command receives them as one `output`."""


def init_option(place: str) -> Callable[[Function], Function]:
    """The option --init of every command that takes a file people write; `place` is the argument that names it."""
    return option("--init", bool, f"Write a commented file to fill in, to {place}, and stop.")


def start_file(text: str, path: str | Path | None, output: Output, then: str) -> int:
    """Answer --init: write the file to start from, or print it where none is named; `then` is what to run next."""
    if path is None:
        print_out(text)
        return 0
    from scalecurve.formats.user_file import write_template

    write_template(text, Path(path))
    note(f"{path} written; fill it in, then: scalecurve {then} {path}", output)
    return 0


@dataclass(frozen=True)
class Plot:
    """The file of a plot and its look."""

    path: Path
    look: dict[str, Any]


def _plot(given: dict[str, Any]) -> Plot | None:
    path = given.pop("plot_path")
    return None if path is None else Plot(path, {name.removeprefix("plot_"): value for name, value in given.items()})


plot_option = gathered(
    "plot",
    _under(
        "Plot",
        [
            ("--plot plot_path", Path, "Draw to a .svg, .png or .pdf file."),
            ("--width plot_width", ["screen", "column", "page"], "Of a screen, a column (3.4 in) or a page.", "screen"),
            ("--font-size", NUMBER, "Font size in points (default 10, in a column 8)."),
            ("--font", ["sans", "serif"], "Typeface.", "sans"),
            ("--title plot_title", ["usual", "none"], "none: the caption says it.", "usual"),
            ("--scale", ["log", "linear"], "Of K, speedups, times and costs.", "log"),
        ],
    ),
    _plot,
)
"""--plot and how it looks; the command receives them as one `plot`, which is None without --plot."""


def emit(result: Result, output: Output) -> None:
    """Answer with a result; one that is not finite is refused, not printed."""
    refuse_infinite(result)
    ending = output.file.suffix.lstrip(".").lower() if output.file else "txt"
    if output.file is not None:
        from scalecurve.study.atomic import write_atomically

        write_atomically(output.file, encode(result, output.format or ending).encode())
    elif not output.quiet and output.format is None:
        from scalecurve.render.terminal import to_terminal

        print_out(to_terminal(result.document(), screen_of_terminal(), whole=output.verbose), keep_colour=True)
    elif not output.quiet:
        print_out(encode(result, output.format or ending))


def study_words(given: Mapping[str, Any]) -> str | None:
    """The study of a command and how it is read, as words of another command; None where none is named."""
    named = next((given[name] for name in STUDIES if given.get(name)), None)
    if named is None:
        return None
    words = [str(named[-1] if isinstance(named, tuple) else named)]
    for name in READING:
        value = given.get(name)
        for one in value if isinstance(value, tuple) else filter(None, [value]):
            words += [f"--{name.replace('_', '-')}", *([] if one is True else [str(one)])]
    return shlex.join(words)


def screen_of_terminal() -> Screen:
    """The terminal of standard output, or COLUMNS of a pipe; a pipe without takes wider tables.

    NO_COLOR (https://no-color.org) and TERM=dumb turn colours off.
    """
    import os

    from scalecurve.render.terminal import Screen

    is_terminal = sys.stdout.isatty()
    if not is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
        return Screen(wide=True)
    import shutil

    size = shutil.get_terminal_size((100, 40))
    colour = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(width=max(size.columns, 30), colour=colour)


def print_out(text: str | bytes, *, keep_colour: bool = False) -> None:
    """Write an answer to standard output; on a terminal no control character of a file gets through.

    The one place where commands write answers.  `keep_colour` is for text whose parts were made safe before colours.
    """
    if isinstance(text, bytes):
        if not sys.stdout.isatty():
            sys.stdout.flush()
            sys.stdout.buffer.write(text)
            return
        text = text.decode("utf-8", "replace")
    if sys.stdout.isatty() and not keep_colour:
        text = "\n".join(safe_lines(text)) + "\n"
    sys.stdout.write(without_commands(text))


def without_commands(text: str) -> str:
    """The text for a log; within GitHub's actions no name in it can begin a command (`::error`, `##[error]`)."""
    import os

    if not os.environ.get("GITHUB_ACTIONS"):
        return text
    return re.sub(r"^(\s*)::", r"\1\\x3a:", text, flags=re.MULTILINE).replace("##[", "#\\u0023[")


def refuse_infinite(result: Result) -> None:
    if not is_finite(result.to_dict()):
        fault = Fault("the answer is not a finite number", remedy="an input is too large or too small; give another")
        raise InputError(fault)


def is_finite(value: Any) -> bool:
    """Whether no number inside nested dicts and lists is infinite or NaN."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    return all(map(is_finite, value)) if isinstance(value, list | tuple) else True


def emit_drawn(result: Result, plot: Plot | None, output: Output) -> None:
    """Draw a result if `--plot` names a file, and answer with it."""
    if plot is not None:
        from scalecurve import plot as draw

        refuse_infinite(result)
        draw(result, plot.path, **plot.look)
        note(f"plot written to {plot.path}", output)
    emit(result, output)


def note(message: str, output: Output) -> None:
    """Print a remark beside the answer (a file was written, a step takes long) on standard error."""
    if not output.quiet:
        print(without_commands("\n".join(safe_lines(message))), file=sys.stderr)


def encode(result: Result, format: str) -> str:
    """A result as text in the named format."""
    match format:
        case "json":
            import json

            return json.dumps(result.to_dict(), indent=1, allow_nan=False) + "\n"
        case "csv":
            return to_csv(result)
        case "txt" | "":
            from scalecurve.render.terminal import to_text

            return to_text(result.document(), whole=True) + "\n"
        case "md":
            from scalecurve.render.markup import to_markdown

            return to_markdown(result.document())
        case "html":
            from scalecurve.render.html import to_page

            return to_page(result.document())
    remedy = "name the file with one of .json, .csv, .txt, .md, .html"
    raise InputError(Fault("unknown output format", value=f".{format}", remedy=remedy))


def to_csv(result: Result) -> str:
    """The rows of a result as CSV; a row has an empty cell where only other rows have that column."""
    import csv
    import io

    rows = [{spreadsheet_safe(name): spreadsheet_safe(cell) for name, cell in row.items()} for row in result.records()]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


@contextmanager
def working(words: str, output: Output) -> Iterator[None]:
    """Say on a terminal what takes long, once it has taken most of a second; the line goes when the answer comes."""
    if output.quiet or not sys.stderr.isatty():
        yield
        return
    from threading import Timer

    line = f"{one_line(words)} ..."
    timer = Timer(PATIENCE, print, (line,), {"end": "\r", "file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        print(" " * len(line), end="\r", file=sys.stderr, flush=True)


def show_progress(progress: Progress) -> None:
    """A line for every launch that has ended; on a terminal the one that runs stands below them until it ends."""
    line = without_commands(one_line(progress_line(progress)))
    line, end = (line, "\n") if progress.run is not None else (line[:RUNNING], "\r")
    if sys.stderr.isatty():
        print(line.ljust(RUNNING), end=end, file=sys.stderr, flush=True)
    elif progress.run is not None:
        print(line, file=sys.stderr, flush=True)


def progress_line(progress: Progress) -> str:
    """One finished launch: `[ 7/24] K = 4 repeat 2: T = 1.21 s  (load 0.8, about 12 s left)`."""
    run = progress.run
    if run is None:
        outcome = "running"
    elif run.value is not None:
        outcome = f"{run.value:.6g} {progress.unit}" if progress.unit else f"T = {format_seconds(run.value)}"
    else:
        outcome = f"{run.status}: {run.failure}"
    facts = [f"load {progress.load:.1f}"] if progress.load is not None else []
    facts += [f"elapsed {format_seconds(progress.elapsed)}"]
    facts += [f"about {format_seconds(progress.remaining)} left"] if progress.remaining else []
    number = f"{progress.number:>{len(str(progress.total))}}"
    return f"[{number}/{progress.total}] {launch_name(progress)}: {outcome}  ({', '.join(facts)})"


def launch_name(progress: Progress) -> str:
    """`K = 4 repeat 2`, `K = 4 warm-up` or `baseline ...`; in a grid `2 workers, threads 4, size 1e+06 repeat 2`."""
    planned = progress.planned
    point = f"K = {planned.point.k}" if planned.point.role == "scaling" else f"baseline {planned.point.role}"
    if progress.cell:  # K of a grid may count cores, so that the workers of this launch are named as such
        point = f"workers {planned.point.k}, {progress.cell}"
    return f"{point} warm-up" if planned.is_warmup else f"{point} repeat {planned.repeat + 1}"
