"""`scalecurve assess`: will this cluster size help, before money is spent?"""

from __future__ import annotations

from pathlib import Path

import click

from scalecurve.cli.output import Output, emit, note, output_options
from scalecurve.errors import Fault, InputError


@click.command()
@click.argument("proposal", type=click.Path(path_type=Path), required=False)
@click.option("--init", is_flag=True, help="Write a proposal to fill in, to PROPOSAL or to the terminal.")
@click.option("--gate", is_flag=True, help="Exit with 1 unless the verdict is 'helps'.")
@output_options
def command(proposal: Path | None, init: bool, gate: bool, output: Output) -> int:
    """Answer seven questions about a scaling proposal with numbers, and say whether it helps and what decides it.

    PROPOSAL is a TOML file; scalecurve assess --init proposal.toml writes one to fill in.
    """
    from scalecurve.proposals.assessment import assess
    from scalecurve.proposals.proposal import proposal_template

    path = proposal or output.file
    if init and path is None:
        click.echo(proposal_template(), nl=False)
        return 0
    if init and path is not None:
        from scalecurve.formats.user_file import write_template

        write_template(proposal_template(), path)
        note(f"wrote {path}; fill in what you know, then: scalecurve assess {path}", output)
        return 0
    if proposal is None:
        hint = "scalecurve assess proposal.toml, or --init to write one"
        raise InputError(Fault("a proposal is missing", remedy=hint))
    result = assess(proposal)
    emit(result, output)
    return 1 if gate and result.verdict != "helps" else 0
