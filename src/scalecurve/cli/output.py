"""How every command answers: text, --json or --csv, to the terminal or to a file.

A result is any noun with `document()` and `to_dict()`; one that has a table also has `records()`, the rows of --csv.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import click

from scalecurve.document import Document, to_text
from scalecurve.errors import Fault, InputError

Function = TypeVar("Function", bound=Callable[..., Any])


class Result(Protocol):
    """What a verb returns."""

    def document(self) -> Document: ...
    def to_dict(self) -> dict[str, Any]: ...


@runtime_checkable
class HasRecords(Protocol):
    """A result with a table."""

    def records(self) -> Sequence[dict[str, Any]]: ...


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
    def wrapped(*, as_json: bool, as_csv: bool, file: Path | None, quiet: bool, **given: Any) -> Any:
        if as_json and as_csv:
            raise InputError("--json and --csv exclude one another; choose one")
        chosen = "json" if as_json else "csv" if as_csv else None
        return function(output=Output(chosen, file, quiet), **given)

    return wrapped  # type: ignore[return-value]  # the wrapper takes what click passes, not what the command declares


def emit(result: Result, output: Output) -> None:
    """Answer with a result."""
    if output.file is not None:
        from scalecurve.study.atomic import write_atomically

        write_atomically(output.file, encode(result, _format_for(output)).encode())
    elif not output.quiet:
        click.echo(encode(result, _format_for(output)), nl=False)


def note(message: str, output: Output) -> None:
    """A word beside the answer (a file was written, a step takes long): on standard error, so that pipes stay clean."""
    if not output.quiet:
        print(message, file=sys.stderr)


def _format_for(output: Output) -> str:
    if output.format:
        return output.format
    return output.file.suffix.lstrip(".").lower() if output.file else "txt"


def encode(result: Result, format: str) -> str:
    """A result as text in the named format."""
    writers: dict[str, Callable[[Result], str]] = {
        "json": _json,
        "csv": _csv,
        "txt": lambda shown: to_text(shown.document()) + "\n",
        "": lambda shown: to_text(shown.document()) + "\n",
        "md": _markdown,
        "html": _html,
    }
    if format not in writers:
        known = ", ".join(f".{name}" for name in writers if name)
        raise InputError(Fault("unknown output format", seen=f".{format}", remedy=f"name the file with one of {known}"))
    return writers[format](result)


def _json(result: Result) -> str:
    import json

    return json.dumps(result.to_dict(), indent=1, allow_nan=False) + "\n"


def _csv(result: Result) -> str:
    import csv
    import io

    if not isinstance(result, HasRecords):
        raise InputError("this command has no table to give as CSV; use --json")
    rows = result.records()
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _markdown(result: Result) -> str:
    from scalecurve.render.markup import to_markdown

    return to_markdown(result.document())


def _html(result: Result) -> str:
    from scalecurve.render.html import to_page

    return to_page(result.document())
