"""`scalecurve scaleup`: one big machine against many small ones."""

from __future__ import annotations

import click

from scalecurve.cli.inputs import WORKERS, Parsed
from scalecurve.cli.output import Output, emit, output_options
from scalecurve.errors import Fault, InputError


def parse_law(text: str) -> tuple[str, dict[str, float]]:
    """`amdahl:serial=0.05` as a name and its parameters."""
    name, _, rest = text.partition(":")
    pairs = [item.partition("=") for item in rest.split(",") if item]
    return name, {key.strip(): float(value) for key, _, value in pairs}


@click.command()
@click.option("--faster", type=float, required=True, help="r: how many times as fast the big machine is.")
@click.option("--big-price", type=float, required=True, help="Price of the big machine, any currency and time.")
@click.option("--small-price", type=float, required=True, help="Price of one small machine, same currency and time.")
@click.option(
    "--law",
    type=Parsed("law", parse_law),
    help="E(K) from a law: amdahl:serial=0.05 or usl:contention=0.03,coherency=1e-4.",
)
@click.option("--study", help="E(K) as measured in a study, and forecast at other --workers.")
@click.option("--regime", help="Regime of the study, where it is a plain table.")
@click.option("--workers", type=WORKERS, help="Numbers of small machines (default: 1..64, or a study's own).")
@output_options
def command(
    *,
    faster: float,
    big_price: float,
    small_price: float,
    law: tuple[str, dict[str, float]] | None,
    study: str | None,
    regime: str | None,
    workers: tuple[int, ...] | None,
    output: Output,
) -> None:
    """Which wins on time and on cost, and where they cross."""
    from scalecurve.formats.accept import as_study
    from scalecurve.laws import law as law_named
    from scalecurve.planning.scaleup import compare_scaleup

    if (law is None) == (study is None):
        raise InputError(Fault("E(K) comes from a law or from a study", remedy="give exactly one of the two"))
    name, parameters = law or ("", {})
    subject = law_named(name) if study is None else as_study(study, regime=regime)
    prices = {"faster": faster, "big_price": big_price, "small_price": small_price}
    emit(compare_scaleup(subject, at=workers, parameters=parameters, **prices), output)
