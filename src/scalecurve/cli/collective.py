"""`scalecurve collective`: what a collective operation costs, modelled, measured or fitted."""

from __future__ import annotations

from pathlib import Path

import click

from scalecurve import mechanisms
from scalecurve.cli.inputs import SECONDS, WORKERS, Parsed
from scalecurve.cli.output import Output, emit, emit_drawn, note, output_options, plot_option
from scalecurve.units import parse_bytes

BYTES = Parsed("size", parse_bytes)
SIZES = Parsed("sizes", lambda text: tuple(int(parse_bytes(item)) for item in text.split(",")))


@click.group()
def command() -> None:
    """What a collective operation costs: modelled, measured, fitted."""


@command.command()
@click.option("--op", "operation", default="allreduce", show_default=True, help="allreduce, allgather, alltoall ...")
@click.option("--bytes", "vector", type=BYTES, required=True, help="The full vector, such as 350MB or 16MiB.")
@click.option("--ranks", type=WORKERS, default="2..1024", show_default=True, help="Numbers of ranks.")
@click.option("--network", required=True, help="ib400, nvlink+ib400 or typed 2us/400Gb/s.")
@click.option("--per-node", type=click.IntRange(1), help="Ranks that share a node (default: the preset's).")
@click.option("--adapters", type=click.IntRange(1), help="Network adapters of a node (default: one per rank).")
@click.option("--gamma", type=click.FloatRange(0), default=0.0, help="Seconds per reduced byte (default 0).")
@click.option("--algorithm", help="Only this algorithm (default: the fastest at each size).")
@click.option("--per-step", is_flag=True, help="A step that computes, then all-reduces: T(K); needs --compute.")
@click.option("--compute", type=SECONDS, help="Compute time of the step on one worker, for --per-step.")
@click.option("--regime", type=click.Choice(["strong", "weak"]), default="strong", show_default=True)
@plot_option
@output_options
def cost(
    *,
    operation: str,
    vector: float,
    ranks: tuple[int, ...],
    network: str,
    per_node: int | None,
    adapters: int | None,
    gamma: float,
    algorithm: str | None,
    per_step: bool,
    compute: float | None,
    regime: str,
    plot: Path | None,
    output: Output,
) -> None:
    """Time of an operation over ranks by its best algorithm, with lower bounds."""
    if not per_step:
        result = mechanisms.collective_cost(
            operation,
            vector,
            ranks,
            network,
            algorithm=algorithm,
            per_node=per_node,
            adapters=adapters,
            gamma=gamma,
        )
        emit_drawn(result, plot, output)
        return
    if compute is None:
        raise click.UsageError("--per-step needs --compute, the step's compute time on one worker")
    step = mechanisms.training_step_cost(
        vector=vector,
        compute=compute,
        ranks=ranks,
        network=network,
        regime=regime,
        per_node=per_node,
        adapters=adapters,
        gamma=gamma,
    )
    emit_drawn(step, plot, output)


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--op", "operation", help="Only this operation (needed for nccl-tests that do not name it).")
@click.option("--ranks", type=click.IntRange(1), help="Ranks of the run, where the output does not say (OSU).")
@click.option("--k-from", help=r"Ranks from each file's path by a pattern with one group, such as '_n(\d+)'.")
@click.option("--nodes", type=click.IntRange(1), help="Nodes of the run, where the output does not say.")
@click.option("--predict", type=WORKERS, help="Also the times at these numbers of ranks, size by size.")
@click.option("--holdout", is_flag=True, help="Instead: fit the smaller half of the ranks, test on the larger.")
@output_options
def fit(
    *,
    files: tuple[Path, ...],
    operation: str | None,
    ranks: int | None,
    k_from: str | None,
    nodes: int | None,
    predict: tuple[int, ...] | None,
    holdout: bool,
    output: Output,
) -> None:
    """Latency and bandwidth from timings: OSU, IMB, nccl-tests, CSV or a saved sweep."""
    if holdout:
        tests = mechanisms.hold_out_collectives(files, operation=operation, ranks=ranks, nodes=nodes, k_from=k_from)
        emit(tests, output)
    else:
        fitted = mechanisms.fit_collectives(
            files, operation=operation, ranks=ranks, nodes=nodes, k_from=k_from, predict=predict
        )
        emit(fitted, output)


@command.command()
@click.option("--op", "operations", default="allreduce", show_default=True, help="Operations, comma-separated.")
@click.option("--sizes", type=SIZES, default="64,1KiB,16KiB,64KiB,256KiB,1MiB,4MiB", show_default=True)
@click.option("--ranks", type=WORKERS, default="2", show_default=True, help="Numbers of ranks to start.")
@click.option("--engine", type=click.Choice(["mpi", "torch"]), default="mpi", show_default=True)
@click.option("--launch", help="Launch command with {k}, such as 'srun -n {k}' (default: mpirun or torchrun).")
@click.option("--blocks", type=click.IntRange(3), default=7, show_default=True, help="Timed blocks at each size.")
@click.option("--save", type=click.Path(path_type=Path), help="Keep the raw timings as a sweep file.")
@output_options
def measure(
    *,
    operations: str,
    sizes: tuple[int, ...],
    ranks: tuple[int, ...],
    engine: str,
    launch: str | None,
    blocks: int,
    save: Path | None,
    output: Output,
) -> None:
    """Time real collectives through mpi4py or torch.distributed and fit them."""
    from scalecurve.measurement import measure_collectives

    names = tuple(operations.split(","))
    sweep = measure_collectives(operations=names, sizes=sizes, ranks=ranks, engine=engine, launch=launch, blocks=blocks)
    if save is not None:
        mechanisms.save_sweep(sweep, save)
        note(f"timings written to {save}", output)
    emit(mechanisms.fit_sweep(sweep), output)
