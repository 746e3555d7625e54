"""`scalecurve completion`: the line that makes a shell complete commands and options."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the completion script of a SHELL.

    bash: eval "$(scalecurve completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish: scalecurve completion
    fish > ~/.config/fish/completions/scalecurve.fish
    """
    from click.shell_completion import get_completion_class

    from scalecurve.cli.main import app

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(app, {}, "scalecurve", "_SCALECURVE_COMPLETE").source())
