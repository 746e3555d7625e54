"""How every command answers: text, --json or --csv, to the terminal or a file; and the live display of a measurement.

A result is any noun with `document()` and `to_dict()`; one that has a table also has `records()`, the rows of --csv.
Only answers go to standard output; notes and progress go to standard error.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scalecurve.document import Result, one_line, safe_lines, spreadsheet_safe, to_text
from scalecurve.errors import Fault, InputError
from scalecurve.units import format_seconds

if TYPE_CHECKING:
    from scalecurve.measurement.sweep import Progress

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Output:
    """Where and how to answer; `format` None means by the file's name, or text."""

    format: str | None = None
    file: Path | None = None
    quiet: bool = False


def output_options(function: Function) -> Function:
    """Add --json, --csv, -o and --quiet; the command receives them as one `output`."""

    @click.option("--json", "as_json", is_flag=True, help="Answer as JSON (stable; see docs/reference/json.md).")
    @click.option("--csv", "as_csv", is_flag=True, help="Answer with the table as CSV.")
    @click.option(
        "-o", "--output", "file", type=click.Path(path_type=Path), help="Write to FILE; its ending may say the format."
    )
    @click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
    @wraps(function)
    def wrapped(*, as_json: bool, as_csv: bool, file: Path | None, quiet: bool, **options: Any) -> Any:
        if as_json and as_csv:
            raise InputError("--json and --csv exclude one another; choose one")
        if file is not None:
            refuse_overwriting(file)
        chosen = "json" if as_json else "csv" if as_csv else None
        return function(output=Output(chosen, file, quiet), **options)

    return wrapped  # type: ignore[return-value]  # the wrapper takes what click passes, not what the command declares


def refuse_overwriting(file: Path) -> None:
    """Raise InputError where an answer would replace one of the files it was made from."""
    if str(file) == ".":  # what an empty name becomes
        raise InputError(Fault("-o names no file", remedy="give a name, such as -o answer.json"))
    for name, value in click.get_current_context().params.items():
        for other in value if isinstance(value, tuple) else (value,):
            is_name = name != "file" and isinstance(other, str | Path) and str(other) not in ("", "-")
            if is_name and file.is_file() and Path(other).is_file() and file.samefile(other):
                raise InputError(
                    Fault("the output would replace its own input", value=str(file), remedy="name another")
                )


plot_option = click.option("--plot", type=click.Path(path_type=Path), help="Draw it to a .svg, .png or .pdf file.")


def emit(result: Result, output: Output) -> None:
    """Answer with a result; one that is not finite is refused, not printed."""
    if not is_finite(result.to_dict()):
        fault = Fault("the answer is not a finite number", remedy="an input is too large or too small; give another")
        raise InputError(fault)
    ending = output.file.suffix.lstrip(".").lower() if output.file else "txt"
    if output.file is not None:
        from scalecurve.study.atomic import write_atomically

        write_atomically(output.file, encode(result, output.format or ending).encode())
    elif not output.quiet:
        click.echo(encode(result, output.format or ending), nl=False)


def is_finite(value: Any) -> bool:
    """Whether no number inside nested dicts and lists is infinite or NaN."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    return all(map(is_finite, value)) if isinstance(value, list | tuple) else True


def emit_drawn(result: Result, plot: Path | None, output: Output) -> None:
    """Answer with a result, and draw it if `--plot` names a file."""
    emit(result, output)
    if plot is not None:
        from scalecurve import plot as draw

        draw(result, plot)
        note(f"plot written to {plot}", output)


def note(message: str, output: Output) -> None:
    """Print a remark beside the answer (a file was written, a step takes long) on standard error."""
    if not output.quiet:
        print("\n".join(safe_lines(message)), file=sys.stderr)


def encode(result: Result, format: str) -> str:
    """A result as text in the named format."""
    match format:
        case "json":
            import json

            return json.dumps(result.to_dict(), indent=1, allow_nan=False) + "\n"
        case "csv":
            return to_csv(result)
        case "txt" | "":
            return to_text(result.document()) + "\n"
        case "md":
            from scalecurve.render.markup import to_markdown

            return to_markdown(result.document())
        case "html":
            from scalecurve.render.html import to_page

            return to_page(result.document())
    remedy = "name the file with one of .json, .csv, .txt, .md, .html"
    raise InputError(Fault("unknown output format", value=f".{format}", remedy=remedy))


def to_csv(result: Result) -> str:
    """The rows of a result as CSV."""
    import csv
    import io

    records = getattr(result, "records", None)
    if records is None:
        raise InputError("this command has no table to give as CSV; use --json")
    rows = records()
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: spreadsheet_safe(value) for key, value in row.items()} for row in rows)
    return buffer.getvalue()


@contextmanager
def progress_display(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """A listener that shows every launch: one moving line on a terminal, plain lines elsewhere."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with terminal_display() as listener:
            yield listener
    else:

        def print_finished(progress: Progress) -> None:
            if progress.run is not None:
                print(one_line(progress_line(progress)), file=sys.stderr, flush=True)

        yield print_finished


@contextmanager
def terminal_display() -> Iterator[Callable[[Progress], None]]:
    """A listener that moves a bar on the terminal and prints a line per finished launch above it."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = (TextColumn("{task.completed:.0f}/{task.total:.0f}"), BarColumn(bar_width=24), TimeElapsedColumn())
    with Bars(*columns, TextColumn("{task.description}"), console=console, refresh_per_second=2) as bars:
        task = bars.add_task("starting", total=1)

        def show(progress: Progress) -> None:
            left = f", about {format_seconds(progress.remaining)} left" if progress.remaining else ""
            load = f", load {progress.load:.1f}" if progress.load is not None else ""
            done = progress.number - (progress.run is None)
            description = f"{launch_name(progress)}{left}{load}"
            bars.update(task, total=progress.total, completed=done, description=description)
            if progress.run is not None:
                console.print(one_line(progress_line(progress)), highlight=False, markup=False)

        yield show


def progress_line(progress: Progress) -> str:
    """One finished launch: `[ 7/24] K = 4 repeat 2: T = 1.21 s  (load 0.8, about 12 s left)`."""
    run = progress.run
    if run is None:
        outcome = "running"
    elif run.value is not None:
        outcome = f"T = {format_seconds(run.value)}"
    else:
        outcome = f"{run.status}: {(run.error or 'no time').strip().splitlines()[0][:120]}"
    facts = [f"load {progress.load:.1f}"] if progress.load is not None else []
    facts += [f"elapsed {format_seconds(progress.elapsed)}"]
    facts += [f"about {format_seconds(progress.remaining)} left"] if progress.remaining else []
    number = f"{progress.number:>{len(str(progress.total))}}"
    return f"[{number}/{progress.total}] {launch_name(progress)}: {outcome}  ({', '.join(facts)})"


def launch_name(progress: Progress) -> str:
    """`K = 4 repeat 2`, `K = 4 warm-up` or `baseline ...`."""
    planned = progress.planned
    point = f"K = {planned.point.k}" if planned.point.role == "scaling" else f"baseline {planned.point.role}"
    return f"{point} warm-up" if planned.is_warmup else f"{point} repeat {planned.repeat + 1}"
