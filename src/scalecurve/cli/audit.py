"""`scalecurve audit`: may a scaling result be believed?  `scalecurve explain`: what a printed code means."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from scalecurve.cli.output import Output, SectionedCommand, emit, note, output_options
from scalecurve.errors import InputError


@click.command(cls=SectionedCommand)
@click.argument("source", required=False)
@click.option("--speedup", type=float, help="A bare claim: the speedup ...")
@click.option("--efficiency", type=float, help="... or the efficiency ...")
@click.option("--workers", type=int, help="... on this many workers.")
@click.option("--regime", type=click.Choice(["strong", "weak"]), help="The regime that the claim states.")
@click.option("--k-unit", help="What a worker is: gpus, nodes ...")
@click.option("--markdown", is_flag=True, help="Answer as Markdown, ready for a review.")
@click.option("--badge", type=click.Path(path_type=Path), help="Also write an SVG badge with the verdict.")
@click.option("--init", type=click.Path(path_type=Path), help="Write a claim.toml to fill in, and stop.")
@output_options
def command(
    source: str | None,
    speedup: float | None,
    efficiency: float | None,
    workers: int | None,
    regime: str | None,
    k_unit: str | None,
    markdown: bool,
    badge: Path | None,
    init: Path | None,
    output: Output,
) -> int:
    """Check a study, a claim.toml, a table or a bare claim against the reporting checklist and the red flags.

    SOURCE is a study file, a claim.toml, or a table with a column of worker counts and columns of times, speedups or
    efficiencies; or give --speedup 180 --workers 256.  Exit code 1 when the result is not publishable.
    """
    from scalecurve.auditing.audit import audit
    from scalecurve.auditing.claim import claim_template, load_claim

    if init is not None:
        from scalecurve.formats.user_file import write_template

        write_template(claim_template(), init)
        note(f"claim to fill in written to {init}", output)
        return 0
    if (source is None) == (workers is None):
        raise InputError("give a SOURCE, or a bare claim with --workers and --speedup or --efficiency")
    claim = load_claim(source, workers=workers, speedup=speedup, efficiency=efficiency, regime=regime, k_unit=k_unit)
    result = audit(claim)
    emit(result, replace(output, format="md") if markdown else output)
    if badge is not None:
        from scalecurve.render.exports import write_badge

        write_badge("scaling", result.verdict, badge)
        note(f"badge written to {badge}", output)
    return 0 if result.publishable else 1


@click.command(cls=SectionedCommand)
@click.argument("code", required=False)
@output_options
def explain(code: str | None, output: Output) -> None:
    """What a finding's CODE means and what to do, for example `scalecurve explain order-unknown`.

    Codes stand in brackets in front of every warning.  Without CODE, all of them are listed.
    """
    from scalecurve.auditing import explanations

    emit(explanations.explain(code) if code else explanations.CodeList(), output)
