"""`scalecurve assess`: will this cluster size help, before money is spent?"""

from __future__ import annotations

from pathlib import Path

import click

from scalecurve import api
from scalecurve.cli.output import Output, emit, note, output_options
from scalecurve.errors import Fault, InputError


@click.command()
@click.argument("proposal", type=click.Path(path_type=Path), required=False)
@click.option("--init", is_flag=True, help="Write a proposal to fill in, to PROPOSAL or to the terminal.")
@click.option("--gate", is_flag=True, help="Exit with 1 unless the verdict is 'helps'.")
@output_options
def command(proposal: Path | None, init: bool, gate: bool, output: Output) -> int:
    """Seven questions of a scaling proposal answered with numbers, the prediction, the verdict and what it hangs on.

    PROPOSAL is a TOML file; scalecurve assess --init proposal.toml writes one to fill in.
    """
    if init:
        return _write_template(proposal, output)
    if proposal is None:
        hint = "scalecurve assess proposal.toml, or --init to write one"
        raise InputError(Fault("a proposal is missing", remedy=hint))
    result = api.assess(proposal)
    emit(result, output)
    return 1 if gate and result.verdict != "helps" else 0


def _write_template(path: Path | None, output: Output) -> int:
    from scalecurve.proposals.template import TEMPLATE
    from scalecurve.study.atomic import write_atomically

    target = path or output.file
    if target is None:
        click.echo(TEMPLATE, nl=False)
        return 0
    if target.exists():
        raise InputError(Fault("the file exists already", seen=str(target), remedy="name another, or remove it"))
    write_atomically(target, TEMPLATE.encode())
    note(f"wrote {target}; fill in what you know, then: scalecurve assess {target}", output)
    return 0
