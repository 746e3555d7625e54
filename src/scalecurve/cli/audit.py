"""`scalecurve audit`: may a scaling result be believed?  `scalecurve explain`: what a printed code means."""

from __future__ import annotations

from dataclasses import replace

import click

from scalecurve.cli.inputs import NUMBER, Parsed, Reading, option, reading_options
from scalecurve.cli.output import Output, SectionedCommand, emit, init_option, output_options, start_file
from scalecurve.errors import InputError
from scalecurve.units import parse_factor


@click.command(cls=SectionedCommand)
@click.argument("source", required=False)
@option("--speedup", Parsed("speedup", parse_factor), "A bare claim: the speedup ...")
@option("--efficiency", NUMBER, "... or the efficiency ...")
@option("--workers", int, "... on this many workers.")
@option("--markdown", bool, "Answer as Markdown, ready for a review.")
@init_option("SOURCE")
@reading_options
@output_options
def command(
    source: str | None,
    speedup: float | None,
    efficiency: float | None,
    workers: int | None,
    reading: Reading,
    markdown: bool,
    init: bool,
    output: Output,
) -> int:
    """Check a study, a claim.toml, a table or a bare claim against the reporting checklist and the red flags.

    SOURCE is a study file, a claim.toml, or a table with a column of worker counts and columns of times, speedups or
    efficiencies; or give --speedup 180 --workers 256.  Exit code 1 when the result is not publishable.
    """
    from scalecurve.auditing.audit import audit
    from scalecurve.auditing.claim import claim_template, load_claim
    from scalecurve.formats.reading import ReadOptions

    if init:
        return start_file(claim_template(), source, output, "audit")
    if (source is None) == (workers is None):
        raise InputError("give a SOURCE, or a bare claim with --workers and --speedup or --efficiency")
    options = ReadOptions.checked(**reading, subject=source)
    claim = load_claim(source, workers=workers, speedup=speedup, efficiency=efficiency, options=options)
    result = audit(claim)
    emit(result, replace(output, format="md") if markdown else output)
    return 0 if result.publishable else 1


@click.command(cls=SectionedCommand)
@click.argument("code", required=False)
@output_options
def explain(code: str | None, output: Output) -> None:
    """Say what a finding's CODE means and what to do, for example `scalecurve explain order-unknown`.

    Codes stand in brackets in front of every warning.  Without CODE, all of them are listed.
    """
    from scalecurve.auditing import explanations

    emit(explanations.explain(code) if code else explanations.CodeList(), output)
