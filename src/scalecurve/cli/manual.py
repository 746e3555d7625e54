"""The manual page, made from the commands themselves: `python -m scalecurve.cli.manual > scalecurve.1`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from scalecurve.cli.main import app
from scalecurve.cli.registry import COMMANDS, GROUPS

DATE = "2026-11-15"


def manual() -> str:
    """Section 1, in the man macros: every command with its options."""
    lines = [f'.TH SCALECURVE 1 "{DATE}" "" "Scalecurve"', ".SH NAME"]
    lines += [r"scalecurve \- how far does adding machines get you, why does it stop, and what does it cost?"]
    lines += [".SH SYNOPSIS", ".B scalecurve", ".I command", "[options] ..."]
    for group in GROUPS:
        names = [name for name, entry in COMMANDS.items() if entry.group == group]
        if names:
            lines += [f".SH {group.upper()}", *(line for name in names for line in _command(name))]
    lines += [".SH EXIT STATUS", "0 fine, 1 a gate or audit failed, 2 wrong input, 130 interrupted."]
    return "\n".join(lines) + "\n"


def _command(name: str) -> Iterator[str]:
    context = click.Context(app, info_name="scalecurve")
    command = app.get_command(context, name)
    if command is None:
        return
    yield from (f".SS scalecurve {_text(name)}", _text(command.help or COMMANDS[name].summary))
    yield from _options(command, context, name)
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            inner = command.get_command(context, sub)
            if inner is not None:
                yield from (".TP", rf"\fB{_text(sub)}\fR", _text(inner.help or ""))


def _options(command: click.Command, context: click.Context, name: str) -> Iterator[str]:
    inner = click.Context(command, info_name=name, parent=context)
    for parameter in command.get_params(inner):
        record = parameter.get_help_record(inner)
        if record is not None:
            yield from (".TP", rf"\fB{_text(record[0])}\fR", _text(record[1]))


def _text(text: str) -> str:
    """Plain text as roff: backslashes and hyphens escaped, no line begins with a control character."""
    plain = " ".join(re.sub(r"[\b]", " ", text).split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


if __name__ == "__main__":
    click.echo(manual(), nl=False)
