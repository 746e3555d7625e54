"""A manual page of the program, and one for every command and subcommand, in the man macros."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from scalecurve.cli.main import COMMANDS, GROUPS, app, load_command

MANUAL_DATE = "2026-11-15"


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


def manual() -> str:
    """Section 1 of the manual in the man macros: every command with its options."""
    lines = [f'.TH SCALECURVE 1 "{MANUAL_DATE}" "" "Scalecurve"', ".SH NAME"]
    lines += [r"scalecurve \- how far does adding machines get you, why does it stop, and what does it cost?"]
    lines += [".SH SYNOPSIS", ".B scalecurve", ".I command", "[options] ..."]
    for group in GROUPS:
        lines.append(f".SH {group.upper()}")
        for name in (name for name, entry in COMMANDS.items() if entry.group == group):
            lines += command_section(name)
    lines += [".SH EXIT STATUS", "0 fine, 1 a gate or audit failed, 2 wrong input, 130 interrupted."]
    return "\n".join(lines) + "\n"


def command_section(name: str) -> Iterator[str]:
    """A command's lines: its help, its options, and the subcommands with theirs left out."""
    command = load_command(name)
    context = click.Context(command, info_name=name, parent=click.Context(app, info_name="scalecurve"))
    yield from (f".SS scalecurve {roff(name)}", roff(command.help or COMMANDS[name].summary))
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield from (".TP", rf"\fB{roff(record[0])}\fR", roff(record[1]))
    if isinstance(command, click.Group):
        for sub, inner in sorted(command.commands.items()):
            yield from (".TP", rf"\fB{roff(sub)}\fR", roff(inner.help or ""))


def roff(text: str) -> str:
    """Plain text as roff: backslashes and hyphens escaped, no line begins with a control character."""
    plain = " ".join(re.sub(r"[\b]", " ", text).split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
