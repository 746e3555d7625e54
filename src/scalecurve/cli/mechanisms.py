"""Commands of single mechanisms: collective, roofline, workdepth, straggler, latency."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from scalecurve import mechanisms
from scalecurve.cli.inputs import NUMBER, NUMBERS, SECONDS, SHARE, WORKERS, Chosen, Parsed
from scalecurve.cli.output import (
    Output,
    Plot,
    SectionedCommand,
    SectionedGroup,
    emit,
    emit_drawn,
    note,
    output_options,
    plot_option,
)
from scalecurve.units import parse_bytes, parse_seconds

BYTES = Parsed("size", parse_bytes)
SIZES = Parsed("sizes", lambda text: tuple(int(parse_bytes(item)) for item in text.split(",")))
Function = TypeVar("Function", bound=Callable[..., Any])
COUNTS = Parsed("counts", lambda text: tuple(int(item) for item in text.split(",")))
UNIT = Parsed("unit", lambda text: parse_seconds(f"1{text}"))
FILES = click.argument("sources", metavar="FILES...", nargs=-1, required=True, type=click.Path(path_type=Path))
RAW_UNIT = click.option("--unit", type=UNIT, help="Unit of raw values where the file does not say: ns, us, ms, s.")
SLO = click.option("--slo", type=SECONDS, help="The latency to stay within, such as 100ms.")
SLO_SHARE = click.option(
    "--slo-share", type=SHARE, default="0.99", show_default=True, help="Share of requests within the SLO."
)


@click.group(cls=SectionedGroup)
def collective() -> None:
    """Price collective operations: by a model, by a measurement, or fitted to timings."""


@collective.command("cost")
@click.option("--op", "operation", default="allreduce", show_default=True, help="allreduce, allgather, alltoall ...")
@click.option("--bytes", "vector", type=BYTES, required=True, help="The full vector, such as 350MB or 16MiB.")
@click.option("--ranks", type=WORKERS, default="2..1024", show_default=True, help="Numbers of ranks.")
@click.option("--network", required=True, help="ib400, nvlink+ib400 or typed 2us/400Gb/s.")
@click.option("--per-node", type=click.IntRange(1), help="Ranks that share a node (default: the preset's).")
@click.option("--adapters", type=click.IntRange(1), help="Network adapters of a node (default: one per rank).")
@click.option("--gamma", type=NUMBER, default="0", help="Seconds per reduced byte (default 0).")
@click.option("--algorithm", help="Only this algorithm (default: the fastest at each size).")
@click.option("--per-step", is_flag=True, help="T(K) of a step that computes and then all-reduces; needs --compute.")
@click.option("--compute", type=SECONDS, help="Compute time of the step on one worker, for --per-step.")
@click.option(
    "--regime", type=click.Choice(["strong", "weak"]), default="strong", show_default=True, help="What is held fixed."
)
@plot_option
@output_options
def collective_cost(
    *,
    operation: str,
    per_step: bool,
    compute: float | None,
    regime: str,
    algorithm: str | None,
    plot: Plot | None,
    output: Output,
    **chosen: Chosen,
) -> None:
    """Compute the time of an operation over ranks by its best algorithm, with lower bounds."""
    if not per_step:
        emit_drawn(mechanisms.collective_cost(operation, algorithm=algorithm, **chosen), plot, output)
        return
    if compute is None:
        raise click.UsageError("--per-step needs --compute, the step's compute time on one worker")
    emit_drawn(mechanisms.training_step_cost(compute=compute, regime=regime, **chosen), plot, output)


@collective.command("fit")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--op", "operation", help="Only this operation (needed for nccl-tests that do not name it).")
@click.option("--ranks", type=click.IntRange(1), help="Ranks of the run, where the output does not say (OSU).")
@click.option("--k-from", help=r"Ranks from each file's path by a pattern with one group, such as '_n(\d+)'.")
@click.option("--nodes", type=click.IntRange(1), help="Nodes of the run, where the output does not say.")
@click.option("--predict", type=WORKERS, help="Also predict the times of each size at these numbers of ranks.")
@output_options
def collective_fit(*, output: Output, **chosen: Chosen) -> None:
    """Fit latency and bandwidth to timings: OSU, IMB, nccl-tests, CSV or a saved sweep."""
    emit(mechanisms.fit_collectives(**chosen), output)


@collective.command("measure")
@click.option("--op", "operations", default="allreduce", show_default=True, help="Operations, comma-separated.")
@click.option("--sizes", type=SIZES, default="64,1KiB,16KiB,64KiB,256KiB,1MiB,4MiB", show_default=True)
@click.option("--ranks", type=WORKERS, default="2", show_default=True, help="Ranks to start: 2,4,8.")
@click.option("--engine", type=click.Choice(["mpi", "torch"]), default="mpi", show_default=True)
@click.option("--launch", help="Launch command with {k}, such as 'srun -n {k}' (default: mpirun or torchrun).")
@click.option("--blocks", type=click.IntRange(3), default=7, show_default=True, help="Timed blocks at each size.")
@click.option("--save", type=click.Path(path_type=Path), help="Also write the raw timings to this file.")
@output_options
def collective_measure(*, operations: str, save: Path | None, output: Output, **chosen: Chosen) -> None:
    """Time real collectives through mpi4py or torch.distributed and fit them."""
    from scalecurve.measurement import measure_collectives

    sweep = measure_collectives(operations=tuple(operations.split(",")), **chosen)
    if save is not None:
        mechanisms.save_sweep(sweep, save)
        note(f"timings written to {save}", output)
    emit(mechanisms.fit_sweep(sweep), output)


@click.group(cls=SectionedGroup)
def roofline() -> None:
    """Measure the ceilings of a machine, and place kernels under them."""


def _machine(function: Function) -> Function:
    """--machine, --precision, --memory-level, --plot and the output options."""
    machine = click.option(
        "--machine",
        required=True,
        help="An accelerator (h100, mi300x ...), a .toml that describes one, or the JSON of roofline measure.",
    )
    precision = click.option("--precision", default="fp64", show_default=True, help="bf16, fp16, fp8, fp32 or fp64.")
    about = "The level that intensity is counted at: memory, l2 ..."
    level = click.option("--memory-level", "level", default="memory", show_default=True, help=about)
    return machine(precision(level(plot_option(output_options(function)))))


@roofline.command("measure")
@click.option("--threads", type=WORKERS, default="1", show_default=True, help="Numbers of threads.")
@click.option(
    "--size",
    type=click.IntRange(64, 32768),
    default=1500,
    show_default=True,
    help="Rows and columns of the matrix product.",
)
@output_options
def roofline_measure(*, threads: tuple[int, ...], size: int, output: Output) -> None:
    """Measure this machine's ceilings: BLAS peak and a triad that streams from memory."""
    from scalecurve.measurement.roofline_calibration import measure_roofline

    emit(measure_roofline(threads, size=size), output)


@roofline.command("place")
@click.option("--kernel", "kernels", multiple=True, help="NAME:FLOPS:BYTES[:SECONDS], such as gemm:2e9:24e6:0.05.")
@click.option("--file", "files", multiple=True, type=click.Path(path_type=Path), help="ncu --csv or likwid output.")
@_machine
def roofline_place(*, plot: Plot | None, output: Output, **chosen: Chosen) -> None:
    """Place kernels typed by hand, or read from Nsight Compute and likwid."""
    emit_drawn(mechanisms.place_kernels(**chosen), plot, output)


@click.command(cls=SectionedCommand)
@click.argument("graph")
@click.option("--workers", type=WORKERS, default="1..64", show_default=True, help="Numbers of workers P.")
@plot_option
@output_options
def workdepth(*, graph: str, workers: tuple[int, ...], plot: Plot | None, output: Output) -> None:
    """Compute work W, depth D, parallelism W/D, bounds and a greedy schedule for each P.

    GRAPH is a JSON or DOT file, a chrome trace, an .npz of arrays, module:attribute with a Dask graph or recorder, or
    a textbook graph: classic:reduction:1000, classic:scan:64, classic:matmul:8, classic:pipeline:4,16.
    """
    emit_drawn(mechanisms.work_depth(graph, workers), plot, output)


@click.command(cls=SectionedCommand)
@click.option("--distribution", default="lognorm:s=0.1", show_default=True, help="A scipy distribution: gamma:a=4 ...")
@click.option("--samples", type=click.Path(path_type=Path), help="Your own step times instead: one number a line.")
@click.option("--workers", type=WORKERS, default="1..1024", show_default=True, help="Worker counts.")
@click.option(
    "--steps",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Steps of a run that has one barrier, at its end.",
)
@click.option("--backups", type=COUNTS, default="0,1,2,4,8", show_default=True, help="Backup workers at the largest K.")
@click.option("--slow-share", type=SHARE, help="Share of workers that are always slow.")
@click.option("--slow-factor", type=NUMBER, default="2", show_default=True, help="How many times slower they are.")
@plot_option
@output_options
def straggler(*, distribution: str, plot: Plot | None, output: Output, **chosen: Chosen) -> None:
    """Say what waiting for the slowest of K workers costs: barriers, backup workers, workers that are always slow."""
    name, _, rest = distribution.partition(":")
    pairs = [item.partition("=") for item in rest.split(",") if item]
    try:
        shape = {key.strip(): float(value) for key, _, value in pairs}
    except ValueError:
        raise click.UsageError("write the distribution like lognorm:s=0.3 or gamma:a=4,scale=0.25") from None
    emit_drawn(mechanisms.straggler_cost(distribution=name, shape=shape, **chosen), plot, output)


@click.group(cls=SectionedGroup)
def latency() -> None:
    """Summarise latencies: percentiles with intervals, load curves, tails; or load a server at constant rates."""


@latency.command("summary")
@FILES
@RAW_UNIT
@SLO
@click.option(
    "--rate", type=NUMBER, help="Intended requests per second: adds the requests that a stalled client did not send."
)
@click.option("--merge", is_flag=True, help="Add the histograms of all files and tags.")
@output_options
def latency_summary(*, output: Output, **chosen: Chosen) -> None:
    """Compute percentiles of .hlog, wrk, wrk2, hey, oha, k6, access logs or a column of latencies."""
    emit(mechanisms.summarise_latencies(**chosen), output)


@latency.command("tails")
@FILES
@RAW_UNIT
@click.option(
    "--fan-out", type=WORKERS, default="1,10,100,1000", show_default=True, help="Servers that one request waits for."
)
@click.option(
    "--hedge-after", type=SHARE, default="0.95", show_default=True, help="Send a second request after this percentile."
)
@output_options
def latency_tails(*, output: Output, **chosen: Chosen) -> None:
    """Say what p99 becomes at fan-out, and what hedging gains and costs."""
    emit(mechanisms.tail_latency(**chosen), output)


@latency.command("load")
@FILES
@RAW_UNIT
@SLO
@SLO_SHARE
@click.option("--rates", type=NUMBERS, help="Replicas for these rates (default: the loads measured).")
@plot_option
@output_options
def latency_load(*, plot: Plot | None, output: Output, **chosen: Chosen) -> None:
    """Compare throughput with latency over several loads: knee, goodput, queue models, replicas."""
    emit_drawn(mechanisms.load_curve(**chosen), plot, output)


@latency.command("measure")
@click.argument("url")
@click.option("--rates", type=NUMBERS, default="10,20,40", show_default=True, help="Requests per second, in turn.")
@click.option("--seconds", type=SECONDS, default="10s", show_default=True, help="Duration of each rate.")
@click.option("--timeout", type=SECONDS, default="10s", show_default=True, help="When a request counts as failed.")
@SLO
@SLO_SHARE
@plot_option
@output_options
def latency_measure(*, plot: Plot | None, output: Output, **chosen: Chosen) -> None:
    """Load an address at constant rates, counting from intended start times."""
    from scalecurve.measurement import measure_load

    emit_drawn(measure_load(**chosen), plot, output)


@latency.command("replicas")
@click.option("--rate", type=NUMBER, required=True, help="Requests per second.")
@click.option("--service", type=SECONDS, required=True, help="Mean service time of one request on an idle replica.")
@click.option("--slo", type=SECONDS, required=True, help="The latency to stay within, such as 100ms.")
@SLO_SHARE
@output_options
def latency_replicas(*, output: Output, **chosen: Chosen) -> None:
    """Count the replicas that an SLO needs (M/M/c), and show what one more or less does."""
    emit(mechanisms.replicas_needed(**chosen), output)
