"""`scalecurve latency`: how long one waits, how many finish, how bad the tail is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from scalecurve import api
from scalecurve.cli.inputs import WORKERS, Parsed
from scalecurve.cli.output import Output, emit, note, output_options
from scalecurve.units import parse_numbers, parse_seconds, parse_share

SECONDS = Parsed("duration", parse_seconds)
SHARE = Parsed("share", parse_share)
NUMBERS = Parsed("numbers", parse_numbers)
UNIT = Parsed("unit", lambda text: parse_seconds(f"1{text}"))
FILES = click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
RAW_UNIT = click.option("--unit", type=UNIT, help="Unit of raw values where the file does not say: ns, us, ms, s.")
SLO = click.option("--slo", type=SECONDS, help="The latency to stay within, such as 100ms.")
PLOT = click.option("--plot", type=click.Path(path_type=Path), help="Draw it to a .svg, .png or .pdf file.")


@click.group()
def command() -> None:
    """Percentiles with intervals, load curves, tails; and an open-loop load test."""


@command.command()
@FILES
@RAW_UNIT
@SLO
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Intended requests/s: corrects omitted ones.")
@click.option("--merge", is_flag=True, help="Add the histograms of all files and tags.")
@output_options
def summary(*, output: Output, **given: Any) -> None:
    """Percentiles of .hlog, wrk, wrk2, hey, oha, k6, access logs or a column of latencies."""
    emit(api.summarise_latencies(**given), output)


@command.command()
@FILES
@RAW_UNIT
@click.option("--fan-out", type=WORKERS, default="1,10,100,1000", show_default=True, help="Leaves one request needs.")
@click.option("--hedge-after", type=SHARE, default="0.95", show_default=True, help="Ask again after this percentile.")
@output_options
def tails(*, output: Output, **given: Any) -> None:
    """What p99 becomes at fan-out, and what hedging buys and costs."""
    emit(api.examine_tails(**given), output)


@command.command()
@FILES
@RAW_UNIT
@SLO
@click.option("--slo-share", type=SHARE, default="0.99", show_default=True, help="Share of requests within the SLO.")
@click.option("--rates", type=NUMBERS, help="Replicas for these rates (default: the loads measured).")
@PLOT
@output_options
def load(*, plot: Path | None, output: Output, **given: Any) -> None:
    """Throughput against latency over several loads: knee, goodput, queue models, replicas."""
    result = api.curve_of_load(**given)
    emit(result, output)
    if plot is not None:
        api.plot(result, plot)
        note(f"plot written to {plot}", output)


@command.command()
@click.argument("url")
@click.option("--rates", type=NUMBERS, default="10,20,40", show_default=True, help="Requests per second, stepped.")
@click.option("--seconds", type=SECONDS, default="10s", show_default=True, help="How long each rate is held.")
@SLO
@click.option("--slo-share", type=SHARE, default="0.99", show_default=True)
@PLOT
@output_options
def measure(*, plot: Path | None, output: Output, **given: Any) -> None:
    """Load an address at constant rates, counting from intended start times."""
    result = api.measure_load(**given)
    emit(result, output)
    if plot is not None:
        api.plot(result, plot)
        note(f"plot written to {plot}", output)


@command.command()
@click.option("--rate", type=click.FloatRange(0, min_open=True), required=True, help="Requests per second.")
@click.option("--service", type=SECONDS, required=True, help="Mean service time of one request on an idle replica.")
@click.option("--slo", type=SECONDS, required=True, help="The latency to stay within, such as 100ms.")
@click.option("--slo-share", type=SHARE, default="0.99", show_default=True, help="Share of requests within the SLO.")
@output_options
def replicas(*, output: Output, **given: Any) -> None:
    """How many replicas an SLO needs (M/M/c), and what one more or less does."""
    emit(api.plan_replicas(**given), output)
