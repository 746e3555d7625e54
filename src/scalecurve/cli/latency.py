"""`scalecurve latency`: percentiles of load tests, load curves, tails, replicas for an SLO."""

from __future__ import annotations

from pathlib import Path

import click

from scalecurve import mechanisms
from scalecurve.cli.inputs import SECONDS, SHARE, WORKERS, Parsed
from scalecurve.cli.output import Output, emit, emit_drawn, output_options, plot_option
from scalecurve.units import parse_numbers, parse_seconds

NUMBERS = Parsed("numbers", parse_numbers)
UNIT = Parsed("unit", lambda text: parse_seconds(f"1{text}"))
FILES = click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
RAW_UNIT = click.option("--unit", type=UNIT, help="Unit of raw values where the file does not say: ns, us, ms, s.")
SLO = click.option("--slo", type=SECONDS, help="The latency to stay within, such as 100ms.")
SLO_SHARE = click.option(
    "--slo-share", type=SHARE, default="0.99", show_default=True, help="Share of requests within the SLO."
)


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
def summary(
    *,
    files: tuple[Path, ...],
    unit: float | None,
    slo: float | None,
    rate: float | None,
    merge: bool,
    output: Output,
) -> None:
    """Percentiles of .hlog, wrk, wrk2, hey, oha, k6, access logs or a column of latencies."""
    emit(mechanisms.summarise_latencies(files, unit=unit, slo=slo, rate=rate, merge=merge), output)


@command.command()
@FILES
@RAW_UNIT
@click.option("--fan-out", type=WORKERS, default="1,10,100,1000", show_default=True, help="Leaves one request needs.")
@click.option("--hedge-after", type=SHARE, default="0.95", show_default=True, help="Ask again after this percentile.")
@output_options
def tails(
    *, files: tuple[Path, ...], unit: float | None, fan_out: tuple[int, ...], hedge_after: float, output: Output
) -> None:
    """What p99 becomes at fan-out, and what hedging gains and costs."""
    emit(mechanisms.tail_latency(files, fan_out=fan_out, hedge_after=hedge_after, unit=unit), output)


@command.command()
@FILES
@RAW_UNIT
@SLO
@SLO_SHARE
@click.option("--rates", type=NUMBERS, help="Replicas for these rates (default: the loads measured).")
@plot_option
@output_options
def load(
    *,
    files: tuple[Path, ...],
    unit: float | None,
    slo: float | None,
    slo_share: float,
    rates: tuple[float, ...] | None,
    plot: Path | None,
    output: Output,
) -> None:
    """Throughput against latency over several loads: knee, goodput, queue models, replicas."""
    curve = mechanisms.load_curve(files, unit=unit, slo=slo, slo_share=slo_share, rates=rates)
    emit_drawn(curve, plot, output)


@command.command()
@click.argument("url")
@click.option("--rates", type=NUMBERS, default="10,20,40", show_default=True, help="Requests per second, stepped.")
@click.option("--seconds", type=SECONDS, default="10s", show_default=True, help="How long each rate is held.")
@click.option("--timeout", type=SECONDS, default="10s", show_default=True, help="When a request counts as failed.")
@SLO
@SLO_SHARE
@plot_option
@output_options
def measure(
    *,
    url: str,
    rates: tuple[float, ...],
    seconds: float,
    timeout: float,
    slo: float | None,
    slo_share: float,
    plot: Path | None,
    output: Output,
) -> None:
    """Load an address at constant rates, counting from intended start times."""
    from scalecurve.measurement import measure_load

    curve = measure_load(url, rates=rates, seconds=seconds, timeout=timeout, slo=slo, slo_share=slo_share)
    emit_drawn(curve, plot, output)


@command.command()
@click.option("--rate", type=click.FloatRange(0, min_open=True), required=True, help="Requests per second.")
@click.option("--service", type=SECONDS, required=True, help="Mean service time of one request on an idle replica.")
@click.option("--slo", type=SECONDS, required=True, help="The latency to stay within, such as 100ms.")
@SLO_SHARE
@output_options
def replicas(*, rate: float, service: float, slo: float, slo_share: float, output: Output) -> None:
    """How many replicas an SLO needs (M/M/c), and what one more or less does."""
    emit(mechanisms.replicas_needed(rate=rate, service=service, slo=slo, slo_share=slo_share), output)
