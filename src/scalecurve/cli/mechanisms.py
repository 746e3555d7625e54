"""Commands of single mechanisms: collective, roofline, workdepth, straggler, latency."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from scalecurve import mechanisms
from scalecurve.cli.inputs import NUMBER, NUMBERS, SECONDS, SHARE, WORKERS, Chosen, Parsed, option
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
INTEGERS = Parsed("counts", lambda text: tuple(int(item) for item in text.split(",")))
SIZES = Parsed("sizes", lambda text: tuple(int(parse_bytes(item)) for item in text.split(",")))
Function = TypeVar("Function", bound=Callable[..., Any])
UNIT = Parsed("unit", lambda text: parse_seconds(f"1{text}"))
FILES = click.argument("sources", metavar="FILES...", nargs=-1, required=True, type=click.Path(path_type=Path))
RAW_UNIT = option("--unit", UNIT, "Unit of raw values where the file does not say: ns, us, ms, s.")
SLO = option("--slo", SECONDS, "The latency to stay within, such as 100ms.")
SLO_SHARE = option("--slo-share", SHARE, "Share of requests within the SLO.", "0.99")


@click.group(cls=SectionedGroup)
def collective() -> None:
    """Price collective operations: by a model, by a measurement, or fitted to timings."""


@collective.command("cost")
@option("--op operation", str, "allreduce, allgather, alltoall ...", "allreduce")
@option("--bytes vector", BYTES, "The full vector, such as 350MB or 16MiB.", required=True)
@option("--ranks", WORKERS, "Numbers of ranks.", "2..1024")
@option("--network", str, "ib400, nvlink+ib400 or typed 2us/400Gb/s.", required=True)
@option("--per-node", click.IntRange(1), "Ranks that share a node (default: the preset's).")
@option("--adapters", click.IntRange(1), "Network adapters of a node (default: one per rank).")
@option("--gamma", NUMBER, "Seconds per reduced byte (default 0).", "0")
@option("--algorithm", str, "Only this algorithm (default: the fastest at each size).")
@option("--per-step", bool, "T(K) of a step that computes and then all-reduces; needs --compute.")
@option("--compute", SECONDS, "Compute time of the step on one worker, for --per-step.")
@option("--regime", ["strong", "weak"], "What is held fixed.", "strong")
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
@option("--op operation", str, "Only this operation (needed for nccl-tests that do not name it).")
@option("--ranks", click.IntRange(1), "Ranks of the run, where the output does not say (OSU).")
@option("--k-from", str, r"Ranks from each file's path by a pattern with one group, such as '_n(\d+)'.")
@option("--nodes", click.IntRange(1), "Nodes of the run, where the output does not say.")
@option("--predict", WORKERS, "Also predict the times of each size at these numbers of ranks.")
@output_options
def collective_fit(*, output: Output, **chosen: Chosen) -> None:
    """Fit latency and bandwidth to timings: OSU, IMB, nccl-tests, CSV or a saved sweep."""
    emit(mechanisms.fit_collectives(**chosen), output)


@collective.command("measure")
@option("--op operations", str, "Operations, comma-separated.", "allreduce")
@option("--sizes", SIZES, default="64,1KiB,16KiB,64KiB,256KiB,1MiB,4MiB")
@option("--ranks", WORKERS, "Ranks to start: 2,4,8.", "2")
@option("--engine", ["mpi", "torch"], default="mpi")
@option("--launch", str, "Launch command with {k}, such as 'srun -n {k}' (default: mpirun or torchrun).")
@option("--blocks", click.IntRange(3), "Timed blocks at each size.", 7)
@option("--save", Path, "Also write the raw timings to this file.")
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
    machine = option(
        "--machine",
        str,
        "h100, mi300x ..., a .toml that describes one, or the JSON of roofline measure.",
        required=True,
    )
    precision = option("--precision", str, "bf16, fp16, fp8, fp32 or fp64.", "fp64")
    about = "The level that intensity is counted at: memory, l2 ..."
    level = option("--memory-level level", str, about, "memory")
    return machine(precision(level(plot_option(output_options(function)))))


@roofline.command("measure")
@option("--threads", WORKERS, "Numbers of threads.", "1")
@option("--size", click.IntRange(64, 32768), "Rows and columns of the matrix product.", 1500)
@output_options
def roofline_measure(*, threads: tuple[int, ...], size: int, output: Output) -> None:
    """Measure this machine's ceilings: BLAS peak and a triad that streams from memory."""
    from scalecurve.measurement.roofline_calibration import measure_roofline

    emit(measure_roofline(threads, size=size), output)


@roofline.command("place")
@option("--kernel kernels", str, "NAME:FLOPS:BYTES[:SECONDS], such as gemm:2e9:24e6:0.05.", multiple=True)
@option("--file files", Path, "ncu --csv or likwid output.", multiple=True)
@_machine
def roofline_place(*, plot: Plot | None, output: Output, **chosen: Chosen) -> None:
    """Place kernels typed by hand, or read from Nsight Compute and likwid."""
    emit_drawn(mechanisms.place_kernels(**chosen), plot, output)


@click.command(cls=SectionedCommand)
@click.argument("graph")
@option("--workers", WORKERS, "Numbers of workers P.", "1..64")
@plot_option
@output_options
def workdepth(*, graph: str, workers: tuple[int, ...], plot: Plot | None, output: Output) -> None:
    """Compute work W, depth D, parallelism W/D, bounds and a greedy schedule for each P.

    GRAPH is a JSON or DOT file, a chrome trace, an .npz of arrays, module:attribute with a Dask graph or recorder, or
    a textbook graph: classic:reduction:1000, classic:scan:64, classic:matmul:8, classic:pipeline:4,16.
    """
    emit_drawn(mechanisms.work_depth(graph, workers), plot, output)


@click.command(cls=SectionedCommand)
@option("--distribution", str, "A scipy distribution: gamma:a=4 ...", "lognorm:s=0.1")
@option("--samples", Path, "Your own step times instead: one number a line.")
@option("--workers", WORKERS, "Worker counts.", "1..1024")
@option("--steps", click.IntRange(1), "Steps of a run that has one barrier, at its end.", 100)
@option("--backups", INTEGERS, "Backup workers at the largest K.", "0,1,2,4,8")
@option("--slow-share", SHARE, "Share of workers that are always slow.")
@option("--slow-factor", NUMBER, "How many times slower they are.", "2")
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
@option("--rate", NUMBER, "Intended requests per second: adds the requests that a stalled client did not send.")
@option("--merge", bool, "Add the histograms of all files and tags.")
@output_options
def latency_summary(*, output: Output, **chosen: Chosen) -> None:
    """Compute percentiles of .hlog, wrk, wrk2, hey, oha, k6, access logs or a column of latencies."""
    emit(mechanisms.summarise_latencies(**chosen), output)


@latency.command("tails")
@FILES
@RAW_UNIT
@option("--fan-out", WORKERS, "Servers that one request waits for.", "1,10,100,1000")
@option("--hedge-after", SHARE, "Send a second request after this percentile.", "0.95")
@output_options
def latency_tails(*, output: Output, **chosen: Chosen) -> None:
    """Say what p99 becomes at fan-out, and what hedging gains and costs."""
    emit(mechanisms.tail_latency(**chosen), output)


@latency.command("load")
@FILES
@RAW_UNIT
@SLO
@SLO_SHARE
@option("--rates", NUMBERS, "Replicas for these rates (default: the loads measured).")
@plot_option
@output_options
def latency_load(*, plot: Plot | None, output: Output, **chosen: Chosen) -> None:
    """Compare throughput with latency over several loads: knee, goodput, queue models, replicas."""
    emit_drawn(mechanisms.load_curve(**chosen), plot, output)


@latency.command("measure")
@click.argument("url")
@option("--rates", NUMBERS, "Requests per second, in turn.", "10,20,40")
@option("--seconds", SECONDS, "Duration of each rate.", "10s")
@option("--timeout", SECONDS, "When a request counts as failed.", "10s")
@SLO
@SLO_SHARE
@plot_option
@output_options
def latency_measure(*, plot: Plot | None, output: Output, **chosen: Chosen) -> None:
    """Load an address at constant rates, counting from intended start times."""
    from scalecurve.measurement import measure_load

    emit_drawn(measure_load(**chosen), plot, output)


@latency.command("replicas")
@option("--rate", NUMBER, "Requests per second.", required=True)
@option("--service", SECONDS, "Mean service time of one request on an idle replica.", required=True)
@option("--slo", SECONDS, "The latency to stay within, such as 100ms.", required=True)
@SLO_SHARE
@output_options
def latency_replicas(*, output: Output, **chosen: Chosen) -> None:
    """Count the replicas that an SLO needs (M/M/c), and show what one more or less does."""
    emit(mechanisms.replicas_needed(**chosen), output)
