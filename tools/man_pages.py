"""A manual page for every command and subcommand, in the man macros."""

from __future__ import annotations

from collections.abc import Iterator

import click

from scalecurve.cli.main import COMMANDS, app, load_command
from scalecurve.cli.tools import MANUAL_DATE, roff


def man_pages() -> Iterator[tuple[str, str]]:
    """The name of each file, `scalecurve-plan.1`, and its text."""
    for name in COMMANDS:
        yield from pages_of(load_command(name), ("scalecurve", name), COMMANDS[name].summary)


def pages_of(command: click.Command, path: tuple[str, ...], summary: str) -> Iterator[tuple[str, str]]:
    yield f"{'-'.join(path)}.1", man_page(command, path, summary)
    if isinstance(command, click.Group):
        for name, child in sorted(command.commands.items()):
            yield from pages_of(child, (*path, name), child.get_short_help_str(200))


def man_page(command: click.Command, path: tuple[str, ...], summary: str) -> str:
    context = click.Context(app, info_name="scalecurve")
    for name in path[1:]:
        context = click.Context(command, info_name=name, parent=context)
    title = roff("-".join(path))
    lines = [f'.TH "{title.upper()}" 1 "{MANUAL_DATE}" "" "Scalecurve"', ".SH NAME", rf"{title} \- {roff(summary)}"]
    lines += [".SH SYNOPSIS", rf"\fB{roff(' '.join(path))}\fR {roff(' '.join(command.collect_usage_pieces(context)))}"]
    lines += [".SH DESCRIPTION"]
    for paragraph in (command.help or summary).replace("\f", "\n\n").split("\n\n"):
        lines += [".PP", roff(paragraph)]
    records = [record for parameter in command.get_params(context) if (record := parameter.get_help_record(context))]
    if records:
        lines.append(".SH OPTIONS")
    for flags, text in records:
        lines += [".TP", rf"\fB{roff(flags)}\fR", roff(text)]
    lines += [".SH EXIT STATUS", "0 fine, 1 a gate or audit failed, 2 wrong input, 130 interrupted."]
    children = sorted(command.commands) if isinstance(command, click.Group) else []
    others = [f"{'-'.join(path)}-{name}" for name in children] or [path[0], "-".join(path[:-1])][: len(path) - 1]
    lines += [".SH SEE ALSO", ", ".join(rf"\fB{roff(name)}\fR(1)" for name in dict.fromkeys(others))]
    return "\n".join(lines) + "\n"
