"""`scalecurve scaleup`: one big machine against many small ones."""

from __future__ import annotations

from typing import Any

import click

from scalecurve import api
from scalecurve.cli.inputs import WORKERS, Parsed
from scalecurve.cli.output import Output, emit, output_options


def _parameters(text: str) -> tuple[str, dict[str, float]]:
    name, _, rest = text.partition(":")
    pairs = [item.partition("=") for item in rest.split(",") if item]
    return name, {key.strip(): float(value) for key, _, value in pairs}


LAW = Parsed("law", _parameters)


@click.command()
@click.option("--faster", type=float, required=True, help="r: how many times as fast the big machine is.")
@click.option("--big-price", type=float, required=True, help="Price of the big machine, any currency and time.")
@click.option("--small-price", type=float, required=True, help="Price of one small machine, same currency and time.")
@click.option("--law", type=LAW, help="E(K) from a law: amdahl:serial=0.05 or usl:contention=0.03,coherency=1e-4.")
@click.option("--study", help="E(K) as measured in a study, and forecast at other --workers.")
@click.option("--regime", help="Regime of the study, where it is a plain table.")
@click.option("--workers", type=WORKERS, help="Numbers of small machines (default: 1..64, or a study's own).")
@output_options
def command(*, law: Any, study: str | None, regime: str | None, output: Output, **given: Any) -> None:
    """Which wins on time and on cost, and where they cross."""
    name, parameters = law or (None, None)
    loaded = api.load(study, regime=regime) if study else None
    emit(api.compare_scaleup(law_name=name, parameters=parameters, study=loaded, **given), output)
