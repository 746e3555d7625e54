"""Shell completion, and the manual page from the commands: `python -m scalecurve.cli.help > scalecurve.1`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from scalecurve.cli.main import app
from scalecurve.cli.registry import COMMANDS, GROUPS, load_command

DATE = "2026-11-15"


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL.

    bash: eval "$(scalecurve completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish: scalecurve completion
    fish > ~/.config/fish/completions/scalecurve.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(app, {}, "scalecurve", "_SCALECURVE_COMPLETE").source())


def manual() -> str:
    """Section 1 of the manual in the man macros: every command with its options."""
    lines = [f'.TH SCALECURVE 1 "{DATE}" "" "Scalecurve"', ".SH NAME"]
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


if __name__ == "__main__":
    click.echo(manual(), nl=False)
